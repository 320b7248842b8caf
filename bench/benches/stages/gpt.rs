//! The program that is measured: a transformer as in GPT, built from the composites of the library.

use gradus::func::linear;
use gradus::{
    AttentionOptions, CrossEntropyOptions, DType, Tensor, cross_entropy, embedding,
    scaled_dot_product_attention,
};

/// Sizes of the model and of a batch.
pub(crate) struct Gpt {
    pub(crate) layers: usize,
    pub(crate) batch: usize,
    pub(crate) context: usize,
    pub(crate) width: usize,
    pub(crate) heads: usize,
    pub(crate) vocabulary: usize,
}

/// Number of weights of a layer: two norms with two weights each, the joint projection to queries, keys and
/// values, the output projection, and two matrices of the MLP.
const PER_LAYER: usize = 8;

impl Gpt {
    /// Returns the inputs of the loss: tokens, the tokens that follow, then weights (tables of tokens and
    /// positions, the layers, the last norm, the head). They are zeros, because a trace depends on types
    /// only.
    pub(crate) fn inputs(&self) -> Vec<Tensor> {
        let (d, tokens) = (self.width, [self.batch, self.context]);
        let ids = || Tensor::zeros(tokens).to_dtype(DType::I64);
        let mut all =
            vec![ids(), ids(), Tensor::zeros([self.vocabulary, d]), Tensor::zeros([self.context, d])];
        let layer: [&[usize]; PER_LAYER] =
            [&[d], &[d], &[3 * d, d], &[d, d], &[d], &[d], &[4 * d, d], &[d, 4 * d]];
        for _ in 0..self.layers {
            all.extend(layer.iter().map(|shape| Tensor::zeros(*shape)));
        }
        all.extend([Tensor::zeros([d]), Tensor::zeros([d]), Tensor::zeros([self.vocabulary, d])]);
        all
    }

    /// Returns the mean loss of a batch.
    pub(crate) fn loss(&self, v: &[Tensor]) -> Tensor {
        let (layers, head) = v[4..].split_at(self.layers * PER_LAYER);
        let mut x = embedding(&v[0], &v[2], None) + &v[3];
        for w in layers.chunks(PER_LAYER) {
            x = self.layer(&x, w);
        }
        let x = x.layer_norm([self.width], Some(&head[0]), Some(&head[1]), 1e-5);
        let rows = (self.batch * self.context) as i64;
        let scores = linear(&x, &head[2], None).reshape([rows, -1]);
        cross_entropy(&scores, &v[1].reshape([rows]), &CrossEntropyOptions::default())
    }

    fn layer(&self, x: &Tensor, w: &[Tensor]) -> Tensor {
        let (b, t, d) = (self.batch, self.context, self.width);
        let h = x.layer_norm([d], Some(&w[0]), Some(&w[1]), 1e-5);
        let all =
            linear(&h, &w[2], None).reshape([b, t, 3, self.heads, d / self.heads]).permute([2, 0, 3, 1, 4]);
        let how = AttentionOptions { causal: true, ..AttentionOptions::default() };
        let mixed = scaled_dot_product_attention(&all.at(0), &all.at(1), &all.at(2), &how);
        let x = x + linear(&mixed.transpose(1, 2).reshape([b, t, d]), &w[3], None);
        let h = x.layer_norm([d], Some(&w[4]), Some(&w[5]), 1e-5);
        &x + linear(&linear(&h, &w[6], None).gelu(), &w[7], None)
    }
}
