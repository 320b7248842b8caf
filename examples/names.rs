//! The language model of Bengio et al. (2003) on names: three letters predict the next.
//!
//! After 1500 batches the loss on names it has not seen is below 2.2 nats (guessing is 3.30), after 20000, with
//! `cargo run --release --example names -- 20000`, below 2.0.

use gradus::nn::data::{Dataset, Loader, Tensors};
use gradus::nn::init::{Gain, kaiming_normal};
use gradus::nn::{
    Embedding, Forward, Linear, Module, Optimizer, Schedule, compile_forward, compile_training,
};
use gradus::nn::{module, optim::Sgd};
use gradus::{CrossEntropyOptions, Generator, Result, Tensor, cross_entropy};

/// Batch, context, vocabulary, width of embeddings, width of the model.
pub(crate) const B: usize = 32;
pub(crate) const T: usize = 3;
pub(crate) const V: usize = 27;
pub(crate) const E: usize = 10;
pub(crate) const D: usize = 200;

pub(crate) struct Bengio {
    pub(crate) embed: Embedding,
    pub(crate) layers: Vec<Linear>,
}
module!(Bengio { embed, layers });

impl Bengio {
    pub(crate) fn new(g: &Generator) -> Result<Bengio> {
        let layers = [(T * E, D), (D, D), (D, V)].map(|(i, o)| Linear::new(i, o, g).without_bias());
        for layer in &layers {
            layer.weight.data_().set_(&kaiming_normal(layer.weight.shape(), Gain::Tanh, g))?;
        }
        Ok(Bengio { embed: Embedding::new(V, E, g), layers: layers.into() })
    }
}

impl Forward for Bengio {
    fn forward(&self, context: &Tensor) -> Tensor {
        let x = self.embed.forward(context).flatten(1, 2);
        let x = self.layers[0].forward(&x).tanh();
        let x = self.layers[1].forward(&x).tanh();
        self.layers[2].forward(&x)
    }
}

pub(crate) fn loss(model: &Bengio, batch: &[Tensor]) -> Tensor {
    cross_entropy(&model.forward(&batch[0]), &batch[1], &CrossEntropyOptions::default())
}

/// Every context of three letters and the letter that follows; 0 is the end of a name.
fn examples(names: &[&str]) -> Result<Tensors> {
    let (mut contexts, mut targets) = (Vec::new(), Vec::new());
    for name in names {
        let mut context = [0i64; T];
        for letter in name.bytes().map(|b| i64::from(b - b'a') + 1).chain([0]) {
            contexts.extend(context);
            targets.push(letter);
            context.rotate_left(1);
            context[T - 1] = letter;
        }
    }
    Tensors::new(vec![Tensor::from_slice(&contexts, [targets.len(), T]), Tensor::from(targets)])
}

/// Names to train on, and one in ten to test on: chosen by a hash, so that the split stays when names are added.
pub(crate) fn data() -> Result<(Tensors, Tensors)> {
    let hash = |name: &str| name.bytes().fold(5381u32, |h, b| h.wrapping_mul(33) ^ u32::from(b));
    let names: Vec<&str> = include_str!("data/names.txt").lines().collect();
    let (test, train): (Vec<&str>, Vec<&str>) = names.iter().partition(|n| hash(n) % 10 == 0);
    Ok((examples(&train)?, examples(&test)?))
}

/// Trains on so many batches; gives the loss on unseen names.
pub(crate) fn train(batches: u64) -> Result<f32> {
    let (train, test) = data()?;
    println!("{} examples to train on, {} to test on", train.len(), test.len());
    let g = Generator::new(7);
    let model = Bengio::new(&g)?;
    // The rate falls to a tenth for the last third.
    let rate = Schedule::multistep(&[batches * 2 / 3], 0.1);
    let sgd = Optimizer::new(model.parameters(), Sgd { rate: 0.1, ..Sgd::default() }).schedule(rate);
    let mut loader = Loader::new(train, B)?.shuffle(1);
    let mut step = compile_training(&model, loss, sgd, &loader.next_batch()?)?;
    for i in 1..=batches {
        let outcome = step.run(&loader.next_batch()?)?;
        if i.is_multiple_of((batches / 5).max(1)) {
            println!("batch {i}: loss {:.3}", outcome.loss.item::<f32>()?);
        }
    }
    for _ in 0..10 {
        println!("  {}", sample(&model, &g)?);
    }
    // The same parameters, compiled for use.
    compile_forward(&model, loss).run(test.fields())?[0].item::<f32>()
}

/// A new name, letter by letter.
fn sample(model: &Bengio, g: &Generator) -> Result<String> {
    let next = compile_forward(model, |m, x| m.forward(&x[0]).softmax(-1));
    let (mut context, mut name) = ([0i64; T], String::new());
    while name.len() < 20 {
        let letter = g.multinomial(&next.run(&[Tensor::from([context])])?[0], 1, true).item::<i64>()?;
        if letter == 0 {
            break;
        }
        name.push((b'a' + letter as u8 - 1) as char);
        context.rotate_left(1);
        context[T - 1] = letter;
    }
    Ok(name)
}

fn main() -> Result<()> {
    let batches = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1500);
    let loss = train(batches)?;
    println!("loss on unseen names: {loss:.3}");
    assert!(batches < 1500 || loss < 2.2, "it has learnt less than it should");
    Ok(())
}
