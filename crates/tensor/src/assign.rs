//! Parts replaced: in a copy, or where they lie if nobody else can see them.

use crate::apply::apply1;
use crate::arg::Arg;
use crate::data::Data;
use crate::index::Cut;
use crate::place::{Index, Ix, complete};
use crate::tensor::{Inner, Tensor};
use crate::{tape, trace};
use gradus_ir::ops::index::Scatter;
use gradus_ir::reference::{self, Offsets};
use gradus_ir::{C, DType, Error, Result, Shape};
use gradus_mem::{Pod, Storage};

/// Elements of tensors in which parts are looked for one by one.
const LITTLE: usize = 4096;

/// Where elements go.
enum To {
    /// Along these strides, from a first.
    Walk(Vec<i64>, i64),
    /// Each to its own place behind a first.
    Places(Vec<i64>, usize),
}

impl Tensor {
    /// With the part at an index replaced; the value broadcasts. Works on every tensor and gives a new one;
    /// [`assign_`](Tensor::assign_) swaps a cell's value.
    #[track_caller]
    pub fn with_at<'a>(&self, index: impl Index, value: impl Into<Arg<'a>>) -> Tensor {
        if self.error().is_some() {
            return self.clone();
        }
        let places = index.places();
        let value = match value.into() {
            Arg::Tensor(t) => t.clone(),
            Arg::Number(n) => Tensor::from_literal(&n.literal(n.dtype_beside(self.dtype()))),
        };
        if let Some(mut copy) = self.copy_to_write()
            && copy.replace_at(&places, &value, usize::MAX)
        {
            return copy;
        }
        let shape = self.shape();
        let positions = Tensor::iota(DType::I64, [shape.numel()], 0).reshape(&shape).at(places);
        if positions.error().is_some() {
            return positions;
        }
        if value.dtype().is_complex() && !self.dtype().is_complex() {
            let why = format!("cannot be assigned into {}; take `real()` or `abs()` of it", self.dtype());
            return Tensor::refuse("with_at", &[self, &value], Error::dtype(value.dtype(), why));
        }
        // Leading axes of extent 1 that the part does not have are dropped.
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

    /// Replaces the part of a cell at an index.
    #[track_caller]
    pub fn assign_<'a>(&self, index: impl Index, value: impl Into<Arg<'a>>) -> Result<()> {
        let new = self.data_().with_at(index, value).detach();
        self.set_(new.check()?)
    }

    /// Writes a part of up to `most` elements where it lies, if nobody else can see it: no other tensor shares the memory, and
    /// nothing is recorded. Whether that was so. Of masks and integer tensors beside other places only where there is little.
    pub fn replace_at(&mut self, places: &[Ix], value: &Tensor, most: usize) -> bool {
        self.try_replace(places, value, most).is_some()
    }

    fn try_replace(&mut self, places: &[Ix], value: &Tensor, most: usize) -> Option<()> {
        if trace::is_tracing() || (value.requires_grad() && tape::is_grad_enabled()) {
            return None;
        }
        let Inner::Data(data @ Data { strides: None, .. }, None) = self.0.get_mut()? else { return None };
        let dtype = data.aval.dtype;
        if value.dtype().is_complex() && !dtype.is_complex() {
            return None;
        }
        let chosen = places.iter().any(|p| matches!(p, Ix::Mask(_) | Ix::Ids(_)));
        let (shape, to) = match chosen {
            true if data.aval.shape.numel() > LITTLE && !is_simple(&data.aval.shape, places) => return None,
            true => {
                let (shape, positions) = chosen_of(&data.aval.shape, places)?;
                (shape, To::Places(positions, data.offset))
            }
            false => {
                let places = complete(places.to_vec(), &data.aval.shape).ok()?;
                let (shape, strides, offset) = Cut::of(&data.aval.shape, places).ok()?.0.layout(data);
                (shape, To::Walk(strides, offset as i64))
            }
        };
        if shape.checked_numel()? > most {
            return None;
        }
        let value = tape::no_grad(|| value.to_dtype(dtype)).concrete().ok()?;
        // Where the value repeats, its steps are 0; leading axes of extent 1 that the part does not have are dropped.
        let (own, mut steps) = (value.strides(), vec![0; shape.rank()]);
        for (a, (&n, &step)) in value.aval.shape.iter().zip(&own).enumerate() {
            match (a + shape.rank()).checked_sub(value.aval.rank()) {
                None if n == 1 => {}
                Some(_) if n == 1 => {}
                Some(at) if shape[at] == n => steps[at] = step,
                _ => return None,
            }
        }
        let from = (&value, &steps[..]);
        match dtype.size() {
            1 => copied::<u8>(&shape, &mut data.storage, to, from),
            2 => copied::<u16>(&shape, &mut data.storage, to, from),
            4 => copied::<u32>(&shape, &mut data.storage, to, from),
            8 => copied::<u64>(&shape, &mut data.storage, to, from),
            _ => copied::<C>(&shape, &mut data.storage, to, from),
        }
    }

    /// Its elements in memory of their own, if they are known and nothing would be recorded.
    fn copy_to_write(&self) -> Option<Tensor> {
        if trace::is_tracing() || (self.requires_grad() && tape::is_grad_enabled()) {
            return None;
        }
        self.with_data(|d| {
            let (size, n) = (d.aval.dtype.size(), d.aval.shape.numel());
            reference::reserve(n.saturating_mul(size)).ok()?;
            let whole = crate::execute::row_major(d).ok()?;
            let own = &whole.storage.as_slice::<u8>()[whole.offset * size..(whole.offset + n) * size];
            let fresh = d.strides.is_some();
            let storage = if fresh { whole.storage } else { Storage::from_slice(own)? };
            Some(Tensor::data(Data::row_major(storage, &d.aval)))
        })
    }
}

/// Whether positions can be told without looking at every element: those of a mask of all, and of slices along the first axis.
fn is_simple(shape: &Shape, places: &[Ix]) -> bool {
    match places {
        [Ix::Mask(mask)] => mask.shape() == *shape,
        [Ix::Ids(_)] => true,
        _ => false,
    }
}

/// The shape of what masks and integer tensors choose, and where each of it is in row-major order.
fn chosen_of(shape: &Shape, places: &[Ix]) -> Option<(Shape, Vec<i64>)> {
    let n = shape.numel();
    let positions = match places {
        [Ix::Mask(mask)] if mask.shape() == *shape => {
            let flags = mask.to_vec::<bool>().ok()?;
            let on: Vec<i64> = (0..).zip(flags).filter(|(_, on)| *on).map(|(i, _)| i).collect();
            return Some((Shape::from([on.len()]), on));
        }
        [Ix::Ids(ids)] => {
            let (&rows, slice) = shape.split_first()?;
            let (ids, each) = (ids.wrapped_ids(rows).ok()?, slice.iter().product::<usize>() as i64);
            let first: Vec<i64> = ids.check().ok()?.to_vec().ok()?;
            let places = first.into_iter().flat_map(|i| i * each..(i + 1) * each).collect();
            return Some((ids.shape().iter().chain(slice).copied().collect(), places));
        }
        _ => Tensor::iota(DType::I64, [n], 0).reshape(shape).at(places.to_vec()),
    };
    Some((positions.check().ok()?.shape(), positions.to_vec().ok()?))
}

/// Copies elements of a value: walks row by row, since most rows have no gaps.
fn copied<E: Pod>(shape: &[usize], storage: &mut Storage, to: To, from: (&Data, &[i64])) -> Option<()> {
    let (value, steps) = from;
    let (all, into) = (value.storage.as_slice::<E>(), storage.get_mut_slice::<E>()?);
    let first = value.offset as i64;
    let (strides, offset) = match to {
        To::Places(places, offset) => {
            let each = places.iter().zip(Offsets::new(shape, steps, first));
            each.for_each(|(&i, j)| into[offset + i as usize] = all[j as usize]);
            return Some(());
        }
        To::Walk(strides, offset) => (strides, offset),
    };
    let Some((&n, outer)) = shape.split_last() else {
        into[offset as usize] = all[value.offset];
        return Some(());
    };
    if shape.contains(&0) {
        return Some(());
    }
    let (a, b) = (strides[outer.len()], steps[outer.len()]);
    for (i, j) in Offsets::new(outer, &strides, offset).zip(Offsets::new(outer, steps, first)) {
        match (a, b, i as usize, j as usize) {
            (1, 1, i, j) => into[i..i + n].copy_from_slice(&all[j..j + n]),
            (1, 0, i, j) => into[i..i + n].fill(all[j]),
            _ => (0..n as i64).for_each(|k| into[(i + k * a) as usize] = all[(j + k * b) as usize]),
        }
    }
    Some(())
}
