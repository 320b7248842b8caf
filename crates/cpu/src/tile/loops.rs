//! Loops over a tile for each kind of register: functions with scalar operands, expansions, reductions.

use super::{Kind, scalar};
use crate::vector;
use gradus_ir::ops::Combine;
use gradus_ir::{DType, Literal};

/// A register with the same scalar in every element.
pub(super) struct Splat(pub(super) Vec<u128>);

impl Splat {
    pub(super) fn new(l: &Literal, n: usize) -> Splat {
        let mut elements = vec![0u128; n];
        // SAFETY: the buffer has 16 bytes for each of `n` elements, and no kind needs more.
        unsafe { scalar::fill(l, elements.as_mut_ptr().cast(), n) };
        Splat(elements)
    }
}

/// Element types of loops.
pub(super) trait Number: Copy {
    fn of(l: &Literal) -> Self;
}

impl Number for f32 {
    fn of(l: &Literal) -> f32 {
        l.f().first().copied().unwrap_or(0.0) as f32
    }
}

impl Number for f64 {
    fn of(l: &Literal) -> f64 {
        l.f().first().copied().unwrap_or(0.0)
    }
}

impl Number for i64 {
    fn of(l: &Literal) -> i64 {
        l.i().first().copied().unwrap_or(0)
    }
}

impl Number for u8 {
    fn of(l: &Literal) -> u8 {
        u8::from(l.i().first().is_some_and(|x| *x != 0))
    }
}

/// Runs a loop of two operands, one of which may be a constant or a scalar per row.
///
/// # Safety
/// Operands and result have the numbers of elements that the arguments state.
pub(super) unsafe fn binary<T: Number, U>(
    f: &vector::Binary<T, U>,
    numbers: (bool, bool),
    constants: (Option<T>, Option<T>),
    (a, b): (*const T, *const T),
    to: *mut U,
    (count, rows, row): (usize, usize, usize),
) {
    // SAFETY: the caller guarantees the numbers of elements of operands and result.
    unsafe {
        match (numbers, constants) {
            (_, (Some(a), _)) => (f.sv)(a, b, to, count),
            (_, (_, Some(b))) => (f.vs)(a, b, to, count),
            ((true, _), _) => {
                for r in 0..rows {
                    (f.sv)(a.add(r).read(), b.add(r * row), to.add(r * row), row);
                }
            }
            ((_, true), _) => {
                for r in 0..rows {
                    (f.vs)(a.add(r * row), b.add(r).read(), to.add(r * row), row);
                }
            }
            _ => (f.vv)(a, b, to, count),
        }
    }
}

/// Repeats each of `rows` elements `row` times.
///
/// # Safety
/// `x` has `rows` elements of `size` bytes, and `to` has space for `rows * row`.
pub(super) unsafe fn expand(size: usize, x: *const u8, rows: usize, row: usize, to: *mut u8) {
    // SAFETY: callers guarantee `rows` elements at `x` and space for `rows * row` elements at `to`; `T` may be any type of
    // the size of the elements.
    unsafe fn each<T: Copy>(x: *const u8, rows: usize, row: usize, to: *mut u8) {
        for r in 0..rows {
            // SAFETY: the caller guarantees `rows` elements at `x` and the space at `to`.
            unsafe {
                let value = x.cast::<T>().add(r).read();
                (0..row).for_each(|i| to.cast::<T>().add(r * row + i).write(value));
            }
        }
    }
    // SAFETY: the caller guarantees `rows` elements of `size` bytes at `x` and the space at `to`; each type
    // has `size` bytes.
    unsafe {
        match size {
            1 => each::<u8>(x, rows, row, to),
            4 => each::<u32>(x, rows, row, to),
            8 => each::<u64>(x, rows, row, to),
            _ => each::<[u64; 2]>(x, rows, row, to),
        }
    }
}

/// Sets `to[at]` to the combination of all of `x`.
///
/// # Safety
/// `x` has `n` elements of the dtype's kind, and `to` has space for element `at`.
pub(super) unsafe fn reduce(combine: Combine, dtype: DType, x: *const u8, n: usize, to: *mut u8, at: usize) {
    unsafe fn float<T: vector::Element>(combine: Combine, x: *const T, n: usize) -> Option<T> {
        let loops = vector::loops::<T>();
        // SAFETY: the caller guarantees `n` elements at `x`.
        unsafe {
            match combine {
                Combine::Sum => Some((loops.sum)(x, n)),
                Combine::Max => Some((loops.max)(x, n)),
                Combine::Min => Some((loops.min)(x, n)),
                _ => None,
            }
        }
    }
    // SAFETY: the caller guarantees the elements; each arm uses the type of the kind.
    unsafe {
        match Kind::of(dtype) {
            Kind::F32 => {
                if let Some(y) = float::<f32>(combine, x.cast(), n) {
                    return to.cast::<f32>().add(at).write(y);
                }
            }
            Kind::F64 => {
                if let Some(y) = float::<f64>(combine, x.cast(), n) {
                    return to.cast::<f64>().add(at).write(y);
                }
            }
            Kind::I64 => {
                let loops = vector::ints();
                let fold = match combine {
                    Combine::Sum => Some(loops.sum),
                    // Without elements the result is the extreme value of the dtype, which the loop does not
                    // know.
                    Combine::Max if n > 0 => Some(loops.max),
                    Combine::Min if n > 0 => Some(loops.min),
                    _ => None,
                };
                if let Some(f) = fold {
                    return to.cast::<i64>().add(at).write(dtype.wrap(f(x.cast(), n)));
                }
            }
            _ => {}
        }
        scalar::reduce(combine, dtype, x, n, to, at);
    }
}

/// Sets `to[i] = combine(to[i], x[i])` for each element.
///
/// # Safety
/// Both have `n` elements of the dtype's kind.
pub(super) unsafe fn accumulate(combine: Combine, dtype: DType, x: *const u8, to: *mut u8, n: usize) {
    let name = match combine {
        Combine::Sum => "add",
        Combine::Prod => "mul",
        Combine::Max => "maximum",
        Combine::Min => "minimum",
        Combine::LogSumExp => "logaddexp",
    };
    // SAFETY: the caller guarantees `n` elements of both; each arm uses the type of the kind.
    unsafe {
        match Kind::of(dtype) {
            Kind::F32 => {
                if let Some(f) = vector::loops::<f32>().binary(name) {
                    return (f.vv)(to.cast(), x.cast(), to.cast(), n);
                }
            }
            Kind::F64 => {
                if let Some(f) = vector::loops::<f64>().binary(name) {
                    return (f.vv)(to.cast(), x.cast(), to.cast(), n);
                }
            }
            Kind::I64 if dtype == DType::I64 => {
                if let Some(f) = vector::ints().binary(name) {
                    return (f.vv)(to.cast(), x.cast(), to.cast(), n);
                }
            }
            _ => {}
        }
        scalar::accumulate(combine, dtype, x, to, n);
    }
}
