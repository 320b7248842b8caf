//! The feed-forward networks of a decoder's blocks: one network for all tokens, or experts chosen by a router
//! for each token.
//!
//! Fields have the names of Hugging Face's weights. The matrices of experts are stacked in one tensor, as in
//! GGUF files.

use crate::config::{Activation, Config, Experts as Sizes};
use crate::matrix::Projection;
use crate::weights::Loader;
use gradus_ir::DType;
use gradus_nn::file::gguf::Format;
use gradus_nn::{Buffer, Forward, Module, Param, Visitor, module};
use gradus_tensor::{Tensor, grouped_dot, quantized_grouped_dot};

/// The feed-forward network of a block.
pub enum Network {
    /// One network for all tokens.
    Dense(Mlp),
    /// A mixture of experts.
    Experts(Experts),
}

impl Module for Network {
    fn visit(&self, v: &mut Visitor) {
        match self {
            Network::Dense(m) => m.visit(v),
            Network::Experts(e) => e.visit(v),
        }
    }
}

impl Network {
    /// Loads the weights of the network of layer `i`.
    pub fn load(l: &mut Loader<'_>, c: &Config, i: usize) -> Network {
        if let Some(sizes) = c.experts.as_ref().filter(|e| e.layers.get(i).copied().unwrap_or(false)) {
            return Network::Experts(Experts::load(l, c, sizes, i));
        }
        let linear = |l: &mut Loader<'_>, end: &str, outputs, inputs| {
            let name = format!("model.layers.{i}.mlp.{end}");
            let weight = l.matrix(&format!("{name}.weight"), [outputs, inputs]);
            Projection::new(weight, c.mlp_bias.then(|| l.param(&format!("{name}.bias"), [outputs])))
        };
        Network::Dense(Mlp {
            gate_proj: c.gated.then(|| linear(l, "gate_proj", c.hidden, c.width)),
            up_proj: linear(l, "up_proj", c.hidden, c.width),
            down_proj: linear(l, "down_proj", c.width, c.hidden),
            activation: c.activation,
        })
    }
}

impl Forward for Network {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        match self {
            Network::Dense(m) => m.forward(x),
            Network::Experts(e) => e.forward(x),
        }
    }
}

/// `down(f(gate(x)) · up(x))`, or `down(f(up(x)))` without a gate.
pub struct Mlp {
    /// Projection whose result goes through the activation `f` and multiplies `up`.
    pub gate_proj: Option<Projection>,
    /// Projection to the hidden layer.
    pub up_proj: Projection,
    /// Projection from the hidden layer to the width.
    pub down_proj: Projection,
    /// The activation `f`.
    pub activation: Activation,
}
module!(Mlp { gate_proj, up_proj, down_proj; activation });

impl Forward for Mlp {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let up = self.up_proj.forward(x);
        let hidden = match &self.gate_proj {
            Some(gate) => self.activation.apply(&gate.forward(x)) * up,
            None => self.activation.apply(&up),
        };
        self.down_proj.forward(&hidden)
    }
}

/// Matrices of equal shape, `[experts, outputs, inputs]`. Each row of activations is multiplied by one of
/// them.
#[derive(Clone, Debug)]
pub enum Stack {
    /// Trainable floats.
    Float(Param),
    /// The bytes of a quantised format, row by row.
    Quantized(Buffer, Format),
}

impl Module for Stack {
    fn visit(&self, v: &mut Visitor) {
        match self {
            Stack::Float(p) => p.visit(v),
            Stack::Quantized(bytes, _) => bytes.visit(v),
        }
    }
}

impl Stack {
    /// Multiplies each row by its matrix: `y[n] = x[n] · matrices[groups[n]]ᵀ`.
    #[track_caller]
    pub fn dot(&self, x: &Tensor, groups: &Tensor) -> Tensor {
        match self {
            Stack::Float(w) => grouped_dot(x, w, groups),
            Stack::Quantized(bytes, format) => quantized_grouped_dot(x, bytes, *format, groups),
        }
    }
}

/// A mixture of gated networks. A router chooses some of them for each token; their results are added with
/// its weights.
pub struct Experts {
    /// The router: computes a score for each expert.
    pub gate: Projection,
    /// Projections whose results go through the activation and multiply `up`.
    pub gate_proj: Stack,
    /// Projections to the hidden layers.
    pub up_proj: Stack,
    /// Projections from the hidden layers to the width.
    pub down_proj: Stack,
    /// The activation.
    pub activation: Activation,
    /// Number of experts chosen for each token.
    pub chosen: usize,
    /// If true, the weights of the chosen experts are scaled to a sum of 1.
    pub normalize: bool,
}
module!(Experts { gate, gate_proj, up_proj, down_proj; activation, chosen, normalize });

impl Experts {
    fn load(l: &mut Loader<'_>, c: &Config, sizes: &Sizes, i: usize) -> Experts {
        let (d, h) = (c.width, sizes.hidden);
        // Mixtral names its experts differently.
        let (part, names) = match c.architecture.as_str() {
            "mixtral" => ("block_sparse_moe", ["w1", "w3", "w2"]),
            _ => ("mlp", ["gate_proj", "up_proj", "down_proj"]),
        };
        let at = |end: &str| format!("model.layers.{i}.{part}.{end}");
        let mut stack = |name: &str, shape: [usize; 2]| {
            l.stack(sizes.count, shape, |n| at(&format!("experts.{n}.{name}.weight")))
        };
        let gate_proj = stack(names[0], [h, d]);
        let up_proj = stack(names[1], [h, d]);
        let down_proj = stack(names[2], [d, h]);
        Experts {
            gate: Projection::new(l.matrix(&at("gate.weight"), [sizes.count, d]), None),
            gate_proj,
            up_proj,
            down_proj,
            activation: c.activation,
            chosen: sizes.chosen,
            normalize: sizes.normalize,
        }
    }

    /// Routes rows `[n, width]`: returns the indices of the chosen experts and their weights, both
    /// `[n, chosen]`. Among experts with equal weights, lower indices are chosen first.
    pub fn route(&self, x: &Tensor) -> (Tensor, Tensor) {
        let p = self.gate.forward(x).softmax(-1);
        let count = p.dim(-1);
        let (own, other) = (p.unsqueeze(-1), p.unsqueeze(-2));
        let number = Tensor::iota(DType::I64, [1, count], 1);
        let earlier = number.unsqueeze(-2).lt(&number.unsqueeze(-1));
        // The rank of an expert is the number of experts ordered before it. It is computed by comparisons
        // instead of a sort: a sort may fail, and a plan with ops that may fail cannot write to its cache in
        // place.
        let ahead = other.gt(&own).or(&other.eq(&own).and(&earlier));
        let rank = ahead.to_dtype(DType::I64).sum(-1);
        let order = Tensor::iota(DType::I64, [1, self.chosen, 1], 1);
        let is = rank.unsqueeze(-2).eq(&order);
        let numbers = is.select(&number.unsqueeze(0), 0i64).sum(-1);
        let weights = is.select(&p.unsqueeze(-2), 0.0).sum(-1);
        match self.normalize {
            true => (numbers, &weights / weights.sum_keepdim(-1)),
            false => (numbers, weights),
        }
    }
}

impl Forward for Experts {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let (shape, width, k) = (x.shape(), x.dim(-1), self.chosen);
        let rows = x.reshape([-1, width as isize]);
        let n = rows.dim(0);
        let (numbers, weights) = self.route(&rows);
        let groups = numbers.reshape([n * k]);
        let each = rows.unsqueeze(1).expand([n, k, width]).reshape([n * k, width]);
        let hidden =
            self.activation.apply(&self.gate_proj.dot(&each, &groups)) * self.up_proj.dot(&each, &groups);
        let y = self.down_proj.dot(&hidden, &groups).reshape([n, k, width]);
        (y * weights.unsqueeze(-1)).sum(1).reshape(shape)
    }
}
