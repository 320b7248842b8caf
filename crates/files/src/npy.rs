//! NumPy's format of one array: a header that is a Python dictionary, then the elements.

use crate::{atomic, bytes};
use gradus_ir::{Aval, DType, Error, Result, Shape};
use gradus_tensor::Tensor;
use std::borrow::Cow;
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy's names of dtypes, least significant byte first.
const DTYPES: &[(DType, &str)] = &[
    (DType::F32, "<f4"),
    (DType::F64, "<f8"),
    (DType::F16, "<f2"),
    (DType::I8, "|i1"),
    (DType::U8, "|u1"),
    (DType::I32, "<i4"),
    (DType::U32, "<u4"),
    (DType::I64, "<i8"),
    (DType::Bool, "|b1"),
    (DType::C64, "<c8"),
    (DType::C128, "<c16"),
];

/// Reads an array.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    parse(&bytes(path)?).map_err(|why| atomic::failed(path, why))
}

/// Writes an array, all or nothing.
pub fn write(path: impl AsRef<Path>, t: &Tensor) -> Result<()> {
    let path = path.as_ref();
    let all = to_bytes(t).map_err(|e| atomic::failed(path, e))?;
    atomic::write(path, &[&all])
}

/// A tensor as the bytes of a file.
pub(crate) fn to_bytes(t: &Tensor) -> Result<Vec<u8>> {
    let (dtype, shape) = (t.check()?.dtype(), t.shape());
    let Some((_, name)) = DTYPES.iter().find(|(own, _)| *own == dtype) else {
        return Err(Error::dtype(dtype, "NumPy does not have it"));
    };
    // As Python writes tuples: a comma behind a single number, and none behind the last of several.
    let extents: Vec<String> = shape.iter().map(|d| d.to_string()).collect();
    let extents = if let [one] = &extents[..] { format!("{one},") } else { extents.join(", ") };
    let mut header = format!("{{'descr': '{name}', 'fortran_order': False, 'shape': ({extents}), }}");
    // Elements begin at a multiple of 64 bytes, behind a line break.
    let room = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    header.extend(std::iter::repeat_n(' ', room - header.len() - 1));
    header.push('\n');
    let length =
        u16::try_from(header.len()).map_err(|_| Error::shape(format!("shape {shape}"), "is too long"))?;
    Ok([MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), &t.to_bytes()?].concat())
}

/// A tensor from the bytes of a file.
pub(crate) fn parse(bytes: &[u8]) -> std::result::Result<Tensor, String> {
    let cut = || "is truncated".to_string();
    let rest = bytes.strip_prefix(MAGIC).ok_or("is no NumPy file")?;
    let (version, rest) = rest.split_at_checked(2).ok_or_else(cut)?;
    let width = if version[0] == 1 { 2 } else { 4 };
    let (length, rest) = rest.split_at_checked(width).ok_or_else(cut)?;
    let length = length.iter().rev().fold(0usize, |n, b| n << 8 | *b as usize);
    let (header, elements) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| "has a header that is no text")?;
    let value = |key: &str| {
        let from = header.find(&format!("'{key}':")).ok_or(format!("has no `{key}` in its header"))?;
        Ok::<&str, String>(header[from + key.len() + 3..].trim_start())
    };
    let descr = value("descr")?.strip_prefix('\'').and_then(|d| d.split('\'').next()).unwrap_or_default();
    // The same with the most significant byte first, or as it is on this machine.
    let little = descr.replacen(['>', '='], "<", 1);
    let known = DTYPES.iter().find(|(_, name)| *name == little);
    let (dtype, _) = known.ok_or(format!("has elements of type `{descr}`, which is not supported"))?;
    let extents = value("shape")?.strip_prefix('(').and_then(|s| s.split(')').next()).unwrap_or_default();
    let extent =
        |s: &str| s.trim().parse::<usize>().map_err(|_| format!("has a shape ({extents}) that is none"));
    let mut shape = extents
        .split(',')
        .filter(|s| !s.trim().is_empty())
        .map(extent)
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let columns = value("fortran_order")?.starts_with("True");
    if columns {
        shape.reverse();
    }
    let shape: Shape = shape.into_iter().collect();
    let needed = shape.checked_numel().and_then(|n| n.checked_mul(dtype.size()));
    let needed = needed.ok_or(format!("has a shape ({extents}) beyond memory"))?;
    let elements = elements
        .get(..needed)
        .ok_or(format!("is truncated: {needed} bytes of elements are not all there"))?;
    if *dtype == DType::Bool && elements.iter().any(|b| *b > 1) {
        return Err("has truth values that are neither 0 nor 1".to_string());
    }
    let mut elements = Cow::Borrowed(elements);
    if descr.starts_with('>') {
        let part = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
        elements.to_mut().chunks_mut(part).for_each(<[u8]>::reverse);
    }
    let t = Tensor::from_bytes(&Aval::new(*dtype, shape), &elements);
    t.check().map_err(|e| e.to_string())?;
    let backwards: Vec<isize> = (0..t.rank() as isize).rev().collect();
    Ok(if columns { t.permute(backwards) } else { t })
}
