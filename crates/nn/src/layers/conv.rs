//! Convolutions and their transposes in one, two and three axes.

use crate::module::{Forward, Param};
use crate::{init, module};
use gradus_tensor::func::conv;
use gradus_tensor::func::conv::{ConvOptions, ConvTransposeOptions};
use gradus_tensor::{Each, Generator, Tensor};

/// Returns the extents of a weight: two of channels, then the kernel's; one number applies to all axes.
fn extents(first: usize, second: usize, kernel: Each, axes: usize) -> Vec<usize> {
    let all = if let [one] = kernel.0[..] { vec![one; axes] } else { kernel.0 };
    [first, second].into_iter().chain(all).collect()
}

macro_rules! convolutions {
    ($($axes:literal $conv:ident $function:ident $transposed:ident $transpose:ident;)*) => {$(
        #[doc = concat!("A convolution over the last ", $axes, " axes, with a bias per channel.")]
        #[derive(Clone, Debug)]
        pub struct $conv {
            /// `[outputs, inputs / groups, kernel…]`.
            pub weight: Param,
            /// `[outputs]`.
            pub bias: Option<Param>,
            /// Stride, padding, dilation, groups.
            pub options: ConvOptions,
        }
        module!($conv { weight, bias; options });

        impl $conv {
            /// Makes a layer with this many channels in and out, and a kernel of this extent, with stride 1
            /// and without padding.
            #[track_caller]
            pub fn new(inputs: usize, outputs: usize, kernel: impl Into<Each>, g: &Generator) -> $conv {
                $conv::with(inputs, outputs, kernel, ConvOptions::default(), g)
            }

            /// Makes a layer with explicit options.
            #[track_caller]
            pub fn with(
                inputs: usize,
                outputs: usize,
                kernel: impl Into<Each>,
                options: ConvOptions,
                g: &Generator,
            ) -> $conv {
                let shape = extents(outputs, inputs / options.groups.max(1), kernel.into(), $axes);
                let fan = shape[1..].iter().product();
                let weight = Param::new(&init::within_fan(&shape[..], fan, g));
                $conv { weight, bias: Some(Param::new(&init::within_fan([outputs], fan, g))), options }
            }

            /// Removes the bias.
            pub fn without_bias(self) -> $conv {
                $conv { bias: None, ..self }
            }
        }

        impl Forward for $conv {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                conv::$function(x, &self.weight, self.bias.as_deref(), &self.options)
            }
        }

        #[doc = concat!("The transpose of a convolution over the last ", $axes, " axes, with a bias per channel.")]
        #[derive(Clone, Debug)]
        pub struct $transposed {
            /// `[inputs, outputs / groups, kernel…]`.
            pub weight: Param,
            /// `[outputs]`.
            pub bias: Option<Param>,
            /// Stride, padding, dilation, groups.
            pub options: ConvTransposeOptions,
        }
        module!($transposed { weight, bias; options });

        impl $transposed {
            /// Makes a layer with this many channels in and out, and a kernel of this extent, with stride 1
            /// and without padding.
            #[track_caller]
            pub fn new(inputs: usize, outputs: usize, kernel: impl Into<Each>, g: &Generator) -> $transposed {
                $transposed::with(inputs, outputs, kernel, ConvTransposeOptions::default(), g)
            }

            /// Makes a layer with explicit options.
            #[track_caller]
            pub fn with(
                inputs: usize,
                outputs: usize,
                kernel: impl Into<Each>,
                options: ConvTransposeOptions,
                g: &Generator,
            ) -> $transposed {
                let shape = extents(inputs, outputs / options.groups.max(1), kernel.into(), $axes);
                let fan = shape[1..].iter().product();
                let weight = Param::new(&init::within_fan(&shape[..], fan, g));
                $transposed { weight, bias: Some(Param::new(&init::within_fan([outputs], fan, g))), options }
            }

            /// Removes the bias.
            pub fn without_bias(self) -> $transposed {
                $transposed { bias: None, ..self }
            }
        }

        impl Forward for $transposed {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                conv::$transpose(x, &self.weight, self.bias.as_deref(), &self.options)
            }
        }
    )*};
}
convolutions! {
    1 Conv1d conv1d ConvTranspose1d conv_transpose1d;
    2 Conv2d conv2d ConvTranspose2d conv_transpose2d;
    3 Conv3d conv3d ConvTranspose3d conv_transpose3d;
}
