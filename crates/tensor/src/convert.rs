//! Conversions between tensors and `Vec`, nested arrays, slices, numbers, `ndarray`, bytes and foreign
//! memory.

use crate::data::{Data, Element};
use crate::eager::apply::apply1;
use crate::tensor::{Inner, Tensor};
use gradus_ir::ops::bitcast::Bitcast;
use gradus_ir::{Aval, DType, Error, Result, Shape};
use gradus_mem::Storage;
use ndarray::{ArrayD, ArrayView, Dimension, IxDyn};
use std::panic::Location;

impl<T: Element> From<T> for Tensor {
    #[track_caller]
    fn from(x: T) -> Tensor {
        Tensor::from_slice(&[x], Shape::scalar())
    }
}

impl<T: Element> From<Vec<T>> for Tensor {
    #[track_caller]
    fn from(v: Vec<T>) -> Tensor {
        Tensor::from_slice(&v, [v.len()])
    }
}

impl<T: Element> From<&[T]> for Tensor {
    #[track_caller]
    fn from(v: &[T]) -> Tensor {
        Tensor::from_slice(v, [v.len()])
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    #[track_caller]
    fn from(v: [T; N]) -> Tensor {
        Tensor::from_slice(&v, [N])
    }
}

impl<T: Element, const N: usize, const M: usize> From<[[T; M]; N]> for Tensor {
    #[track_caller]
    fn from(v: [[T; M]; N]) -> Tensor {
        Tensor::from_slice(v.as_flattened(), [N, M])
    }
}

impl<T: Element, const N: usize, const M: usize, const K: usize> From<[[[T; K]; M]; N]> for Tensor {
    #[track_caller]
    fn from(v: [[[T; K]; M]; N]) -> Tensor {
        Tensor::from_slice(v.as_flattened().as_flattened(), [N, M, K])
    }
}

impl<T: Element, const N: usize, const M: usize, const K: usize, const L: usize> From<[[[[T; L]; K]; M]; N]>
    for Tensor
{
    #[track_caller]
    fn from(v: [[[[T; L]; K]; M]; N]) -> Tensor {
        Tensor::from_slice(v.as_flattened().as_flattened().as_flattened(), [N, M, K, L])
    }
}

/// Rows must have equal length; other input gives a failed tensor.
impl<T: Element> From<Vec<Vec<T>>> for Tensor {
    #[track_caller]
    fn from(rows: Vec<Vec<T>>) -> Tensor {
        let width = rows.first().map_or(0, Vec::len);
        if let Some(row) = rows.iter().find(|r| r.len() != width) {
            let why = format!("differ from the {width} elements of the first row");
            return Tensor::refuse(
                "from",
                &[],
                Error::shape(format!("{} elements in a row", row.len()), why),
            );
        }
        Tensor::from_slice(&rows.concat(), [rows.len(), width])
    }
}

impl<T: Element, D: Dimension> From<ArrayView<'_, T, D>> for Tensor {
    #[track_caller]
    fn from(a: ArrayView<'_, T, D>) -> Tensor {
        Tensor::from_slice(&a.iter().copied().collect::<Vec<T>>(), a.shape())
    }
}

impl<T: Element, D: Dimension> From<ndarray::Array<T, D>> for Tensor {
    #[track_caller]
    fn from(a: ndarray::Array<T, D>) -> Tensor {
        a.view().into()
    }
}

/// Memory layout of a tensor.
pub struct Memory {
    /// Memory that holds the elements.
    pub storage: Storage,
    /// Offset of the first element, in bytes.
    pub offset: usize,
    /// Stride of each axis, in elements.
    pub strides: Vec<i64>,
    /// Dtype and shape.
    pub aval: Aval,
}

impl Tensor {
    /// Returns the memory layout, for sharing the elements with another library.
    #[track_caller]
    pub fn memory(&self) -> Result<Memory> {
        let data = self.concrete().map_err(|e| e.or_at(std::panic::Location::caller()))?;
        let (strides, offset) = (data.strides(), data.offset * data.aval.dtype.size());
        Ok(Memory { storage: data.storage, offset, strides, aval: data.aval })
    }

    /// Returns true if the elements are in memory owned by another library.
    pub fn is_foreign(&self) -> bool {
        match &*self.0 {
            Inner::Data(d, _) => d.storage.is_foreign(),
            Inner::Cell(c) => c.value().is_foreign(),
            _ => false,
        }
    }

    /// Makes a tensor over existing memory. Fails if the strides reach outside of the storage.
    #[track_caller]
    pub fn from_memory(memory: Memory) -> Tensor {
        Tensor::from_result(Data::from_memory(memory).map(Tensor::data))
    }

    /// Makes zeros in new memory, which the system provides page by page at the first write.
    #[track_caller]
    pub fn zeroed(aval: &Aval) -> Tensor {
        let bytes = aval.shape.checked_numel().and_then(|n| n.checked_mul(aval.dtype.size()));
        let storage = bytes.and_then(Storage::zeroed);
        let none = || Error::value(aval, "does not fit in memory");
        Tensor::from_result(storage.ok_or_else(none).map(|s| Tensor::data(Data::row_major(s, aval))))
    }

    /// Reinterprets the bits of the elements as another dtype, without gradient. If the new dtype is wider,
    /// the last axis holds the parts of one element and is removed. If it is narrower, the parts become a new
    /// last axis.
    #[track_caller]
    pub fn bitcast(&self, dtype: DType) -> Tensor {
        apply1(Bitcast { dtype }, &[self])
    }

    /// Copies the elements into an `ndarray` of the same shape.
    #[track_caller]
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let (elements, location) = (self.to_vec::<T>()?, Location::caller());
        ArrayD::from_shape_vec(IxDyn(&self.shape()), elements)
            .map_err(|e| Error::shape(format!("to_ndarray of {}", self.shape()), e.to_string()).at(location))
    }

    /// Returns the elements in row-major order as little-endian bytes, which is the order in files.
    #[track_caller]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let location = Location::caller();
        little_endian().and_then(|()| self.concrete()?.bytes()).map_err(|e| e.or_at(location))
    }

    /// Makes a tensor from row-major little-endian bytes.
    #[track_caller]
    pub fn from_bytes(aval: &Aval, bytes: &[u8]) -> Tensor {
        Tensor::from_result(little_endian().and_then(|()| Data::from_bytes(aval, bytes)).map(Tensor::data))
    }

    /// Copies the elements of a matrix, row by row.
    #[track_caller]
    pub fn to_vec2<T: Element>(&self) -> Result<Vec<Vec<T>>> {
        let elements = self.to_vec::<T>()?;
        match *self.shape() {
            [n, m] => Ok((0..n).map(|i| elements[i * m..(i + 1) * m].to_vec()).collect()),
            _ => {
                let e =
                    Error::shape(format!("to_vec2 of shape {}", self.shape()), "needs a tensor of two axes");
                Err(e.at(Location::caller()))
            }
        }
    }
}

/// Returns an error on big-endian machines: files are written in memory order, which must be little-endian.
fn little_endian() -> Result<()> {
    if cfg!(target_endian = "little") {
        return Ok(());
    }
    Err(Error::value("bytes", "can be read and written on little-endian machines only"))
}
