//! The transformer block.

use super::{Cache, Dropout, LayerNorm, Linear, MultiHeadAttention};
use crate::caller::tensor_at_caller;
use crate::module;
use crate::module::Forward;
use gradus_tensor::{Generator, Tensor};

/// Attention and a network of one hidden layer with `gelu`. Both have a residual connection, and a norm
/// before them, or after them if `norm_first` is false.
#[derive(Clone, Debug)]
pub struct TransformerBlock {
    /// Attention.
    pub self_attn: MultiHeadAttention,
    /// Projection from the width to the hidden layer.
    pub linear1: Linear,
    /// Projection from the hidden layer to the width.
    pub linear2: Linear,
    /// Norm of the input of attention, or of the sum after attention if `norm_first` is false.
    pub norm1: LayerNorm,
    /// Norm of the input of the network, or of the sum after the network if `norm_first` is false.
    pub norm2: LayerNorm,
    /// Dropout of the result of attention, of the hidden layer and of the result of the network. `self_attn`
    /// has a separate dropout for the attention weights.
    pub dropout: Dropout,
    /// If true, norms come before attention and network.
    pub norm_first: bool,
}
module!(TransformerBlock { self_attn, linear1, linear2, norm1, norm2, dropout; norm_first });

impl TransformerBlock {
    /// Makes a causal block of this width and hidden size. Dropout is applied where PyTorch applies it: to
    /// the attention weights and result, to the hidden layer and to the network's result.
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

    /// Applies the block with this function as attention.
    fn apply_with(&self, x: &Tensor, attention: impl Fn(&Tensor) -> Tensor) -> Tensor {
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

    /// Applies the block with a cache of the attention's keys and values.
    #[track_caller]
    pub fn forward_cached(&self, x: &Tensor, cache: &Cache) -> Tensor {
        let y = self.apply_with(x, |x| self.self_attn.forward_cached(x, cache));
        tensor_at_caller(Ok(y), std::panic::Location::caller())
    }
}

impl Forward for TransformerBlock {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.apply_with(x, |x| self.self_attn.forward(x));
        tensor_at_caller(Ok(y), std::panic::Location::caller())
    }
}
