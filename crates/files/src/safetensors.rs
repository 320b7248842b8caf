//! The safetensors format: a header of names, types and offsets, then the elements.

use crate::atomic;
use gradus_ir::{Aval, DType, Error, Result, Shape};
use gradus_mem::FileMap;
use gradus_tensor::Tensor;
use safetensors::tensor::{Dtype, Metadata, SafeTensorError, SafeTensors};
use serde_json::json;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Text metadata of a file.
pub type Notes = BTreeMap<String, String>;

/// Dtypes and their equivalents in the format. Other dtypes can be neither written nor read.
const DTYPES: &[(DType, Dtype)] = &[
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
    (DType::BF16, Dtype::BF16),
    (DType::F16, Dtype::F16),
    (DType::I8, Dtype::I8),
    (DType::U8, Dtype::U8),
    (DType::I32, Dtype::I32),
    (DType::U32, Dtype::U32),
    (DType::I64, Dtype::I64),
    (DType::Bool, Dtype::BOOL),
    (DType::C64, Dtype::C64),
];

/// Prefix of the notes that hold checksums of tensors.
const SUM: &str = "crc32.";

/// Writes tensors and notes to a file atomically, with a checksum for each tensor among the notes. The same
/// tensors and notes give the same bytes, in any order.
pub fn write(path: impl AsRef<Path>, tensors: &[(String, Tensor)], notes: &Notes) -> Result<()> {
    let path = path.as_ref();
    let (header, order) = header_and_order(path, tensors, notes)?;
    atomic::write_with(path, |file| {
        let mut put = |bytes: &[u8]| file.write_all(bytes).map_err(|e| atomic::failed(path, e));
        put(&header)?;
        // One tensor at a time: a model need not fit into memory twice.
        order.iter().try_for_each(|t| put(&t.to_bytes()?))
    })
}

/// Writes tensors of known types to a file atomically. `read` returns each tensor when it is written, so that
/// only one is in memory. The file has no checksums, which would need all tensors before the first is written.
pub fn write_streamed(
    path: impl AsRef<Path>,
    types: &[(String, Aval)],
    notes: &Notes,
    mut read: impl FnMut(&str) -> Result<Tensor>,
) -> Result<()> {
    let path = path.as_ref();
    let mut order: Vec<&(String, Aval)> = types.iter().collect();
    order.sort_by_key(|(name, aval)| (Reverse(aval.dtype.size()), name));
    let sizes = order.iter().map(|(name, aval)| (name, aval.clone()));
    let header = header(path, sizes, notes)?;
    atomic::write_with(path, |file| {
        let mut put = |bytes: &[u8]| file.write_all(bytes).map_err(|e| atomic::failed(path, e));
        put(&header)?;
        order.iter().try_for_each(|(name, aval)| {
            let t = read(name)?;
            if t.check()?.dtype() != aval.dtype || t.shape() != aval.shape {
                return Err(atomic::failed(path, format!("`{name}` has another type than announced")));
            }
            put(&t.to_bytes()?)
        })
    })
}

/// Serializes tensors and notes, as [`write()`] does.
pub fn to_bytes(tensors: &[(String, Tensor)], notes: &Notes) -> Result<Vec<u8>> {
    let (mut file, order) = header_and_order(Path::new("safetensors"), tensors, notes)?;
    order.iter().try_for_each(|t| t.to_bytes().map(|bytes| file.extend(bytes)))?;
    Ok(file)
}

/// Returns the header of a file with its length, and the tensors in the order of the file.
fn header_and_order(
    path: &Path,
    tensors: &[(String, Tensor)],
    notes: &Notes,
) -> Result<(Vec<u8>, Vec<Tensor>)> {
    // Large element sizes first, so that all are aligned.
    let mut order: Vec<&(String, Tensor)> = tensors.iter().collect();
    order.sort_by_key(|(name, t)| (Reverse(t.dtype().size()), name));
    // Detaches cells, so that no thread can change them between the computation of checksums and the write.
    let order: Vec<(&String, Tensor)> = order.into_iter().map(|(name, t)| (name, t.detach())).collect();
    let mut notes = notes.clone();
    for (name, t) in &order {
        let refused = |e: Error| refused(path, name, e);
        let bytes = t.check().and_then(|t| t.to_bytes()).map_err(refused)?;
        notes.insert(format!("{SUM}{name}"), crc32fast::hash(&bytes).to_string());
    }
    let header =
        header(path, order.iter().map(|(name, t)| (*name, Aval::new(t.dtype(), t.shape()))), &notes)?;
    Ok((header, order.into_iter().map(|(_, t)| t).collect()))
}

/// Makes an error about a tensor that cannot be written.
fn refused(path: &Path, name: &str, e: Error) -> Error {
    atomic::failed(path, format!("`{name}` cannot be written: {e}"))
}

/// Returns the header of a file with its length. The types are in the order of the file.
fn header<'a>(
    path: &Path,
    types: impl Iterator<Item = (&'a String, Aval)>,
    notes: &Notes,
) -> Result<Vec<u8>> {
    let (mut header, mut from) = (serde_json::Map::new(), 0);
    for (name, Aval { dtype, shape }) in types {
        let refused = |e: Error| refused(path, name, e);
        let Some((_, theirs)) = DTYPES.iter().find(|(ours, _)| *ours == dtype) else {
            return Err(refused(Error::dtype(dtype, "safetensors has no such dtype")));
        };
        let to = from + shape.numel() * dtype.size();
        let entry =
            json!({ "dtype": theirs.to_string(), "shape": shape.to_vec(), "data_offsets": [from, to] });
        from = to;
        if header.insert(name.to_string(), entry).is_some() {
            return Err(refused(Error::value("the name", "occurs twice")));
        }
    }
    header.insert("__metadata__".to_string(), json!(notes));
    let mut header = serde_json::Value::Object(header).to_string();
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    Ok((header.len() as u64).to_le_bytes().into_iter().chain(header.into_bytes()).collect())
}

/// A file of tensors. On disk it is read by memory map: only requested tensors are read.
pub struct Reader {
    path: PathBuf,
    bytes: Box<dyn Deref<Target = [u8]> + Send + Sync>,
    /// Offset of the elements.
    from: usize,
    header: Metadata,
    notes: Notes,
}

impl Reader {
    /// Opens a file and checks its header.
    pub fn open(path: impl AsRef<Path>) -> Result<Reader> {
        let path = path.as_ref().to_path_buf();
        crate::refuse_named_pipe(&path)?;
        let map = FileMap::open(&path).map_err(|e| atomic::failed(&path, e))?;
        Reader::new(path, Box::new(map))
    }

    /// Reads a file from memory; errors call it `name`.
    pub fn from_bytes(name: impl AsRef<Path>, bytes: Vec<u8>) -> Result<Reader> {
        Reader::new(name.as_ref().to_path_buf(), Box::new(bytes))
    }

    fn new(path: PathBuf, bytes: Box<dyn Deref<Target = [u8]> + Send + Sync>) -> Result<Reader> {
        let (header, metadata) = match SafeTensors::read_metadata(&bytes) {
            Ok(read) => read,
            Err(e) => return Err(atomic::failed(&path, describe_fault(&bytes, e))),
        };
        let notes = metadata.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        Ok(Reader { path, bytes, from: 8 + header, header: metadata, notes })
    }

    /// Iterates over the notes, except for the checksums of tensors.
    pub fn notes(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.notes.iter().filter(|(key, _)| !key.starts_with(SUM));
        own.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns one of the notes.
    pub fn note(&self, key: &str) -> Option<&str> {
        self.notes.get(key).map(String::as_str)
    }

    /// Returns the names of the tensors, in the order of the file.
    pub fn names(&self) -> Vec<String> {
        self.header.offset_keys()
    }

    /// Returns the name under which a training checkpoint stores a parameter: `average.W` if the checkpoint
    /// has averages of parameters, else `model.W`. The tensor may not exist.
    pub fn stored(&self, parameter: &str) -> String {
        let averages = self.header.offset_keys().iter().any(|n| n.starts_with("average."));
        format!("{}.{parameter}", if averages { "average" } else { "model" })
    }

    /// Returns the type of a tensor.
    pub fn aval(&self, name: &str) -> Result<Aval> {
        let Some(info) = self.header.info(name) else {
            return Err(self.failed(format!("has no tensor `{name}`")));
        };
        let ours = DTYPES.iter().find(|(_, theirs)| *theirs == info.dtype);
        let Some((dtype, _)) = ours else {
            return Err(self.failed(format!("`{name}` is of type {}, which is not supported", info.dtype)));
        };
        Ok(Aval::new(*dtype, info.shape.iter().copied().collect::<Shape>()))
    }

    /// Reads a tensor; its checksum is verified if the file has one.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let aval = self.aval(name)?;
        let ranges = self.header.info(name).map(|i| i.data_offsets);
        let bytes = ranges.and_then(|(from, to)| self.bytes.get(self.from + from..self.from + to));
        let Some(bytes) = bytes else {
            return Err(self.failed(format!("`{name}` is outside of the file")));
        };
        let sum = self.notes.get(&format!("{SUM}{name}"));
        if sum.is_some_and(|sum| *sum != crc32fast::hash(bytes).to_string()) {
            return Err(self.failed(format!("`{name}` is damaged: its checksum does not match")));
        }
        let t = Tensor::from_bytes(&aval, bytes);
        t.check().map_err(|e| self.failed(format!("`{name}` cannot be read: {e}")))?;
        Ok(t)
    }

    /// Makes an error that names the file.
    pub fn failed(&self, why: impl ToString) -> Error {
        atomic::failed(&self.path, why)
    }
}

/// Describes the error in a file. If the file is too short, names the incomplete tensor.
fn describe_fault(bytes: &[u8], e: SafeTensorError) -> String {
    let header = || {
        let n = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
        let n = usize::try_from(n).ok()?;
        let value: serde_json::Value = serde_json::from_slice(bytes.get(8..n.checked_add(8)?)?).ok()?;
        let left = (bytes.len() - n - 8) as u64;
        let end = |v: &serde_json::Value| v["data_offsets"][1].as_u64();
        let cut = value.as_object()?.iter().filter(|(_, v)| end(v).is_some_and(|end| end > left));
        cut.min_by_key(|(_, v)| end(v)).map(|(name, _)| name.clone())
    };
    match (e, header()) {
        (SafeTensorError::MetadataIncompleteBuffer, Some(name)) => {
            format!("is truncated: `{name}` is incomplete")
        }
        (SafeTensorError::HeaderTooSmall | SafeTensorError::InvalidHeaderLength, _) => {
            "is truncated, or is not a safetensors file".to_string()
        }
        (e, _) => format!("is damaged, or is not a safetensors file: {e}"),
    }
}
