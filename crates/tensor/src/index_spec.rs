//! Indices as users write them: integers, ranges with steps, new axes, masks and integer tensors.
//! Rust values convert to [`Ix`]; [`complete`] expands them to one entry per axis. `index.rs` applies them.

use crate::tensor::Tensor;
use gradus_ir::{DType, Error, Result, Shape, Term, message};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// One entry of an index.
#[derive(Clone)]
pub enum Ix {
    /// One element; the axis is removed. A negative number counts from the end.
    At(isize),
    /// A range with a step. A missing bound extends to the end of the axis, a negative one counts from the
    /// end.
    Range(Option<isize>, Option<isize>, isize),
    /// A new axis of extent 1.
    New,
    /// All elements of the axes that no other entry indexes.
    Rest,
    /// The elements where the mask is true (eager only: the extent depends on the data).
    Mask(Tensor),
    /// The elements at these integers.
    Ids(Tensor),
}

/// Sets the step of a range: `step(.., -1)` reverses an axis.
pub fn step(range: impl Into<Ix>, by: isize) -> Ix {
    match range.into() {
        Ix::Range(a, b, _) => Ix::Range(a, b, by),
        other => other,
    }
}

/// Inserts a new axis at its position in an index.
pub const NEW: Ix = Ix::New;
/// Selects all remaining axes in an index.
pub const REST: Ix = Ix::Rest;

/// Converts an unsigned index. One that is too large stays out of range instead of counting from the end.
fn signed(i: usize) -> isize {
    isize::try_from(i).unwrap_or(isize::MAX)
}

fn wide(i: i32) -> isize {
    i as isize
}

fn from_i64(i: i64) -> isize {
    isize::try_from(i).unwrap_or(if i < 0 { isize::MIN } else { isize::MAX })
}

macro_rules! integers {
    ($($t:ty: $signed:expr),*) => {$(
        impl From<$t> for Ix {
            fn from(i: $t) -> Ix { Ix::At($signed(i)) }
        }
        impl From<Range<$t>> for Ix {
            fn from(r: Range<$t>) -> Ix { Ix::Range(Some($signed(r.start)), Some($signed(r.end)), 1) }
        }
        impl From<RangeFrom<$t>> for Ix {
            fn from(r: RangeFrom<$t>) -> Ix { Ix::Range(Some($signed(r.start)), None, 1) }
        }
        impl From<RangeTo<$t>> for Ix {
            fn from(r: RangeTo<$t>) -> Ix { Ix::Range(None, Some($signed(r.end)), 1) }
        }
        impl From<RangeInclusive<$t>> for Ix {
            fn from(r: RangeInclusive<$t>) -> Ix { Ix::through(Some($signed(*r.start())), $signed(*r.end())) }
        }
        impl From<RangeToInclusive<$t>> for Ix {
            fn from(r: RangeToInclusive<$t>) -> Ix { Ix::through(None, $signed(r.end)) }
        }
    )*};
}
integers!(isize: std::convert::identity, usize: signed, i32: wide, i64: from_i64);

impl Ix {
    /// Makes a range that includes `last`. If `last` is -1, the last element, the range has no upper bound.
    fn through(first: Option<isize>, last: isize) -> Ix {
        Ix::Range(first, if last == -1 { None } else { Some(last.saturating_add(1)) }, 1)
    }
}

impl From<RangeFull> for Ix {
    fn from(_: RangeFull) -> Ix {
        Ix::Range(None, None, 1)
    }
}

impl From<&Tensor> for Ix {
    fn from(t: &Tensor) -> Ix {
        if t.dtype() == DType::Bool { Ix::Mask(t.clone()) } else { Ix::Ids(t.clone()) }
    }
}

/// An index: one entry, or a tuple of entries.
pub trait Index {
    /// Returns the entries as a list.
    fn entries(self) -> Vec<Ix>;
}

impl<T: Into<Ix>> Index for T {
    fn entries(self) -> Vec<Ix> {
        vec![self.into()]
    }
}

impl Index for Vec<Ix> {
    fn entries(self) -> Vec<Ix> {
        self
    }
}

macro_rules! tuples {
    ($(($($t:ident $i:tt),+))*) => {$(
        impl<$($t: Into<Ix>),+> Index for ($($t,)+) {
            fn entries(self) -> Vec<Ix> { vec![$(self.$i.into()),+] }
        }
    )*};
}
tuples! { (A 0) (A 0, B 1) (A 0, B 1, D 2) (A 0, B 1, D 2, E 3) (A 0, B 1, D 2, E 3, F 4) (A 0, B 1, D 2, E 3, F 4, G 5) }

/// Returns an index counted from the front; a negative one counts from the end.
pub(crate) fn from_front(i: isize, extent: usize) -> isize {
    if i < 0 { i + extent as isize } else { i }
}

/// Returns the first index, the end (ascending), the step, and whether to reverse.
pub(crate) fn bounds(
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
    n: usize,
) -> Result<(usize, usize, usize, bool)> {
    if step == 0 {
        return Err(Error::value("step", "must not be 0"));
    }
    let clamp = |i: isize, low: isize, high: isize| from_front(i, n).clamp(low, high);
    let last = n as isize - 1;
    let by = step.unsigned_abs().min(n.max(1));
    if step > 0 {
        let a = start.map_or(0, |i| clamp(i, 0, n as isize)) as usize;
        let b = stop.map_or(n, |i| clamp(i, 0, n as isize) as usize).max(a);
        return Ok((a, b, by, false));
    }
    // Selects the same elements in ascending order, then reverses them.
    let a = start.map_or(last, |i| clamp(i, -1, last));
    let b = stop.map_or(-1, |i| clamp(i, -1, last));
    let count = if a > b { (a - b) as usize } else { 0 }.div_ceil(by);
    if count == 0 {
        return Ok((0, 0, 1, false));
    }
    Ok(((a - (count as isize - 1) * by as isize) as usize, a as usize + 1, by, true))
}

/// Expands `Rest`, converts masks to integers, and checks that there are not more entries than axes.
pub(crate) fn complete(entries: Vec<Ix>, shape: &Shape) -> Result<Vec<Ix>> {
    let takes = |ix: &Ix| match ix {
        Ix::New | Ix::Rest => 0,
        Ix::Mask(m) => m.rank(),
        _ => 1,
    };
    let used: usize = entries.iter().map(takes).sum();
    let rests = entries.iter().filter(|p| matches!(p, Ix::Rest)).count();
    let Some(left) = shape.rank().checked_sub(used).filter(|_| rests <= 1) else {
        let why =
            message!("has ", used, " entries for ", shape.rank(), " axes (and at most one ", Term::Rest, ")");
        return Err(Error::shape("the index", why));
    };
    let whole = || std::iter::repeat_n(Ix::Range(None, None, 1), left);
    let mut out = Vec::new();
    for entry in entries {
        match entry {
            Ix::Rest => out.extend(whole()),
            Ix::Mask(m) => {
                if m.rank() == 0 {
                    return Err(Error::shape("a scalar mask", "has no axis to select along"));
                }
                let axis = out.iter().filter(|p| !matches!(p, Ix::New)).count();
                if m.shape()[..] != shape[axis..(axis + m.rank()).min(shape.rank())] {
                    let why = format!("must equal the extents of {shape} from axis {axis} on");
                    return Err(Error::shape(format!("mask {}", m.shape()), why));
                }
                out.extend(m.nonzero_by_axis().map_err(|e| e.in_call("nonzero"))?.into_iter().map(Ix::Ids));
            }
            other => out.push(other),
        }
    }
    if rests == 0 {
        out.extend(whole());
    }
    Ok(out)
}
