//! Replaces parts of tensors: in a copy (`with_at`), in a cell (`assign_`), or in place through a [`Patch`].
//! Takes an index and a value that broadcasts to the indexed part; returns a new tensor, or writes into
//! unshared memory.
//! `index_spec.rs` parses indices, `index.rs` reads parts.

use crate::arg::Arg;
use crate::data::Data;
use crate::eager::apply::apply1;
use crate::eager::tape;
use crate::index::BasicIndex;
use crate::index_spec::{Index, Ix, complete};
use crate::tensor::{Inner, Tensor};
use crate::trace;
use gradus_ir::ops::index::Scatter;
use gradus_ir::reference::Offsets;
use gradus_ir::{Aval, C, DType, Error, Result, Shape, message};
use gradus_mem::{Pod, Storage};

/// Largest tensor, in elements, for which an index that mixes masks or integers with other entries is resolved by
/// indexing a tensor of offsets.
const MAX_SCANNED: usize = 4096;

/// Target offsets of the elements of a patch.
enum Destination {
    /// One block: its strides, and the offset of its first element.
    Strided(Vec<i64>, i64),
    /// Contiguous runs of one shape, each with its own start offset.
    Runs(Vec<i64>, Shape),
}

/// Elements and their target offsets in tensors of one type. All offsets are computed in advance, so that
/// writing is short and takes no lock.
pub struct Patch {
    /// Type of the target.
    target: Aval,
    /// Offset of the target's first element.
    offset: usize,
    /// Shape of the part that is replaced.
    shape: Shape,
    destination: Destination,
    value: Data,
    /// Strides of `value` along the axes of `shape`; 0 where it broadcasts.
    value_strides: Vec<i64>,
}

impl Tensor {
    /// Returns a copy with the part at an index replaced by `value`, which broadcasts. Works on every tensor;
    /// [`assign_`](Tensor::assign_) swaps the value of a cell.
    #[track_caller]
    pub fn with_at<'a>(&self, index: impl Index, value: impl Into<Arg<'a>>) -> Tensor {
        if self.error().is_some() {
            return self.clone();
        }
        let entries = index.entries();
        let value = match value.into() {
            Arg::Tensor(t) => t.clone(),
            Arg::Number(n) => Tensor::from_literal(&n.literal(n.dtype_with(self.dtype()))),
        };
        if let Some(mut copy) = self.copy_to_write()
            && copy.patch_at(&entries, &value, usize::MAX).is_some_and(|patch| patch.write(&mut copy))
        {
            return copy;
        }
        let shape = self.shape();
        let all = {
            let _back = self.device().enter();
            Tensor::iota(DType::I64, [shape.numel()], 0)
        };
        let positions = all.reshape(&shape).at(entries);
        if positions.error().is_some() {
            return positions;
        }
        if value.dtype().is_complex() && !self.dtype().is_complex() {
            let why = message!(
                "cannot be assigned into ",
                self.dtype(),
                "; take its `real` part or its `abs` value"
            );
            return Tensor::refuse("with_at", &[self, &value], Error::dtype(value.dtype(), why));
        }
        // Drops leading axes of extent 1 that the indexed part does not have.
        let surplus = value.rank().saturating_sub(positions.rank());
        let ones = value.shape().iter().take_while(|d| **d == 1).count().min(surplus);
        let value = if ones > 0 { value.reshape(&value.shape()[ones..]) } else { value };
        if value.shape().broadcast(&positions.shape()) != Some(positions.shape()) {
            let why = format!("do not broadcast to those of the part, {}", positions.shape());
            let e = Error::shape(format!("extents {}", value.shape()), why);
            return Tensor::refuse("with_at", &[self, &value], e);
        }
        let updates = value.to_dtype(self.dtype()).expand_to(&positions.shape());
        let scatter = Scatter { axis: 0, combine: None };
        apply1(scatter, &[&self.reshape([-1]), &positions.reshape([-1]), &updates.reshape([-1])])
            .reshape(&shape)
    }

    /// Replaces the part of a cell at an index. Any other tensor is an error.
    #[track_caller]
    pub fn assign_<'a>(&self, index: impl Index, value: impl Into<Arg<'a>>) -> Result<()> {
        let new = self.data_().with_at(index, value).detach();
        self.set_(new.check()?)
    }

    /// Builds a patch that writes `value` in place. Returns `None` if the write would be recorded, the index or
    /// the value does not fit, the tensor is not row-major on the CPU, or the part exceeds `most` elements.
    /// Masks and integer tensors mixed with other indices are supported for small tensors only.
    pub fn patch_at(&self, entries: &[Ix], value: &Tensor, most: usize) -> Option<Patch> {
        if trace::is_tracing() || (value.requires_grad() && tape::is_grad_enabled()) {
            return None;
        }
        let Inner::Data(data @ Data { strides: None, .. }, None) = &*self.0 else { return None };
        let (dtype, own_shape) = (data.aval.dtype, &data.aval.shape);
        if !data.is_host() || !value.device().is_cpu() {
            return None;
        }
        if value.dtype().is_complex() && !dtype.is_complex() {
            return None;
        }
        let has_tensors = entries.iter().any(|p| matches!(p, Ix::Mask(_) | Ix::Ids(_)));
        let (shape, destination) = match has_tensors {
            true => resolve_selection(own_shape, entries, most)?,
            false => {
                let entries = complete(entries.to_vec(), own_shape).ok()?;
                let (shape, strides, offset) = BasicIndex::of(own_shape, entries).ok()?.0.layout(data);
                (shape, Destination::Strided(strides, offset as i64))
            }
        };
        if shape.checked_numel()? > most {
            return None;
        }
        let value = tape::no_grad(|| value.to_dtype(dtype)).concrete().ok()?;
        // Strides are 0 on axes along which the value broadcasts. Leading axes of extent 1 that the part does
        // not have are dropped.
        let (own, mut value_strides) = (value.strides(), vec![0; shape.rank()]);
        for (a, (&n, &stride)) in value.aval.shape.iter().zip(&own).enumerate() {
            match (a + shape.rank()).checked_sub(value.aval.rank()) {
                None if n == 1 => {}
                Some(_) if n == 1 => {}
                Some(at) if shape[at] == n => value_strides[at] = stride,
                _ => return None,
            }
        }
        Some(Patch {
            target: data.aval.clone(),
            offset: data.offset,
            shape,
            destination,
            value,
            value_strides,
        })
    }

    /// Copies the elements into new memory. Returns `None` inside a trace, if the copy would be recorded, and if the
    /// elements are not on the CPU.
    fn copy_to_write(&self) -> Option<Tensor> {
        if trace::is_tracing() || (self.requires_grad() && tape::is_grad_enabled()) {
            return None;
        }
        self.with_data(|d| {
            let (size, n) = (d.aval.dtype.size(), d.aval.shape.numel());
            gradus_ir::size::check_elements(n, size).ok()?;
            let whole = crate::eager::execute::row_major(d).ok()?;
            let own = &whole.storage.host::<u8>()?[whole.offset * size..(whole.offset + n) * size];
            let fresh = d.strides.is_some();
            let storage = if fresh { whole.storage } else { Storage::from_slice(own)? };
            Some(Tensor::data(Data::row_major(storage, &d.aval)))
        })
    }
}

impl Patch {
    /// Zeros a tensor in place. Returns `false`, and changes nothing, if it has more than `most` elements, is
    /// not row-major on the CPU, or shares its memory.
    pub fn zeros(tensor: &mut Tensor, most: usize) -> bool {
        let Some(Inner::Data(data @ Data { strides: None, .. }, None)) = tensor.0.get_mut() else {
            return false;
        };
        let (n, size) = (data.aval.shape.numel(), data.aval.dtype.size());
        let all = if n <= most { data.storage.get_mut_slice::<u8>() } else { None };
        let Some(all) = all else { return false };
        all[data.offset * size..(data.offset + n) * size].fill(0);
        true
    }

    /// Writes into a tensor in place. Returns `false`, and changes nothing, if the memory is shared or the
    /// type differs from the one that the patch was built for.
    pub fn write(&self, tensor: &mut Tensor) -> bool {
        let Some(Inner::Data(data @ Data { strides: None, .. }, None)) = tensor.0.get_mut() else {
            return false;
        };
        if data.aval != self.target || data.offset != self.offset {
            return false;
        }
        let done = match self.target.dtype.size() {
            1 => self.copy_to::<u8>(&mut data.storage),
            2 => self.copy_to::<u16>(&mut data.storage),
            4 => self.copy_to::<u32>(&mut data.storage),
            8 => self.copy_to::<u64>(&mut data.storage),
            _ => self.copy_to::<C>(&mut data.storage),
        };
        done.is_some()
    }

    fn copy_to<E: Pod>(&self, storage: &mut Storage) -> Option<()> {
        let Patch { shape, value_strides, value, .. } = self;
        let (all, into) = (value.storage.host::<E>()?, storage.get_mut_slice::<E>()?);
        let first = value.offset as i64;
        match &self.destination {
            Destination::Strided(strides, offset) => {
                copy_strided(shape, (into, strides, *offset), (all, value_strides, first))
            }
            Destination::Runs(starts, run) => {
                let (outer, inner) = value_strides.split_at(shape.rank() - run.rank());
                let strides: Vec<i64> = run.strides().iter().map(|&s| s as i64).collect();
                for (&i, j) in starts.iter().zip(Offsets::new(&shape[..outer.len()], outer, first)) {
                    copy_strided(run, (into, &strides, self.offset as i64 + i), (all, inner, j));
                }
            }
        }
        Some(())
    }
}

/// Resolves masks and integer tensors to the shape of the selected part and the offset of each run. Returns
/// `None` if an entry is invalid, integers select more than `most` elements, or a large tensor would be
/// scanned.
fn resolve_selection(shape: &Shape, entries: &[Ix], most: usize) -> Option<(Shape, Destination)> {
    let slice = |axes: usize| -> (Shape, i64) {
        let run: Shape = shape[axes..].iter().copied().collect();
        let each = run.numel() as i64;
        (run, each)
    };
    let (shape, first, run) = match entries {
        // A boolean scalar has no axes to select along, so it is accepted for a scalar tensor only.
        [Ix::Mask(mask)] if shape.starts_with(&mask.shape()) && (mask.rank() > 0 || shape.is_empty()) => {
            let (run, each) = slice(mask.rank());
            let flags = mask.to_vec::<bool>().ok()?;
            let on: Vec<i64> = (0..).zip(flags).filter(|(_, on)| *on).map(|(i, _)| i * each).collect();
            (Shape::from([on.len()]), on, run)
        }
        [Ix::Ids(ids)] => {
            let (&rows, (run, each)) = (shape.first()?, slice(1));
            if ids.numel().saturating_mul(run.numel()) > most {
                return None;
            }
            let ids = ids.wrapped_ids(rows).ok()?;
            let mut first: Vec<i64> = ids.check().ok()?.to_vec().ok()?;
            first.iter_mut().for_each(|i| *i *= each);
            (ids.shape(), first, run)
        }
        _ if shape.numel() > MAX_SCANNED => return None,
        _ => {
            let all = Tensor::iota(DType::I64, [shape.numel()], 0).reshape(shape).at(entries.to_vec());
            (all.check().ok()?.shape(), all.to_vec().ok()?, Shape::scalar())
        }
    };
    Some((shape.iter().chain(run.iter()).copied().collect(), Destination::Runs(first, run)))
}

/// Copies elements between two strided layouts, row by row, because most rows are contiguous. `to` and `from` are
/// elements, strides and the offset of the first element.
fn copy_strided<E: Pod>(shape: &[usize], to: (&mut [E], &[i64], i64), from: (&[E], &[i64], i64)) {
    let ((into, strides, offset), (all, from_strides, first)) = (to, from);
    let Some((&n, outer)) = shape.split_last() else {
        into[offset as usize] = all[first as usize];
        return;
    };
    if shape.contains(&0) {
        return;
    }
    let (a, b) = (strides[outer.len()], from_strides[outer.len()]);
    for (i, j) in Offsets::new(outer, strides, offset).zip(Offsets::new(outer, from_strides, first)) {
        match (a, b, i as usize, j as usize) {
            (1, 1, i, j) => into[i..i + n].copy_from_slice(&all[j..j + n]),
            (1, 0, i, j) => into[i..i + n].fill(all[j]),
            _ => (0..n as i64).for_each(|k| into[(i + k * a) as usize] = all[(j + k * b) as usize]),
        }
    }
}
