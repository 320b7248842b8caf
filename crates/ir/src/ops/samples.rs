//! Sample operands, drawn from a fixed seed so that every run checks the same values.
//! Ops add cases and error cases; `gradus-testkit` makes its checks from them.

use super::Op;
use crate::literal::Data;
use crate::{Aval, C, DType, Literal, Shape};

/// One application to check: an op and its operands.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The op.
    pub op: Op,
    /// Its operands. Floats are `f64`; checks cast them as they need.
    pub ins: Vec<Literal>,
    /// If true, finite differences are valid for these operands. False at ties, kinks and jumps.
    pub smooth: bool,
}

/// One application that must be rejected.
#[derive(Clone, Debug)]
pub struct ErrorSample {
    /// The op.
    pub op: Op,
    /// Types of its operands.
    pub ins: Vec<Aval>,
    /// Text that the error message must contain.
    pub says: String,
}

/// A collection of samples, with a random generator to draw them.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Applications to check.
    pub cases: Vec<Sample>,
    /// Applications that must be rejected.
    pub errors: Vec<ErrorSample>,
    state: u64,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples { cases: Vec::new(), errors: Vec::new(), state: 0x5eed }
    }
}

impl Samples {
    /// Adds an application for all checks.
    pub fn case(&mut self, op: impl Into<Op>, ins: impl IntoIterator<Item = Literal>) {
        self.cases.push(Sample { op: op.into(), ins: ins.into_iter().collect(), smooth: true });
    }

    /// Adds an application at a tie, kink or jump, for all checks except finite differences.
    pub fn kink(&mut self, op: impl Into<Op>, ins: impl IntoIterator<Item = Literal>) {
        self.cases.push(Sample { op: op.into(), ins: ins.into_iter().collect(), smooth: false });
    }

    /// Adds an application that must be rejected with a message that contains `says`.
    pub fn error(&mut self, op: impl Into<Op>, ins: &[Aval], says: &str) {
        self.errors.push(ErrorSample { op: op.into(), ins: ins.to_vec(), says: says.into() });
    }

    /// Returns the next 64 random bits (splitmix).
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn make<T>(&mut self, dtype: DType, shape: impl Into<Shape>, mut f: impl FnMut(&mut Self) -> T) -> Literal
    where
        Vec<T>: Into<Data>,
    {
        let shape = shape.into();
        let data: Vec<T> = (0..shape.numel()).map(|_| f(self)).collect();
        match Literal::new(Aval::new(dtype, shape), data) {
            Ok(l) => l.rounded(),
            Err(_) => Literal::scalar(dtype, 0.0),
        }
    }

    /// Draws floats between two bounds.
    pub fn uniform(&mut self, (low, high): (f64, f64), shape: impl Into<Shape>) -> Literal {
        self.make(DType::F64, shape, |s| low + (high - low) * s.unit())
    }

    /// Draws floats around zero, roughly normal.
    pub fn normal(&mut self, shape: impl Into<Shape>) -> Literal {
        self.make(DType::F64, shape, |s| (0..4).map(|_| s.unit() - 0.5).sum::<f64>() * 1.7)
    }

    /// Draws floats whose distances from each other and from zero exceed the step of finite differences, for functions
    /// such as `max` and `sort`.
    pub fn distinct(&mut self, shape: impl Into<Shape>) -> Literal {
        let shape = shape.into();
        let n = shape.numel();
        let mut rank: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            rank.swap(i, (self.bits() % (i as u64 + 1)) as usize);
        }
        let mut k = 0;
        self.make(DType::F64, shape, |s| {
            k += 1;
            (rank[k - 1] as f64 - n as f64 / 2.0 + 0.3 + 0.2 * s.unit()) * 0.7
        })
    }

    /// Makes a literal of these floats.
    pub fn floats(&mut self, shape: impl Into<Shape>, data: &[f64]) -> Literal {
        let mut k = 0;
        self.make(DType::F64, shape, |_| {
            k += 1;
            data.get(k - 1).copied().unwrap_or(0.0)
        })
    }

    /// Draws complex numbers with both parts between two bounds.
    pub fn complex(&mut self, (low, high): (f64, f64), shape: impl Into<Shape>) -> Literal {
        self.make(DType::C128, shape, |s| {
            C::new(low + (high - low) * s.unit(), low + (high - low) * s.unit())
        })
    }

    /// Draws integers from `low` up to but excluding `high`.
    pub fn ints(&mut self, range: (i64, i64), shape: impl Into<Shape>) -> Literal {
        self.ints_of(DType::I64, range, shape)
    }

    /// Draws integers of a dtype from `low` up to but excluding `high`.
    pub fn ints_of(&mut self, dtype: DType, (low, high): (i64, i64), shape: impl Into<Shape>) -> Literal {
        self.make(dtype, shape, |s| low + (s.bits() % (high - low).max(1) as u64) as i64)
    }

    /// Draws booleans.
    pub fn bools(&mut self, shape: impl Into<Shape>) -> Literal {
        self.make(DType::Bool, shape, |s| (s.bits() & 1) as i64)
    }
}
