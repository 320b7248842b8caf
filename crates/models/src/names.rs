//! The language model of Bengio et al. (2003) on names: predicts each letter from a few letters before it.

use gradus_ir::{Error, Result};
use gradus_nn::data::Tensors;
use gradus_nn::init::{Gain, kaiming_normal};
use gradus_nn::{Embedding, Forward, Linear, Module, Sampling, compile_forward, module};
use gradus_tensor::{CrossEntropyOptions, Generator, Tensor, cross_entropy};

/// Number of tokens: 0 is the end of a name, 1 to 26 are the letters.
pub const VOCABULARY: usize = 27;

/// Largest length of a generated name.
const LONGEST: usize = 20;

/// Sizes of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Number of letters that predict the next one.
    pub context: usize,
    /// Width of embeddings.
    pub embed: usize,
    /// Width of the hidden layers.
    pub width: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { context: 3, embed: 10, width: 200 }
    }
}

/// The model: concatenated embeddings of the context, followed by two hidden layers.
pub struct Bengio {
    /// Embeddings of letters.
    pub embed: Embedding,
    /// The two hidden layers and the output layer, which returns logits.
    pub layers: Vec<Linear>,
    /// Number of letters that predict the next one.
    pub context: usize,
}
module!(Bengio { embed, layers; context });

impl Bengio {
    /// Makes a model with random weights.
    pub fn new(sizes: Sizes, g: &Generator) -> Result<Bengio> {
        let Sizes { context, embed, width } = sizes;
        let layers = [(context * embed, width), (width, width), (width, VOCABULARY)];
        let layers = layers.map(|(i, o)| Linear::new(i, o, g).without_bias());
        for layer in &layers {
            layer.weight.data_().set_(&kaiming_normal(layer.weight.shape(), Gain::Tanh, g))?;
        }
        Ok(Bengio { embed: Embedding::new(VOCABULARY, embed, g), layers: layers.into(), context })
    }

    /// Samples a new name, letter by letter.
    pub fn sample(&self, sampling: &Sampling, g: &Generator) -> Result<String> {
        let logits = compile_forward(self, |m, x| m.forward(&x[0]));
        let (mut context, mut name, device) = (vec![0i64; self.context], String::new(), self.device());
        let next = |letter: i64| {
            context.rotate_left(1);
            context[self.context - 1] = letter;
            let context = Tensor::from_slice(&context, [1, self.context]).to(device);
            Ok(logits.run(&[context])?.remove(0))
        };
        sampling.generate(0, g, next, |letter| {
            if letter > 0 {
                name.push((b'a' + letter as u8 - 1) as char);
            }
            letter > 0 && name.len() < LONGEST
        })?;
        Ok(name)
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

/// Computes the cross-entropy loss on a batch: `batch[0]` holds contexts, `batch[1]` the letters that follow.
pub fn loss(model: &Bengio, batch: &[Tensor]) -> Tensor {
    cross_entropy(&model.forward(&batch[0]), &batch[1], &CrossEntropyOptions::default())
}

/// Returns all contexts of the names, and the letters that follow; 0 is the end of a name. Fails for
/// characters other than a to z.
pub fn examples(names: &[&str], context: usize) -> Result<Tensors> {
    let (mut contexts, mut targets) = (Vec::<i64>::new(), Vec::new());
    for name in names {
        if let Some(other) = name.chars().find(|c| !c.is_ascii_lowercase()) {
            let why =
                format!("contains {other:?}; names must consist of the letters a to z, one name per line");
            return Err(Error::value(format!("the name {name:?}"), why));
        }
        let mut before = vec![0i64; context];
        for letter in name.bytes().map(|b| i64::from(b - b'a') + 1).chain([0]) {
            contexts.extend(&before);
            targets.push(letter);
            before.push(letter);
            before.remove(0);
        }
    }
    Tensors::new(vec![Tensor::from_slice(&contexts, [targets.len(), context]), Tensor::from(targets)])
}

/// Splits the lines of a text into names for training and for testing, about one in ten. A hash of the name
/// decides, so a name stays in its part when other names are added.
pub fn split(text: &str) -> (Vec<&str>, Vec<&str>) {
    let hash = |name: &str| name.bytes().fold(5381u32, |h, b| h.wrapping_mul(33) ^ u32::from(b));
    text.lines().map(str::trim).filter(|n| !n.is_empty()).partition(|n| !hash(n).is_multiple_of(10))
}
