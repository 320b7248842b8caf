//! Converts literals to memory and back.

use crate::tile::{Kind, memory};
use gradus_ir::literal::Data;
use gradus_ir::{Aval, C, Literal, Result, stop};

/// Reads row-major elements into a literal.
///
/// # Safety
/// `from` points to as many elements as the type has.
pub(crate) unsafe fn from_memory(aval: &Aval, from: *const u8) -> Result<Literal> {
    /// Reads elements as `T`, the type in registers of the dtype's kind, and converts each. Polls for a stop.
    ///
    /// # Safety
    /// `from` points to as many elements of the dtype as the type has, and `T` is of the dtype's kind.
    unsafe fn elements<T: Copy + Default, R>(
        aval: &Aval,
        from: *const u8,
        convert: impl Fn(T) -> R,
    ) -> Result<Vec<R>> {
        let n = aval.shape.numel();
        let (mut all, mut some) = (Vec::with_capacity(n), vec![T::default(); n.min(stop::STRIDE)]);
        while all.len() < n {
            stop::poll()?;
            let (first, count) = (all.len(), some.len().min(n - all.len()));
            // SAFETY: the caller guarantees `n` elements at `from`, and `first + count` is at most `n`; `some` holds
            // `count` elements of the dtype's kind.
            unsafe { memory::read(aval.dtype, from, first as i64, 1, some.as_mut_ptr().cast(), count) };
            all.extend(some[..count].iter().map(|x| convert(*x)));
        }
        Ok(all)
    }
    // SAFETY: the caller guarantees the elements; each arm reads the type in registers of its kind.
    let data: Data = unsafe {
        match Kind::of(aval.dtype) {
            Kind::F32 => elements(aval, from, |x: f32| f64::from(x))?.into(),
            Kind::F64 => elements(aval, from, |x: f64| x)?.into(),
            Kind::I64 => elements(aval, from, |x: i64| x)?.into(),
            Kind::Bool => elements(aval, from, |x: u8| i64::from(x))?.into(),
            Kind::C => elements(aval, from, |x: C| x)?.into(),
        }
    };
    Literal::new(aval.clone(), data)
}

/// Writes a literal as row-major elements.
///
/// # Safety
/// `to` has space for the elements of the literal.
pub(crate) unsafe fn to_memory(l: &Literal, to: *mut u8) {
    unsafe fn elements<T>(l: &Literal, all: &[T], to: *mut u8) {
        // SAFETY: the caller guarantees space for `all.len()` elements, and `T` is the register type of the
        // dtype.
        unsafe { memory::write(l.dtype(), all.as_ptr().cast(), to, 0, 1, all.len()) };
    }
    // SAFETY: the caller guarantees the space; each arm passes the register type of the dtype's kind.
    unsafe {
        match Kind::of(l.dtype()) {
            Kind::F32 => {
                // Rounds from `f64` to the dtype directly, because rounding to `f32` first would round twice.
                let all: Vec<f32> = l.f().iter().map(|&x| l.dtype().round(x) as f32).collect();
                elements(l, &all, to);
            }
            Kind::F64 => elements(l, l.f(), to),
            Kind::I64 => elements(l, l.i(), to),
            Kind::Bool => elements(l, &l.i().iter().map(|&x| (x != 0) as u8).collect::<Vec<u8>>(), to),
            Kind::C => elements(l, l.c(), to),
        }
    }
}
