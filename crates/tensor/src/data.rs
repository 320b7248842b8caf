//! Concrete data: a storage with dtype, shape, strides and offset.
//! Views share storage; elements are copied when they are read out or when an op needs another layout.
//! `gradus_mem` owns the memory, `execute.rs` runs ops on data.

use crate::convert::Memory;
use crate::device::Device;
use gradus_ir::reference::Offsets;
use gradus_ir::{Aval, C, Class, DType, Error, Kind, Literal, Result, Shape, message, size};
use gradus_mem::{Pod, Storage};
use half::{bf16, f16};
use num_complex::Complex;

/// Elements of one dtype in a storage.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) storage: Storage,
    pub(crate) aval: Aval,
    /// Strides in elements; `None` means row-major.
    pub(crate) strides: Option<Box<[i64]>>,
    /// Index of the first element.
    pub(crate) offset: usize,
}

/// A Rust type that elements can be read and written as.
pub trait Element: Copy + Send + Sync + 'static {
    /// The dtype.
    const DTYPE: DType;
    /// The type of a stored element: `bool` is stored as a byte, for example.
    #[doc(hidden)]
    type Stored: Pod;
    #[doc(hidden)]
    fn store(self) -> Self::Stored;
    #[doc(hidden)]
    fn load(stored: Self::Stored) -> Self;
}

macro_rules! elements {
    ($($t:ty, $stored:ty, $dtype:ident, |$x:ident| $store:expr, |$y:ident| $load:expr;)*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            type Stored = $stored;
            fn store(self) -> $stored { let $x = self; $store }
            fn load($y: $stored) -> $t { $load }
        }
    )*};
}

elements! {
    f32, f32, F32, |x| x, |y| y;
    f64, f64, F64, |x| x, |y| y;
    bf16, bf16, BF16, |x| x, |y| y;
    f16, f16, F16, |x| x, |y| y;
    i8, i8, I8, |x| x, |y| y;
    u8, u8, U8, |x| x, |y| y;
    i32, i32, I32, |x| x, |y| y;
    u32, u32, U32, |x| x, |y| y;
    i64, i64, I64, |x| x, |y| y;
    bool, u8, Bool, |x| x as u8, |y| y != 0;
    Complex<f32>, Complex<f32>, C64, |x| x, |y| y;
    Complex<f64>, Complex<f64>, C128, |x| x, |y| y;
}

fn memory_error(bytes: usize) -> Error {
    Error::new(Kind::Memory { bytes })
}

impl Data {
    /// Makes row-major data from elements.
    pub(crate) fn new<T: Element>(shape: Shape, elements: &[T]) -> Result<Data> {
        if shape.checked_numel() != Some(elements.len()) {
            let why = format!("needs {} elements, got {}", shape.numel(), elements.len());
            return Err(Error::shape(format!("shape {shape}"), why));
        }
        size::check_bytes(size_of_val(elements))?;
        let storage = Storage::from_fn(elements.len(), |i| elements[i].store());
        let storage = storage.ok_or_else(|| memory_error(std::mem::size_of_val(elements)))?;
        Ok(Data { storage, aval: Aval::new(T::DTYPE, shape), strides: None, offset: 0 })
    }

    /// Makes row-major data of this type from a storage.
    #[inline(always)]
    pub(crate) fn row_major(storage: Storage, aval: &Aval) -> Data {
        Data { storage, aval: aval.clone(), strides: None, offset: 0 }
    }

    /// Returns the strides in elements.
    pub(crate) fn strides(&self) -> Vec<i64> {
        match &self.strides {
            Some(s) => s.to_vec(),
            None => self.aval.shape.strides().into_iter().map(|s| s as i64).collect(),
        }
    }

    /// Reads and converts elements: those at the storage offsets `at`, or all in row-major order.
    fn read<S: Pod, U>(&self, at: Option<&[i64]>, f: impl Fn(S) -> U) -> Result<Vec<U>> {
        let n = at.map_or(self.aval.shape.numel(), |at| at.len());
        let Some(all) = self.storage.host::<S>() else {
            return match at {
                None => self.to(Device::CPU)?.read(None, f),
                Some(_) => Err(Error::verify("offsets point into the memory of another device")),
            };
        };
        match (at, &self.strides) {
            (Some(at), _) => size::collect(n, at.iter().map(|&i| f(all[i as usize]))),
            (None, None) => size::collect(n, all[self.offset..self.offset + n].iter().map(|x| f(*x))),
            (None, Some(s)) => {
                let at = Offsets::new(&self.aval.shape, s, self.offset as i64);
                size::collect(n, at.map(|i| f(all[i as usize])))
            }
        }
    }

    /// Copies the elements in row-major order. The dtype must match.
    pub(crate) fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.aval.dtype {
            return Err(Error::dtype(
                T::DTYPE,
                message!("the tensor is ", &self.aval, " (convert it first)"),
            ));
        }
        self.read(None, T::load)
    }

    /// Returns the elements of row-major `i64` data without a copy.
    pub(crate) fn i64_slice(&self) -> Option<&[i64]> {
        let plain = self.aval.dtype == DType::I64 && self.strides.is_none();
        let all = plain.then(|| self.storage.host::<i64>())??;
        Some(&all[self.offset..][..self.aval.shape.numel()])
    }

    /// Returns the bytes of the elements in row-major order.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>> {
        let size = self.aval.dtype.size();
        let whole = crate::eager::execute::row_major(&self.to(Device::CPU)?)?;
        let from = whole.offset * size;
        let all = whole.storage.host::<u8>().unwrap_or_default();
        Ok(all[from..from + self.aval.shape.numel() * size].to_vec())
    }

    /// Makes data from the bytes of row-major elements.
    pub(crate) fn from_bytes(aval: &Aval, bytes: &[u8]) -> Result<Data> {
        let needed = aval.shape.checked_numel().and_then(|n| n.checked_mul(aval.dtype.size()));
        if needed != Some(bytes.len()) {
            let why = message!("do not hold ", aval, ", which takes ", needed.unwrap_or(usize::MAX));
            return Err(Error::shape(format!("{} bytes", bytes.len()), why));
        }
        if aval.dtype == DType::Bool && bytes.iter().any(|b| *b > 1) {
            return Err(Error::value("a boolean", "must be stored as 0 or 1"));
        }
        let storage = Storage::from_slice(bytes).ok_or_else(|| memory_error(bytes.len()))?;
        Ok(Data::row_major(storage, aval))
    }

    /// Makes data over existing memory.
    pub(crate) fn from_memory(memory: Memory) -> Result<Data> {
        let Memory { storage, offset, strides, aval } = memory;
        let size = aval.dtype.size();
        let outside = || Error::value("a layout", "reaches outside of its memory");
        if !offset.is_multiple_of(size) || strides.len() != aval.rank() {
            return Err(outside());
        }
        let (mut first, mut last) = (offset as i128 / size as i128, offset as i128 / size as i128);
        for (&d, &s) in aval.shape.iter().zip(&strides) {
            let reach = (d as i128 - 1).max(0) * s as i128;
            if reach < 0 { first += reach } else { last += reach }
        }
        let empty = aval.shape.contains(&0);
        if !empty && (first < 0 || last >= (storage.len_bytes() / size) as i128) {
            return Err(outside());
        }
        let whole = Data { storage, aval: aval.clone(), strides: None, offset: 0 };
        Ok(whole.with_layout(&aval.shape, strides, if empty { 0 } else { offset / size }))
    }

    /// Converts the data to a literal.
    pub(crate) fn literal(&self) -> Result<Literal> {
        Literal::new(self.aval.clone(), self.to_carrier(None)?)
    }

    /// Converts the elements at the storage offsets `at`, or all elements in row-major order, to the carrier of
    /// their class: `f64`, pairs of `f64`, or `i64`.
    pub(crate) fn to_carrier(&self, at: Option<&[i64]>) -> Result<gradus_ir::literal::Data> {
        Ok(match self.aval.dtype {
            DType::F32 => self.read(at, |x: f32| x as f64)?.into(),
            DType::F64 => self.read(at, |x: f64| x)?.into(),
            DType::BF16 => self.read(at, |x: bf16| x.to_f64())?.into(),
            DType::F16 => self.read(at, |x: f16| x.to_f64())?.into(),
            DType::I8 => self.read(at, |x: i8| x as i64)?.into(),
            DType::U8 | DType::Bool => self.read(at, |x: u8| x as i64)?.into(),
            DType::I32 => self.read(at, |x: i32| x as i64)?.into(),
            DType::U32 => self.read(at, |x: u32| x as i64)?.into(),
            DType::I64 => self.read(at, |x: i64| x)?.into(),
            DType::C64 => self.read(at, |x: Complex<f32>| C::new(x.re as f64, x.im as f64))?.into(),
            DType::C128 => self.read(at, |x: C| x)?.into(),
        })
    }

    /// Makes data from a literal whose elements are values of its dtype.
    pub(crate) fn from_literal(l: &Literal) -> Result<Data> {
        fn write<S: Pod, T: Copy>(v: &[T], f: impl Fn(T) -> S) -> Option<Storage> {
            Storage::from_fn(v.len(), |i| f(v[i]))
        }
        let storage = match (l.dtype(), l.dtype().class()) {
            (DType::F32, _) => write(l.f(), |x| x as f32),
            (DType::BF16, _) => write(l.f(), bf16::from_f64),
            (DType::F16, _) => write(l.f(), f16::from_f64),
            (_, Class::Float) => write(l.f(), |x| x),
            (DType::I8, _) => write(l.i(), |x| x as i8),
            (DType::U8 | DType::Bool, _) => write(l.i(), |x| x as u8),
            (DType::I32, _) => write(l.i(), |x| x as i32),
            (DType::U32, _) => write(l.i(), |x| x as u32),
            (DType::C64, _) => write(l.c(), |z| Complex::new(z.re as f32, z.im as f32)),
            (_, Class::Complex) => write(l.c(), |z| z),
            _ => write(l.i(), |x| x),
        };
        let storage = storage.ok_or_else(|| memory_error(l.data().len().saturating_mul(l.dtype().size())))?;
        Ok(Data { storage, aval: l.aval().clone(), strides: None, offset: 0 })
    }

    /// Removes broadcasting: axes of stride 0 get extent 1. If every extent is then 1, the result is a scalar.
    pub(crate) fn compact(&self) -> Data {
        let Some(strides) = &self.strides else { return self.clone() };
        let extent = |(&d, &s): (&usize, &i64)| if s == 0 && d > 0 { 1 } else { d };
        let shape: Shape = self.aval.shape.iter().zip(strides).map(extent).collect();
        let shape = if shape.iter().all(|&d| d == 1) { Shape::scalar() } else { shape };
        let strides = strides[strides.len() - shape.rank()..].to_vec();
        self.with_layout(&shape, strides, self.offset)
    }

    /// Applies an affine view to the layout; the storage is shared.
    pub(crate) fn view(&self, map: &gradus_ir::ops::IndexMap, shape: &Shape) -> Data {
        let own = self.strides();
        let shift: i64 = map.offset.iter().zip(&own).map(|(o, s)| o * s).sum();
        let strides: Vec<i64> =
            map.steps.iter().map(|s| s.map_or(0, |(axis, step)| step * own[axis])).collect();
        // An empty view has no first element; any offset within the storage is valid.
        let offset = if shape.contains(&0) { 0 } else { (self.offset as i64 + shift) as usize };
        self.with_layout(shape, strides, offset)
    }

    /// Broadcasts one element to a shape.
    pub(crate) fn repeated(self, shape: Shape) -> Data {
        let strides = shape.iter().any(|&d| d > 1) && !shape.contains(&0);
        let strides = strides.then(|| vec![0; shape.rank()].into());
        Data { aval: Aval::new(self.aval.dtype, shape), strides, ..self }
    }

    /// Returns the same storage under another layout.
    pub(crate) fn with_layout(&self, shape: &Shape, strides: Vec<i64>, offset: usize) -> Data {
        let row_major = shape
            .strides()
            .iter()
            .zip(&strides)
            .zip(shape.iter())
            .all(|((a, b), d)| *d <= 1 || *a as i64 == *b);
        let strides = if row_major || shape.contains(&0) { None } else { Some(strides.into()) };
        Data { storage: self.storage.clone(), aval: self.aval.with_shape(shape), strides, offset }
    }

    /// Reshapes without a copy. Returns `None` if the strides do not allow it.
    pub(crate) fn reshaped(&self, shape: &Shape) -> Option<Data> {
        let Some(own) = &self.strides else {
            return Some(Data { aval: self.aval.with_shape(shape), ..self.clone() });
        };
        // Merges adjacent axes of uniform stride, then splits the merged axes into the new extents.
        let mut runs: Vec<(usize, i64)> = Vec::new();
        for (&d, &s) in self.aval.shape.iter().zip(own).filter(|(d, _)| **d != 1) {
            match runs.last_mut() {
                Some((extent, step)) if *step == s * d as i64 => (*extent, *step) = (*extent * d, s),
                _ => runs.push((d, s)),
            }
        }
        let mut strides = vec![0i64; shape.rank()];
        let mut run = runs.into_iter().rev();
        let (mut left, mut step) = (1, 0);
        for a in (0..shape.rank()).rev().filter(|&a| shape[a] != 1) {
            if left == 1 {
                (left, step) = run.next()?;
            }
            if left % shape[a] != 0 {
                return None;
            }
            strides[a] = step;
            left /= shape[a];
            step *= shape[a] as i64;
        }
        Some(self.with_layout(shape, strides, self.offset))
    }
}
