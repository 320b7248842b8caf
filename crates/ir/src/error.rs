//! Errors as data: the op, its operands, the source location of the caller, the cause, and a remedy.
//! Ops and transforms make an [`Error`] of some [`Kind`]; callers add op, operands and location on its way up.
//! Each front end renders messages in its own [`Words`].

use crate::graph::{Line, Origin};
use crate::message::{Message, RustWords, Words};
use crate::{Aval, DType};
use std::fmt;
use std::panic::Location;

/// Result of anything fallible in Gradus.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, with the failing op, its operands and the caller's source location once they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: Kind,
    /// The failing op, and before it the operations that called it, outermost first.
    ops: Vec<String>,
    operands: Vec<Aval>,
    location: Option<&'static Location<'static>>,
    line: Option<Line>,
    iterations: Vec<usize>,
}

/// The kinds of error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Wrong number of operands.
    Arity {
        /// The number of operands that the op takes.
        expected: usize,
        /// The number of operands it received.
        found: usize,
    },
    /// Extents that do not match.
    Shape {
        /// The value whose extents do not match.
        what: Message,
        /// The reason, and what would work.
        why: Message,
    },
    /// A dtype that the op does not accept.
    DType {
        /// The dtype found.
        found: DType,
        /// The dtypes that the op accepts, or the reason why it does not accept this one.
        fits: Message,
    },
    /// An axis beyond the rank, or repeated.
    Axis {
        /// The requested axis.
        axis: i64,
        /// The rank of the operand.
        rank: usize,
    },
    /// An index beyond the extent.
    Index {
        /// The requested index.
        index: i64,
        /// The extent of the axis.
        extent: usize,
        /// If true, negative indices down to `-extent` are valid.
        from_end: bool,
    },
    /// An argument that is out of its range.
    Value {
        /// The argument.
        what: Message,
        /// Why it is rejected, and what would work.
        why: Message,
    },
    /// A missing derivative, or a backward pass that cannot run.
    Gradient {
        /// Why.
        why: Message,
    },
    /// An operation that is impossible while tracing, or outside of a trace.
    Trace {
        /// Why.
        why: Message,
    },
    /// Graph text that does not parse.
    Text {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The reason.
        why: String,
    },
    /// A graph that violates an invariant.
    Verify {
        /// The invariant, and where it is violated.
        why: String,
    },
    /// A file that cannot be read or written, or whose content is invalid.
    File {
        /// Its path.
        path: String,
        /// Why.
        why: String,
    },
    /// A run that was stopped at the caller's request.
    Interrupted,
    /// A failed memory allocation.
    Memory {
        /// The requested size in bytes.
        bytes: usize,
    },
    /// A device that is missing, lacks a feature, or was lost.
    Device {
        /// Its name.
        name: String,
        /// The cause, and a remedy.
        why: String,
    },
    /// A dtype that a device does not support.
    Unsupported {
        /// The name of the device.
        device: String,
        /// The dtype.
        dtype: DType,
        /// The widest dtype of the same class that it supports.
        instead: DType,
    },
    /// Operands on two devices.
    Devices {
        /// The name of the first device.
        first: String,
        /// The name of the other device.
        second: String,
    },
}

impl Error {
    /// Makes an error of this kind.
    pub fn new(kind: Kind) -> Error {
        Error(Box::new(Inner {
            kind,
            ops: Vec::new(),
            operands: Vec::new(),
            location: None,
            line: None,
            iterations: Vec::new(),
        }))
    }

    /// Makes the error for extents that do not match.
    pub fn shape(what: impl Into<Message>, why: impl Into<Message>) -> Error {
        Error::new(Kind::Shape { what: what.into(), why: why.into() })
    }

    /// Makes the error for a dtype that the op does not accept.
    pub fn dtype(found: DType, fits: impl Into<Message>) -> Error {
        Error::new(Kind::DType { found, fits: fits.into() })
    }

    /// Builds an index error. If the index contains an
    /// [`out_of_range_marker`](crate::ops::index::out_of_range_marker), the error reports the original index and
    /// extent.
    pub fn index(index: i64, extent: usize) -> Error {
        let (index, extent) = crate::ops::index::decode_marker(index).unwrap_or((index, extent));
        Error::new(Kind::Index { index, extent, from_end: false })
    }

    /// Makes the error for an argument out of range.
    pub fn value(what: impl Into<Message>, why: impl Into<Message>) -> Error {
        Error::new(Kind::Value { what: what.into(), why: why.into() })
    }

    /// Makes the error for a missing derivative, or a backward pass that cannot run.
    pub fn gradient(why: impl Into<Message>) -> Error {
        Error::new(Kind::Gradient { why: why.into() })
    }

    /// Makes the error for an operation that is impossible while tracing, or outside of a trace.
    pub fn trace(why: impl Into<Message>) -> Error {
        Error::new(Kind::Trace { why: why.into() })
    }

    /// Makes the error for a file that cannot be read or written, or whose content is invalid.
    pub fn file(path: impl Into<String>, why: impl Into<String>) -> Error {
        Error::new(Kind::File { path: path.into(), why: why.into() })
    }

    /// Makes the error for a violated invariant.
    pub fn verify(why: impl Into<String>) -> Error {
        Error::new(Kind::Verify { why: why.into() })
    }

    /// Makes the error for a device that is missing, lacks a feature, or was lost.
    pub fn device(name: impl Into<String>, why: impl Into<String>) -> Error {
        Error::new(Kind::Device { name: name.into(), why: why.into() })
    }

    /// Makes the error for `f64` or `c128` on a device that has only narrower floats.
    pub fn unsupported(device: impl Into<String>, dtype: DType) -> Error {
        let instead = if dtype.is_complex() { DType::C64 } else { DType::F32 };
        Error::new(Kind::Unsupported { device: device.into(), dtype, instead })
    }

    /// Adds the op and its operands, unless an inner op was added before.
    pub fn in_op(mut self, op: &str, operands: &[Aval]) -> Error {
        if self.0.ops.is_empty() {
            self.0.ops.push(op.to_string());
            self.0.operands = operands.to_vec();
        }
        self
    }

    /// Prepends the operation that the user called, unless the error names it as the outermost already, or names no op.
    /// Keeps the operands of the failing op.
    pub fn in_call(mut self, name: &str) -> Error {
        if self.0.ops.first().is_some_and(|op| op != name) {
            self.0.ops.insert(0, name.to_string());
        }
        self
    }

    /// Adds the call for which the failing op was recorded: its name and source location, and its operands unless it
    /// has the same name as the outermost operation so far.
    pub fn of(mut self, origin: &Origin) -> Error {
        self.0.line = origin.line().cloned();
        if self.0.ops.first().is_none_or(|op| op != origin.name()) {
            self.0.ops.insert(0, origin.name().to_string());
            self.0.operands = origin.operands().to_vec();
        }
        self.at(origin.location())
    }

    /// Adds the iteration, counted from 0, of a loop around the failing op. Loops are added from the inside out.
    pub fn in_iteration(mut self, iteration: usize) -> Error {
        self.0.iterations.push(iteration);
        self
    }

    /// Sets the source location of the caller. Callers set it from the inside out, so the location of the outermost
    /// remains.
    pub fn at(mut self, location: &'static Location<'static>) -> Error {
        self.0.location = Some(location);
        self
    }

    /// Sets the caller's source location unless one is known.
    pub fn or_at(mut self, location: &'static Location<'static>) -> Error {
        self.0.location.get_or_insert(location);
        self
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// Returns the op that failed.
    pub fn op(&self) -> Option<&str> {
        self.0.ops.last().map(String::as_str)
    }

    /// Returns the op that failed, and before it the operations that called it, outermost first.
    pub fn ops(&self) -> &[String] {
        &self.0.ops
    }

    /// Returns the operands' types.
    pub fn operands(&self) -> &[Aval] {
        &self.0.operands
    }

    /// Returns the line in the caller's own language, if that is not Rust and the op was recorded before it
    /// failed.
    pub fn line(&self) -> Option<&Line> {
        self.0.line.as_ref()
    }

    /// Returns the iterations of the loops around the failing op, the innermost loop first.
    pub fn iterations(&self) -> &[usize] {
        &self.0.iterations
    }

    /// Returns the source location of the caller.
    pub fn location(&self) -> Option<&'static Location<'static>> {
        self.0.location
    }
}

impl Error {
    /// Returns the message without source location and line.
    pub fn message(&self) -> String {
        self.text(&RustWords)
    }

    /// Renders the message in the words of a front end, without source location and line.
    pub fn text(&self, words: &dyn Words) -> String {
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        let _ = self.write(words, &mut text);
        text
    }

    fn write(&self, words: &dyn Words, f: &mut dyn fmt::Write) -> fmt::Result {
        for op in &self.0.ops {
            write!(f, "{}: ", words.op(op))?;
        }
        self.0.kind.write(words, f)?;
        if !self.0.operands.is_empty() {
            let list = Message::join(self.0.operands.iter().map(Message::from), ", ");
            f.write_str(" (operands ")?;
            list.write(words, f)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl Kind {
    /// Writes the cause in the words of a front end.
    pub fn write(&self, words: &dyn Words, f: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            Kind::Arity { expected, found } => write!(f, "takes {expected} operands, got {found}"),
            Kind::Shape { what, why } | Kind::Value { what, why } => {
                what.write(words, f)?;
                f.write_str(" ")?;
                why.write(words, f)
            }
            Kind::DType { found, fits } => {
                write!(f, "dtype {} is not accepted; ", words.dtype(*found))?;
                fits.write(words, f)
            }
            Kind::Axis { axis, rank: 0 } => {
                write!(f, "axis {axis} is out of range for a scalar, which has no axes")
            }
            Kind::Axis { axis, rank } => {
                write!(
                    f,
                    "axis {axis} is out of range or repeated for rank {rank}; valid are {}..={}",
                    -(*rank as i64),
                    rank - 1
                )
            }
            Kind::Index { index, extent: 0, .. } => write!(f, "index {index} into an axis of extent 0"),
            Kind::Index { index, extent, from_end } => {
                let least = if *from_end { -(*extent as i64) } else { 0 };
                write!(
                    f,
                    "index {index} is out of range for extent {extent}; valid are {least}..={}",
                    extent - 1
                )
            }
            Kind::Gradient { why } | Kind::Trace { why } => why.write(words, f),
            Kind::Text { line, column, why } => write!(f, "line {line}, column {column}: {why}"),
            Kind::Verify { why } => write!(f, "not well formed: {why}"),
            Kind::File { path, why } => write!(f, "{path}: {why}"),
            Kind::Interrupted => f.write_str("stopped on request"),
            Kind::Device { name, why } => write!(f, "device {name}: {why}"),
            Kind::Memory { bytes } => write!(f, "cannot allocate {bytes} bytes of memory"),
            Kind::Unsupported { device, dtype, instead } => {
                let [dtype, instead] = [*dtype, *instead].map(|d| words.dtype(d));
                write!(
                    f,
                    "device {device} has no {dtype}; convert the tensor to {instead}, or move it to the cpu"
                )
            }
            Kind::Devices { first, second } => {
                write!(f, "operands are on two devices, {first} and {second}; move them to one device")
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&RustWords, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&RustWords, f)?;
        if let Some(Line::Text(line)) = &self.0.line {
            write!(f, "\n  {line}")?;
        } else if let Some(location) = self.0.location {
            write!(f, "\n  at {}:{}:{}", location.file(), location.line(), location.column())?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
