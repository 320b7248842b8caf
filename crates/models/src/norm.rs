//! The norms of decoders: those of Llama, Gemma and GPT-2.

use crate::config::Norms;
use crate::weights::Loader;
use gradus_nn::{Forward, LayerNorm, Module, RmsNorm, Visitor};
use gradus_tensor::Tensor;

/// A norm along the last axis.
#[derive(Clone, Debug)]
pub enum Norm {
    /// `x / rms(x) · weight`.
    Rms(RmsNorm),
    /// `x / rms(x) · (1 + weight)`.
    OnePlusRms(RmsNorm),
    /// `(x - mean) / deviation · weight + bias`.
    Layer(LayerNorm),
}

impl Norm {
    /// Loads `name.weight` and, for layer norms, `name.bias`.
    pub fn load(l: &mut Loader<'_>, kind: Norms, name: &str, width: usize, eps: f64) -> Norm {
        let weight = l.param(&format!("{name}.weight"), [width]);
        let rms = |weight| RmsNorm { weight, eps: Some(eps) };
        match kind {
            Norms::Rms => Norm::Rms(rms(weight)),
            Norms::OnePlusRms => Norm::OnePlusRms(rms(weight)),
            Norms::Layer => {
                let bias = Some(l.param(&format!("{name}.bias"), [width]));
                Norm::Layer(LayerNorm { weight, bias, eps })
            }
        }
    }
}

impl Module for Norm {
    fn visit(&self, v: &mut Visitor) {
        match self {
            Norm::Rms(n) | Norm::OnePlusRms(n) => n.visit(v),
            Norm::Layer(n) => n.visit(v),
        }
    }
}

impl Forward for Norm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        match self {
            Norm::Rms(n) => n.forward(x),
            Norm::OnePlusRms(n) => x.rms_norm(n.weight.shape(), Some(&(&*n.weight + 1.0)), n.eps),
            Norm::Layer(n) => n.forward(x),
        }
    }
}
