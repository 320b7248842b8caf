//! Pooling and flattening as modules, for [`Sequential`](crate::Sequential).

use crate::module;
use crate::module::Forward;
use gradus_tensor::Tensor;
use gradus_tensor::func::pool::{AvgPoolOptions, MaxPoolOptions, adaptive_avg_pool, avg_pool, max_pool};

/// The maximum over each window of the last axes. The window has as many axes as `kernel` has extents.
#[derive(Clone, Debug)]
pub struct MaxPool {
    /// Extents of the window.
    pub kernel: Vec<usize>,
    /// Stride (default: the extent of the window), padding, dilation.
    pub options: MaxPoolOptions,
}
module!(MaxPool { ; kernel, options });

impl MaxPool {
    /// Makes a layer of adjacent windows.
    pub fn new(kernel: &[usize]) -> MaxPool {
        MaxPool { kernel: kernel.to_vec(), options: MaxPoolOptions::default() }
    }
}

impl Forward for MaxPool {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        max_pool(x, &self.kernel, &self.options)
    }
}

/// The mean over each window of the last axes. The window has as many axes as `kernel` has extents.
#[derive(Clone, Debug)]
pub struct AvgPool {
    /// Extents of the window.
    pub kernel: Vec<usize>,
    /// Stride (default: the extent of the window), padding, and whether padding is counted.
    pub options: AvgPoolOptions,
}
module!(AvgPool { ; kernel, options });

impl AvgPool {
    /// Makes a layer of adjacent windows.
    pub fn new(kernel: &[usize]) -> AvgPool {
        AvgPool { kernel: kernel.to_vec(), options: AvgPoolOptions::default() }
    }
}

impl Forward for AvgPool {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        avg_pool(x, &self.kernel, &self.options)
    }
}

/// Means over windows that are chosen so that the last axes get the extents `size`.
#[derive(Clone, Debug)]
pub struct AdaptiveAvgPool {
    /// The extents.
    pub size: Vec<usize>,
}
module!(AdaptiveAvgPool { ; size });

impl AdaptiveAvgPool {
    /// Makes a layer with these output extents.
    pub fn new(size: &[usize]) -> AdaptiveAvgPool {
        AdaptiveAvgPool { size: size.to_vec() }
    }
}

impl Forward for AdaptiveAvgPool {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        adaptive_avg_pool(x, &self.size)
    }
}

/// Merges all axes but the first.
#[derive(Clone, Copy, Debug)]
pub struct Flatten;
module!(Flatten {});

impl Forward for Flatten {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.flatten(1, -1)
    }
}
