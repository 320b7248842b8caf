//! The block of a transformer.

use super::{Cache, Dropout, LayerNorm, Linear, MultiHeadAttention};
use crate::module;
use crate::module::Forward;
use crate::caller::tensor_at_caller;
use gradus_tensor::{Generator, Tensor};

/// Attention and a network of one hidden layer with `gelu`, each around a residual and behind a norm (or, if not
/// `norm_first`, before one).
#[derive(Clone, Debug)]
pub struct TransformerBlock {
    /// Attention.
    pub self_attn: MultiHeadAttention,
    /// Into the hidden layer.
    pub linear1: Linear,
    /// Out of it.
    pub linear2: Linear,
    /// Of the attention.
    pub norm1: LayerNorm,
    /// Of the network.
    pub norm2: LayerNorm,
    /// Of both results and of the hidden layer; that of the attention's weights is its own.
    pub dropout: Dropout,
    /// Norms come before attention and network.
    pub norm_first: bool,
}
module!(TransformerBlock { self_attn, linear1, linear2, norm1, norm2, dropout; norm_first });

impl TransformerBlock {
    /// A causal block of this width with a hidden layer of another. Dropout is where PyTorch has it: on the attention's weights
    /// and result, on the hidden layer and on the network's result.
    #[track_caller]
    pub fn new(width: usize, heads: usize, hidden: usize, dropout: f64, g: &Generator) -> TransformerBlock {
        TransformerBlock {
            self_attn: MultiHeadAttention::new(width, heads, g).causal().dropout(dropout, g),
            linear1: Linear::new(width, hidden, g),
            linear2: Linear::new(hidden, width, g),
            norm1: LayerNorm::new([width]),
            norm2: LayerNorm::new([width]),
            dropout: Dropout::new(dropout, g),
            norm_first: true,
        }
    }

    fn around(&self, x: &Tensor, attention: impl Fn(&Tensor) -> Tensor) -> Tensor {
        let dropped = |x: Tensor| self.dropout.forward(&x);
        let network = |x: &Tensor| self.linear2.forward(&dropped(self.linear1.forward(x).gelu()));
        if self.norm_first {
            let x = x + dropped(attention(&self.norm1.forward(x)));
            &x + dropped(network(&self.norm2.forward(&x)))
        } else {
            let x = self.norm1.forward(&(x + dropped(attention(x))));
            self.norm2.forward(&(&x + dropped(network(&x))))
        }
    }

    /// With a cache of the attention's keys and values.
    #[track_caller]
    pub fn forward_cached(&self, x: &Tensor, cache: &Cache) -> Tensor {
        let y = self.around(x, |x| self.self_attn.forward_cached(x, cache));
        tensor_at_caller(Ok(y), std::panic::Location::caller())
    }
}

impl Forward for TransformerBlock {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.around(x, |x| self.self_attn.forward(x));
        tensor_at_caller(Ok(y), std::panic::Location::caller())
    }
}
