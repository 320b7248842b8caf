//! Sources of weights by name: a GGUF file, one or several safetensors files, or random numbers.
//!
//! A model asks a [`Loader`] for each parameter by name and shape. The loader collects everything that does
//! not fit, so that one message lists missing, misshapen and unknown tensors together.

use crate::gguf;
use crate::matrix::Matrix;
use crate::network::Stack;
use gradus_ir::{DType, Error, Result, Shape};
use gradus_nn::file::{atomic, bytes_up_to, safetensors};
use gradus_nn::{Buffer, Param};
use gradus_tensor::{Generator, Tensor};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A source of weights. Names are those of Hugging Face's files.
pub enum Weights {
    /// A GGUF file. Its quantised matrices stay quantised unless `as_f32` of the file is set.
    Gguf(Box<gguf::Model>),
    /// Safetensors files, and the index of the file that has each tensor.
    Safetensors(Vec<safetensors::Reader>, BTreeMap<String, usize>),
    /// Random weights of any name, for tests and for training from scratch.
    Random(Generator),
}

/// Largest index of shards that is read, in bytes.
const MAX_INDEX: u64 = 64 << 20;

/// Largest number of names that one message lists for each kind of problem.
const MAX_LISTED: usize = 20;

impl Weights {
    /// Opens the safetensors of a Hugging Face folder: one file, or several with an index.
    pub fn of_folder(folder: &Path) -> Result<Weights> {
        let one = folder.join("model.safetensors");
        let index = folder.join("model.safetensors.index.json");
        let files: BTreeSet<String> = if one.exists() {
            ["model.safetensors".to_string()].into()
        } else {
            let text = bytes_up_to(&index, MAX_INDEX)?;
            let json: serde_json::Value =
                serde_json::from_slice(&text).map_err(|e| atomic::failed(&index, e))?;
            let map = json["weight_map"].as_object();
            let map = map.ok_or_else(|| atomic::failed(&index, "has no `weight_map`"))?;
            map.values().filter_map(|v| v.as_str()).map(str::to_string).collect()
        };
        // File names of an index must not point outside of the folder.
        if let Some(bad) = files.iter().find(|f| Path::new(f).file_name() != Some(f.as_ref())) {
            return Err(atomic::failed(&index, format!("names `{bad}`, which is not a file of this folder")));
        }
        Weights::of_files(&files.iter().map(|f| folder.join(f)).collect::<Vec<_>>())
    }

    /// Opens safetensors files. Fails if two of them have a tensor of the same name.
    pub fn of_files(paths: &[impl AsRef<Path>]) -> Result<Weights> {
        let (mut files, mut names) = (Vec::new(), BTreeMap::new());
        for (i, path) in paths.iter().enumerate() {
            let file = safetensors::Reader::open(path)?;
            for name in file.names() {
                if names.insert(name.clone(), i).is_some() {
                    return Err(file.failed(format!("has tensor `{name}`, which another file has too")));
                }
            }
            files.push(file);
        }
        Ok(Weights::Safetensors(files, names))
    }

    /// Returns the names of all tensors.
    pub fn names(&self) -> Vec<String> {
        match self {
            Weights::Gguf(file) => file.names(),
            Weights::Safetensors(_, names) => names.keys().cloned().collect(),
            Weights::Random(_) => Vec::new(),
        }
    }

    /// Returns the shape of a tensor, if there is one of this name.
    pub fn shape(&self, name: &str) -> Option<Shape> {
        match self {
            Weights::Gguf(file) => file.shape(name),
            Weights::Safetensors(files, names) => files[*names.get(name)?].aval(name).ok().map(|a| a.shape),
            Weights::Random(_) => None,
        }
    }

    /// Reads a tensor as it is stored, or dequantised to `f32`.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        match self {
            Weights::Gguf(file) => file.tensor(name),
            Weights::Safetensors(files, names) => match names.get(name) {
                Some(i) => files[*i].tensor(name),
                None => Err(Error::value(format!("tensor `{name}`"), "is in none of the files")),
            },
            Weights::Random(_) => {
                Err(Error::value(format!("tensor `{name}`"), "random weights need a shape"))
            }
        }
    }
}

/// Passes weights to a model under construction, and collects the tensors that do not fit.
pub struct Loader<'a> {
    weights: &'a Weights,
    /// Prefix of every name, such as `bert.` in files whose names have it.
    prefix: String,
    taken: BTreeSet<String>,
    missing: Vec<String>,
    misshapen: Vec<String>,
    failed: Option<Error>,
}

impl<'a> Loader<'a> {
    /// Makes a loader without a prefix.
    pub fn new(weights: &'a Weights) -> Loader<'a> {
        Loader {
            weights,
            prefix: String::new(),
            taken: BTreeSet::new(),
            missing: Vec::new(),
            misshapen: Vec::new(),
            failed: None,
        }
    }

    /// Sets the prefix of every name from now on.
    pub fn prefixed(mut self, prefix: &str) -> Loader<'a> {
        self.prefix = prefix.to_string();
        self
    }

    /// Returns true if there is a tensor of this name. Random weights have every name.
    pub fn has(&self, name: &str) -> bool {
        let name = format!("{}{name}", self.prefix);
        matches!(self.weights, Weights::Random(_)) || self.weights.shape(&name).is_some()
    }

    /// Takes a parameter as `f32`. If it does not fit, this is noted for [`finish`](Loader::finish), and
    /// zeros are returned.
    pub fn param<const N: usize>(&mut self, name: &str, shape: [usize; N]) -> Param {
        let name = format!("{}{name}", self.prefix);
        let value = self.value(&name, &Shape::from(shape)).unwrap_or_else(|| Tensor::zeros([1]));
        Param::new(&value)
    }

    /// Takes a matrix of weights, which stays quantised if the file stores it quantised.
    pub fn matrix(&mut self, name: &str, shape: [usize; 2]) -> Matrix {
        let full = format!("{}{name}", self.prefix);
        if let Weights::Gguf(file) = self.weights
            && self.weights.shape(&full).as_ref() == Some(&Shape::from(shape))
        {
            match file.quantized(&full) {
                Ok(Some((bytes, format))) => {
                    self.taken.insert(full);
                    return Matrix::Quantized(Buffer::new(&bytes), format, file.compute);
                }
                Ok(None) => {}
                Err(e) => self.failed = self.failed.take().or(Some(e)),
            }
        }
        Matrix::Float(self.param(name, shape))
    }

    /// Takes a matrix `[outputs, inputs]` that Hugging Face's files store as `[inputs, outputs]`. GGUF files
    /// store it as `[outputs, inputs]`, so it can stay quantised.
    pub fn matrix_by_columns(&mut self, name: &str, [outputs, inputs]: [usize; 2]) -> Matrix {
        let full = format!("{}{name}", self.prefix);
        if let Weights::Gguf(file) = self.weights
            && self.weights.shape(&full).as_ref() == Some(&Shape::from([inputs, outputs]))
        {
            match file.quantized(&full) {
                Ok(Some((bytes, format))) => {
                    self.taken.insert(full);
                    return Matrix::Quantized(Buffer::new(&bytes), format, file.compute);
                }
                Ok(None) => {}
                Err(e) => self.failed = self.failed.take().or(Some(e)),
            }
        }
        match self.value(&full, &Shape::from([inputs, outputs])) {
            Some(t) => Matrix::Float(Param::new(&t.t().contiguous())),
            None => Matrix::Float(Param::new(&Tensor::zeros([outputs, inputs]))),
        }
    }

    /// Takes the matrices of `count` experts, each with its own name, as one tensor
    /// `[count, outputs, inputs]`.
    pub fn stack(
        &mut self,
        count: usize,
        [outputs, inputs]: [usize; 2],
        name: impl Fn(usize) -> String,
    ) -> Stack {
        let shape = [count, outputs, inputs];
        let names: Vec<String> = (0..count).map(|n| format!("{}{}", self.prefix, name(n))).collect();
        if let Weights::Random(g) = self.weights {
            return Stack::Float(Param::new(&(g.randn(shape) * (inputs as f64).sqrt().recip())));
        }
        if let Weights::Gguf(file) = self.weights {
            match file.experts(&names[0], count, [outputs, inputs]) {
                Ok(Some((bytes, format))) => {
                    self.taken.extend(names);
                    return Stack::Quantized(Buffer::new(&bytes), format);
                }
                Ok(None) => {}
                Err(e) => self.failed = self.failed.take().or(Some(e)),
            }
        }
        let each: Vec<Option<Tensor>> =
            names.iter().map(|n| self.value(n, &Shape::from([outputs, inputs]))).collect();
        let all: Option<Vec<&Tensor>> = each.iter().map(Option::as_ref).collect();
        let value = all.map_or_else(|| Tensor::zeros([1]), |all| Tensor::stack(&all, 0));
        Stack::Float(Param::new(&value))
    }

    fn value(&mut self, name: &str, shape: &Shape) -> Option<Tensor> {
        if let Weights::Random(g) = self.weights {
            // Vectors are weights of norms, so they are near 1. Matrices are scaled so that results have the
            // magnitude of their inputs.
            let scale = (*shape.last()? as f64).sqrt().recip();
            return Some(if shape.len() == 1 { g.randn(shape) * 0.1 + 1.0 } else { g.randn(shape) * scale });
        }
        self.taken.insert(name.to_string());
        match self.weights.shape(name) {
            None => self.missing.push(format!("{name} {shape}")),
            Some(found) if found != *shape => self.misshapen.push(format!("{name} is {found}, not {shape}")),
            Some(_) => match self.weights.tensor(name).and_then(|t| as_f32(&t)) {
                Ok(t) => return Some(t),
                Err(e) => self.failed = self.failed.take().or(Some(e)),
            },
        }
        None
    }

    /// Returns an error that lists everything that did not fit. Tensors never asked for are unknown, unless
    /// `ignored` accepts them.
    pub fn finish(self, ignored: impl Fn(&str) -> bool) -> Result<()> {
        if let Some(e) = self.failed {
            return Err(e);
        }
        let unknown: Vec<String> =
            self.weights.names().into_iter().filter(|n| !self.taken.contains(n) && !ignored(n)).collect();
        let kinds = [("missing", &self.missing), ("misshapen", &self.misshapen), ("unknown", &unknown)];
        let listed = |(kind, names): &(&str, &Vec<String>)| {
            let shown = names.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = names.len().saturating_sub(MAX_LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            (!names.is_empty()).then(|| format!("{kind}: {shown}{more}"))
        };
        let lists: Vec<String> = kinds.iter().filter_map(listed).collect();
        match lists.is_empty() {
            true => Ok(()),
            false => Err(Error::value("the weights", format!("do not fit the model; {}", lists.join("; ")))),
        }
    }
}

/// Converts weights of any float dtype to `f32`.
fn as_f32(t: &Tensor) -> Result<Tensor> {
    let t = if t.dtype() == DType::F32 { t.clone() } else { t.to_dtype(DType::F32) };
    t.check().cloned()
}
