//! Modules: plain structs of parameters, buffers and other modules, which know the names of what they hold.
//!
//! A model is a struct, and one line that lists its fields:
//!
//! ```
//! use gradus_nn::{Forward, Linear, Module, module};
//! use gradus_tensor::{Generator, Tensor};
//!
//! struct Mlp {
//!     hidden: Linear,
//!     out: Linear,
//! }
//! module!(Mlp { hidden, out });
//!
//! impl Forward for Mlp {
//!     fn forward(&self, x: &Tensor) -> Tensor {
//!         self.out.forward(&self.hidden.forward(x).tanh())
//!     }
//! }
//!
//! let g = Generator::new(1);
//! let mlp = Mlp { hidden: Linear::new(4, 8, &g), out: Linear::new(8, 2, &g) };
//! assert_eq!(mlp.forward(&Tensor::ones([3, 4])).shape().to_string(), "[3,2]");
//! let names: Vec<String> = mlp.parameters().into_iter().map(|(name, _)| name).collect();
//! assert_eq!(names, ["hidden.weight", "hidden.bias", "out.weight", "out.bias"]);
//! ```

use gradus_ir::{Class, DType, Result};
use gradus_tensor::{Device, Generator, Tensor};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A parameter: a cell that training changes. It is used as the tensor it is.
#[derive(Clone, Debug)]
pub struct Param(Tensor);

impl Param {
    /// A parameter with this first value.
    #[track_caller]
    pub fn new(value: &Tensor) -> Param {
        Param(value.requires_grad_())
    }
}

impl Deref for Param {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.0
    }
}

/// State that is saved with a model and not trained: running statistics, for example.
#[derive(Clone, Debug)]
pub struct Buffer(Tensor);

impl Buffer {
    /// A buffer with this first value.
    #[track_caller]
    pub fn new(value: &Tensor) -> Buffer {
        Buffer(value.cell())
    }
}

impl Deref for Buffer {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.0
    }
}

/// Whether a layer is training; at first it is.
#[derive(Clone, Debug)]
pub struct Mode(Arc<AtomicBool>);

impl Default for Mode {
    fn default() -> Mode {
        Mode(Arc::new(AtomicBool::new(true)))
    }
}

impl Mode {
    /// Whether it is training.
    pub fn is_training(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Training, or not.
    pub fn set(&self, training: bool) {
        self.0.store(training, Ordering::Relaxed);
    }
}

/// One thing that a module holds.
#[derive(Clone)]
pub enum Part {
    /// A parameter.
    Param(Tensor),
    /// State that is saved and not trained.
    Buffer(Tensor),
    /// Whether a layer is training.
    Mode(Mode),
    /// A generator of random numbers.
    Generator(Generator),
}

/// Runs a function with layers not training, and gives them back as they were.
pub(crate) fn evaluating<R>(modes: &[Mode], f: impl FnOnce() -> R) -> R {
    let before: Vec<bool> = modes.iter().map(Mode::is_training).collect();
    modes.iter().for_each(|m| m.set(false));
    let result = f();
    modes.iter().zip(before).for_each(|(m, training)| m.set(training));
    result
}

/// Collects what modules hold, under dotted names.
#[derive(Default)]
pub struct Visitor {
    prefix: String,
    parts: Vec<(String, Part)>,
}

impl Visitor {
    /// Visits something that the module holds under a name.
    pub fn field(&mut self, name: &str, module: &(impl Module + ?Sized)) {
        let outer = self.prefix.len();
        if outer > 0 {
            self.prefix.push('.');
        }
        self.prefix.push_str(name);
        module.visit(self);
        self.prefix.truncate(outer);
    }

    fn part(&mut self, part: Part) {
        self.parts.push((self.prefix.clone(), part));
    }
}

/// Something that holds parameters. [`module!`](macro@crate::module) writes [`visit`](Module::visit); the rest follows from it.
pub trait Module {
    /// Shows the visitor every field.
    fn visit(&self, v: &mut Visitor);

    /// All that the module and its modules hold, each thing once, under the first of its names.
    fn parts(&self) -> Vec<(String, Part)> {
        let mut v = Visitor::default();
        self.visit(&mut v);
        let mut once: Vec<(String, Part)> = Vec::with_capacity(v.parts.len());
        for (name, part) in v.parts {
            let cell = cell_of(&part);
            if cell.is_none_or(|c| once.iter().all(|(_, p)| cell_of(p).is_none_or(|o| !o.is_same(c)))) {
                once.push((name, part));
            }
        }
        once
    }

    /// The parameters by name, frozen ones too.
    fn parameters(&self) -> Vec<(String, Tensor)> {
        let parameter = |(name, part)| if let Part::Param(p) = part { Some((name, p)) } else { None };
        self.parts().into_iter().filter_map(parameter).collect()
    }

    /// Parameters and buffers by name: what a file of weights holds.
    fn state(&self) -> Vec<(String, Tensor)> {
        let saved = |(name, part)| match part {
            Part::Param(t) | Part::Buffer(t) => Some((name, t)),
            Part::Mode(_) | Part::Generator(_) => None,
        };
        self.parts().into_iter().filter_map(saved).collect()
    }

    /// Whether layers are training, for those that behave differently then.
    fn modes(&self) -> Vec<Mode> {
        let mode = |(_, part)| if let Part::Mode(mode) = part { Some(mode) } else { None };
        self.parts().into_iter().filter_map(mode).collect()
    }

    /// Layers that behave differently in training are told whether it is training.
    fn train(&self, training: bool) {
        self.modes().iter().for_each(|m| m.set(training));
    }

    /// Training is over: `train(false)`.
    fn eval(&self) {
        self.train(false);
    }

    /// Parameters keep their values from now on, or not any more. Optimisers skip frozen ones.
    fn freeze(&self, frozen: bool) -> Result<()> {
        self.parameters().iter().try_for_each(|(_, p)| p.set_requires_grad(!frozen))
    }

    /// Converts all floating-point parameters and buffers.
    fn to_dtype(&self, dtype: DType) -> Result<()> {
        let mut floats = self.state().into_iter().filter(|(_, t)| t.dtype().class() == Class::Float);
        floats.try_for_each(|(_, t)| t.convert_(dtype))
    }

    /// Moves parameters and buffers to a device. Generators stay on the CPU, from where they draw for every device.
    fn to(&self, device: Device) -> Result<()> {
        self.state().iter().try_for_each(|(_, t)| t.move_(device))
    }

    /// Where the first parameter is; a model without any is on the CPU.
    fn device(&self) -> Device {
        self.parameters().first().map_or(Device::CPU, |(_, p)| p.device())
    }

    /// The number of trained numbers.
    fn count(&self) -> usize {
        self.parameters().iter().map(|(_, p)| p.numel()).sum()
    }
}

fn cell_of(part: &Part) -> Option<&Tensor> {
    match part {
        Part::Param(t) | Part::Buffer(t) => Some(t),
        Part::Generator(g) => Some(g.state()),
        Part::Mode(_) => None,
    }
}

/// A module that maps one tensor to one.
pub trait Forward: Module {
    /// The module's value.
    fn forward(&self, x: &Tensor) -> Tensor;
}

/// Leaves under names that are given at run time, for models that are not structs.
#[derive(Clone, Debug)]
pub struct NamedParams(pub Vec<(String, Tensor)>);

impl Module for NamedParams {
    fn visit(&self, v: &mut Visitor) {
        self.0.iter().for_each(|(name, leaf)| v.field(name, &Param(leaf.clone())));
    }
}

impl Module for Param {
    fn visit(&self, v: &mut Visitor) {
        v.part(Part::Param(self.0.clone()));
    }
}

impl Module for Buffer {
    fn visit(&self, v: &mut Visitor) {
        v.part(Part::Buffer(self.0.clone()));
    }
}

impl Module for Mode {
    fn visit(&self, v: &mut Visitor) {
        v.part(Part::Mode(self.clone()));
    }
}

impl Module for Generator {
    fn visit(&self, v: &mut Visitor) {
        v.part(Part::Generator(self.clone()));
    }
}

impl<M: Module> Module for Option<M> {
    fn visit(&self, v: &mut Visitor) {
        self.iter().for_each(|m| m.visit(v));
    }
}

impl<M: Module> Module for Vec<M> {
    fn visit(&self, v: &mut Visitor) {
        self.iter().enumerate().for_each(|(i, m)| v.field(&i.to_string(), m));
    }
}

/// A function is a module without parameters: `Tensor::relu` can stand among layers.
impl<F: Fn(&Tensor) -> Tensor> Module for F {
    fn visit(&self, _: &mut Visitor) {}
}

impl<F: Fn(&Tensor) -> Tensor> Forward for F {
    fn forward(&self, x: &Tensor) -> Tensor {
        self(x)
    }
}

/// Makes a struct a [`Module`]: its fields that hold parameters, then, after a semicolon, those that do not.
/// A field that is in neither list does not compile, so that no parameter is forgotten.
///
/// ```
/// use gradus_nn::{Linear, Module, module};
/// struct Head {
///     out: Linear,
///     classes: usize,
/// }
/// module!(Head { out; classes });
/// ```
#[macro_export]
macro_rules! module {
    ($name:ident $(<$($generic:ident),+>)? { $($field:ident),* $(,)? $(; $($other:ident),* $(,)?)? }) => {
        impl $(<$($generic: $crate::Module),+>)? $crate::Module for $name $(<$($generic),+>)? {
            #[allow(unused_variables)]
            fn visit(&self, visitor: &mut $crate::Visitor) {
                let $name { $($field,)* $($($other: _,)*)? } = self;
                $(visitor.field(stringify!($field), $field);)*
            }
        }
    };
}
