//! The tensor: one handle type for data, a cell, a node of a trace, or a failure.

use crate::cell::Cell;
use crate::data::{Data, Element};
use crate::eager::tape::Edge;
use crate::trace::Traced;
use gradus_ir::{Aval, DType, Error, Literal, Result, Shape, Term, message};
use gradus_mem::Handle;
use std::panic::Location;

/// An n-dimensional array. The handle is cheap to clone, `Send` and `Sync`.
///
/// A tensor is of one of four kinds. *Data* holds elements; a *cell* is a leaf whose value may be swapped. A
/// *node* belongs to a graph being traced; a *failure* stores the first error. Operators and methods work the
/// same on all of them and never panic. A failed operation gives a failed tensor, whose error is returned by
/// the first method that returns a [`Result`]: [`item`](Tensor::item), [`to_vec`](Tensor::to_vec),
/// [`backward`](Tensor::backward), [`check`](Tensor::check), …
#[derive(Clone)]
pub struct Tensor(pub(crate) Handle<Inner>);

pub(crate) enum Inner {
    Data(Data, Option<Edge>),
    Cell(Cell),
    Node(Traced),
    Failed(Error),
}

impl Tensor {
    pub(crate) fn new(inner: Inner) -> Tensor {
        Tensor(Handle::new(inner))
    }

    /// Makes a tensor that is constructed in place.
    #[inline(always)]
    pub(crate) fn with(inner: impl FnOnce() -> Inner) -> Tensor {
        Tensor(Handle::with(inner))
    }

    pub(crate) fn data(data: Data) -> Tensor {
        Tensor::new(Inner::Data(data, None))
    }

    /// Makes a failed tensor.
    pub fn failed(e: Error) -> Tensor {
        Tensor::new(Inner::Failed(e))
    }

    /// Makes a failed tensor at the caller's location. If an operand has failed already, returns that
    /// operand.
    #[track_caller]
    pub(crate) fn refuse(op: &str, ins: &[&Tensor], e: Error) -> Tensor {
        if let Some(failed) = ins.iter().find(|t| t.error().is_some()) {
            return (*failed).clone();
        }
        let avals: Vec<Aval> = ins.iter().filter_map(|t| t.aval()).collect();
        Tensor::failed(e.in_call(op).in_op(op, &avals).at(Location::caller()))
    }

    #[track_caller]
    pub(crate) fn from_result(r: Result<Tensor>) -> Tensor {
        let location = Location::caller();
        r.unwrap_or_else(|e| Tensor::failed(if e.location().is_some() { e } else { e.at(location) }))
    }

    /// Returns the error of a failed tensor.
    pub fn error(&self) -> Option<&Error> {
        if let Inner::Failed(e) = &*self.0 { Some(e) } else { None }
    }

    /// Returns this tensor, or its error.
    pub fn check(&self) -> Result<&Tensor> {
        match self.error() {
            Some(e) => Err(e.clone()),
            None => Ok(self),
        }
    }

    /// Returns dtype and shape; `None` for a failure.
    pub fn aval(&self) -> Option<Aval> {
        match &*self.0 {
            Inner::Data(d, _) => Some(d.aval.clone()),
            Inner::Cell(c) => Some(c.aval()),
            Inner::Node(n) => Some(n.aval.clone()),
            Inner::Failed(_) => None,
        }
    }

    /// Returns the extents; those of a scalar for a failure.
    pub fn shape(&self) -> Shape {
        match &*self.0 {
            Inner::Data(d, _) => d.aval.shape.clone(),
            Inner::Node(n) => n.aval.shape.clone(),
            Inner::Cell(c) => c.aval().shape,
            Inner::Failed(_) => Shape::scalar(),
        }
    }

    /// Returns the dtype; `f32` for a failure.
    pub fn dtype(&self) -> DType {
        match &*self.0 {
            Inner::Data(d, _) => d.aval.dtype,
            Inner::Node(n) => n.aval.dtype,
            Inner::Cell(c) => c.aval().dtype,
            Inner::Failed(_) => DType::F32,
        }
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// Returns the extent of an axis, counted from the end if negative; 0 if there is no such axis.
    pub fn dim(&self, axis: isize) -> usize {
        let shape = self.shape();
        crate::axis::resolve(axis, shape.rank()).map_or(0, |a| shape[a])
    }

    /// Returns the number of elements; 0 for a failure.
    pub fn numel(&self) -> usize {
        self.aval().map_or(0, |a| a.shape.numel())
    }

    /// Returns true if this is part of a graph being traced.
    pub fn is_traced(&self) -> bool {
        matches!(&*self.0, Inner::Node(_))
    }

    /// Returns true if both are the same tensor or cell, not only equal.
    pub fn is_same(&self, other: &Tensor) -> bool {
        match (self.as_cell(), other.as_cell()) {
            (Some(a), Some(b)) => a.is_same(b),
            _ => self.0.ptr_eq(&other.0),
        }
    }

    /// Returns true if the elements are in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        match &*self.0 {
            Inner::Data(d, _) => d.strides.is_none(),
            Inner::Cell(c) => c.value().is_contiguous(),
            _ => true,
        }
    }

    /// Returns true if both use the same storage.
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        match (self.concrete(), other.concrete()) {
            (Ok(a), Ok(b)) => a.storage.ptr_eq(&b.storage),
            _ => false,
        }
    }

    /// Returns the data of a data tensor or a cell.
    pub(crate) fn concrete(&self) -> Result<Data> {
        match &*self.0 {
            Inner::Data(d, _) => Ok(d.clone()),
            Inner::Cell(c) => c.value().concrete(),
            Inner::Failed(e) => Err(e.clone()),
            Inner::Node(n) => Err(Error::trace(message!(
                "a traced value (",
                &n.aval,
                ") has no elements while the function is being traced; return it, or use ",
                Term::Select,
                " or `cond` instead of branching on it"
            ))),
        }
    }

    /// Returns the data, if this is a data tensor.
    pub(crate) fn as_data(&self) -> Option<&Data> {
        if let Inner::Data(d, _) = &*self.0 { Some(d) } else { None }
    }

    /// Calls `f` with the data of a data tensor or a cell. Returns `None` for a cell inside a trace, which would
    /// capture it.
    #[inline(always)]
    pub(crate) fn with_data<R>(&self, f: impl FnOnce(&Data) -> Option<R>) -> Option<R> {
        match &*self.0 {
            Inner::Data(d, _) => f(d),
            Inner::Cell(c) if !crate::trace::is_tracing() => f(c.value().as_data()?),
            _ => None,
        }
    }

    /// Calls `f` with the data as `with_data` does, but without cloning a cell's value. `f` must not read
    /// another cell.
    #[inline(always)]
    pub(crate) fn with_data_locked<R>(&self, f: impl FnOnce(&Data) -> Option<R>) -> Option<R> {
        match &*self.0 {
            Inner::Data(d, _) => f(d),
            Inner::Cell(c) if !crate::trace::is_tracing() => c.with_value(f),
            _ => None,
        }
    }

    /// Copies the elements in row-major order.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let location = Location::caller();
        self.concrete().and_then(|d| d.to_vec()).map_err(|e| e.or_at(location))
    }

    /// Returns the element of a tensor of one element.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        let location = Location::caller();
        let one = || {
            let data = self.concrete()?;
            if data.aval.shape.numel() != 1 {
                return Err(Error::value(message!("item of ", &data.aval), "needs exactly one element"));
            }
            Ok(data.to_vec()?[0])
        };
        one().map_err(|e| e.or_at(location))
    }

    /// Copies the elements to a literal.
    #[track_caller]
    pub fn to_literal(&self) -> Result<Literal> {
        let location = Location::caller();
        self.concrete().and_then(|d| d.literal()).map_err(|e| e.or_at(location))
    }

    /// Makes a tensor from a literal, rounded to its dtype.
    #[track_caller]
    pub fn from_literal(l: &Literal) -> Tensor {
        Tensor::from_result(Data::from_literal(l).map(Tensor::data))
    }
}
