//! Making tensors.

use crate::apply::apply1;
use crate::arg::Number;
use crate::data::Data;
use crate::data::Element;
use crate::tensor::Tensor;
use gradus_ir::ops::source::Iota;
use gradus_ir::{Aval, Class, DType, Error, Literal, Shape};

impl Tensor {
    /// Row-major elements of a shape.
    #[track_caller]
    pub fn from_slice<T: Element>(elements: &[T], shape: impl Into<Shape>) -> Tensor {
        Tensor::from_result(Data::new(shape.into(), elements).map(Tensor::data))
    }

    /// One value everywhere; one stored element serves all. `f32` for a float, `i64` for an integer, `bool`.
    #[track_caller]
    pub fn full(shape: impl Into<Shape>, value: impl Into<Number>) -> Tensor {
        let value = value.into();
        Tensor::from_literal(&value.literal(value.dtype())).expand_to(&shape.into())
    }

    /// One value everywhere, of a type.
    #[track_caller]
    pub fn full_of(aval: &Aval, value: f64) -> Tensor {
        Tensor::from_literal(&Literal::scalar(aval.dtype, value)).expand_to(&aval.shape)
    }

    /// Zeros of a type.
    #[track_caller]
    pub fn zeros_of(aval: &Aval) -> Tensor {
        Tensor::full_of(aval, 0.0)
    }

    /// Zeros, `f32`.
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>) -> Tensor {
        Tensor::full(shape, 0.0)
    }

    /// Ones, `f32`.
    #[track_caller]
    pub fn ones(shape: impl Into<Shape>) -> Tensor {
        Tensor::full(shape, 1.0)
    }

    /// One value everywhere, with this tensor's type.
    #[track_caller]
    pub fn full_like(&self, value: f64) -> Tensor {
        self.aval().map_or_else(|| self.clone(), |aval| Tensor::full_of(&aval, value))
    }

    /// Zeros with this tensor's type.
    #[track_caller]
    pub fn zeros_like(&self) -> Tensor {
        self.full_like(0.0)
    }

    /// Ones with this tensor's type.
    #[track_caller]
    pub fn ones_like(&self) -> Tensor {
        self.full_like(1.0)
    }

    /// The index along an axis, as a tensor of a type.
    #[track_caller]
    pub fn iota(dtype: DType, shape: impl Into<Shape>, axis: usize) -> Tensor {
        apply1(Iota { aval: Aval::new(dtype, shape), axis }, &[])
    }

    /// The identity matrix, `f32`.
    #[track_caller]
    pub fn eye(n: usize) -> Tensor {
        Tensor::iota(DType::I64, [n, n], 0).eq(&Tensor::iota(DType::I64, [n, n], 1)).to_dtype(DType::F32)
    }

    /// `start, start + step, …` until before `stop`: `i64` when all three are whole numbers given as integers.
    #[track_caller]
    pub fn arange(start: impl Into<Number>, stop: impl Into<Number>, step: impl Into<Number>) -> Tensor {
        let (start, stop, step) = (start.into(), stop.into(), step.into());
        if let (Number::Int(a), Number::Int(b), Number::Int(s)) = (start, stop, step) {
            if s == 0 {
                return Tensor::refuse("arange", &[], Error::value("step", "must not be 0"));
            }
            let n = ((b as i128 - a as i128) * s.signum() as i128).max(0).div_euclid(1);
            let n = (n + s.unsigned_abs() as i128 - 1) / s.unsigned_abs() as i128;
            let steps = Tensor::iota(DType::I64, [n as usize], 0);
            let steps = if s == 1 { steps } else { steps * s };
            return if a == 0 { steps } else { steps + a };
        }
        let float = |n: Number| match n {
            Number::Int(i) => i as f64,
            Number::Float(x) => x,
            Number::Bool(b) => b as i64 as f64,
            Number::Complex(z) => z.re,
        };
        let (a, b, s) = (float(start), float(stop), float(step));
        let n = ((b - a) / s).ceil();
        if !n.is_finite() {
            let why = "must be finite and the step not 0";
            return Tensor::refuse("arange", &[], Error::value("start, stop and step", why));
        }
        Tensor::iota(DType::F64, [n.max(0.0) as usize], 0).mul(s).add(a).to_dtype(DType::F32)
    }

    /// `n` evenly spaced numbers from `start` to `stop`, both included, `f32`.
    #[track_caller]
    pub fn linspace(start: f64, stop: f64, n: usize) -> Tensor {
        let t = Tensor::iota(DType::F64, [n], 0) / (n.max(2) - 1) as f64;
        (&t * stop + (1.0 - &t) * start).to_dtype(DType::F32)
    }
}

impl Tensor {
    /// Whether every element is finite.
    #[track_caller]
    pub fn all_finite(&self) -> Tensor {
        if self.dtype().class() < Class::Float { Tensor::full([], true) } else { self.is_finite().all(()) }
    }
}
