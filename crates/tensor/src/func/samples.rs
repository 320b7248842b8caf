//! Sample calls of composites, from which the test kit checks values and derivatives.

use crate::tensor::Tensor;
use crate::trace::Outputs;
use gradus_ir::Literal;

/// A function over tensors.
pub type Function = dyn Fn(&[Tensor]) -> Vec<Tensor> + Send + Sync;

/// One call to check: a function and its operands.
pub struct Sample {
    /// The composite's name.
    pub name: &'static str,
    /// The operands; floats are `f64`.
    pub ins: Vec<Literal>,
    /// If true, the call is differentiable here, so that finite differences apply: not at ties, kinks and
    /// jumps.
    pub smooth: bool,
    /// The call.
    pub call: Box<Function>,
}

/// Sample calls, and a generator of operands.
#[derive(Default)]
pub struct Samples {
    /// The calls.
    pub cases: Vec<Sample>,
    /// Draws operands: `s.draw.normal([2, 3])`.
    pub draw: gradus_ir::ops::Samples,
}

impl Samples {
    /// Adds a call for all checks.
    pub fn case<R: Outputs>(
        &mut self,
        name: &'static str,
        ins: impl IntoIterator<Item = Literal>,
        f: impl Fn(&[Tensor]) -> R + Send + Sync + 'static,
    ) {
        let call = Box::new(move |ins: &[Tensor]| f(ins).outputs());
        self.cases.push(Sample { name, ins: ins.into_iter().collect(), smooth: true, call });
    }

    /// Adds a call at a tie, kink or jump, which is not compared with finite differences.
    pub fn kink<R: Outputs>(
        &mut self,
        name: &'static str,
        ins: impl IntoIterator<Item = Literal>,
        f: impl Fn(&[Tensor]) -> R + Send + Sync + 'static,
    ) {
        self.case(name, ins, f);
        if let Some(last) = self.cases.last_mut() {
            last.smooth = false;
        }
    }
}
