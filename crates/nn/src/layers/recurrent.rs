//! Recurrent layers: a step function, scanned along time.

use super::Dropout;
use crate::caller::at_caller;
use crate::init;
use crate::module::{Forward, Module, Param, Visitor};
use gradus_ir::{Error, Result};
use gradus_tensor::func::linear;
use gradus_tensor::{Generator, ScanOptions, Tensor, scan};
use std::marker::PhantomData;

/// A step function of gates of the input (`W x + b`), states, and gates of the hidden state (`W h + b`).
pub trait Unit {
    /// Number of gates, each as wide as the hidden state.
    const GATES: usize;
    /// Number of states, the hidden one included.
    const STATES: usize;

    /// Returns the next states, the hidden one first.
    fn step(x: &[Tensor], h: &[Tensor], states: &[Tensor]) -> Vec<Tensor>;
}

/// `h ← tanh(x + h)`.
#[derive(Clone, Copy, Debug)]
pub struct TanhUnit;

impl Unit for TanhUnit {
    const GATES: usize = 1;
    const STATES: usize = 1;

    fn step(x: &[Tensor], h: &[Tensor], _: &[Tensor]) -> Vec<Tensor> {
        vec![(&x[0] + &h[0]).tanh()]
    }
}

/// `h ← relu(x + h)`.
#[derive(Clone, Copy, Debug)]
pub struct ReluUnit;

impl Unit for ReluUnit {
    const GATES: usize = 1;
    const STATES: usize = 1;

    fn step(x: &[Tensor], h: &[Tensor], _: &[Tensor]) -> Vec<Tensor> {
        vec![(&x[0] + &h[0]).relu()]
    }
}

/// The gated recurrent unit. Its gates are reset, update and new.
#[derive(Clone, Copy, Debug)]
pub struct GruUnit;

impl Unit for GruUnit {
    const GATES: usize = 3;
    const STATES: usize = 1;

    fn step(x: &[Tensor], h: &[Tensor], states: &[Tensor]) -> Vec<Tensor> {
        let (reset, update) = ((&x[0] + &h[0]).sigmoid(), (&x[1] + &h[1]).sigmoid());
        let new = (&x[2] + reset * &h[2]).tanh();
        vec![&new + update * (&states[0] - &new)]
    }
}

/// Long short-term memory. Its gates are input, forget, cell and output; its states are hidden and cell.
#[derive(Clone, Copy, Debug)]
pub struct LstmUnit;

impl Unit for LstmUnit {
    const GATES: usize = 4;
    const STATES: usize = 2;

    fn step(x: &[Tensor], h: &[Tensor], states: &[Tensor]) -> Vec<Tensor> {
        let gate = |i: usize| &x[i] + &h[i];
        let cell = gate(1).sigmoid() * &states[1] + gate(0).sigmoid() * gate(2).tanh();
        vec![gate(3).sigmoid() * cell.tanh(), cell]
    }
}

/// Plain recurrent layers.
pub type Rnn = Recurrent<TanhUnit>;
/// Gated recurrent layers.
pub type Gru = Recurrent<GruUnit>;
/// Layers of long short-term memory.
pub type Lstm = Recurrent<LstmUnit>;

/// One direction of one layer.
#[derive(Clone, Debug)]
struct Direction {
    /// Weights of the input and of the hidden state: `[gates · hidden, inputs]`, `[gates · hidden, hidden]`.
    weights: [Param; 2],
    /// `[gates · hidden]` each.
    biases: [Param; 2],
}

/// Layers of a unit over `[time, batch, inputs]`, each applied to the hidden states of the previous one, in
/// one direction or both.
#[derive(Clone, Debug)]
pub struct Recurrent<U> {
    /// Layer by layer, forward before backward.
    directions: Vec<Direction>,
    hidden: usize,
    both: bool,
    /// Dropout of the outputs of all layers but the last.
    dropout: Option<Dropout>,
    unit: PhantomData<U>,
}

impl<U> Module for Recurrent<U> {
    fn visit(&self, v: &mut Visitor) {
        for (i, d) in self.directions.iter().enumerate() {
            let (layer, back) = if self.both { (i / 2, i % 2 == 1) } else { (i, false) };
            let end = format!("l{layer}{}", if back { "_reverse" } else { "" });
            let named = [("weight", &d.weights), ("bias", &d.biases)];
            for (kind, [ih, hh]) in named {
                v.field(&format!("{kind}_ih_{end}"), ih);
                v.field(&format!("{kind}_hh_{end}"), hh);
            }
        }
        v.field("dropout", &self.dropout);
    }
}

impl<U: Unit> Recurrent<U> {
    /// Makes `layers` layers of this width.
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize, layers: usize, g: &Generator) -> Recurrent<U> {
        Recurrent::with(inputs, hidden, layers, false, g)
    }

    /// Makes bidirectional layers; each returns the hidden states of both directions, concatenated.
    #[track_caller]
    pub fn bidirectional(inputs: usize, hidden: usize, layers: usize, g: &Generator) -> Recurrent<U> {
        Recurrent::with(inputs, hidden, layers, true, g)
    }

    #[track_caller]
    fn with(inputs: usize, hidden: usize, layers: usize, both: bool, g: &Generator) -> Recurrent<U> {
        let ways = 1 + both as usize;
        let draw = |shape: &[usize]| Param::new(&init::within_fan(shape, hidden, g));
        let rows = U::GATES * hidden;
        let direction = |i: usize| {
            let inputs = if i < ways { inputs } else { hidden * ways };
            let weights = [draw(&[rows, inputs]), draw(&[rows, hidden])];
            Direction { weights, biases: [draw(&[rows]), draw(&[rows])] }
        };
        let directions = (0..layers * ways).map(direction).collect();
        Recurrent { directions, hidden, both, dropout: None, unit: PhantomData }
    }

    /// Adds dropout between layers, on the hidden states of all but the last, as in PyTorch.
    pub fn dropout(self, p: f64, g: &Generator) -> Recurrent<U> {
        Recurrent { dropout: Some(Dropout::new(p, g)), ..self }
    }

    /// Returns the hidden states of the last layer at all time steps, and the final states of all layers,
    /// `[layers · directions, batch, hidden]` each. Starts from `states` of that form, or from zeros.
    #[track_caller]
    pub fn run(&self, x: &Tensor, states: Option<&[Tensor]>) -> Result<(Tensor, Vec<Tensor>)> {
        let caller = std::panic::Location::caller();
        self.run_on(x, states).map_err(|e| at_caller(e, caller))
    }

    fn run_on(&self, x: &Tensor, states: Option<&[Tensor]>) -> Result<(Tensor, Vec<Tensor>)> {
        if x.check()?.rank() != 3 {
            return Err(Error::shape(
                format!("an input of shape {}", x.shape()),
                "must be [time, batch, inputs]",
            ));
        }
        if states.is_some_and(|s| s.len() != U::STATES) {
            return Err(Error::value(
                "the initial states",
                format!("must be a list of {} tensors", U::STATES),
            ));
        }
        let zeros = Tensor::zeros([x.dim(1), self.hidden]).to_dtype(x.dtype());
        let first = |i: usize, s: usize| states.map_or_else(|| zeros.clone(), |all| all[s].at(i as i64));
        let mut x = x.clone();
        let mut last: Vec<Vec<Tensor>> = vec![Vec::new(); U::STATES];
        let ways = 1 + self.both as usize;
        for (layer, directions) in self.directions.chunks(ways).enumerate() {
            if let Some(dropout) = self.dropout.as_ref().filter(|_| layer > 0) {
                x = dropout.forward(&x);
            }
            let mut outs = Vec::new();
            for (way, direction) in directions.iter().enumerate() {
                let init: Vec<Tensor> = (0..U::STATES).map(|s| first(layer * ways + way, s)).collect();
                let (ends, hidden) = direction.run::<U>(&x, &init, way == 1)?;
                ends.into_iter().zip(&mut last).for_each(|(end, all)| all.push(end));
                outs.push(hidden);
            }
            x = Tensor::cat(&outs.iter().collect::<Vec<_>>(), -1);
        }
        let stacked = last.iter().map(|all| Tensor::stack(&all.iter().collect::<Vec<_>>(), 0));
        Ok((x.check()?.clone(), stacked.collect()))
    }
}

impl Direction {
    /// Returns the final states, and the hidden ones at all time steps.
    fn run<U: Unit>(&self, x: &Tensor, init: &[Tensor], reverse: bool) -> Result<(Vec<Tensor>, Tensor)> {
        let ([w, wh], [b, bh]) = (&self.weights, &self.biases);
        // The part that does not depend on states is one product for all time steps.
        let gates = linear(x, w, Some(b));
        let how = ScanOptions { reverse, ..ScanOptions::default() };
        let (ends, mut outs) = scan(&init.iter().collect::<Vec<_>>(), &[&gates], how, |states, x| {
            let cut = |t: &Tensor| t.chunk(U::GATES, -1);
            let next = U::step(&cut(&x[0]), &cut(&linear(&states[0], wh, Some(bh))), states);
            let hidden = next[0].clone();
            (next, vec![hidden])
        })?;
        Ok((ends, outs.remove(0)))
    }
}

impl<U: Unit> Forward for Recurrent<U> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.run(x, None).map_or_else(Tensor::failed, |(hidden, _)| hidden)
    }
}
