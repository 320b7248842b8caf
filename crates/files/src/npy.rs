//! NumPy's format of one array: a header that is a Python dictionary, then the elements.

use crate::atomic::{self, failed};
use gradus_ir::{Aval, DType, Error, Result, Shape};
use gradus_tensor::Tensor;
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Dtypes with the letter and the size in bytes that NumPy gives them. `bf16`, which NumPy lacks, is written as `f32`.
const DTYPES: &[(DType, &str)] = &[
    (DType::F32, "f4"),
    (DType::F64, "f8"),
    (DType::F16, "f2"),
    (DType::I8, "i1"),
    (DType::U8, "u1"),
    (DType::I32, "i4"),
    (DType::U32, "u4"),
    (DType::I64, "i8"),
    (DType::Bool, "b1"),
    (DType::C64, "c8"),
    (DType::C128, "c16"),
];

/// Reads the array in a file.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    parse(&crate::bytes(path)?).map_err(|why| failed(path, why))
}

/// Writes an array.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    atomic::write(path.as_ref(), &[&to_bytes(tensor)?])
}

/// Serializes an array with its header.
pub fn to_bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let tensor =
        if tensor.check()?.dtype() == DType::BF16 { tensor.to_dtype(DType::F32) } else { tensor.clone() };
    let dtype = tensor.dtype();
    let word = DTYPES.iter().find(|d| d.0 == dtype).map(|d| d.1);
    let word = word.ok_or_else(|| Error::dtype(dtype, "NumPy has no such dtype"))?;
    let order = if dtype.size() == 1 { '|' } else { '<' };
    // Writes the shape as Python writes tuples: with a comma after a single number, and none after the last of
    // several.
    let extents: Vec<String> = tensor.shape().iter().map(|n| n.to_string()).collect();
    let extents = if let [one] = &extents[..] { format!("{one},") } else { extents.join(", ") };
    let mut header = format!("{{'descr': '{order}{word}', 'fortran_order': False, 'shape': ({extents}), }}");
    // Elements begin at a multiple of 64 bytes, after a newline.
    while !(MAGIC.len() + 4 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(tensor.to_bytes()?);
    Ok(out)
}

/// Parses an array, or returns a description of the error.
pub fn parse(bytes: &[u8]) -> std::result::Result<Tensor, String> {
    let cut = || "is truncated".to_string();
    let rest = bytes.strip_prefix(MAGIC).ok_or("is not a .npy file")?;
    let (length, header) = match rest {
        [1, _, a, b, rest @ ..] => (u16::from_le_bytes([*a, *b]) as usize, rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [version, ..] => return Err(format!("has format version {version}, which is not supported")),
        [] => return Err(cut()),
    };
    let (header, elements) = header.split_at_checked(length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| "has a header that is not text")?;
    let descr = value(header, "descr")?.trim_matches(['\'', '"']);
    let fortran = match value(header, "fortran_order")? {
        "True" => true,
        "False" => false,
        other => return Err(format!("has the unknown order `{other}`")),
    };
    let mut extents = Vec::new();
    for n in
        value(header, "shape")?.trim_matches(['(', ')']).split(',').map(str::trim).filter(|n| !n.is_empty())
    {
        extents.push(
            n.trim_end_matches('L')
                .parse::<usize>()
                .map_err(|_| format!("has the extent `{n}`, which is not a number"))?,
        );
    }
    let (order, word) = descr.split_at_checked(1).ok_or("has no type")?;
    let known = DTYPES.iter().find(|d| d.1 == word).map(|d| d.0);
    // NumPy's integer types that Gradus lacks, with their sizes in bytes; they are read as `i64`.
    let others = [("i2", 2), ("u2", 2), ("u8", 8)];
    let other = others.iter().find(|o| o.0 == word);
    let size = known.map(DType::size).or(other.map(|o| o.1));
    let (dtype, Some(size)) = (known.unwrap_or(DType::I64), size.filter(|_| "<>|=".contains(order))) else {
        return Err(format!("holds elements of type `{descr}`, which is not supported"));
    };
    // Checks the size before anything is allocated.
    let count = extents.iter().try_fold(size, |n, e| n.checked_mul(*e));
    if count != Some(elements.len()) {
        return Err(format!(
            "has {} bytes of elements, which does not match {extents:?} of `{descr}`",
            elements.len()
        ));
    }
    let swapped: Vec<u8>;
    let elements = if order == ">" {
        let part = if dtype.is_complex() { size / 2 } else { size };
        swapped = elements.chunks(part).flat_map(|e| e.iter().rev().copied()).collect();
        &swapped
    } else {
        elements
    };
    let widened: Vec<u8>;
    let elements = if other.is_some() {
        widened = widen(elements, size, word.starts_with('i'))?;
        &widened[..]
    } else {
        elements
    };
    if dtype == DType::Bool && elements.iter().any(|b| *b > 1) {
        return Err("has booleans that are neither 0 nor 1".into());
    }
    if fortran {
        extents.reverse();
    }
    let tensor = Tensor::from_bytes(&Aval::new(dtype, extents.iter().copied().collect::<Shape>()), elements);
    let backwards: Vec<isize> = (0..extents.len() as isize).rev().collect();
    let tensor = if fortran { tensor.permute(backwards) } else { tensor };
    tensor.check().map_err(|e| e.to_string())?;
    Ok(tensor)
}

/// Converts integers of `size` bytes to 64 bits; returns an error if one does not fit.
fn widen(elements: &[u8], size: usize, signed: bool) -> std::result::Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(elements.len() / size * 8);
    for e in elements.chunks(size) {
        let negative = signed && e.last().is_some_and(|b| b & 0x80 != 0);
        let mut bytes = [if negative { 0xff } else { 0 }; 8];
        bytes[..size].copy_from_slice(e);
        if !signed && bytes[7] & 0x80 != 0 {
            let n = u64::from_le_bytes(bytes);
            return Err(format!("holds {n}, which exceeds the largest integer, {}", i64::MAX));
        }
        out.extend(bytes);
    }
    Ok(out)
}

/// Returns the text of one entry of the dictionary.
fn value<'a>(header: &'a str, key: &str) -> std::result::Result<&'a str, String> {
    let none = || format!("has no `{key}` in its header");
    let at = ['\'', '"'].iter().find_map(|q| header.find(&format!("{q}{key}{q}"))).ok_or_else(none)?;
    let rest = header[at + key.len() + 2..].trim_start().strip_prefix(':').ok_or_else(none)?.trim_start();
    let end = match rest.starts_with('(') {
        true => rest.find(')').map(|e| e + 1),
        false => rest.find([',', '}']),
    };
    rest.get(..end.ok_or_else(none)?).map(str::trim).ok_or_else(none)
}
