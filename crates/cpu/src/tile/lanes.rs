//! Which loop serves a scalar function on registers of which kinds.

use super::Kind;
use crate::vector::{self, Binary, Compare, Each, Loops, Select, Test, Unary};
use gradus_ir::DType;
use gradus_ir::ops::Scalar;

/// A scalar function over registers.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) func: Func,
    pub(super) args: Vec<Arg>,
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
    /// From truth values.
    OfBool(unsafe fn(*const u8, *mut T, usize)),
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
    let same = Kind::of(from[0]) == Kind::of(to);
    let fast = match (scalar, Kind::of(typed)) {
        (Scalar::Identity, _) => Some(Func::Copy),
        // Integers of another width may wrap.
        (Scalar::Cast, kind) if same && kind != Kind::I64 => Some(Func::Copy),
        (Scalar::Cast, Kind::Bool) => match Kind::of(to) {
            Kind::F32 => Some(Func::F32(Lanes::OfBool(vector::conversions().mask_f32))),
            Kind::F64 => Some(Func::F64(Lanes::OfBool(vector::conversions().mask_f64))),
            _ => None,
        },
        (_, Kind::F32) => float(vector::loops::<f32>(), scalar, Kind::of(to), Kind::F32).map(Func::F32),
        (_, Kind::F64) => float(vector::loops::<f64>(), scalar, Kind::of(to), Kind::F64).map(Func::F64),
        // Of narrower ones sums and products wrap elsewhere.
        (scalar, Kind::I64)
            if typed == DType::I64 || !matches!(scalar, Scalar::Row(row) if !row.predicate) =>
        {
            each(vector::ints(), scalar, Kind::of(to), Kind::I64).map(Func::I64)
        }
        (scalar, Kind::Bool) => each(vector::masks(), scalar, Kind::of(to), Kind::Bool).map(Func::Bool),
        _ => None,
    };
    let func = fast.unwrap_or_else(|| Func::Each { scalar, from: from.to_vec(), to });
    Loop { func, args }
}
