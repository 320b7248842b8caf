//! Which loop serves a scalar function on registers of which kinds.

use super::Kind;
use crate::vector::{self, Binary, Compare, Convert, Each, Loops, Select, Test, Unary};
use gradus_ir::DType;
use gradus_ir::ops::Scalar;

/// A scalar function over registers.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) func: Func,
    pub(super) args: Vec<Arg>,
    /// What is done to whole numbers of fewer bits in the end.
    pub(super) narrow: Option<Narrow>,
}

/// How whole numbers come to lie within their bits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Narrow {
    /// What is beyond is lost.
    Wrap(Unary<i64>),
    /// What is beyond becomes the nearest there is.
    Clamp(i64, i64),
}

impl Narrow {
    fn wrap(dtype: DType) -> Option<Narrow> {
        let all = vector::conversions();
        Some(Narrow::Wrap(match dtype {
            DType::I8 => all.wrap_i8,
            DType::U8 => all.wrap_u8,
            DType::I32 => all.wrap_i32,
            DType::U32 => all.wrap_u32,
            _ => return None,
        }))
    }

    fn clamp(dtype: DType) -> Option<Narrow> {
        let ends = |x: f64| dtype.from_float(x);
        (dtype != DType::I64).then(|| Narrow::Clamp(ends(f64::NEG_INFINITY), ends(f64::INFINITY)))
    }

    /// # Safety
    /// There are so many numbers.
    pub(super) unsafe fn apply(self, x: *mut i64, n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Narrow::Wrap(f) => f(x, x, n),
                Narrow::Clamp(low, high) => {
                    let loops = vector::ints();
                    for (name, end) in [("maximum", low), ("minimum", high)] {
                        if let Some(f) = loops.binary(name) {
                            (f.vs)(x, end, x, n);
                        }
                    }
                }
            }
        }
    }
}

/// An operand: a register, or one number (per tile if constant, else per row).
#[derive(Debug)]
pub(super) struct Arg {
    pub(super) line: usize,
    pub(super) number: bool,
}

/// How the function is served.
#[derive(Debug)]
pub(super) enum Func {
    F32(Lanes<f32>),
    F64(Lanes<f64>),
    I64(Lanes<i64>),
    Bool(Lanes<u8>),
    /// The same bits.
    Copy,
    /// From one kind to another.
    Convert(Conversion),
    /// One element at a time, by the meaning of the op.
    Each {
        scalar: Scalar,
        from: Vec<DType>,
        to: DType,
    },
}

/// A loop over numbers or masks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lanes<T> {
    Unary(Unary<T>),
    Binary(Binary<T>),
    Compare(Compare<T>),
    Test(Test<T>),
    Select(Select<T>),
}

/// A conversion between registers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Conversion {
    F32F64(Convert<f32, f64>),
    F64F32(Convert<f64, f32>),
    F32I64(Convert<f32, i64>),
    I64F32(Convert<i64, f32>),
    F64I64(Convert<f64, i64>),
    I64F64(Convert<i64, f64>),
    F32Bool(Convert<f32, u8>),
    BoolF32(Convert<u8, f32>),
    F64Bool(Convert<f64, u8>),
    BoolF64(Convert<u8, f64>),
    I64Bool(Convert<i64, u8>),
    BoolI64(Convert<u8, i64>),
}

impl Conversion {
    fn between(from: Kind, to: Kind) -> Option<Conversion> {
        use Conversion::*;
        let all = vector::conversions();
        Some(match (from, to) {
            (Kind::F32, Kind::F64) => F32F64(all.f32_f64),
            (Kind::F64, Kind::F32) => F64F32(all.f64_f32),
            (Kind::F32, Kind::I64) => F32I64(all.f32_i64),
            (Kind::I64, Kind::F32) => I64F32(all.i64_f32),
            (Kind::F64, Kind::I64) => F64I64(all.f64_i64),
            (Kind::I64, Kind::F64) => I64F64(all.i64_f64),
            (Kind::F32, Kind::Bool) => F32Bool(all.f32_mask),
            (Kind::Bool, Kind::F32) => BoolF32(all.mask_f32),
            (Kind::F64, Kind::Bool) => F64Bool(all.f64_mask),
            (Kind::Bool, Kind::F64) => BoolF64(all.mask_f64),
            (Kind::I64, Kind::Bool) => I64Bool(all.i64_mask),
            (Kind::Bool, Kind::I64) => BoolI64(all.mask_i64),
            _ => return None,
        })
    }

    /// # Safety
    /// There are so many elements, and there is room for as many.
    pub(super) unsafe fn apply(self, x: *const u8, to: *mut u8, n: usize) {
        use Conversion::*;
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                F32F64(f) => f(x.cast(), to.cast(), n),
                F64F32(f) => f(x.cast(), to.cast(), n),
                F32I64(f) => f(x.cast(), to.cast(), n),
                I64F32(f) => f(x.cast(), to.cast(), n),
                F64I64(f) => f(x.cast(), to.cast(), n),
                I64F64(f) => f(x.cast(), to.cast(), n),
                F32Bool(f) => f(x.cast(), to.cast(), n),
                BoolF32(f) => f(x.cast(), to.cast(), n),
                F64Bool(f) => f(x.cast(), to.cast(), n),
                BoolF64(f) => f(x.cast(), to.cast(), n),
                I64Bool(f) => f(x.cast(), to.cast(), n),
                BoolI64(f) => f(x.cast(), to.cast(), n),
            }
        }
    }
}

impl Loop {
    /// Whether operand `k`, one of so many numbers, may stay one.
    pub(super) fn takes_number(&self, k: usize, numbers: usize, constant: bool) -> bool {
        fn by<T>(lanes: &Lanes<T>, k: usize, numbers: usize, constant: bool) -> bool {
            match lanes {
                Lanes::Binary(_) | Lanes::Compare(_) => numbers == 1 || k == 1,
                Lanes::Select(_) => k > 0 && constant,
                _ => false,
            }
        }
        match &self.func {
            Func::F32(l) => by(l, k, numbers, constant),
            Func::F64(l) => by(l, k, numbers, constant),
            Func::I64(l) => by(l, k, numbers, constant),
            Func::Bool(l) => by(l, k, numbers, constant),
            _ => false,
        }
    }
}

fn float<T: 'static + Copy>(
    loops: &'static Loops<T>,
    scalar: Scalar,
    to: Kind,
    own: Kind,
) -> Option<Lanes<T>> {
    match scalar {
        Scalar::Row(row) if row.predicate && row.arity == 1 => loops.test(row.name).map(Lanes::Test),
        _ => each(loops, scalar, to, own),
    }
}

fn each<T: 'static + Copy>(loops: &'static Each<T>, scalar: Scalar, to: Kind, own: Kind) -> Option<Lanes<T>> {
    match scalar {
        Scalar::Row(row) if row.predicate => loops.compare(row.name).map(Lanes::Compare),
        Scalar::Row(row) if row.arity == 1 => loops.unary(row.name).map(Lanes::Unary),
        Scalar::Row(row) if row.arity == 2 => loops.binary(row.name).map(Lanes::Binary),
        Scalar::Select if to == own => Some(Lanes::Select(loops.select)),
        _ => None,
    }
}

/// The loop of a scalar function over these lines.
pub(super) fn loop_of(scalar: Scalar, lines: &[usize], from: &[DType], to: DType) -> Loop {
    let args = lines.iter().map(|&line| Arg { line, number: false }).collect();
    // What a choice is made of decides its type; its first operand is a truth value.
    let typed = if matches!(scalar, Scalar::Select) { to } else { from[0] };
    let kind = Kind::of(to);
    let fast = match (scalar, Kind::of(typed)) {
        (Scalar::Identity, _) => Some(Func::Copy),
        (Scalar::Cast, own) if own == kind => Some(Func::Copy),
        (Scalar::Cast, own) => Conversion::between(own, kind).map(Func::Convert),
        (_, Kind::F32) => float(vector::loops::<f32>(), scalar, kind, Kind::F32).map(Func::F32),
        (_, Kind::F64) => float(vector::loops::<f64>(), scalar, kind, Kind::F64).map(Func::F64),
        (_, Kind::I64) => each(vector::ints(), scalar, kind, Kind::I64).map(Func::I64),
        (_, Kind::Bool) => each(vector::masks(), scalar, kind, Kind::Bool).map(Func::Bool),
        _ => None,
    };
    // Whole numbers are computed in 64 bits, whatever their own.
    let narrow = match (scalar, Kind::of(from[0])) {
        _ if kind != Kind::I64 || fast.is_none() => None,
        (Scalar::Identity | Scalar::Select, _) => None,
        (Scalar::Cast, Kind::F32 | Kind::F64) => Narrow::clamp(to),
        _ => Narrow::wrap(to),
    };
    let func = fast.unwrap_or_else(|| Func::Each { scalar, from: from.to_vec(), to });
    Loop { func, args, narrow }
}
