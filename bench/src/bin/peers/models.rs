//! The models of the workloads: parameters and losses.

use crate::inputs::{fill, full, ints};
use gradus::func::conv::{ConvOptions, conv2d};
use gradus::func::pool::{MaxPoolOptions, max_pool};
use gradus::nn::{Param, module};
use gradus::{
    All, AttentionOptions, CrossEntropyOptions, Device, Reduction, Tensor, cross_entropy, embedding,
    scaled_dot_product_attention,
};

/// A loss as a function of parameters and data.
pub(crate) struct Model {
    pub(crate) parameters: Vec<Param>,
    /// Initial values of the parameters.
    pub(crate) first: Vec<Tensor>,
    /// Inputs and targets.
    pub(crate) data: Vec<Tensor>,
    /// The loss.
    pub(crate) loss: fn(&[Tensor], &[Tensor]) -> Tensor,
}
module!(Model { parameters; first, data, loss });

impl Model {
    fn new(first: Vec<Tensor>, data: Vec<Tensor>, loss: fn(&[Tensor], &[Tensor]) -> Tensor) -> Model {
        Model { parameters: first.iter().map(Param::new).collect(), first, data, loss }
    }

    /// Returns the parameters as tensors.
    pub(crate) fn cells(&self) -> Vec<Tensor> {
        self.parameters.iter().map(|p| (**p).clone()).collect()
    }
}

fn entropy(logits: &Tensor, targets: &Tensor) -> Tensor {
    cross_entropy(logits, targets, &CrossEntropyOptions::default())
}

/// Makes an MLP 784-512-512-10 with relu.
pub(crate) fn mlp() -> Model {
    let sizes = [784usize, 512, 512, 10];
    let mut parameters = Vec::new();
    for i in 0..3 {
        let scale = 1.0 / (sizes[i] as f64).sqrt();
        parameters.push(fill(12 + i as u64, &[sizes[i], sizes[i + 1]], scale));
        parameters.push(fill(16 + i as u64, &[sizes[i + 1]], scale));
    }
    let data = vec![fill(10, &[256, 784], 1.0), ints(11, &[256], 10)];
    fn loss(p: &[Tensor], d: &[Tensor]) -> Tensor {
        let h = (d[0].matmul(&p[0]) + &p[1]).relu();
        let h = (h.matmul(&p[2]) + &p[3]).relu();
        entropy(&(h.matmul(&p[4]) + &p[5]), &d[1])
    }
    Model::new(parameters, data, loss)
}

/// Vocabulary, context, batch, heads and width of the GPT.
const V: usize = 65;
const T: usize = 128;
const H: usize = 4;
const D: usize = 128;
/// Parameters of a layer.
const PER_LAYER: usize = 12;

/// Makes a pre-norm GPT with biases and a separate output projection.
pub(crate) fn gpt(layers: usize, batch: usize) -> Model {
    let mut parameters = vec![fill(100, &[V, D], 0.1), fill(101, &[T, D], 0.1)];
    for l in 0..layers as u64 {
        let s = 200 + 20 * l;
        parameters.extend([
            full(D, 1.0),
            full(D, 0.0),
            fill(s, &[D, 3 * D], 0.1),
            full(3 * D, 0.0),
            fill(s + 1, &[D, D], 0.1),
            full(D, 0.0),
            full(D, 1.0),
            full(D, 0.0),
            fill(s + 2, &[D, 4 * D], 0.1),
            full(4 * D, 0.0),
            fill(s + 3, &[4 * D, D], 0.05),
            full(D, 0.0),
        ]);
    }
    parameters.extend([full(D, 1.0), full(D, 0.0), fill(102, &[D, V], 0.1)]);
    let data = vec![ints(190, &[batch, T], V as u64), ints(191, &[batch, T], V as u64)];
    fn loss(p: &[Tensor], d: &[Tensor]) -> Tensor {
        let batch = d[0].dim(0);
        let norm = |x: &Tensor, w: &Tensor, b: &Tensor| x.layer_norm([D], Some(w), Some(b), 1e-5);
        let heads = |x: &Tensor| x.reshape([batch, T, H, D / H]).transpose(1, 2);
        let mut h = embedding(&d[0], &p[0], None) + &p[1];
        for q in p[2..p.len() - 3].chunks(PER_LAYER) {
            let a = norm(&h, &q[0], &q[1]).matmul(&q[2]) + &q[3];
            let part = |i: usize| heads(&a.narrow(-1, i * D, D));
            let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
            let o = scaled_dot_product_attention(&part(0), &part(1), &part(2), &options);
            h = h + (o.transpose(1, 2).reshape([batch, T, D]).matmul(&q[4]) + &q[5]);
            let m = (norm(&h, &q[6], &q[7]).matmul(&q[8]) + &q[9]).gelu_tanh();
            h = h + (m.matmul(&q[10]) + &q[11]);
        }
        let [.., w, b, head] = p else { return Tensor::from(0.0f32) };
        let logits = norm(&h, w, b).matmul(head);
        entropy(&logits.reshape([batch * T, V]), &d[1].reshape([batch * T]))
    }
    Model::new(parameters, data, loss)
}

/// Makes a CNN of two convolutions, a pool and two linear layers.
pub(crate) fn cnn() -> Model {
    let (c, f) = (1.0 / 288f64.sqrt(), 1.0 / 128f64.sqrt());
    let parameters = vec![
        fill(22, &[32, 1, 3, 3], 1.0 / 3.0),
        fill(23, &[32], 1.0 / 3.0),
        fill(24, &[64, 32, 3, 3], c),
        fill(25, &[64], c),
        fill(26, &[9216, 128], 1.0 / 96.0),
        fill(27, &[128], 1.0 / 96.0),
        fill(28, &[128, 10], f),
        fill(29, &[10], f),
    ];
    let data = vec![fill(20, &[64, 1, 28, 28], 1.0), ints(21, &[64], 10)];
    fn loss(p: &[Tensor], d: &[Tensor]) -> Tensor {
        let options = ConvOptions::default();
        let h = conv2d(&d[0], &p[0], Some(&p[1]), &options).relu();
        let h = conv2d(&h, &p[2], Some(&p[3]), &options).relu();
        let h = max_pool(&h, &[2, 2], &MaxPoolOptions::default()).reshape([64, 9216]);
        let h = (h.matmul(&p[4]) + &p[5]).relu();
        entropy(&(h.matmul(&p[6]) + &p[7]), &d[1])
    }
    Model::new(parameters, data, loss)
}

/// Makes the language model of Bengio et al.
pub(crate) fn bengio() -> Model {
    let parameters = vec![
        fill(42, &[27, 10], 1.0),
        fill(43, &[30, 200], 5.0 / 3.0 / 30f64.sqrt()),
        fill(44, &[200], 0.01),
        fill(45, &[200, 27], 0.05),
        full(27, 0.0),
    ];
    let data = vec![ints(40, &[32, 3], 27), ints(41, &[32], 27)];
    fn loss(p: &[Tensor], d: &[Tensor]) -> Tensor {
        let x = embedding(&d[0], &p[0], None).reshape([32, 30]);
        let h = (x.matmul(&p[1]) + &p[2]).tanh();
        entropy(&(h.matmul(&p[3]) + &p[4]), &d[1])
    }
    Model::new(parameters, data, loss)
}

/// Makes an MLP 1-64-64-1 with relu and the mean squared error, for sine regression.
pub(crate) fn sine() -> Model {
    let sizes = [1usize, 64, 64, 1];
    let mut parameters = Vec::new();
    for i in 0..3 {
        let scale = 1.0 / (sizes[i] as f64).sqrt();
        parameters.push(fill(60 + i as u64, &[sizes[i], sizes[i + 1]], scale));
        parameters.push(full(sizes[i + 1], 0.0));
    }
    let x = fill(66, &[256, 1], 3.0);
    let y = x.sin();
    fn loss(p: &[Tensor], d: &[Tensor]) -> Tensor {
        let h = (d[0].matmul(&p[0]) + &p[1]).relu();
        let h = (h.matmul(&p[2]) + &p[3]).relu();
        (h.matmul(&p[4]) + &p[5] - &d[1]).square().mean(All)
    }
    Model::new(parameters, vec![x, y], loss)
}

/// Makes a CNN of two padded convolutions, each with a pool, and two linear layers.
pub(crate) fn digits() -> Model {
    let parameters = vec![
        fill(70, &[16, 1, 3, 3], 1.0 / 3.0),
        full(16, 0.0),
        fill(71, &[32, 16, 3, 3], 1.0 / 12.0),
        full(32, 0.0),
        fill(72, &[1568, 64], 1.0 / 1568f64.sqrt()),
        full(64, 0.0),
        fill(73, &[64, 10], 1.0 / 8.0),
        full(10, 0.0),
    ];
    let data = vec![fill(74, &[64, 1, 28, 28], 1.0), ints(75, &[64], 10)];
    fn loss(p: &[Tensor], d: &[Tensor]) -> Tensor {
        let options = ConvOptions { padding: 1.into(), ..ConvOptions::default() };
        let pool = |x: &Tensor| max_pool(x, &[2, 2], &MaxPoolOptions::default());
        let h = pool(&conv2d(&d[0], &p[0], Some(&p[1]), &options).relu());
        let h = pool(&conv2d(&h, &p[2], Some(&p[3]), &options).relu()).reshape([64, 1568]);
        let h = (h.matmul(&p[4]) + &p[5]).relu();
        entropy(&(h.matmul(&p[6]) + &p[7]), &d[1])
    }
    Model::new(parameters, data, loss)
}

/// Makes a transformer that adds numbers digit by digit: 3 layers, 4 heads, width 64, 8 tokens of 12 kinds,
/// batch 128.
pub(crate) fn addition() -> Model {
    const D: usize = 64;
    let mut parameters = vec![fill(80, &[12, D], 0.1), fill(81, &[8, D], 0.1)];
    for l in 0..3u64 {
        let w = |i: u64, a: usize, b: usize| fill(82 + 6 * l + i, &[a, b], 1.0 / (a as f64).sqrt());
        parameters.extend([full(D, 1.0), full(D, 0.0)]);
        parameters.extend((0..4).map(|i| w(i, D, D)));
        parameters.extend([full(D, 1.0), full(D, 0.0)]);
        parameters.extend([w(4, D, 4 * D), full(4 * D, 0.0), w(5, 4 * D, D), full(D, 0.0)]);
    }
    parameters.extend([full(D, 1.0), full(D, 0.0)]);
    let mask = Tensor::from_slice(&[0.0f32, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [8]).to(Device::default());
    let data = vec![ints(78, &[128, 8], 12), ints(79, &[128, 8], 12), mask];
    fn loss(p: &[Tensor], d: &[Tensor]) -> Tensor {
        let norm = |x: &Tensor, w: &Tensor, b: &Tensor| x.layer_norm([D], Some(w), Some(b), 1e-5);
        let mut x = embedding(&d[0], &p[0], None) + &p[1];
        for q in p[2..p.len() - 2].chunks(12) {
            let h = norm(&x, &q[0], &q[1]);
            let head = |w: &Tensor| h.matmul(w).reshape([128, 8, 4, D / 4]).transpose(1, 2);
            let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
            let o = scaled_dot_product_attention(&head(&q[2]), &head(&q[3]), &head(&q[4]), &options);
            x = x + o.transpose(1, 2).reshape([128, 8, D]).matmul(&q[5]);
            let m = (norm(&x, &q[6], &q[7]).matmul(&q[8]) + &q[9]).relu();
            x = x + (m.matmul(&q[10]) + &q[11]);
        }
        let [.., w, b] = p else { return Tensor::from(0.0f32) };
        let logits = norm(&x, w, b).matmul(&p[0].transpose(0, 1)).reshape([1024, 12]);
        let options = CrossEntropyOptions { reduction: Reduction::None, ..CrossEntropyOptions::default() };
        let each = cross_entropy(&logits, &d[1].reshape([1024]), &options).reshape([128, 8]);
        (each * &d[2]).sum(All) * (1.0 / 384.0)
    }
    Model::new(parameters, data, loss)
}
