//! Unsigned 32-bit integers of generated code: literals or expressions, whose arithmetic wraps.

/// An integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Int {
    /// A number known when the text is generated.
    Literal(u32),
    /// An expression: a name, or text in parentheses.
    Text(String),
}

impl Int {
    /// Converts a signed number to a literal: keeps the lower 32 bits.
    pub(crate) fn signed(x: i64) -> Int {
        Int::Literal(x as u32)
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Int::Literal(x) => format!("{x}u"),
            Int::Text(t) => t.clone(),
        }
    }

    pub(crate) fn plus(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Literal(a), Int::Literal(b)) => Int::Literal(a.wrapping_add(*b)),
            (Int::Literal(0), x) | (x, Int::Literal(0)) => x.clone(),
            // Writes the sum with a negative literal as a difference, which is easier to read.
            (a, Int::Literal(b)) if *b >= 1 << 31 => {
                Int::Text(format!("({} - {}u)", a.text(), b.wrapping_neg()))
            }
            (a, b) => Int::Text(format!("({} + {})", a.text(), b.text())),
        }
    }

    pub(crate) fn times(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Literal(a), Int::Literal(b)) => Int::Literal(a.wrapping_mul(*b)),
            (Int::Literal(0), _) | (_, Int::Literal(0)) => Int::Literal(0),
            (Int::Literal(1), x) | (x, Int::Literal(1)) => x.clone(),
            (a, b) => Int::Text(format!("({} * {})", a.text(), b.text())),
        }
    }

    pub(crate) fn over(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Literal(a), Int::Literal(b)) if *b != 0 => Int::Literal(a / b),
            (x, Int::Literal(1)) => x.clone(),
            // If the divisor is 0, an axis has extent 0 and no thread uses the quotient. Returns 0, because compilers
            // reject a division by a literal zero.
            (_, Int::Literal(0)) => Int::Literal(0),
            (a, b) => Int::Text(format!("({} / {})", a.text(), b.text())),
        }
    }

    pub(crate) fn modulo(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Literal(a), Int::Literal(b)) if *b != 0 => Int::Literal(a % b),
            (_, Int::Literal(0 | 1)) => Int::Literal(0),
            (a, b) => Int::Text(format!("({} % {})", a.text(), b.text())),
        }
    }
}
