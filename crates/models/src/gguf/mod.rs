//! Reads GGUF files of language models in Hugging Face's form: configuration, names of weights, order of
//! rows. `keys.rs` converts metadata, and `names.rs` converts names; both convert in both directions. In
//! `llama` models, GGUF interleaves the rows of queries and keys, so that features that rotate together are
//! adjacent. In Hugging Face's order they are half a head apart.

pub(crate) mod keys;
mod names;

pub use names::Names;

use gradus_ir::format::Compute;
use gradus_ir::{Error, Result, Shape};
use gradus_nn::file::gguf::{Format, Info, Kind, Reader, Value};
use gradus_tensor::Tensor;
use std::path::Path;

/// Name of the tensor with the divisors of rotary frequencies, one for each pair of features.
pub(crate) const ROPE_FREQS: &str = "rope_freqs.weight";

/// Largest number of experts stacked in one tensor.
const MAX_EXPERTS: usize = 4096;

/// A GGUF file of a language model.
pub struct Model {
    /// The open file.
    pub file: Reader,
    architecture: String,
    /// The architecture as `model_type` of a `config.json`.
    model_type: String,
    names: &'static Names,
    heads: usize,
    kv_heads: usize,
    /// If true, quantised weights are dequantised to `f32`.
    pub as_f32: bool,
    /// The representation of activations in products with quantised weights.
    pub compute: Compute,
}

impl Model {
    /// Opens a file. Fails if its metadata has no architecture.
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        let file = Reader::open(path)?;
        let Some(architecture) = file.metadata().text("general.architecture").map(str::to_string) else {
            return Err(file.failed("has no `general.architecture` in its metadata"));
        };
        let count = |key: &str| {
            let n = file.metadata().integer(&format!("{architecture}.{key}"));
            n.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0)
        };
        let heads = count("attention.head_count").unwrap_or(1);
        let kv_heads = count("attention.head_count_kv").unwrap_or(heads);
        let model_type = keys::model_type(&architecture, file.metadata());
        let names = Names::of(&model_type);
        Ok(Model {
            file,
            architecture,
            model_type,
            names,
            heads,
            kv_heads,
            as_f32: false,
            compute: Compute::F32,
        })
    }

    /// Hugging Face's names of all weights; a weight without such a name keeps its GGUF name.
    pub fn names(&self) -> Vec<String> {
        let own = self.file.tensors().iter().filter(|t| t.name != ROPE_FREQS);
        let theirs = |t: &Info| {
            let experts = t.shape.first().copied().unwrap_or(0).min(MAX_EXPERTS);
            self.names.from_gguf(&t.name, experts).unwrap_or_else(|| vec![t.name.clone()])
        };
        own.flat_map(theirs).collect()
    }

    /// Returns the GGUF name of a weight and, if it is stacked, the index of its expert.
    fn own(&self, name: &str) -> (String, Option<usize>) {
        self.names.to_gguf(name).unwrap_or_else(|| (name.to_string(), None))
    }

    /// Returns the shape of a weight in Hugging Face's form; `None` if the file does not have it.
    pub fn shape(&self, name: &str) -> Option<Shape> {
        let (own, expert) = self.own(name);
        let shape = &self.file.info(&own).ok()?.shape;
        match (expert, &shape[..]) {
            (Some(n), [count, rest @ ..]) => (n < *count).then(|| Shape::from(rest)),
            (None, [outputs, inputs]) if self.is_transposed(name) => Some(Shape::from([*inputs, *outputs])),
            _ => Some(shape.clone()),
        }
    }

    /// Returns true if Hugging Face's files store this matrix as `[inputs, outputs]`.
    fn is_transposed(&self, name: &str) -> bool {
        is_transposed(&self.model_type, name)
    }

    /// Reads a weight, dequantised, in Hugging Face's form.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let (own, expert) = self.own(name);
        let mut t = self.file.tensor(&own)?;
        if let Some(n) = expert {
            t = t.narrow(0, n, 1).reshape(&t.shape()[1..]);
        }
        if let Some(heads) = rotated_heads(&self.architecture, name, self.heads, self.kv_heads) {
            t = reorder(&t, heads, false).map_err(|e| self.file.failed(format!("`{name}`: {e}")))?;
        }
        if self.is_transposed(name) && t.rank() == 2 {
            t = t.t().contiguous();
        }
        if is_one_plus(&self.model_type, name) {
            t -= 1.0;
        }
        t.check().cloned()
    }

    /// Reads the bytes and the format of a quantised weight, with rows in Hugging Face's order. Returns
    /// `None` if the weight is not quantised, belongs to an expert, or `as_f32` is set. Bytes that need no
    /// reordering are not copied. Matrices that Hugging Face's files store as `[inputs, outputs]` are
    /// `[outputs, inputs]` here.
    pub fn quantized(&self, name: &str) -> Result<Option<(Tensor, Format)>> {
        let (own, expert) = self.own(name);
        let format = self.file.info(&own)?.format;
        if self.as_f32 || !format.is_quantized() || expert.is_some() {
            return Ok(None);
        }
        let bytes = self.file.stored(&own)?;
        let bytes = match rotated_heads(&self.architecture, name, self.heads, self.kv_heads) {
            Some(heads) => {
                reorder(&bytes, heads, false).map_err(|e| self.file.failed(format!("`{name}`: {e}")))?
            }
            None => bytes,
        };
        Ok(Some((bytes, format)))
    }

    /// Reads the bytes and the format of the stacked matrices of all experts; `first` names the matrix of
    /// expert 0. Returns `None` if they are not quantised, `as_f32` is set, or the shape differs.
    pub fn experts(
        &self,
        first: &str,
        count: usize,
        [outputs, inputs]: [usize; 2],
    ) -> Result<Option<(Tensor, Format)>> {
        let (own, expert) = self.own(first);
        let Ok(info) = self.file.info(&own) else { return Ok(None) };
        let fits = expert == Some(0) && info.shape[..] == [count, outputs, inputs];
        if self.as_f32 || !info.format.is_quantized() || !fits {
            return Ok(None);
        }
        Ok(Some((self.file.stored(&own)?, info.format)))
    }
}

/// Returns true if Hugging Face's files of a `model_type` store this matrix as `[inputs, outputs]`.
pub(crate) fn is_transposed(model_type: &str, name: &str) -> bool {
    let ends = [".c_attn.weight", ".c_proj.weight", ".c_fc.weight"];
    model_type == "gpt2" && ends.iter().any(|end| name.ends_with(end))
}

/// Returns true if GGUF files store this weight plus one, as they do for the norms of Gemma.
pub(crate) fn is_one_plus(model_type: &str, name: &str) -> bool {
    model_type.starts_with("gemma") && name.ends_with("norm.weight")
}

/// Number of heads into which the rows of a weight are divided, if GGUF interleaves the rows of each head.
pub(crate) fn rotated_heads(architecture: &str, name: &str, heads: usize, kv_heads: usize) -> Option<usize> {
    let is = |stem: &str| name.contains(&format!("self_attn.{stem}."));
    match architecture {
        "llama" if is("q_proj") => Some(heads),
        "llama" if is("k_proj") => Some(kv_heads),
        _ => None,
    }
}

/// Reorders the rows of each head: from adjacent pairs (GGUF) to pairs half a head apart, or back if
/// `to_gguf` is set.
pub(crate) fn reorder(t: &Tensor, heads: usize, to_gguf: bool) -> Result<Tensor> {
    let (rows, shape) = (t.dim(0), t.shape());
    if heads == 0 || !rows.is_multiple_of(2 * heads) {
        return Err(Error::shape(
            format!("shape {shape}"),
            format!("cannot be divided into {heads} heads of pairs of rows"),
        ));
    }
    let half = rows / heads / 2;
    let rest = t.numel() / rows;
    let cut = if to_gguf { [heads, 2, half, rest] } else { [heads, half, 2, rest] };
    t.reshape(cut).transpose(1, 2).reshape(shape).check().cloned()
}

/// Makes an array of `i32`, as a metadata value.
pub(crate) fn integers(items: impl IntoIterator<Item = i32>) -> Value {
    Value::Array(Kind::I32, items.into_iter().map(Value::I32).collect())
}
