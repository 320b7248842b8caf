//! Messages as data: text that keeps dtypes, types and names of the interface as values.
//! Code that fails composes a [`Message`] with [`message!`](crate::message!); a front end renders it with its [`Words`].
//! The kinds of errors are in `error.rs`.

use crate::{Aval, DType, Shape};
use std::fmt;

/// A name of the interface that differs between front ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// The function that chooses elements by a mask.
    Select,
    /// The function that disables recording.
    NoGrad,
    /// The value of a leaf, without its gradient.
    LeafValue,
    /// A tensor whose value can be replaced.
    Cell,
    /// A tensor that can be changed in place, and how to make one.
    Mutable,
    /// A tensor made by the user that requires gradients, and how to make one.
    Leaf,
    /// The tensors with respect to which gradients are computed.
    Wrt,
    /// The option that permits results without a gradient.
    AllowUnused,
    /// The cotangent with which a backward pass starts.
    Seed,
    /// A backward pass with a given seed.
    BackwardWithSeed,
    /// The index entry that stands for all remaining axes.
    Rest,
}

impl Term {
    /// Returns the name in Rust.
    pub fn in_rust(self) -> &'static str {
        match self {
            Term::Select => "`select`",
            Term::NoGrad => "`no_grad`",
            Term::LeafValue => "`data_()`",
            Term::Cell => "a cell",
            Term::Mutable => "a cell (`cell`, `requires_grad_`)",
            Term::Leaf => "a leaf (`requires_grad_`)",
            Term::Wrt => "wrt",
            Term::AllowUnused => "`allow_unused`",
            Term::Seed => "seed",
            Term::BackwardWithSeed => "`backward_with(&seed)`",
            Term::Rest => "REST",
        }
    }
}

/// The names that a front end uses in messages. The default is Rust's.
pub trait Words {
    /// Returns the name of a dtype.
    fn dtype(&self, dtype: DType) -> &'static str {
        dtype.name()
    }

    /// Returns the name of a term.
    fn term(&self, term: Term) -> &'static str {
        term.in_rust()
    }

    /// Returns the name of an op.
    fn op<'a>(&self, op: &'a str) -> &'a str {
        op
    }
}

/// Rust's names.
#[derive(Clone, Copy, Debug)]
pub struct RustWords;

impl Words for RustWords {}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    DType(DType),
    Type(Aval),
    Term(Term),
}

/// A text whose dtypes, types and terms are rendered in the words of a front end. [`fmt::Display`] uses Rust's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<Part>);

impl Message {
    /// Concatenates messages.
    pub fn concat(parts: impl IntoIterator<Item = Message>) -> Message {
        Message(parts.into_iter().flat_map(|m| m.0).collect())
    }

    /// Concatenates messages with a separator between them.
    pub fn join(parts: impl IntoIterator<Item = Message>, separator: &str) -> Message {
        let mut out = Vec::new();
        for part in parts {
            if !out.is_empty() {
                out.push(Part::Text(separator.to_string()));
            }
            out.extend(part.0);
        }
        Message(out)
    }

    /// Writes the message in the words of a front end.
    pub fn write(&self, words: &dyn Words, f: &mut dyn fmt::Write) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::DType(dtype) => f.write_str(words.dtype(*dtype))?,
                Part::Type(aval) => write!(f, "{}{}", words.dtype(aval.dtype), aval.shape)?,
                Part::Term(term) => f.write_str(words.term(*term))?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&RustWords, f)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message(vec![Part::Text(text)])
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        text.to_string().into()
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Message {
        text.clone().into()
    }
}

impl From<DType> for Message {
    fn from(dtype: DType) -> Message {
        Message(vec![Part::DType(dtype)])
    }
}

impl From<Term> for Message {
    fn from(term: Term) -> Message {
        Message(vec![Part::Term(term)])
    }
}

impl From<Aval> for Message {
    fn from(aval: Aval) -> Message {
        Message(vec![Part::Type(aval)])
    }
}

impl From<&Aval> for Message {
    fn from(aval: &Aval) -> Message {
        aval.clone().into()
    }
}

/// The types as a list in brackets.
impl From<&[Aval]> for Message {
    fn from(avals: &[Aval]) -> Message {
        let list = Message::join(avals.iter().map(Message::from), ", ");
        Message::concat(["[".into(), list, "]".into()])
    }
}

/// The dtypes, separated by commas.
impl From<&[DType]> for Message {
    fn from(dtypes: &[DType]) -> Message {
        Message::join(dtypes.iter().map(|d| Message::from(*d)), ", ")
    }
}

/// The type, or nothing if it is unknown.
impl From<Option<Aval>> for Message {
    fn from(aval: Option<Aval>) -> Message {
        aval.map(Message::from).unwrap_or_default()
    }
}

impl From<&Vec<Aval>> for Message {
    fn from(avals: &Vec<Aval>) -> Message {
        avals.as_slice().into()
    }
}

impl From<Vec<Aval>> for Message {
    fn from(avals: Vec<Aval>) -> Message {
        avals.as_slice().into()
    }
}

impl From<&Shape> for Message {
    fn from(shape: &Shape) -> Message {
        shape.to_string().into()
    }
}

impl From<usize> for Message {
    fn from(n: usize) -> Message {
        n.to_string().into()
    }
}

/// Composes a [`Message`] of texts, numbers, dtypes, types and terms.
///
/// ```
/// use gradus_ir::{Aval, DType, message};
/// let aval = Aval::new(DType::F32, [2, 3]);
/// assert_eq!(message!("must be ", &aval, " or ", DType::I64).to_string(), "must be f32[2,3] or i64");
/// ```
#[macro_export]
macro_rules! message {
    ($($part:expr),+ $(,)?) => { $crate::Message::concat([$($crate::Message::from($part)),+]) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_ends_render_dtypes_types_and_terms_in_their_words() {
        struct Long;
        impl Words for Long {
            fn dtype(&self, dtype: DType) -> &'static str {
                if dtype == DType::F32 { "float32" } else { "other" }
            }
            fn term(&self, _: Term) -> &'static str {
                "`where`"
            }
        }
        let types = [Aval::new(DType::F32, [2]), Aval::scalar(DType::I64)];
        let message =
            message!("f32 is text: ", DType::F32, " and ", types.as_slice(), "; use ", Term::Select);
        assert_eq!(message.to_string(), "f32 is text: f32 and [f32[2], i64[]]; use `select`");
        let mut text = String::new();
        message.write(&Long, &mut text).expect("text");
        assert_eq!(text, "f32 is text: float32 and [float32[2], other[]]; use `where`");
    }
}
