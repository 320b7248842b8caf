//! A character-level GPT with learned positions and pre-norm blocks.

use gradus_ir::{DType, Error, Result};
use gradus_nn::{
    Cache, Embedding, Forward, LayerNorm, Linear, Module, Sampling, TransformerBlock, compile_forward, init,
    module,
};
use gradus_tensor::{CrossEntropyOptions, Generator, Tensor, cross_entropy};

/// Sizes of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Number of tokens in the context window.
    pub context: usize,
    /// Width of every layer.
    pub width: usize,
    /// Number of attention heads.
    pub heads: usize,
    /// Number of blocks.
    pub layers: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { context: 64, width: 64, heads: 4, layers: 2 }
    }
}

/// A character-level GPT.
pub struct Gpt {
    /// Embeddings of tokens.
    pub tokens: Embedding,
    /// Embeddings of positions.
    pub positions: Embedding,
    /// The blocks.
    pub blocks: Vec<TransformerBlock>,
    /// The norm before the head.
    pub norm: LayerNorm,
    /// The projection to logits.
    pub head: Linear,
    /// Sizes of the model.
    pub sizes: Sizes,
}
module!(Gpt { tokens, positions, blocks, norm, head; sizes });

impl Gpt {
    /// Makes a model with random weights for a vocabulary of `vocabulary` tokens. Fails if `heads` does not
    /// divide `width`.
    pub fn new(vocabulary: usize, sizes: Sizes, g: &Generator) -> Result<Gpt> {
        let Sizes { context, width, heads, layers } = sizes;
        if heads == 0 || !width.is_multiple_of(heads) {
            return Err(Error::value(
                format!("a width of {width}"),
                format!("cannot be divided into {heads} heads"),
            ));
        }
        let gpt = Gpt {
            tokens: Embedding::new(vocabulary, width, g),
            positions: Embedding::new(context, width, g),
            blocks: (0..layers).map(|_| TransformerBlock::new(width, heads, 4 * width, 0.0, g)).collect(),
            norm: LayerNorm::new([width]),
            head: Linear::new(width, vocabulary, g).without_bias(),
            sizes,
        };
        // Initialise all matrices with a small standard deviation.
        for (_, p) in gpt.parameters().iter().filter(|(_, p)| p.rank() == 2) {
            p.data_().set_(&init::normal(p.shape(), 0.0, 0.05, g))?;
        }
        Ok(gpt)
    }

    /// Logits of the next tokens, `[batch, time, vocabulary]`. With caches, `ids` follow the positions that
    /// the caches hold.
    pub fn logits(&self, ids: &Tensor, caches: &[Cache]) -> Tensor {
        let time = Tensor::iota(DType::I64, [ids.dim(1)], 0);
        let at = caches.first().map_or_else(|| time.clone(), |c| &time + &*c.position);
        let mut x = self.tokens.forward(ids) + self.positions.forward(&at);
        for (i, block) in self.blocks.iter().enumerate() {
            x = match caches.get(i) {
                Some(cache) => block.forward_cached(&x, cache),
                None => block.forward(&x),
            };
        }
        self.head.forward(&self.norm.forward(&x))
    }

    /// Samples `n` tokens after the token `first`, with a cache for each block. When the caches are full,
    /// they are cleared and filled again with the later half of their tokens.
    pub fn sample(&self, first: i64, n: usize, sampling: &Sampling, g: &Generator) -> Result<Vec<i64>> {
        let context = self.sizes.context;
        let caches: Vec<Cache> = self.blocks.iter().map(|b| b.self_attn.cache(1, context)).collect();
        let step = compile_forward(self, |m, x| m.logits(&x[0], &caches));
        let device = self.device();
        let run = |token: i64| Ok(step.run(&[Tensor::from([[token]]).to(device)])?.remove(0));
        let (mut held, mut tokens) = (Vec::new(), Vec::new());
        let next = |token: i64| {
            if held.len() == context {
                held.drain(..context.div_ceil(2));
                caches.iter().try_for_each(Cache::clear)?;
                held.iter().try_for_each(|t| run(*t).map(drop))?;
            }
            held.push(token);
            run(token)
        };
        let kept = |token: i64| {
            tokens.push(token);
            tokens.len() < n
        };
        sampling.generate(first, g, next, kept)?;
        Ok(tokens)
    }
}

/// Computes the cross-entropy loss on a batch: `batch[0]` holds windows of tokens, `batch[1]` the same
/// windows shifted by one token.
pub fn loss(gpt: &Gpt, batch: &[Tensor]) -> Tensor {
    let logits = gpt.logits(&batch[0], &[]).flatten(0, 1);
    cross_entropy(&logits, &batch[1].reshape([-1]), &CrossEntropyOptions::default())
}
