//! Handwritten digits with a convolutional network: 1500 to train on, 297 to test on.
//!
//! After 10 passes it classifies more than 96 of 100 unseen digits correctly.

use gradus::func::conv::ConvOptions;
use gradus::nn::data::{Loader, Tensors};
use gradus::nn::file::idx;
use gradus::nn::{
    BatchNorm, Conv2d, Dropout, Flatten, Forward, Linear, MaxPool, Module, Optimizer, Sequential,
};
use gradus::nn::{compile_forward, compile_training, optim::AdamW, summary};
use gradus::{CrossEntropyOptions, DType, Generator, Result, Tensor, cross_entropy};

/// Images `[n, 1, 8, 8]` from 0 to 1, and their labels.
pub(crate) fn data() -> Result<(Tensors, Tensors)> {
    let images = idx::from_bytes(include_bytes!("data/digits-images.idx"))?;
    let labels = idx::from_bytes(include_bytes!("data/digits-labels.idx"))?;
    let images = images.to_dtype(DType::F32).unsqueeze(1) / 16.0;
    Ok(Tensors::new(vec![images, labels.to_dtype(DType::I64)])?.split(|i| i < 1500))
}

fn network(g: &Generator) -> Sequential {
    let same = || ConvOptions { padding: 1.into(), ..ConvOptions::default() };
    Sequential::new()
        .then(Conv2d::with(1, 16, 3, same(), g))
        .then(BatchNorm::new(16))
        .then(Tensor::relu)
        .then(Conv2d::with(16, 32, 3, same(), g))
        .then(BatchNorm::new(32))
        .then(Tensor::relu)
        .then(MaxPool::new(&[2, 2]))
        .then(Flatten)
        .then(Dropout::new(0.25, g))
        .then(Linear::new(32 * 4 * 4, 10, g))
}

/// Trains for `passes` passes over the data; returns the accuracy on unseen digits.
pub(crate) fn train(passes: usize) -> Result<f64> {
    let (train, test) = data()?;
    let g = Generator::new(2);
    let net = network(&g);
    print!("{}", summary(&net, |m, x| m.forward(&x[0]), &[&Tensor::zeros([1, 1, 8, 8])])?);
    let loss = |m: &Sequential, b: &[Tensor]| {
        cross_entropy(&m.forward(&b[0]), &b[1], &CrossEntropyOptions::default())
    };
    let adam = Optimizer::new(net.parameters(), AdamW { rate: 3e-3, ..AdamW::default() });
    let mut loader = Loader::new(train, 50)?.shuffle(1);
    let mut step = compile_training(&net, loss, adam, &loader.next_batch()?)?;
    loader.seek(Default::default());
    // Compiled for inference, the network drops nothing and does not use batch statistics.
    let right =
        compile_forward(&net, |m, b| m.forward(&b[0]).argmax(1).eq(&b[1]).to_dtype(DType::F64).mean(()));
    let mut score = 0.0;
    for pass in 1..=passes {
        let mut sum = 0.0;
        for batch in loader.pass() {
            sum += step.run(&batch?)?.loss.item::<f32>()?;
        }
        score = right.run(test.fields())?[0].item::<f64>()?;
        println!("pass {pass}: loss {:.3}, {:.1} % of unseen digits", sum / 30.0, 100.0 * score);
    }
    Ok(score)
}

fn main() -> Result<()> {
    let passes = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10);
    let score = train(passes)?;
    assert!(passes < 10 || score > 0.96, "it has learnt less than it should");
    Ok(())
}
