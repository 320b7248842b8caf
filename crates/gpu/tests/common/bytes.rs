//! Literals as bytes in memory and back, written without the crates under test.

use gradus_ir::{Aval, C, DType, Literal};
use half::{bf16, f16};

/// Row-major elements in memory.
pub(crate) fn to_bytes(l: &Literal) -> Vec<u8> {
    let d = l.dtype();
    let float = |x: f64| -> Vec<u8> {
        match d {
            DType::F64 | DType::C128 => x.to_le_bytes().to_vec(),
            DType::BF16 => bf16::from_f64(d.round(x)).to_le_bytes().to_vec(),
            DType::F16 => f16::from_f64(d.round(x)).to_le_bytes().to_vec(),
            _ => (x as f32).to_le_bytes().to_vec(),
        }
    };
    let floats = l.f().iter().flat_map(|x| float(*x));
    let complex = l.c().iter().flat_map(|z| [float(z.re), float(z.im)].concat());
    let ints = l.i().iter().flat_map(|x| x.to_le_bytes()[..d.size()].to_vec());
    floats.chain(complex).chain(ints).collect()
}

/// The literal of row-major elements in memory.
pub(crate) fn from_bytes(aval: &Aval, bytes: &[u8]) -> Literal {
    let d = aval.dtype;
    let size = d.real().size();
    let float = |b: &[u8]| match d.real() {
        DType::F64 => f64::from_le_bytes(b.try_into().expect("8 bytes")),
        DType::BF16 => bf16::from_le_bytes(b.try_into().expect("2 bytes")).to_f64(),
        DType::F16 => f16::from_le_bytes(b.try_into().expect("2 bytes")).to_f64(),
        _ => f32::from_le_bytes(b.try_into().expect("4 bytes")).into(),
    };
    let int = |b: &[u8]| match d {
        DType::I8 => i64::from(b[0] as i8),
        DType::U8 | DType::Bool => i64::from(b[0]),
        DType::I32 => i64::from(i32::from_le_bytes(b.try_into().expect("4 bytes"))),
        DType::U32 => i64::from(u32::from_le_bytes(b.try_into().expect("4 bytes"))),
        _ => i64::from_le_bytes(b.try_into().expect("8 bytes")),
    };
    let elements = bytes.chunks_exact(size);
    let literal = if d.is_complex() {
        let all: Vec<f64> = elements.map(float).collect();
        Literal::new(aval.clone(), all.chunks_exact(2).map(|z| C::new(z[0], z[1])).collect::<Vec<C>>())
    } else if d.is_differentiable() {
        Literal::new(aval.clone(), elements.map(float).collect::<Vec<f64>>())
    } else {
        Literal::new(aval.clone(), elements.map(int).collect::<Vec<i64>>())
    };
    literal.expect("as many elements as the type says")
}
