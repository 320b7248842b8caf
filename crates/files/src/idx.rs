//! IDX, the format of MNIST: a type, extents, and big-endian elements.

use crate::{atomic, bytes};
use gradus_ir::{Aval, DType, Result, Shape};
use gradus_tensor::Tensor;
use std::path::Path;

/// Reads the tensor in an IDX file.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    parse(&bytes(path)?).map_err(|why| atomic::failed(path, why))
}

/// Parses the bytes of a file.
pub fn from_bytes(bytes: &[u8]) -> Result<Tensor> {
    parse(bytes).map_err(|why| gradus_ir::Error::value("IDX bytes", why))
}

fn parse(bytes: &[u8]) -> std::result::Result<Tensor, String> {
    let [0, 0, code, rank, rest @ ..] = bytes else { return Err("is not an IDX file".to_string()) };
    let dtype = match code {
        0x08 => DType::U8,
        0x09 => DType::I8,
        0x0C => DType::I32,
        0x0D => DType::F32,
        0x0E => DType::F64,
        code => return Err(format!("has elements of type {code:#04x}, which is not supported")),
    };
    let rank = *rank as usize;
    let Some((extents, elements)) = rest.split_at_checked(4 * rank) else {
        return Err(format!("is truncated: it declares {rank} extents"));
    };
    let extent = |b: &[u8]| b.iter().fold(0usize, |n, b| n << 8 | *b as usize);
    let shape: Shape = extents.chunks(4).map(extent).collect();
    let needed = shape.checked_numel().and_then(|n| n.checked_mul(dtype.size()));
    if needed != Some(elements.len()) {
        return Err(format!("has {} bytes of elements, which does not match {dtype}{shape}", elements.len()));
    }
    let mut own = elements.to_vec();
    own.chunks_mut(dtype.size()).for_each(<[u8]>::reverse);
    Ok(Tensor::from_bytes(&Aval::new(dtype, shape), &own))
}

/// Writes a tensor of `u8`, as in MNIST.
pub fn write(path: impl AsRef<Path>, t: &Tensor) -> Result<()> {
    let (path, shape) = (path.as_ref(), t.check()?.shape());
    if t.dtype() != DType::U8 || shape.rank() > 255 || shape.iter().any(|d| *d > u32::MAX as usize) {
        return Err(atomic::failed(
            path,
            format!("cannot write a tensor {}{shape} as IDX; use u8", t.dtype()),
        ));
    }
    let mut head = vec![0, 0, 0x08, shape.rank() as u8];
    shape.iter().for_each(|d| head.extend((*d as u32).to_be_bytes()));
    atomic::write(path, &[&head, &t.to_bytes()?])
}
