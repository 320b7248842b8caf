//! Literals to memory and back.

use crate::tile::{Kind, memory};
use gradus_ir::literal::Data;
use gradus_ir::{Aval, C, Literal, Result};

/// The literal of row-major elements in memory.
///
/// # Safety
/// There are as many elements as the type says.
pub(crate) unsafe fn from_memory(aval: &Aval, from: *const u8) -> Result<Literal> {
    unsafe fn elements<T: Copy + Default>(aval: &Aval, from: *const u8) -> Vec<T> {
        let n = aval.shape.numel();
        let mut all = vec![T::default(); n];
        // SAFETY: the caller's promise; the carrier is that of the dtype's kind.
        unsafe { memory::read(aval.dtype, from, 0, 1, all.as_mut_ptr().cast(), n) };
        all
    }
    // SAFETY: the caller's promise, at the carrier of the dtype's kind.
    let data: Data = unsafe {
        match Kind::of(aval.dtype) {
            Kind::F32 => elements::<f32>(aval, from).into_iter().map(f64::from).collect::<Vec<_>>().into(),
            Kind::F64 => elements::<f64>(aval, from).into(),
            Kind::I64 => elements::<i64>(aval, from).into(),
            Kind::Bool => elements::<u8>(aval, from).into_iter().map(i64::from).collect::<Vec<_>>().into(),
            Kind::C => elements::<C>(aval, from).into(),
        }
    };
    Literal::new(aval.clone(), data)
}

/// Writes a literal as row-major elements.
///
/// # Safety
/// There is room for as many elements as the literal has.
pub(crate) unsafe fn to_memory(l: &Literal, to: *mut u8) {
    unsafe fn elements<T>(l: &Literal, all: &[T], to: *mut u8) {
        // SAFETY: the caller's promise; the carrier is that of the dtype's kind.
        unsafe { memory::write(l.dtype(), all.as_ptr().cast(), to, 0, 1, all.len()) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        match Kind::of(l.dtype()) {
            Kind::F32 => {
                // Rounded from the carrier once, not by way of f32.
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
