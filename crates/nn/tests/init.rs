//! Initial values: their distributions, and that a seed determines them.

use gradus_nn::init::{
    Gain, fans, kaiming_normal, kaiming_uniform, normal, trunc_normal, uniform, xavier_normal, xavier_uniform,
};
use gradus_nn::{
    BatchNorm, Conv2d, ConvTranspose2d, Embedding, Linear, Lstm, Module, MultiHeadAttention, summary,
};
use gradus_nn::{Forward, Sequential};
use gradus_tensor::{Generator, Tensor};

/// Returns mean, standard deviation, minimum and maximum.
fn moments(t: &Tensor) -> [f64; 4] {
    let v: Vec<f64> = t.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect();
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    let var = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let edge = |f: fn(f64, f64) -> f64| v.iter().copied().reduce(f).unwrap();
    [mean, var.sqrt(), edge(f64::min), edge(f64::max)]
}

#[track_caller]
fn normal_like(t: &Tensor, mean: f64, std: f64) {
    let [m, s, ..] = moments(t);
    assert!((m - mean).abs() < 0.03 * std && (s / std - 1.0).abs() < 0.02, "{m} {s} is not {mean} {std}");
}

#[track_caller]
fn uniform_like(t: &Tensor, bound: f64) {
    let [m, s, low, high] = moments(t);
    assert!(
        m.abs() < 0.03 * bound && (s / bound * 3f64.sqrt() - 1.0).abs() < 0.02,
        "{m} {s} is not within {bound}"
    );
    assert!(
        low >= -bound * (1.0 + 1e-6)
            && high <= bound * (1.0 + 1e-6)
            && high > 0.99 * bound
            && low < -0.99 * bound
    );
}

#[test]
fn distributions_have_the_expected_moments() {
    let g = Generator::new(12);
    let shape = [200, 100];
    normal_like(&normal(shape, 1.5, 0.5, &g), 1.5, 0.5);
    uniform_like(&uniform(shape, -0.3, 0.3, &g), 0.3);
    normal_like(&kaiming_normal(shape, Gain::Relu, &g), 0.0, (2.0f64 / 100.0).sqrt());
    uniform_like(&kaiming_uniform(shape, Gain::LeakyRelu(5f64.sqrt()), &g), 0.1);
    uniform_like(&kaiming_uniform(shape, Gain::Tanh, &g), 5.0 / 3.0 * 0.03f64.sqrt());
    normal_like(&xavier_normal(shape, Gain::Linear, &g), 0.0, (2.0f64 / 300.0).sqrt());
    uniform_like(&xavier_uniform(shape, Gain::Selu, &g), 0.75 * (6.0f64 / 300.0).sqrt());
    // A standard normal distribution truncated at ±1 has the standard deviation 0.5396.
    let t = trunc_normal(shape, 2.0, 0.5, 1.5, 2.5, &g);
    let [m, s, low, high] = moments(&t);
    assert!((m - 2.0).abs() < 0.01 && (s - 0.5 * 0.5396).abs() < 0.005, "{m} {s}");
    assert!((1.5..1.51).contains(&low) && (2.49..=2.5).contains(&high));
    assert_eq!(fans(&[8, 3, 5, 5].into()), (75, 200));
}

#[test]
fn layers_begin_as_in_pytorch() {
    let g = Generator::new(13);
    let linear = Linear::new(100, 200, &g);
    uniform_like(&linear.weight, 0.1);
    let [.., low, high] = moments(linear.bias.as_ref().unwrap());
    assert!(low >= -0.1 && high <= 0.1 && high - low > 0.15);
    normal_like(&Embedding::new(100, 100, &g).weight, 0.0, 1.0);
    uniform_like(&Conv2d::new(16, 64, 3, &g).weight, 1.0 / 144f64.sqrt());
    uniform_like(&ConvTranspose2d::new(64, 16, 3, &g).weight, 1.0 / 144f64.sqrt());
    uniform_like(&Lstm::new(30, 64, 1, &g).parameters()[0].1, 0.125);
    uniform_like(&MultiHeadAttention::new(64, 4, &g).in_proj_weight, (6.0f64 / 256.0).sqrt());
    assert_eq!(BatchNorm::new(2).running_var.to_vec::<f32>().unwrap(), [1.0, 1.0]);
}

#[test]
fn a_seed_gives_the_same_model() {
    let make = |seed: u64| {
        let g = Generator::new(seed);
        Sequential::new().then(Linear::new(3, 4, &g)).then(Embedding::new(3, 2, &g))
    };
    let all =
        |m: Sequential| m.state().iter().flat_map(|(_, t)| t.to_vec::<f32>().unwrap()).collect::<Vec<_>>();
    assert_eq!(all(make(5)), all(make(5)));
    assert_ne!(all(make(5)), all(make(6)));
}

#[test]
fn a_summary_counts() {
    let g = Generator::new(0);
    let net = Sequential::new().then(Linear::new(3, 4, &g)).then(Tensor::relu).then(BatchNorm::new(4));
    net.parameters()[1].1.set_requires_grad(false).unwrap();
    let table = summary(&net, |m, x| m.forward(&x[0]), &[&Tensor::zeros([2, 3])]).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "0.weight               f32[4,3]  12");
    assert_eq!(lines[1], "0.bias                 f32[4]     4  frozen");
    assert_eq!(lines[6], "2.num_batches_tracked  i64[]      1  buffer");
    assert_eq!(lines[7], "20 parameters trained, 4 frozen; 136 bytes");
    // 2·3·4·2 of the product, plus bias, relu and norm.
    let flops: u64 = lines[8].split(' ').next().unwrap().parse().unwrap();
    assert!((48 + 16..200).contains(&flops), "{flops}");
    assert!(lines[8].ends_with("f32[2,4]"));
}

/// Returns the total of `summary`, and its counts for each layer.
fn work(table: &str) -> (u64, Vec<(String, u64)>) {
    let mut lines = table.lines().skip_while(|l| !l.contains(" operations to "));
    let total = lines.next().unwrap().split(' ').next().unwrap().parse().unwrap();
    let line = |l: &str| {
        let (name, n) = l.trim().rsplit_once(' ').unwrap();
        (name.trim().to_string(), n.parse().unwrap())
    };
    (total, lines.map(line).collect())
}

#[test]
fn a_summary_counts_by_layer() {
    let g = Generator::new(0);
    let named = |all: &[(&str, u64)]| all.iter().map(|(n, x)| (n.to_string(), *x)).collect::<Vec<_>>();
    let net = Sequential::new().then(Linear::new(3, 4, &g)).then(Tensor::tanh).then(Linear::new(4, 2, &g));
    let (total, layers) = work(&summary(&net, |m, x| m.forward(&x[0]), &[&Tensor::zeros([5, 3])]).unwrap());
    // Two per product, one per bias; tanh belongs to no layer.
    let right = [("0", 5 * (2 * 3 * 4 + 4)), ("2", 5 * (2 * 4 * 2 + 2)), ("no layer", 5 * 4)];
    assert_eq!(layers, named(&right));
    assert_eq!(total, right.iter().map(|(_, n)| n).sum::<u64>());
    // A loop counts every step: four gates of three inputs and two states, six steps of a batch of five.
    let lstm = Lstm::new(3, 2, 1, &g);
    struct Both(Lstm, Linear);
    impl Module for Both {
        fn visit(&self, v: &mut gradus_nn::Visitor) {
            v.field("lstm", &self.0);
            v.field("out", &self.1);
        }
    }
    let model = Both(lstm, Linear::new(2, 1, &g));
    let table =
        summary(&model, |m, x| m.1.forward(&m.0.forward(&x[0])), &[&Tensor::zeros([6, 5, 3])]).unwrap();
    let (total, layers) = work(&table);
    let products = 6 * 5 * (2 * 3 * 8 + 2 * 2 * 8);
    assert_eq!(layers[0].0, "lstm");
    assert!(layers[0].1 >= products && layers[0].1 < products + 6 * 5 * 8 * 6, "{table}");
    assert_eq!(layers[1], ("out".to_string(), 6 * 5 * (2 * 2 + 1)));
    assert_eq!(total, layers.iter().map(|(_, n)| n).sum::<u64>());
    // The counts are the same inside a function that takes the parameters of several layers.
    let whole = |m: &Sequential, x: &[Tensor]| gradus_tensor::checkpoint(&[&x[0]], |x| m.forward(&x[0]));
    let table = summary(&net, |m, x| whole(m, x).unwrap(), &[&Tensor::zeros([5, 3])]).unwrap();
    assert_eq!(work(&table).1, named(&right), "{table}");
}
