//! A variational autoencoder of handwritten digits: eight numbers per image, from which new images are drawn.
//!
//! After 20 passes the bound on the negative log-likelihood of an image is below 25.2 nats; a model that always
//! predicts the average image has 27.1. `cargo run --example vae -- 20 digits.png` writes sixteen new digits.

use gradus::nn::data::{Loader, Tensors};
use gradus::nn::file::{idx, png};
use gradus::nn::{
    Forward, Linear, Module, Optimizer, compile_forward, compile_training, module, optim::Adam,
};
use gradus::{DType, Generator, Reduction, Result, Tensor, binary_cross_entropy_with_logits};

/// Numbers per image, and width of the hidden layers.
const Z: usize = 8;
const H: usize = 128;

struct Vae {
    encode: Linear,
    mean: Linear,
    log_var: Linear,
    expand: Linear,
    decode: Linear,
    noise: Generator,
}
module!(Vae { encode, mean, log_var, expand, decode, noise });

impl Vae {
    fn new(g: &Generator) -> Vae {
        let linear = |i, o| Linear::new(i, o, g);
        let (encode, mean, log_var) = (linear(64, H), linear(H, Z), linear(H, Z));
        Vae { encode, mean, log_var, expand: linear(Z, H), decode: linear(H, 64), noise: g.clone() }
    }

    /// Logits of pixels.
    fn images(&self, z: &Tensor) -> Tensor {
        self.decode.forward(&self.expand.forward(z).relu())
    }

    /// The bound per image, and the divergence from the prior that it contains.
    fn bound(&self, x: &Tensor) -> [Tensor; 2] {
        let h = self.encode.forward(x).relu();
        let (mean, log_var) = (self.mean.forward(&h), self.log_var.forward(&h));
        // Noise is drawn inside the compiled step, whose gradient flows through mean and standard deviation.
        let z = &mean + (&log_var * 0.5).exp() * self.noise.randn(mean.shape());
        let pixels = binary_cross_entropy_with_logits(&self.images(&z), x, None, None, Reduction::Sum);
        let distance = ((mean.square() + log_var.exp() - &log_var - 1.0) * 0.5).sum(());
        let n = x.dim(0) as f64;
        [(pixels + &distance) / n, distance / n]
    }
}

/// Trains for this many passes; returns the bound of the last, and sixteen new digits, `[16, 8, 8]`.
pub(crate) fn train(passes: usize) -> Result<(f32, Tensor)> {
    let images = idx::from_bytes(include_bytes!("data/digits-images.idx"))?;
    let images = images.to_dtype(DType::F32).flatten(1, 2) / 16.0;
    let g = Generator::new(6);
    let vae = Vae::new(&g);
    let adam = Optimizer::new(vae.parameters(), Adam { rate: 3e-3, ..Adam::default() });
    let mut loader = Loader::new(Tensors::new(vec![images])?, 64)?.shuffle(1);
    let mut step = compile_training(&vae, |m, b| m.bound(&b[0]), adam, &loader.next_batch()?)?;
    loader.seek(Default::default());
    let mut bound = 0.0;
    for pass in 1..=passes {
        let (mut sums, mut batches) = ([0.0f32; 2], 0.0);
        for batch in loader.pass() {
            let outcome = step.run(&batch?)?;
            sums[0] += outcome.loss.item::<f32>()?;
            sums[1] += outcome.outputs[0].item::<f32>()?;
            batches += 1.0;
        }
        bound = sums[0] / batches;
        println!("pass {pass}: {bound:.2} nats, of which divergence from the prior {:.2}", sums[1] / batches);
    }
    let draw = compile_forward(&vae, |m, z| m.images(&z[0]).sigmoid().reshape([16, 8, 8]));
    Ok((bound, draw.run(&[g.randn([16, Z])])?.remove(0)))
}

fn main() -> Result<()> {
    let passes = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(20);
    let (bound, images) = train(passes)?;
    if let Some(path) = std::env::args().nth(2) {
        // Four rows of four images with gaps, each pixel enlarged eight times.
        let framed = images.pad_zeros(&[(1, 1), (1, 1)]).reshape([4, 4, 10, 10]);
        let sheet = framed.transpose(1, 2).reshape([40, 40, 1]);
        let large = sheet.repeat_interleave(8, Some(0)).repeat_interleave(8, Some(1));
        png::write(path, &(large * 255.0).to_dtype(DType::U8))?;
    }
    assert!(passes < 20 || bound < 25.2, "it has learnt less than it should");
    Ok(())
}
