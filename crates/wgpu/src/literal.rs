//! Literals as bytes: the constants of a plan in the memory format of their dtype, row-major.

use gradus_ir::{C, DType, Literal};
use half::{bf16, f16};

/// The bytes of a literal's elements, in the order of the machine.
pub(crate) fn bytes(literal: &Literal) -> Vec<u8> {
    let dtype = literal.dtype();
    // Rounded once from the exact value, because rounding by way of `f32` could round twice.
    let float = |x: f64| dtype.round(x);
    match dtype {
        DType::F32 => literal.f().iter().flat_map(|&x| (float(x) as f32).to_ne_bytes()).collect(),
        DType::F64 => literal.f().iter().flat_map(|x| x.to_ne_bytes()).collect(),
        DType::BF16 => literal.f().iter().flat_map(|&x| bf16::from_f64(float(x)).to_ne_bytes()).collect(),
        DType::F16 => literal.f().iter().flat_map(|&x| f16::from_f64(float(x)).to_ne_bytes()).collect(),
        DType::I8 => literal.i().iter().map(|&x| x as i8 as u8).collect(),
        DType::U8 => literal.i().iter().map(|&x| x as u8).collect(),
        DType::Bool => literal.i().iter().map(|&x| u8::from(x != 0)).collect(),
        DType::I32 => literal.i().iter().flat_map(|&x| (x as i32).to_ne_bytes()).collect(),
        DType::U32 => literal.i().iter().flat_map(|&x| (x as u32).to_ne_bytes()).collect(),
        DType::I64 => literal.i().iter().flat_map(|x| x.to_ne_bytes()).collect(),
        DType::C64 => {
            let pair = |x: &C| [(x.re as f32).to_ne_bytes(), (x.im as f32).to_ne_bytes()].concat();
            literal.c().iter().flat_map(pair).collect()
        }
        DType::C128 => {
            let pair = |x: &C| [x.re.to_ne_bytes(), x.im.to_ne_bytes()].concat();
            literal.c().iter().flat_map(pair).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gradus_ir::{Aval, Shape};

    #[test]
    fn elements_are_stored_in_their_dtype() {
        let floats = |d, v: Vec<f64>| bytes(&Literal::floats(d, vec![v.len()], v).expect("a vector"));
        let ints = |d, v: Vec<i64>| bytes(&Literal::ints(d, vec![v.len()], v).expect("a vector"));
        assert_eq!(
            floats(DType::F32, vec![1.5, -2.0]),
            [1.5f32.to_ne_bytes(), (-2.0f32).to_ne_bytes()].concat()
        );
        assert_eq!(floats(DType::BF16, vec![1.0]), 0x3F80u16.to_ne_bytes());
        assert_eq!(floats(DType::F16, vec![-2.0]), 0xC000u16.to_ne_bytes());
        assert_eq!(ints(DType::I8, vec![-1, 2]), [255, 2]);
        assert_eq!(ints(DType::Bool, vec![0, 1, 1]), [0, 1, 1]);
        assert_eq!(ints(DType::I64, vec![-5]), (-5i64).to_ne_bytes());
        assert_eq!(ints(DType::U32, vec![u32::MAX as i64]), u32::MAX.to_ne_bytes());
        let complex = Literal::new(Aval::new(DType::C64, Shape::from(vec![1])), vec![C::new(1.0, -1.0)]);
        assert_eq!(
            bytes(&complex.expect("one number")),
            [1f32.to_ne_bytes(), (-1f32).to_ne_bytes()].concat()
        );
    }
}
