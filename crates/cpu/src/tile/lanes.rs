//! Chooses the loop that computes a scalar function of registers.

use super::Kind;
use crate::vector::{self, Binary, Compare, Convert, Each, Loops, Select, Test, Unary};
use gradus_ir::ops::Scalar;
use gradus_ir::{C, DType};

/// A scalar function over registers.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) func: Func,
    pub(super) args: Vec<Arg>,
    /// Conversion of the result to a dtype that is narrower than its register, if it is.
    pub(super) narrow: Option<Narrow>,
}

/// The conversion of results in a register to a dtype that is narrower than the register's kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Narrow {
    /// Drops the upper bits of integers.
    Wrap(Unary<i64>),
    /// Saturates integers to the range.
    Clamp(i64, i64),
    /// Rounds `f32` to a shorter float.
    Round(Unary<f32>),
    /// Rounds both parts of complex numbers to `f32`.
    RoundParts,
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

    fn round(from: DType, to: DType) -> Option<Narrow> {
        let all = vector::conversions();
        match to {
            _ if from == to => None,
            DType::BF16 => Some(Narrow::Round(all.round_bf16)),
            DType::F16 => Some(Narrow::Round(all.round_f16)),
            DType::C64 => Some(Narrow::RoundParts),
            _ => None,
        }
    }

    /// # Safety
    /// `x` has `n` elements of the kind of the loop's result.
    pub(super) unsafe fn apply(self, x: *mut u8, n: usize) {
        // SAFETY: the caller guarantees `n` elements at `x`; each arm uses the type of its kind.
        unsafe {
            match self {
                Narrow::Wrap(f) => f(x.cast(), x.cast(), n),
                Narrow::Round(f) => f(x.cast(), x.cast(), n),
                Narrow::RoundParts => {
                    let round = |part: f64| f64::from(part as f32);
                    for z in (0..n).map(|i| x.cast::<C>().add(i)) {
                        z.write(C::new(round((*z).re), round((*z).im)));
                    }
                }
                Narrow::Clamp(low, high) => {
                    let x = x.cast();
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

/// An operand: a register, or a scalar, which is a constant or one number per row.
#[derive(Debug)]
pub(super) struct Arg {
    pub(super) instruction: usize,
    pub(super) number: bool,
}

/// The implementation of a scalar function.
#[derive(Debug)]
pub(super) enum Func {
    F32(Lanes<f32>),
    F64(Lanes<f64>),
    I64(Lanes<i64>),
    Bool(Lanes<u8>),
    /// Copies bits.
    Copy,
    /// Converts between kinds.
    Convert(Conversion),
    /// Calls the op's definition in the catalog for each element.
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

/// Defines the conversions between registers. Each line has the kinds, the element types and the loop.
macro_rules! conversions {
    ($($name:ident: $from:ident ($x:ty) to $to:ident ($y:ty) by $by:ident;)*) => {
        /// A conversion between registers.
        #[derive(Clone, Copy, Debug)]
        pub(super) enum Conversion {
            $($name(Convert<$x, $y>),)*
        }

        impl Conversion {
            fn between(from: Kind, to: Kind) -> Option<Conversion> {
                let all = vector::conversions();
                Some(match (from, to) {
                    $((Kind::$from, Kind::$to) => Conversion::$name(all.$by),)*
                    _ => return None,
                })
            }

            /// # Safety
            /// `x` has `n` elements of the source kind, and `to` has space for `n` of the target kind.
            pub(super) unsafe fn apply(self, x: *const u8, to: *mut u8, n: usize) {
                match self {
                    // SAFETY: the caller guarantees the elements.
                    $(Conversion::$name(f) => unsafe { f(x.cast(), to.cast(), n) },)*
                }
            }
        }
    };
}

conversions! {
    F32F64: F32 (f32) to F64 (f64) by f32_f64;
    F64F32: F64 (f64) to F32 (f32) by f64_f32;
    F32I64: F32 (f32) to I64 (i64) by f32_i64;
    I64F32: I64 (i64) to F32 (f32) by i64_f32;
    F64I64: F64 (f64) to I64 (i64) by f64_i64;
    I64F64: I64 (i64) to F64 (f64) by i64_f64;
    F32Bool: F32 (f32) to Bool (u8) by f32_mask;
    BoolF32: Bool (u8) to F32 (f32) by mask_f32;
    F64Bool: F64 (f64) to Bool (u8) by f64_mask;
    BoolF64: Bool (u8) to F64 (f64) by mask_f64;
    I64Bool: I64 (i64) to Bool (u8) by i64_mask;
    BoolI64: Bool (u8) to I64 (i64) by mask_i64;
}

impl Loop {
    /// Returns true if the loop accepts operand `k` as a scalar. `numbers` is the number of scalar operands.
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
        Scalar::Pointwise(op) if op.predicate && op.arity == 1 => loops.test(op.name).map(Lanes::Test),
        _ => each(loops, scalar, to, own),
    }
}

fn each<T: 'static + Copy>(loops: &'static Each<T>, scalar: Scalar, to: Kind, own: Kind) -> Option<Lanes<T>> {
    match scalar {
        Scalar::Pointwise(op) if op.predicate => loops.compare(op.name).map(Lanes::Compare),
        Scalar::Pointwise(op) if op.arity == 1 => loops.unary(op.name).map(Lanes::Unary),
        Scalar::Pointwise(op) if op.arity == 2 => loops.binary(op.name).map(Lanes::Binary),
        Scalar::Select if to == own => Some(Lanes::Select(loops.select)),
        _ => None,
    }
}

/// Returns the loop of a scalar function over these registers.
pub(super) fn loop_of(scalar: Scalar, instructions: &[usize], from: &[DType], to: DType) -> Loop {
    let args = instructions.iter().map(|&instruction| Arg { instruction, number: false }).collect();
    // The type of a selection is that of its branches; its first operand is boolean.
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
    // Integers are computed in 64 bits and then narrowed. Of the ops on floats, only casts round to the dtype.
    let narrow = match (scalar, Kind::of(from[0])) {
        (Scalar::Cast, _) if matches!(kind, Kind::F32 | Kind::C) => Narrow::round(from[0], to),
        _ if kind != Kind::I64 || fast.is_none() => None,
        (Scalar::Identity | Scalar::Select, _) => None,
        (Scalar::Cast, Kind::F32 | Kind::F64) => Narrow::clamp(to),
        _ => Narrow::wrap(to),
    };
    let func = fast.unwrap_or_else(|| Func::Each { scalar, from: from.to_vec(), to });
    Loop { func, args, narrow }
}
