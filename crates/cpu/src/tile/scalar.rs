//! Evaluates functions without a loop one element at a time, by the op's definition in the catalog.

use super::Kind;
use gradus_ir::ops::{Combine, Pointwise, Scalar};
use gradus_ir::reference::Combined;
use gradus_ir::{C, Class, DType, Literal};

/// Sets `to[i] = f(args[0][i], …)` for each element.
///
/// # Safety
/// Each operand has `n` elements of its dtype's kind, and `to` has space for `n` of its own.
pub(super) unsafe fn each(
    scalar: Scalar,
    from: &[DType],
    args: &[*const u8],
    dtype: DType,
    to: *mut u8,
    n: usize,
) {
    // SAFETY: the caller guarantees the elements; each arm uses the type of the kind.
    unsafe {
        match scalar {
            Scalar::Pointwise(op) => pointwise(op, from[0], args, dtype, to, n),
            Scalar::Identity => std::ptr::copy(args[0], to, n * Kind::of(dtype).size()),
            Scalar::Cast => cast(from[0], args[0], dtype, to, n),
            Scalar::Select => select(args, Kind::of(dtype).size(), to, n),
            Scalar::Re | Scalar::Im => {
                let part = |z: C| if matches!(scalar, Scalar::Re) { z.re } else { z.im };
                for i in 0..n {
                    put_float(dtype, to, i, part(args[0].cast::<C>().add(i).read()));
                }
            }
            Scalar::Conj => {
                for i in 0..n {
                    to.cast::<C>().add(i).write(args[0].cast::<C>().add(i).read().conj());
                }
            }
            Scalar::Complex => {
                for i in 0..n {
                    let z = C::new(float(from[0], args[0], i), float(from[0], args[1], i));
                    to.cast::<C>().add(i).write(z);
                }
            }
        }
    }
}

/// Largest number of operands of a pointwise op.
const MAX: usize = 4;

unsafe fn pointwise(op: &Pointwise, from: DType, args: &[*const u8], dtype: DType, to: *mut u8, n: usize) {
    let k = args.len().min(MAX);
    // SAFETY: the caller guarantees the elements; each arm uses the type of the kind.
    unsafe {
        match (Kind::of(from), op.float, op.complex, op.int) {
            (Kind::F32 | Kind::F64, Some(f), _, _) => {
                for i in 0..n {
                    let v: [f64; MAX] =
                        std::array::from_fn(|a| if a < k { float(from, args[a], i) } else { 0.0 });
                    match op.predicate {
                        true => to.add(i).write((f(&v[..k]) != 0.0) as u8),
                        false => put_float(dtype, to, i, f(&v[..k])),
                    }
                }
            }
            (Kind::C, _, Some(f), _) => {
                for i in 0..n {
                    let v: [C; MAX] =
                        std::array::from_fn(
                            |a| if a < k { args[a].cast::<C>().add(i).read() } else { C::ZERO },
                        );
                    match op.predicate {
                        true => to.add(i).write((f(&v[..k]).re != 0.0) as u8),
                        false => to.cast::<C>().add(i).write(f(&v[..k])),
                    }
                }
            }
            (Kind::I64 | Kind::Bool, _, _, Some(f)) => {
                for i in 0..n {
                    let v: [i64; MAX] =
                        std::array::from_fn(|a| if a < k { int(from, args[a], i) } else { 0 });
                    put_int(dtype, to, i, dtype.wrap(f(&v[..k])));
                }
            }
            // Does not occur: graphs are type-checked, so every pointwise op has a definition for its dtype.
            _ => to.write_bytes(0, n * Kind::of(dtype).size()),
        }
    }
}

unsafe fn float(dtype: DType, x: *const u8, i: usize) -> f64 {
    // SAFETY: the caller guarantees that `x` has an element `i` of the dtype's kind.
    unsafe {
        match Kind::of(dtype) {
            Kind::F32 => x.cast::<f32>().add(i).read() as f64,
            _ => x.cast::<f64>().add(i).read(),
        }
    }
}

unsafe fn put_float(dtype: DType, to: *mut u8, i: usize, x: f64) {
    // SAFETY: the caller guarantees that `to` has space for element `i` of the dtype's kind.
    unsafe {
        match Kind::of(dtype) {
            Kind::F32 => to.cast::<f32>().add(i).write(x as f32),
            _ => to.cast::<f64>().add(i).write(x),
        }
    }
}

unsafe fn int(dtype: DType, x: *const u8, i: usize) -> i64 {
    // SAFETY: the caller guarantees that `x` has an element `i` of the dtype's kind.
    unsafe {
        match Kind::of(dtype) {
            Kind::Bool => x.add(i).read() as i64,
            _ => x.cast::<i64>().add(i).read(),
        }
    }
}

unsafe fn put_int(dtype: DType, to: *mut u8, i: usize, x: i64) {
    // SAFETY: the caller guarantees that `to` has space for element `i` of the dtype's kind.
    unsafe {
        match Kind::of(dtype) {
            Kind::Bool => to.add(i).write((x != 0) as u8),
            _ => to.cast::<i64>().add(i).write(x),
        }
    }
}

unsafe fn select(args: &[*const u8], size: usize, to: *mut u8, n: usize) {
    for i in 0..n {
        // SAFETY: the caller guarantees `n` elements of each; `copy` allows `to` to be one of the operands.
        unsafe {
            let chosen = if args[0].add(i).read() != 0 { args[1] } else { args[2] };
            std::ptr::copy(chosen.add(i * size), to.add(i * size), size);
        }
    }
}

unsafe fn cast(from: DType, x: *const u8, dtype: DType, to: *mut u8, n: usize) {
    // Iterates forwards. Operand and result share a register only if their elements have the same size
    // (`TileProgram::allocate`), so no element is overwritten before it is read.
    for i in 0..n {
        // SAFETY: the caller guarantees `n` elements of both.
        unsafe {
            match (from.class(), dtype.class()) {
                (Class::Float, Class::Float) => put_float(dtype, to, i, float(from, x, i)),
                (Class::Float, Class::Complex) => to.cast::<C>().add(i).write(C::new(float(from, x, i), 0.0)),
                (Class::Float, _) => put_int(dtype, to, i, dtype.from_float(float(from, x, i))),
                (Class::Complex, Class::Complex) => to.cast::<C>().add(i).write(x.cast::<C>().add(i).read()),
                (Class::Complex, Class::Float) => put_float(dtype, to, i, x.cast::<C>().add(i).read().re),
                (Class::Complex, _) => {
                    let z = x.cast::<C>().add(i).read();
                    let number = if dtype == DType::Bool && z.im != 0.0 { 1.0 } else { z.re };
                    put_int(dtype, to, i, dtype.from_float(number));
                }
                (_, Class::Float) if Kind::of(dtype) == Kind::F32 => {
                    to.cast::<f32>().add(i).write(int(from, x, i) as f32);
                }
                (_, Class::Float) => put_float(dtype, to, i, int(from, x, i) as f64),
                (_, Class::Complex) => to.cast::<C>().add(i).write(C::new(int(from, x, i) as f64, 0.0)),
                (_, Class::Bool) => to.add(i).write((int(from, x, i) != 0) as u8),
                (_, Class::Int) => put_int(dtype, to, i, dtype.wrap(int(from, x, i))),
            }
        }
    }
}

/// Sets each `to[i]` to `l`.
///
/// # Safety
/// `to` has space for `n` elements of the kind.
pub(super) unsafe fn fill(l: &Literal, to: *mut u8, n: usize) {
    // SAFETY: the caller guarantees the space; each arm uses the type of the kind.
    unsafe {
        match Kind::of(l.dtype()) {
            Kind::F32 => (0..n).for_each(|i| to.cast::<f32>().add(i).write(l.f()[0] as f32)),
            Kind::F64 => (0..n).for_each(|i| to.cast::<f64>().add(i).write(l.f()[0])),
            Kind::I64 => (0..n).for_each(|i| to.cast::<i64>().add(i).write(l.i()[0])),
            Kind::Bool => to.write_bytes((l.i()[0] != 0) as u8, n),
            Kind::C => (0..n).for_each(|i| to.cast::<C>().add(i).write(l.c()[0])),
        }
    }
}

/// Sets `to[i] = combine(to[i], x[i])` for each element.
///
/// # Safety
/// Both have `n` elements of the dtype's kind.
pub(super) unsafe fn accumulate(combine: Combine, dtype: DType, x: *const u8, to: *mut u8, n: usize) {
    for i in 0..n {
        // SAFETY: the caller guarantees `n` elements of both.
        unsafe {
            match Kind::of(dtype) {
                Kind::F32 | Kind::F64 => {
                    let y = f64::combine(combine, float(dtype, to, i), float(dtype, x, i));
                    put_float(dtype, to, i, y);
                }
                Kind::C => {
                    let to = to.cast::<C>().add(i);
                    to.write(C::combine(combine, to.read(), x.cast::<C>().add(i).read()));
                }
                _ => {
                    let y = i64::combine(combine, int(dtype, to, i), int(dtype, x, i));
                    put_int(dtype, to, i, dtype.wrap(y));
                }
            }
        }
    }
}

/// Sets each `to[i]` to the identity element of a combination.
///
/// # Safety
/// `to` has space for `n` elements of the dtype's kind.
pub(super) unsafe fn identity(combine: Combine, dtype: DType, to: *mut u8, n: usize) {
    for i in 0..n {
        // SAFETY: the caller guarantees the space.
        unsafe {
            match Kind::of(dtype) {
                Kind::F32 | Kind::F64 => put_float(dtype, to, i, f64::identity(combine, dtype)),
                Kind::C => to.cast::<C>().add(i).write(C::identity(combine, dtype)),
                _ => put_int(dtype, to, i, i64::identity(combine, dtype)),
            }
        }
    }
}

/// Sets `to[at]` to the combination of all of `x`.
///
/// # Safety
/// `x` has `n` elements of the dtype's kind, and `to` has space for element `at`.
pub(super) unsafe fn reduce(combine: Combine, dtype: DType, x: *const u8, n: usize, to: *mut u8, at: usize) {
    // SAFETY: the caller guarantees the elements; each arm uses the type of the kind.
    unsafe {
        match Kind::of(dtype) {
            Kind::F32 | Kind::F64 => {
                let all = (0..n).map(|i| float(dtype, x, i));
                let y = all.fold(f64::identity(combine, dtype), |a, b| f64::combine(combine, a, b));
                put_float(dtype, to, at, y);
            }
            Kind::C => {
                let all = (0..n).map(|i| x.cast::<C>().add(i).read());
                let y = all.fold(C::identity(combine, dtype), |a, b| C::combine(combine, a, b));
                to.cast::<C>().add(at).write(y);
            }
            _ => {
                let all = (0..n).map(|i| int(dtype, x, i));
                let y = all.fold(i64::identity(combine, dtype), |a, b| i64::combine(combine, a, b));
                put_int(dtype, to, at, dtype.wrap(y));
            }
        }
    }
}
