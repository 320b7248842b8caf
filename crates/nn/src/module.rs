//! Modules: plain structs of parameters, buffers and other modules, with the names of their fields.
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

use crate::layers::LoraSlot;
use gradus_ir::{Class, DType, Result};
use gradus_tensor::{Device, Generator, Tensor};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A parameter: a cell that training changes. It dereferences to its tensor.
#[derive(Clone, Debug)]
pub struct Param(Tensor);

impl Param {
    /// Makes a parameter with this initial value.
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

/// State that is saved with a model and not trained, such as running statistics.
#[derive(Clone, Debug)]
pub struct Buffer(Tensor);

impl Buffer {
    /// Makes a buffer with this initial value.
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

/// The mode of a layer, training or evaluation; initially training.
#[derive(Clone, Debug)]
pub struct Mode(Arc<AtomicBool>);

impl Default for Mode {
    fn default() -> Mode {
        Mode(Arc::new(AtomicBool::new(true)))
    }
}

impl Mode {
    /// Returns true if the layer is training.
    pub fn is_training(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets training or evaluation mode.
    pub fn set(&self, training: bool) {
        self.0.store(training, Ordering::Relaxed);
    }
}

/// One item that a module holds.
#[derive(Clone)]
pub enum Part {
    /// A parameter.
    Param(Tensor),
    /// State that is saved and not trained.
    Buffer(Tensor),
    /// The mode of a layer: training or evaluation.
    Mode(Mode),
    /// A generator of random numbers.
    Generator(Generator),
    /// A slot for a low-rank addition to a linear map. The parameters of an addition are parts of their own.
    LoraSlot(LoraSlot),
}

/// Runs a function with layers in evaluation mode, and restores their modes, also if the function panics.
pub(crate) fn in_evaluation_mode<R>(modes: &[Mode], f: impl FnOnce() -> R) -> R {
    struct Restore<'a>(&'a [Mode], Vec<bool>);

    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            self.0.iter().zip(&self.1).for_each(|(mode, training)| mode.set(*training));
        }
    }

    let _restore = Restore(modes, modes.iter().map(Mode::is_training).collect());
    modes.iter().for_each(|mode| mode.set(false));
    f()
}

/// Collects the items of modules, under dotted names.
#[derive(Default)]
pub struct Visitor {
    prefix: String,
    parts: Vec<(String, Part)>,
}

impl Visitor {
    /// Visits a field of the module under a name.
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

/// A struct that holds parameters. [`module!`](macro@crate::module) implements [`visit`](Module::visit); all
/// other methods follow from it.
pub trait Module {
    /// Passes every field to the visitor.
    fn visit(&self, v: &mut Visitor);

    /// Returns all items of the module and its modules. A shared cell occurs once, under its first name.
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

    /// Returns the parameters by name, including frozen ones.
    fn parameters(&self) -> Vec<(String, Tensor)> {
        let parameter = |(name, part)| if let Part::Param(p) = part { Some((name, p)) } else { None };
        self.parts().into_iter().filter_map(parameter).collect()
    }

    /// Returns parameters and buffers by name: the contents of a weights file.
    fn state(&self) -> Vec<(String, Tensor)> {
        let saved = |(name, part)| match part {
            Part::Param(t) | Part::Buffer(t) => Some((name, t)),
            Part::Mode(_) | Part::Generator(_) | Part::LoraSlot(_) => None,
        };
        self.parts().into_iter().filter_map(saved).collect()
    }

    /// Names every cell after its path (`layers.0.weight`). Graphs, gradients, equations, drawings and errors
    /// of functions traced afterwards use these names. `compile_training` and `compile_forward` do this.
    fn name_cells(&self) {
        for (name, part) in self.parts() {
            if let Some(cell) = cell_of(&part) {
                cell.named(if name.is_empty() { "parameter" } else { &name });
            }
        }
    }

    /// Returns the modes of layers that behave differently in training.
    fn modes(&self) -> Vec<Mode> {
        let mode = |(_, part)| if let Part::Mode(mode) = part { Some(mode) } else { None };
        self.parts().into_iter().filter_map(mode).collect()
    }

    /// Returns the slots for low-rank additions, under the names of their layers.
    fn lora_slots(&self) -> Vec<(String, LoraSlot)> {
        let slot = |(name, part)| if let Part::LoraSlot(slot) = part { Some((name, slot)) } else { None };
        self.parts().into_iter().filter_map(slot).collect()
    }

    /// Sets whether layers are training.
    fn train(&self, training: bool) {
        self.modes().iter().for_each(|m| m.set(training));
    }

    /// Sets evaluation mode: `train(false)`.
    fn eval(&self) {
        self.train(false);
    }

    /// Freezes or unfreezes all parameters. Optimizers skip frozen ones.
    fn freeze(&self, frozen: bool) -> Result<()> {
        self.parameters().iter().try_for_each(|(_, p)| p.set_requires_grad(!frozen))
    }

    /// Converts all floating-point parameters and buffers.
    fn to_dtype(&self, dtype: DType) -> Result<()> {
        let mut floats = self.state().into_iter().filter(|(_, t)| t.dtype().class() == Class::Float);
        floats.try_for_each(|(_, t)| t.convert_(dtype))
    }

    /// Moves parameters and buffers to a device. Generators stay on the CPU, where they draw for every
    /// device.
    fn to(&self, device: Device) -> Result<()> {
        self.state().iter().try_for_each(|(_, t)| t.move_(device))
    }

    /// Returns the device of the first parameter; the CPU for a model without parameters.
    fn device(&self) -> Device {
        self.parameters().first().map_or(Device::CPU, |(_, p)| p.device())
    }

    /// Returns the number of elements of all parameters.
    fn count(&self) -> usize {
        self.parameters().iter().map(|(_, p)| p.numel()).sum()
    }
}

fn cell_of(part: &Part) -> Option<&Tensor> {
    match part {
        Part::Param(t) | Part::Buffer(t) => Some(t),
        Part::Generator(g) => Some(g.state()),
        Part::Mode(_) | Part::LoraSlot(_) => None,
    }
}

/// A module that maps one tensor to one.
pub trait Forward: Module {
    /// Applies the module.
    fn forward(&self, x: &Tensor) -> Tensor;
}

/// Parameters under names chosen at run time, for models that are not structs.
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

impl Module for LoraSlot {
    fn visit(&self, v: &mut Visitor) {
        v.part(Part::LoraSlot(self.clone()));
        if let Some(lora) = self.get() {
            v.field("lora_A.weight", &lora.a);
            v.field("lora_B.weight", &lora.b);
        }
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

/// A function is a module without parameters: `Tensor::relu` can be used as a layer.
impl<F: Fn(&Tensor) -> Tensor> Module for F {
    fn visit(&self, _: &mut Visitor) {}
}

impl<F: Fn(&Tensor) -> Tensor> Forward for F {
    fn forward(&self, x: &Tensor) -> Tensor {
        self(x)
    }
}

/// Implements [`Module`] for a struct: lists its fields that hold parameters, then, after a semicolon, the
/// others. A field in neither list is a compile error, so that no parameter is forgotten.
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
