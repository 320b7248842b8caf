//! Tensors whose axes have names: the values of expressions. Axes are matched by name, never by position.

use super::Positions;
use crate::builtin::written::{Number, Written};
use crate::syntax::ast::{Name, Projection};
use crate::syntax::limit::{MAX_WORK, bounded, fits};
use gradus_ir::{Class, DType, Error, Result};
use gradus_tensor::Tensor;

/// A tensor with a name for every axis; names are distinct.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) tensor: Tensor,
    pub(crate) axes: Vec<Name>,
    /// For values without a fixed dtype: their literal numbers, which take the dtype of the other operands.
    pub(crate) written: Option<Written>,
    /// The positions that a term writes to, if its left side has index arithmetic or computed indices.
    pub(crate) writes: Option<Box<Writes>>,
}

/// The positions that a term writes to.
#[derive(Clone, Debug)]
pub(crate) struct Writes {
    /// Entries of the left side, by number, with their positions.
    pub(crate) at: Vec<(usize, Positions)>,
    /// For a mean: the number of elements; the term is their sum.
    pub(crate) count: Option<Named>,
}

impl Named {
    pub(crate) fn new(tensor: Tensor, axes: Vec<Name>) -> Named {
        Named { tensor, axes, written: None, writes: None }
    }

    /// Makes the value of a literal number.
    pub(crate) fn scalar(x: f64, dtype: DType) -> Named {
        let one = gradus_ir::Literal::scalar(dtype, x);
        Named { written: Some(Written::One(x.into())), ..Named::new(Tensor::from_literal(&one), Vec::new()) }
    }

    /// Integers without a fixed dtype; they are floats unless other operands decide.
    pub(crate) fn whole(numbers: &Tensor, axes: Vec<Name>, float: DType) -> Named {
        let written = Some(Written::Whole(numbers.to_dtype(DType::I64)));
        Named { written, ..Named::new(numbers.to_dtype(float), axes) }
    }

    /// Returns the same axes with another tensor.
    pub(crate) fn with(&self, tensor: Tensor) -> Named {
        Named::new(tensor, self.axes.clone())
    }

    /// Returns the number, if the value is a literal.
    pub(crate) fn literal(&self) -> Option<Number> {
        if let Some(Written::One(x)) = &self.written { Some(*x) } else { None }
    }

    /// Literals with all their digits; other values unchanged.
    pub(crate) fn exact(&self) -> Named {
        self.written.as_ref().map_or_else(|| self.clone(), |w| self.with(w.exact()))
    }

    /// Integers without a fixed dtype, as `i64`; other values unchanged.
    pub(crate) fn in_full(self) -> Named {
        if !self.is_whole_literal() {
            return self;
        }
        let tensor = self.exact().tensor.to_dtype(DType::I64);
        Named { tensor, ..self }
    }

    /// Marks a value computed from `of`: if none of these has a fixed dtype, neither has the result. Its integers are
    /// then `whole` of the operands as integers.
    pub(crate) fn of_no_kind(self, of: &[Named], whole: impl FnOnce(&[Named]) -> Option<Named>) -> Named {
        if !of.iter().all(Named::is_open) || self.tensor.dtype().class() != Class::Float {
            return self;
        }
        let full = |n: &Named| n.number(DType::F64).in_full();
        let full: Vec<Named> = of.iter().map(|n| Named { written: None, ..full(n) }).collect();
        let found = whole(&full).filter(|n| n.tensor.dtype() == DType::I64);
        Named { written: found.map(|n| Written::Whole(n.aligned(&self.axes))), ..self }
    }

    /// Converts to a dtype; integers wrap.
    fn held(&self, dtype: DType) -> Named {
        if self.tensor.dtype() == dtype {
            return self.clone();
        }
        if self.tensor.dtype() == DType::Bool && dtype.class() == Class::Float {
            return self.number(dtype);
        }
        let whole = dtype.class() == Class::Int;
        let exact = self.exact().tensor;
        self.with(if whole { exact.to_dtype(DType::I64).to_dtype(dtype) } else { exact.to_dtype(dtype) })
    }

    /// Returns true for integers without a fixed dtype.
    pub(crate) fn is_whole_literal(&self) -> bool {
        self.written.as_ref().is_some_and(Written::is_whole)
    }

    /// Returns true if the value takes the dtype of any other operand: integer literals and booleans do.
    pub(crate) fn is_open(&self) -> bool {
        self.tensor.dtype() == DType::Bool || self.is_whole_literal()
    }

    /// Returns true if the dtype is fixed: literals and booleans take the dtype of other operands.
    fn is_of_a_kind(&self) -> bool {
        self.written.is_none() && self.tensor.dtype() != DType::Bool
    }

    pub(crate) fn position(&self, axis: &str) -> Option<usize> {
        self.axes.iter().position(|a| **a == *axis)
    }

    pub(crate) fn size(&self, axis: &str) -> Option<usize> {
        self.position(axis).map(|p| self.tensor.dim(p as isize))
    }

    /// Returns the size of an axis of the positions that the term writes to.
    pub(crate) fn size_of_positions(&self, axis: &str) -> Option<usize> {
        self.writes.iter().flat_map(|w| &w.at).find_map(|(_, at)| at.at.size(axis))
    }

    /// Converts booleans and integers to floats of this dtype; floats are unchanged.
    pub(crate) fn float(&self, dtype: DType) -> Named {
        if self.tensor.dtype().class() >= Class::Float { self.clone() } else { self.held(dtype) }
    }

    /// Converts booleans to 0 and 1 without a fixed dtype; numbers are unchanged.
    pub(crate) fn number(&self, float: DType) -> Named {
        if self.tensor.dtype() != DType::Bool {
            return self.clone();
        }
        Named::whole(&self.tensor, self.axes.clone(), float)
    }

    /// Converts to booleans: true if not 0.
    pub(crate) fn truth(&self) -> Named {
        self.with(self.tensor.to_dtype(DType::Bool))
    }

    /// Returns the tensor with exactly these axes in this order; missing ones have extent 1.
    pub(crate) fn aligned(&self, axes: &[Name]) -> Tensor {
        let order: Vec<isize> = axes.iter().filter_map(|a| self.position(a)).map(|p| p as isize).collect();
        let in_order = order.iter().enumerate().all(|(i, p)| i as isize == *p);
        let mut out = if in_order { self.tensor.clone() } else { self.tensor.permute(order) };
        for (i, axis) in axes.iter().enumerate() {
            if self.position(axis).is_none() {
                out = out.unsqueeze(i as isize);
            }
        }
        out
    }

    /// Reduces all axes that are not in `keep`.
    pub(crate) fn projected(&self, keep: &[Name], how: Projection) -> Named {
        let gone = |(_, a): &(usize, &Name)| !keep.contains(a);
        let gone: Vec<isize> = self.axes.iter().enumerate().filter(gone).map(|(i, _)| i as isize).collect();
        if gone.is_empty() {
            return self.clone();
        }
        // A reduction of integers without a fixed dtype has none either, except for a mean.
        let whole = self.written.as_ref().filter(|w| w.is_whole() && how != Projection::Avg);
        let written = whole.map(|w| Written::Whole(reduced(&w.exact().to_dtype(DType::I64), &gone, how)));
        let axes = self.axes.iter().filter(|a| keep.contains(a)).cloned().collect();
        Named { written, ..Named::new(reduced(&self.tensor, &gone, how), axes) }
    }

    /// Returns the first element.
    pub(crate) fn first(&self) -> Named {
        Named::new(self.tensor.reshape([-1]).narrow(0, 0, 1).reshape(&[] as &[usize]), Vec::new())
    }

    /// Replaces two axes with the same name by their diagonal.
    pub(crate) fn diagonal(mut self) -> Named {
        while let Some(j) = (1..self.axes.len()).find(|j| self.axes[..*j].contains(&self.axes[*j])) {
            let name = self.axes[j].clone();
            let i = self.axes.iter().position(|a| *a == name).unwrap_or(0);
            self.tensor = self.tensor.diagonal(0, i as isize, j as isize);
            self.axes.remove(j);
            // The diagonal is the last axis; it is moved to the first position of its name.
            let last = self.axes.len() as isize - 1;
            self.tensor = self.tensor.movedim(last, i as isize);
        }
        self
    }
}

/// Reduces a tensor over axes.
pub(crate) fn reduced(t: &Tensor, axes: &[isize], how: Projection) -> Tensor {
    let axes = axes.to_vec();
    match how {
        Projection::Sum => t.sum(axes),
        Projection::Max => t.max(axes),
        Projection::Min => t.min(axes),
        Projection::Avg => t.mean(axes),
        Projection::Prod => t.prod(axes),
    }
}

/// Combines two contributions to one element under a reduction.
pub(crate) fn combined(how: Projection, a: &Tensor, b: &Tensor) -> Tensor {
    match how {
        Projection::Sum if a.dtype() == DType::Bool => a.logical_or(b),
        Projection::Sum => a + b,
        // At most one of them is a mean of something; the other is NaN.
        Projection::Avg => a.eq(a).select(a, b),
        Projection::Max => a.maximum(b),
        Projection::Min => a.minimum(b),
        Projection::Prod => a * b,
    }
}

/// Returns the value of elements without contributions: that of the empty reduction, converted to the dtype.
pub(crate) fn identity(how: Projection, dtype: DType, shape: &[usize]) -> Tensor {
    Tensor::full(shape.to_vec(), how.of_nothing()).to_dtype(dtype)
}

/// Makes a name for an unnamed axis; not one that a program can write.
pub(crate) fn new_axis(at: usize) -> Name {
    format!("axis {at}").into()
}

/// Returns an error if a call result with unnamed axes is combined with an index it lacks: axes are matched by name.
pub(crate) fn check_meeting(operands: &[Named]) -> Result<()> {
    let nameless = |n: &&Named| n.axes.iter().any(|a| a.contains(' '));
    let Some(call) = operands.iter().find(nameless) else { return Ok(()) };
    let others = union(operands.iter().filter(|o| !nameless(o)));
    let count = call.axes.iter().filter(|a| a.contains(' ')).count();
    match others.iter().find(|a| !call.axes.contains(a)) {
        Some(index) => {
            let what = if count == 1 { "an axis".into() } else { format!("{count} axes") };
            let names = if others.len() == count { others.join(", ") } else { "…".into() };
            let why = format!(
                "returns {what} without a name, which cannot be combined with index `{index}`: give the call its own equation, New[{names}] = …"
            );
            Err(Error::value("a call", why))
        }
        None => Ok(()),
    }
}

/// Returns the axes of all values, in order of appearance.
pub(crate) fn union<'a>(values: impl IntoIterator<Item = &'a Named>) -> Vec<Name> {
    let mut axes: Vec<Name> = Vec::new();
    for v in values {
        for a in &v.axes {
            if !axes.contains(a) {
                axes.push(a.clone());
            }
        }
    }
    axes
}

/// Returns the extents of these axes, as far as some value has them.
fn extents(values: &[Named], axes: &[Name]) -> Vec<usize> {
    axes.iter().filter_map(|a| values.iter().filter_map(|v| v.size(a)).max()).collect()
}

/// Returns the product of all factors, summed over the axes that are not kept, in a cheap order of
/// contractions.
pub(crate) fn contracted(factors: &[Named], keep: &[Name]) -> Result<Named> {
    let all = union(factors);
    check_meeting(factors)?;
    fits(&extents(factors, keep))?;
    let axes: Vec<Name> = keep.iter().filter(|k| all.contains(k)).cloned().collect();
    if let [one] = factors {
        let summed = one.projected(&axes, Projection::Sum);
        return Ok(Named::new(summed.aligned(&axes), axes));
    }
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if all.len() > LETTERS.len() {
        let why =
            format!("has {} different indices, at most {} fit in one product", all.len(), LETTERS.len());
        return Err(Error::value("the product", why));
    }
    let label =
        |a: &Name| all.iter().position(|b| a == b).and_then(|i| LETTERS.get(i..=i)).unwrap_or_default();
    let spelled = |axes: &[Name]| axes.iter().map(label).collect::<String>();
    let terms: Vec<String> = factors.iter().map(|f| spelled(&f.axes)).collect();
    let equation = format!("{}->{}", terms.join(","), spelled(&axes));
    let tensors: Vec<&Tensor> = factors.iter().map(|f| &f.tensor).collect();
    Ok(Named::new(Tensor::einsum_within(&equation, &tensors, MAX_WORK as f64), axes))
}

/// Applies a pointwise function to operands broadcast by name.
pub(crate) fn pointwise(operands: &[Named], f: impl FnOnce(&[&Tensor]) -> Tensor) -> Named {
    let axes = union(operands);
    if let Err(e) = check_meeting(operands) {
        return Named::new(Tensor::failed(e), axes);
    }
    let tensor = bounded(&extents(operands, &axes), || {
        let aligned: Vec<Tensor> = operands.iter().map(|o| o.aligned(&axes)).collect();
        f(&aligned.iter().collect::<Vec<_>>())
    });
    // A loss returns one number.
    let axes = if tensor.rank() == 0 { Vec::new() } else { axes };
    Named::new(tensor, axes)
}

/// Converts operands to a common dtype that holds all of theirs. Literals take it too, except that a literal with a
/// fraction makes integers floats. If no operand has a fixed dtype, the result has the program's float dtype.
pub(crate) fn meeting(values: &[Named], float: DType) -> Vec<Named> {
    let dtype = common(values, float);
    values.iter().map(|v| v.held(dtype)).collect()
}

/// Returns the common dtype of operands.
pub(crate) fn common(values: &[Named], float: DType) -> DType {
    let own = values.iter().filter(|v| v.is_of_a_kind()).map(|v| v.tensor.dtype());
    let own = own.reduce(DType::promote).unwrap_or(float);
    let is_broken = |v: &Named| v.written.as_ref().is_some_and(|w| !w.is_whole());
    if own.class() == Class::Int && values.iter().any(is_broken) { float } else { own }
}
