//! Constructors: constants, ranges, identity matrices, and tensors from slices.

use crate::arg::Number;
use crate::data::Data;
use crate::data::Element;
use crate::device::Device;
use crate::eager::apply::apply1;
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use crate::trace::is_tracing;
use gradus_ir::ops::source::Iota;
use gradus_ir::{Aval, Class, DType, Error, Literal, Shape};

impl Tensor {
    /// Makes a tensor from row-major elements.
    #[track_caller]
    pub fn from_slice<T: Element>(elements: &[T], shape: impl Into<Shape>) -> Tensor {
        Tensor::from_result(Data::new(shape.into(), elements).map(Tensor::data))
    }

    /// Makes a tensor of one repeated value, of which one element is stored. The dtype is `f32` for a float,
    /// `i64` for an integer, or `bool`.
    #[track_caller]
    pub fn full(shape: impl Into<Shape>, value: impl Into<Number>) -> Tensor {
        let value = value.into();
        Tensor::from_literal(&value.literal(value.dtype())).on_default_device().expand_to(&shape.into())
    }

    /// Moves the tensor to the default device of this thread, unless a graph is being traced.
    #[track_caller]
    fn on_default_device(&self) -> Tensor {
        if is_tracing() { self.clone() } else { self.to(Device::default()) }
    }

    /// Makes a constant tensor of a type.
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

    /// Makes a constant tensor with this tensor's type, on its device.
    #[track_caller]
    pub fn full_like(&self, value: f64) -> Tensor {
        self.aval().map_or_else(|| self.clone(), |aval| Tensor::full_of(&aval, value).to(self.device()))
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

    /// Makes a tensor of this type in which every element is its index along `axis`.
    #[track_caller]
    pub fn iota(dtype: DType, shape: impl Into<Shape>, axis: usize) -> Tensor {
        apply1(Iota { aval: Aval::new(dtype, shape), axis }, &[])
    }

    /// The identity matrix, `f32`.
    #[track_caller]
    pub fn eye(n: usize) -> Tensor {
        Tensor::eye_of(&Aval::new(DType::F32, [n, n]))
    }

    /// Makes a matrix of this type with ones on the diagonal.
    #[track_caller]
    pub fn eye_of(aval: &Aval) -> Tensor {
        let of = |axis| Tensor::iota(DType::I64, aval.shape.clone(), axis);
        let make = || of(0).eq(&of(1)).to_dtype(aval.dtype);
        if is_tracing() {
            return make();
        }
        region1("eye", vec![arg("aval", aval.clone())], &[], |_| make())
    }

    /// Makes `start, start + step, …` below `stop`: `i64` if all three are integers, else `f32`.
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
        // Computes in `f64` on the CPU, because not every device has that dtype.
        let wide = {
            let _back = Device::CPU.enter();
            Tensor::iota(DType::F64, [n.max(0.0) as usize], 0).mul(s).add(a).to_dtype(DType::F32)
        };
        wide.on_default_device()
    }

    /// `n` evenly spaced numbers from `start` to `stop`, both included, `f32`.
    #[track_caller]
    pub fn linspace(start: f64, stop: f64, n: usize) -> Tensor {
        Tensor::linspace_of(&Aval::new(DType::F32, [n]), start, stop)
    }

    /// As [`Tensor::linspace`], with the type `aval`. Each number is computed from the nearer end, so that
    /// both ends are exact.
    #[track_caller]
    pub fn linspace_of(aval: &Aval, start: f64, stop: f64) -> Tensor {
        let n = aval.shape.numel();
        let whole = aval.dtype.class() < Class::Float;
        let [start, stop] = [start, stop].map(|end| if whole { end.trunc() } else { end });
        if n < 2 {
            return Tensor::full_of(aval, start);
        }
        let make = |ends: &[Tensor]| {
            let (start, stop, last) = (&ends[0], &ends[1], (n - 1) as f64);
            let (at, far) = (Tensor::iota(DType::F64, [n], 0), stop - start);
            // Integers multiply first, so that integer results are exact; others divide first, so that they
            // do not overflow.
            let of = |at: &Tensor| if whole { &far * at / last } else { (&far / last) * at };
            let (low, high) = (start + of(&at), stop - of(&(last - &at)));
            at.lt((n / 2) as f64).select(&low, &high).to_dtype(aval.dtype)
        };
        let ends = [Tensor::from(start), Tensor::from(stop)];
        if is_tracing() {
            return make(&ends);
        }
        // The ends are operands, so that one compiled program serves all ends.
        region1("linspace", vec![arg("aval", aval.clone())], &[&ends[0], &ends[1]], make).on_default_device()
    }
}

impl Tensor {
    /// Returns a boolean scalar: true if every element is finite.
    #[track_caller]
    pub fn all_finite(&self) -> Tensor {
        if self.dtype().class() < Class::Float { Tensor::full([], true) } else { self.is_finite().all(()) }
    }
}
