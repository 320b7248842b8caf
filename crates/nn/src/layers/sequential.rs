//! A sequence of layers.

use crate::caller::tensor_at_caller;
use crate::module::{Forward, Module, Visitor};
use gradus_tensor::Tensor;

/// Modules applied in order; their parameters are named by position, such as `0.weight`.
///
/// ```
/// use gradus_nn::{Linear, Module, Sequential};
/// use gradus_tensor::{Generator, Tensor};
/// let g = Generator::new(0);
/// let net = Sequential::new().then(Linear::new(2, 3, &g)).then(Tensor::relu).then(Linear::new(3, 1, &g));
/// assert_eq!(net.parameters()[2].0, "2.weight");
/// ```
#[derive(Default)]
pub struct Sequential(Vec<Box<dyn Forward + Send + Sync>>);

impl Sequential {
    /// Makes an empty sequence.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// Appends a module.
    pub fn then(mut self, module: impl Forward + Send + Sync + 'static) -> Sequential {
        self.0.push(Box::new(module));
        self
    }
}

impl Module for Sequential {
    fn visit(&self, v: &mut Visitor) {
        self.0.iter().enumerate().for_each(|(i, m)| v.field(&i.to_string(), &**m));
    }
}

impl Forward for Sequential {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.0.iter().fold(x.clone(), |x, m| m.forward(&x));
        tensor_at_caller(Ok(y), std::panic::Location::caller())
    }
}
