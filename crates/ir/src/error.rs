//! What can go wrong, as data: the op, its operands, the place in the caller's source, and what would fit.

use crate::graph::Origin;
use crate::{Aval, DType};
use std::fmt;
use std::panic::Location;

/// Result of anything fallible in Gradus.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, with the op and operands it happened to and the caller's place once they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: Kind,
    op: Option<String>,
    operands: Vec<Aval>,
    place: Option<&'static Location<'static>>,
    line: Option<String>,
}

/// The kinds of error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Wrong number of operands.
    Arity {
        /// How many the op takes.
        expected: usize,
        /// How many it was given.
        found: usize,
    },
    /// Extents that do not fit.
    Shape {
        /// The thing that does not fit.
        what: String,
        /// Why, and what would.
        why: String,
    },
    /// A dtype the op does not take.
    DType {
        /// The dtype given.
        found: DType,
        /// What would fit.
        fits: String,
    },
    /// An axis beyond the rank, or named twice.
    Axis {
        /// The axis asked for.
        axis: i64,
        /// The rank of the operand.
        rank: usize,
    },
    /// An index beyond the extent.
    Index {
        /// The index asked for.
        index: i64,
        /// The extent of the axis.
        extent: usize,
        /// Whether negative indices count from the end there.
        from_end: bool,
    },
    /// An argument that is out of its range.
    Value {
        /// The argument.
        what: String,
        /// Why it is refused, and what would fit.
        why: String,
    },
    /// Something that has no derivative, or a backward pass that cannot run.
    Gradient {
        /// Why.
        why: String,
    },
    /// Something that cannot happen while tracing, or outside of it.
    Trace {
        /// Why.
        why: String,
    },
    /// Graph text that does not parse.
    Text {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What was expected or found.
        why: String,
    },
    /// A graph that breaks an invariant.
    Verify {
        /// Which one, and where.
        why: String,
    },
    /// A file that cannot be read or written, or does not hold what it should.
    File {
        /// Its path.
        path: String,
        /// Why.
        why: String,
    },
    /// A run that was stopped because its starter asked for it.
    Interrupted,
    /// Memory that could not be had.
    Memory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// A device that is not there, does not support something, or was lost.
    Device {
        /// Its name.
        name: String,
        /// What is wrong, and what would help.
        why: String,
    },
}

impl Error {
    /// An error of this kind.
    pub fn new(kind: Kind) -> Error {
        Error(Box::new(Inner { kind, op: None, operands: Vec::new(), place: None, line: None }))
    }

    /// Extents that do not fit.
    pub fn shape(what: impl Into<String>, why: impl Into<String>) -> Error {
        Error::new(Kind::Shape { what: what.into(), why: why.into() })
    }

    /// A dtype the op does not take.
    pub fn dtype(found: DType, fits: impl Into<String>) -> Error {
        Error::new(Kind::DType { found, fits: fits.into() })
    }

    /// An index beyond the extent, or one that says itself which extent it left ([`out_of_range_marker`](crate::ops::index::out_of_range_marker)).
    pub fn index(index: i64, extent: usize) -> Error {
        let (index, extent) = crate::ops::index::said(index).unwrap_or((index, extent));
        Error::new(Kind::Index { index, extent, from_end: false })
    }

    /// An argument out of range.
    pub fn value(what: impl Into<String>, why: impl Into<String>) -> Error {
        Error::new(Kind::Value { what: what.into(), why: why.into() })
    }

    /// Something without a derivative.
    pub fn gradient(why: impl Into<String>) -> Error {
        Error::new(Kind::Gradient { why: why.into() })
    }

    /// Something that cannot be traced.
    pub fn trace(why: impl Into<String>) -> Error {
        Error::new(Kind::Trace { why: why.into() })
    }

    /// A file that cannot be used.
    pub fn file(path: impl Into<String>, why: impl Into<String>) -> Error {
        Error::new(Kind::File { path: path.into(), why: why.into() })
    }

    /// A broken invariant.
    pub fn verify(why: impl Into<String>) -> Error {
        Error::new(Kind::Verify { why: why.into() })
    }

    /// A device that is not there, does not support something, or was lost.
    pub fn device(name: impl Into<String>, why: impl Into<String>) -> Error {
        Error::new(Kind::Device { name: name.into(), why: why.into() })
    }

    /// Remembers the op and its operands, unless an inner op has been named already.
    pub fn in_op(mut self, op: &str, operands: &[Aval]) -> Error {
        if self.0.op.is_none() {
            self.0.op = Some(op.to_string());
            self.0.operands = operands.to_vec();
        }
        self
    }

    /// Names the operation the user called, keeping the operands of the op inside that failed.
    pub fn called(mut self, name: &str) -> Error {
        if let Some(inner) = &self.0.op
            && inner != name
        {
            self.0.op = Some(format!("{name}: {inner}"));
        }
        self
    }

    /// Names the call that the failing op comes from, what that was called on, and its line.
    pub fn of(mut self, origin: &Origin) -> Error {
        self.0.line = origin.line().map(str::to_string);
        if self.op() != Some(origin.name()) {
            self.0.operands = origin.operands().to_vec();
        }
        self.called(origin.name()).at(origin.place())
    }

    /// Sets the caller's place: called from the inside out, so that the outermost caller stays.
    pub fn at(mut self, place: &'static Location<'static>) -> Error {
        self.0.place = Some(place);
        self
    }

    /// Sets the caller's place unless one is known.
    pub fn or_at(mut self, place: &'static Location<'static>) -> Error {
        self.0.place.get_or_insert(place);
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// The op that failed.
    pub fn op(&self) -> Option<&str> {
        self.0.op.as_deref()
    }

    /// The operands' types.
    pub fn operands(&self) -> &[Aval] {
        &self.0.operands
    }

    /// The line in the caller's own language, where that is not Rust and the op was recorded before it failed.
    pub fn line(&self) -> Option<&str> {
        self.0.line.as_deref()
    }

    /// The caller's file and line.
    pub fn place(&self) -> Option<&'static Location<'static>> {
        self.0.place
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Arity { expected, found } => write!(f, "takes {expected} operands, was given {found}"),
            Kind::Shape { what, why } => write!(f, "{what} {why}"),
            Kind::DType { found, fits } => write!(f, "dtype {found} does not fit; {fits}"),
            Kind::Axis { axis, rank: 0 } => write!(f, "axis {axis} of a scalar, which has no axes"),
            Kind::Axis { axis, rank } => {
                write!(
                    f,
                    "axis {axis} is out of range or repeated for rank {rank}; {}..={} fit",
                    -(*rank as i64),
                    rank - 1
                )
            }
            Kind::Index { index, extent: 0, .. } => write!(f, "index {index} into an axis of extent 0"),
            Kind::Index { index, extent, from_end } => {
                let least = if *from_end { -(*extent as i64) } else { 0 };
                write!(f, "index {index} is out of range for extent {extent}; {least}..={} fit", extent - 1)
            }
            Kind::Value { what, why } => write!(f, "{what} {why}"),
            Kind::Gradient { why } | Kind::Trace { why } => f.write_str(why),
            Kind::Text { line, column, why } => write!(f, "line {line}, column {column}: {why}"),
            Kind::Verify { why } => write!(f, "not well formed: {why}"),
            Kind::File { path, why } => write!(f, "{path}: {why}"),
            Kind::Interrupted => f.write_str("stopped on request"),
            Kind::Device { name, why } => write!(f, "device {name}: {why}"),
            Kind::Memory { bytes } => write!(f, "{bytes} bytes of memory could not be had"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(op) = &self.0.op {
            write!(f, "{op}: ")?;
        }
        write!(f, "{}", self.0.kind)?;
        if !self.0.operands.is_empty() {
            let operands: Vec<String> = self.0.operands.iter().map(|a| a.to_string()).collect();
            write!(f, " (operands {})", operands.join(", "))?;
        }
        if let Some(line) = &self.0.line {
            write!(f, "\n  {line}")?;
        } else if let Some(place) = self.0.place {
            write!(f, "\n  at {}:{}:{}", place.file(), place.line(), place.column())?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
