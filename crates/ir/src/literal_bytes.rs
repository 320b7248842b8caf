//! Converts literals to and from the bytes that tensors of their dtype have in memory: row-major, in native byte order.
//! Devices upload constants in this form; tests compare device memory with it.

use crate::{Aval, C, DType, Error, Literal, Result, message};
use half::{bf16, f16};

impl Literal {
    /// Returns the elements as bytes. Floats are rounded once, from the exact value to the dtype.
    pub fn to_bytes(&self) -> Vec<u8> {
        let dtype = self.dtype();
        let float = |x: f64| -> Vec<u8> {
            match dtype.real() {
                DType::F64 => x.to_ne_bytes().to_vec(),
                DType::BF16 => bf16::from_f64(dtype.round(x)).to_ne_bytes().to_vec(),
                DType::F16 => f16::from_f64(dtype.round(x)).to_ne_bytes().to_vec(),
                _ => (x as f32).to_ne_bytes().to_vec(),
            }
        };
        let int = |x: i64| -> Vec<u8> {
            match dtype {
                DType::Bool => vec![u8::from(x != 0)],
                DType::I8 | DType::U8 => vec![x as u8],
                DType::I32 | DType::U32 => (x as u32).to_ne_bytes().to_vec(),
                _ => x.to_ne_bytes().to_vec(),
            }
        };
        let floats = self.f().iter().flat_map(|x| float(*x));
        let complex = self.c().iter().flat_map(|z| [float(z.re), float(z.im)].concat());
        floats.chain(complex).chain(self.i().iter().flat_map(|x| int(*x))).collect()
    }

    /// Reads a literal from bytes. Returns an error if their number does not match the type.
    pub fn from_bytes(aval: &Aval, bytes: &[u8]) -> Result<Literal> {
        let dtype = aval.dtype;
        let needed = aval.shape.checked_numel().and_then(|n| n.checked_mul(dtype.size()));
        if needed != Some(bytes.len()) {
            let why = message!("do not hold ", aval, ", which needs ", needed.unwrap_or(usize::MAX));
            return Err(Error::shape(format!("{} bytes", bytes.len()), why));
        }
        let float = |b: &[u8]| match (dtype.real(), b) {
            (DType::BF16, &[a, b]) => bf16::from_ne_bytes([a, b]).to_f64(),
            (DType::F16, &[a, b]) => f16::from_ne_bytes([a, b]).to_f64(),
            (_, &[a, b, c, d]) => f32::from_ne_bytes([a, b, c, d]).into(),
            _ => f64::from_ne_bytes(word(b)),
        };
        let int = |b: &[u8]| match (dtype, b) {
            (DType::I8, &[a]) => i64::from(a as i8),
            (_, &[a]) => i64::from(a),
            (DType::U32, &[a, b, c, d]) => i64::from(u32::from_ne_bytes([a, b, c, d])),
            (_, &[a, b, c, d]) => i64::from(i32::from_ne_bytes([a, b, c, d])),
            _ => i64::from_ne_bytes(word(b)),
        };
        let elements = bytes.chunks_exact(dtype.real().size());
        if dtype.is_complex() {
            let parts: Vec<f64> = elements.map(float).collect();
            let pairs: Vec<C> = parts.chunks_exact(2).map(|z| C::new(z[0], z[1])).collect();
            return Literal::new(aval.clone(), pairs);
        }
        match dtype.is_differentiable() {
            true => Literal::new(aval.clone(), elements.map(float).collect::<Vec<f64>>()),
            false => Literal::new(aval.clone(), elements.map(int).collect::<Vec<i64>>()),
        }
    }
}

/// Copies the eight bytes of a 64-bit element.
fn word(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_stored_in_their_dtype() {
        let floats = |d, v: Vec<f64>| Literal::floats(d, vec![v.len()], v).expect("a vector").to_bytes();
        let ints = |d, v: Vec<i64>| Literal::ints(d, vec![v.len()], v).expect("a vector").to_bytes();
        let expected = [1.5f32.to_ne_bytes(), (-2.0f32).to_ne_bytes()].concat();
        assert_eq!(floats(DType::F32, vec![1.5, -2.0]), expected);
        assert_eq!(floats(DType::BF16, vec![1.0]), 0x3F80u16.to_ne_bytes());
        assert_eq!(floats(DType::F16, vec![-2.0]), 0xC000u16.to_ne_bytes());
        assert_eq!(ints(DType::I8, vec![-1, 2]), [255, 2]);
        assert_eq!(ints(DType::Bool, vec![0, 1, 1]), [0, 1, 1]);
        assert_eq!(ints(DType::I64, vec![-5]), (-5i64).to_ne_bytes());
        assert_eq!(ints(DType::U32, vec![u32::MAX as i64]), u32::MAX.to_ne_bytes());
        let complex = Literal::new(Aval::new(DType::C64, [1]), vec![C::new(1.0, -1.0)]).expect("one number");
        assert_eq!(complex.to_bytes(), [1f32.to_ne_bytes(), (-1f32).to_ne_bytes()].concat());
    }

    #[test]
    fn bytes_are_read_back_in_every_dtype() {
        for dtype in DType::ALL {
            let ones = [1.0, 0.0, 1.0, 1.0];
            let literal =
                Literal::floats(DType::F64, vec![2, 2], ones.to_vec()).expect("a matrix").cast(dtype);
            let bytes = literal.to_bytes();
            assert_eq!(bytes.len(), 4 * dtype.size(), "{dtype}");
            assert_eq!(Literal::from_bytes(literal.aval(), &bytes).expect("a matrix"), literal);
            let e = Literal::from_bytes(literal.aval(), &bytes[1..]).expect_err("a byte is missing");
            assert!(e.to_string().contains("bytes do not hold"), "{e}");
        }
        let negative = Literal::ints(DType::I8, vec![2], vec![-3, 7]).expect("a vector");
        assert_eq!(Literal::from_bytes(negative.aval(), &negative.to_bytes()).expect("a vector"), negative);
    }
}
