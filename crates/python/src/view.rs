//! Views of tensors: reading one reads a part of another tensor, and writing one writes that part.

use crate::error::{raise, runtime_error};
use crate::tensor::PyTensor;
use crate::value::{Count, T};
use gradus::{Aval, Axes, DType, Ix, Tensor};
use pyo3::prelude::*;
use std::sync::Arc;

type Pick = Arc<dyn Fn(&Tensor) -> Tensor + Send + Sync>;

/// The relation of a view to the tensor it is a part of.
#[derive(Clone)]
pub(crate) enum View {
    At(Vec<Ix>),
    Reshape(Vec<i64>),
    Permute(Vec<isize>),
    Expand(Vec<usize>),
    /// Elements selected by a function that computes nothing (diagonals, windows, strided access), and a flag
    /// that is true if some may be selected more than once.
    Picked(Pick, bool),
    /// The conjugate transpose.
    Adjoint,
    Real,
    Imag,
    /// Complex numbers as pairs along a last axis, and the inverse.
    Pairs,
    OfPairs,
    /// The same bytes as another type.
    Bytes(Aval),
    /// The same elements, detached from autograd.
    Detached,
    /// A leaf's gradient. It has its own value; writes also go to the leaf while this value is the leaf's
    /// gradient.
    Gradient,
    /// A view of a view.
    Then(Arc<Chain>),
}

/// Two views in sequence. The first may be a chain of any length, so functions must not recurse over it.
pub(crate) struct Chain {
    first: View,
    then: View,
    keeps_elements: bool,
    repeats: bool,
}

impl Drop for Chain {
    fn drop(&mut self) {
        let mut first = std::mem::replace(&mut self.first, View::Real);
        while let View::Then(chain) = first {
            let Ok(mut chain) = Arc::try_unwrap(chain) else { return };
            first = std::mem::replace(&mut chain.first, View::Real);
        }
    }
}

fn pairs(x: &Tensor) -> Tensor {
    Tensor::stack(&[&x.real(), &x.imag()], -1)
}

fn of_pairs(x: &Tensor) -> Tensor {
    let part = |i: isize| x.at(vec![Ix::Rest, Ix::At(i)]);
    part(0).complex(&part(1))
}

fn bytes(x: &Tensor, to: &Aval) -> Tensor {
    match x.detach().to_bytes() {
        Ok(bytes) => Tensor::from_bytes(to, &bytes).to(x.device()),
        Err(e) => Tensor::failed(e),
    }
}

/// Returns the positions of a tensor's elements, in its shape.
pub(crate) fn element_positions(x: &Tensor) -> Tensor {
    Tensor::iota(DType::I64, [x.numel()], 0).reshape(x.shape())
}

/// Returns windows along an axis. A scalar tensor has one window, of at most one element.
fn windows(x: &Tensor, axis: isize, size: usize, step: usize) -> Tensor {
    if x.rank() == 0 && matches!(axis, 0 | -1) && size <= 1 && step > 0 {
        return x.reshape([1usize]).narrow(0, 0, size);
    }
    let (Ok(axes), 0, 1..) = (axis.resolve(x.rank()), size, step) else { return x.unfold(axis, size, step) };
    let a = axes[0];
    // Windows of size 0. There are as many as start within the axis or at its end.
    let mut dims = x.shape().to_vec();
    dims[a] = dims[a] / step + 1;
    dims.push(0);
    x.reshape([-1i64]).narrow(0, 0, 0).reshape(dims)
}

impl View {
    /// Composes this view with a view of its result.
    pub(crate) fn then(&self, how: &View) -> View {
        let keeps_elements = self.keeps_elements() && how.keeps_elements();
        let repeats = self.repeats() || how.repeats();
        View::Then(Arc::new(Chain { first: self.clone(), then: how.clone(), keeps_elements, repeats }))
    }

    /// Returns the views that this one is composed of, in order.
    fn steps(&self) -> Vec<&View> {
        let (mut steps, mut first) = (Vec::new(), self);
        while let View::Then(chain) = first {
            steps.push(&chain.then);
            first = &chain.first;
        }
        steps.push(first);
        steps.reverse();
        steps
    }

    /// Returns true if some elements may be selected more than once.
    pub(crate) fn repeats(&self) -> bool {
        match self {
            View::Expand(_) | View::Picked(_, true) => true,
            View::Then(chain) => chain.repeats,
            _ => false,
        }
    }

    /// Returns the part of a tensor that the view selects.
    pub(crate) fn of(&self, whole: &Tensor) -> Tensor {
        match self {
            View::Then(_) => self.steps().into_iter().fold(whole.clone(), |part, how| how.of(&part)),
            View::At(entries) => whole.at(entries.clone()),
            View::Reshape(dims) => whole.reshape(dims.clone()),
            View::Permute(axes) => whole.permute(axes.clone()),
            View::Expand(shape) => whole.expand(shape.clone()),
            View::Picked(pick, _) => pick(whole),
            View::Adjoint => whole.adjoint(),
            View::Real => whole.real(),
            View::Imag => whole.imag(),
            View::Pairs => pairs(whole),
            View::OfPairs => of_pairs(whole),
            View::Bytes(to) => bytes(whole, to),
            View::Detached => whole.detach(),
            View::Gradient => whole.clone(),
        }
    }

    /// Returns true if elements of the part are elements of the original.
    pub(crate) fn keeps_elements(&self) -> bool {
        if let View::Then(chain) = self {
            return chain.keeps_elements;
        }
        !matches!(
            self,
            View::Adjoint
                | View::Real
                | View::Imag
                | View::Pairs
                | View::OfPairs
                | View::Bytes(_)
                | View::Gradient
        )
    }

    /// Returns a tensor in which the part that the view selects is replaced.
    pub(crate) fn replace_part(&self, whole: &Tensor, part: &Tensor) -> PyResult<Tensor> {
        Ok(match self {
            View::Then(_) => {
                let steps = self.steps();
                let mut wholes = vec![whole.clone()];
                for how in &steps[..steps.len() - 1] {
                    wholes.extend(wholes.last().map(|whole| how.of(whole)));
                }
                let mut part = part.clone();
                for (how, whole) in steps.iter().zip(&wholes).rev() {
                    part = how.replace_part(whole, &part)?;
                }
                part
            }
            View::At(entries) => whole.with_at(entries.clone(), part),
            View::Reshape(_) => part.reshape(whole.shape()),
            View::Permute(axes) => {
                let rank = axes.len() as isize;
                let mut back = vec![0isize; axes.len()];
                for (i, &a) in axes.iter().enumerate() {
                    back[a.rem_euclid(rank) as usize] = i as isize;
                }
                part.permute(back)
            }
            View::Expand(_) => {
                return Err(runtime_error("an expanded tensor must be written element by element"));
            }
            View::Picked(pick, _) => {
                let positions = pick(&element_positions(whole)).reshape([-1i64]);
                let flat = whole.reshape([-1i64]).with_at(vec![Ix::from(&positions)], &part.reshape([-1i64]));
                flat.reshape(whole.shape())
            }
            View::Adjoint => part.adjoint(),
            View::Real if !whole.dtype().is_complex() => part.clone(),
            View::Real => part.complex(&whole.imag()),
            View::Imag => whole.real().complex(part),
            View::Pairs => of_pairs(part),
            View::OfPairs => pairs(part),
            View::Bytes(_) => match whole.aval() {
                Some(own) => bytes(part, &own),
                None => whole.clone(),
            },
            View::Detached => part.detach(),
            View::Gradient => part.clone(),
        })
    }
}

#[pymethods]
impl PyTensor {
    /// The diagonals of two axes.
    #[doc = example!(diagonal)]
    #[pyo3(signature = (offset=0, dim1=0, dim2=1))]
    fn diagonal(slf: &Bound<'_, PyTensor>, offset: isize, dim1: isize, dim2: isize) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::Picked(Arc::new(move |x| x.diagonal(offset, dim1, dim2)), false))
    }

    /// Windows along an axis, as a new last axis.
    #[doc = example!(unfold)]
    fn unfold(slf: &Bound<'_, PyTensor>, dimension: isize, size: Count, step: Count) -> PyResult<PyTensor> {
        let (size, step) = (size.0, step.0);
        PyTensor::part_of(
            slf,
            View::Picked(Arc::new(move |x| windows(x, dimension, size, step)), step < size),
        )
    }

    /// The conjugate transpose of matrices.
    #[doc = example!(adjoint)]
    fn adjoint(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::Adjoint)
    }

    /// The conjugate transpose of a matrix.
    #[getter]
    #[allow(non_snake_case)]
    fn H(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::Adjoint)
    }

    /// The real parts.
    #[getter]
    fn real(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::Real)
    }

    /// The imaginary parts.
    #[getter]
    fn imag(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        if !slf.get().dtype_now(slf.py())?.is_complex() {
            return Err(runtime_error("imag is not implemented for tensors with non-complex dtypes."));
        }
        PyTensor::part_of(slf, View::Imag)
    }

    #[setter]
    fn set_real(slf: &Bound<'_, PyTensor>, value: T) -> PyResult<()> {
        let part = PyTensor::real(slf)?;
        let shape = part.value(slf.py())?.shape();
        part.write(slf.py(), value.0.expand(shape))
    }

    #[setter]
    fn set_imag(slf: &Bound<'_, PyTensor>, value: T) -> PyResult<()> {
        let part = PyTensor::imag(slf)?;
        let shape = part.value(slf.py())?.shape();
        part.write(slf.py(), value.0.expand(shape))
    }

    /// Complex numbers as pairs along a new last axis.
    fn _pairs(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::Pairs)
    }

    /// Pairs along the last axis as complex numbers.
    fn _of_pairs(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
        PyTensor::part_of(slf, View::OfPairs)
    }

    /// The offset of the view's first element in its memory, in elements.
    #[doc = example!(storage_offset)]
    pub(crate) fn storage_offset(slf: &Bound<'_, PyTensor>) -> PyResult<i64> {
        let (_, positions) = PyTensor::root(slf)?;
        if positions.numel() == 0 || positions.is_traced() {
            return Ok(0);
        }
        Ok(raise(positions.to_vec::<i64>())?[0])
    }

    /// The elements at these strides in the memory of the tensor that this is a view of.
    #[doc = example!(as_strided)]
    #[pyo3(signature = (size, stride, storage_offset=None))]
    fn as_strided(
        slf: &Bound<'_, PyTensor>,
        size: Vec<usize>,
        stride: Vec<i64>,
        storage_offset: Option<i64>,
    ) -> PyResult<PyTensor> {
        if size.len() != stride.len() {
            return Err(runtime_error("mismatch in length of strides and shape"));
        }
        let (root, _) = PyTensor::root(slf)?;
        let (offset, count) = match storage_offset {
            Some(offset) => (offset, root.get().value(slf.py())?.numel() as i64),
            None => (PyTensor::storage_offset(slf)?, root.get().value(slf.py())?.numel() as i64),
        };
        // The extreme positions are computed without listing all, which may exceed memory.
        let total = size.iter().try_fold(1usize, |all, &n| all.checked_mul(n));
        let reach = |negative: bool| {
            let along = size.iter().zip(&stride).filter(|(_, s)| (**s < 0) == negative);
            along.map(|(&n, &s)| n.saturating_sub(1) as i128 * s as i128).sum::<i128>() + offset as i128
        };
        let inside = 0..count as i128;
        if total != Some(0) && !(inside.contains(&reach(true)) && inside.contains(&reach(false))) {
            return Err(runtime_error(format!(
                "setStorage: sizes {size:?}, strides {stride:?}, storage offset {offset} are out of bounds for storage of \
                 {count} elements"
            )));
        }
        raise(gradus::ir::size::check_bytes(total.unwrap_or(usize::MAX).saturating_mul(32)))?;
        let mut positions = vec![offset];
        for (&n, &step) in size.iter().zip(&stride) {
            let along = |&p: &i64| (0..n as i64).map(move |i| p + i * step).collect::<Vec<_>>();
            positions = positions.iter().flat_map(along).collect();
        }
        let different = positions.iter().collect::<std::collections::HashSet<_>>().len();
        let repeats = different < positions.len();
        let positions = gradus::outside_traces(|| Tensor::from(positions).reshape(size));
        let pick = move |x: &Tensor| x.reshape([-1i64]).at(vec![Ix::from(&positions)]);
        PyTensor::part_of(&root, View::Picked(Arc::new(pick), repeats))
    }
}
