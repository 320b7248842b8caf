//! Normalization layers.

use crate::module;
use crate::module::{Buffer, Forward, Mode, Param};
use gradus_ir::Shape;
use gradus_tensor::{BatchNormOptions, Tensor};

/// Normalizes each channel (axis 1) to mean 0 and variance 1 over the batch, for any number of axes; in
/// evaluation with the running statistics.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    /// `[channels]`.
    pub weight: Param,
    /// `[channels]`.
    pub bias: Param,
    /// Running mean.
    pub running_mean: Buffer,
    /// Running variance.
    pub running_var: Buffer,
    /// Number of batches in the statistics.
    pub num_batches_tracked: Buffer,
    /// The mode: training or evaluation.
    pub mode: Mode,
    /// Weight of a batch in the running statistics.
    pub momentum: f64,
    /// Added to the variance.
    pub eps: f64,
}
module!(BatchNorm { weight, bias, running_mean, running_var, num_batches_tracked, mode; momentum, eps });

impl BatchNorm {
    /// Makes a layer for this many channels.
    #[track_caller]
    pub fn new(channels: usize) -> BatchNorm {
        let (zeros, ones) = (Tensor::zeros([channels]), Tensor::ones([channels]));
        BatchNorm {
            weight: Param::new(&ones),
            bias: Param::new(&zeros),
            running_mean: Buffer::new(&zeros),
            running_var: Buffer::new(&ones),
            num_batches_tracked: Buffer::new(&Tensor::from(0i64)),
            mode: Mode::default(),
            momentum: 0.1,
            eps: 1e-5,
        }
    }
}

impl Forward for BatchNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let training = self.mode.is_training();
        let options = BatchNormOptions { training, momentum: self.momentum, eps: self.eps };
        // Passes values instead of cells: the update below changes the cells, and a backward pass refuses
        // cells that changed.
        let (mean, var) = (self.running_mean.detach(), self.running_var.detach());
        let running = Some((&mean, &var));
        let (y, mean, var) = x.batch_norm(running, Some(&self.weight), Some(&self.bias), &options);
        if !training || y.error().is_some() {
            return y;
        }
        let count = &*self.num_batches_tracked + 1;
        let updates =
            [(&self.running_mean, mean), (&self.running_var, var), (&self.num_batches_tracked, count)];
        match updates.iter().try_for_each(|(buffer, value)| buffer.set_(value)) {
            Ok(()) => y,
            Err(e) => Tensor::failed(e),
        }
    }
}

/// Normalizes the last axes to mean 0 and variance 1.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// One number for each element of the last axes.
    pub weight: Param,
    /// One number for each element of the last axes.
    pub bias: Option<Param>,
    /// Added to the variance.
    pub eps: f64,
}
module!(LayerNorm { weight, bias; eps });

impl LayerNorm {
    /// Makes a layer for last axes of these extents.
    #[track_caller]
    pub fn new(shape: impl Into<Shape>) -> LayerNorm {
        let shape = shape.into();
        let bias = Some(Param::new(&Tensor::zeros(&shape)));
        LayerNorm { weight: Param::new(&Tensor::ones(&shape)), bias, eps: 1e-5 }
    }

    /// Removes the bias.
    pub fn without_bias(self) -> LayerNorm {
        LayerNorm { bias: None, ..self }
    }
}

impl Forward for LayerNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.layer_norm(self.weight.shape(), Some(&self.weight), self.bias.as_deref(), self.eps)
    }
}

/// Normalizes the last axes to mean square 1.
#[derive(Clone, Debug)]
pub struct RmsNorm {
    /// One number for each element of the last axes.
    pub weight: Param,
    /// Added to the mean square; the machine epsilon of the dtype if `None`.
    pub eps: Option<f64>,
}
module!(RmsNorm { weight; eps });

impl RmsNorm {
    /// Makes a layer for last axes of these extents.
    #[track_caller]
    pub fn new(shape: impl Into<Shape>) -> RmsNorm {
        RmsNorm { weight: Param::new(&Tensor::ones(shape)), eps: None }
    }
}

impl Forward for RmsNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.rms_norm(self.weight.shape(), Some(&self.weight), self.eps)
    }
}

/// Normalizes groups of channels (axis 1) and all axes after it to mean 0 and variance 1.
#[derive(Clone, Debug)]
pub struct GroupNorm {
    /// `[channels]`.
    pub weight: Param,
    /// `[channels]`.
    pub bias: Param,
    /// The number of groups.
    pub groups: usize,
    /// Added to the variance.
    pub eps: f64,
}
module!(GroupNorm { weight, bias; groups, eps });

impl GroupNorm {
    /// Makes a layer of `groups` groups over `channels` channels in total.
    #[track_caller]
    pub fn new(groups: usize, channels: usize) -> GroupNorm {
        let [weight, bias] = [1.0, 0.0].map(|x| Param::new(&Tensor::full([channels], x)));
        GroupNorm { weight, bias, groups, eps: 1e-5 }
    }
}

impl Forward for GroupNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.group_norm(self.groups, Some(&self.weight), Some(&self.bias), self.eps)
    }
}
