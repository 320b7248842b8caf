//! Checks that a graph over a batch gives the stacked results of the graph over each element, and that its
//! derivative does too.

use super::derivative::cotangents;
use super::{differentiable, precision, require};
use crate::Failure;
use crate::compare::{Allowed, Difference, compare, largest};
use crate::random::Random;
use crate::vector::combine;
use gradus_ir::literal::Data;
use gradus_ir::ops::movement::{Concat, Permute, Reshape};
use gradus_ir::ops::reduce::Sum;
use gradus_ir::reference::{apply, evaluate};
use gradus_ir::transform;
use gradus_ir::{Graph, Literal, Result as IrResult, Shape};

/// Number of inputs that are batched in every combination.
const MAX: usize = 5;

/// Compares a batch with its elements up to rounding, since sums may run in another order.
fn near(graph: &Graph, expected: &Literal, found: &Literal) -> Result<(), Difference> {
    let part = 1e-12f64.max(64.0 * precision(graph));
    let limit = part * largest(expected).max(largest(found)) + 1e-13;
    compare(expected, found, Allowed::Each(&vec![limit; expected.data().len()]))
}

/// A graph with one subset of its inputs batched, the batch at a different axis of each; the others are
/// shared.
struct Batched<'a> {
    graph: &'a Graph,
    elements: [Vec<Literal>; 2],
    axes: Vec<Option<usize>>,
}

/// Checks that `vmap` over each nonempty subset of the inputs equals a loop, and that an empty batch has the
/// types of a batch. The vjp of `vmap` must equal a loop too, with gradients of shared inputs summed, and it
/// must equal `vmap` of the vjp.
pub fn batch(graph: &Graph, inputs: &[Literal], _smooth: bool) -> Result<(), Failure> {
    let wrt = differentiable(&graph.input_avals());
    let reverse = match wrt.is_empty() {
        true => None,
        false => Some(require("batch", "a vjp graph", transform::vjp(graph, &wrt))?),
    };
    for subset in 1..1u64 << inputs.len().min(MAX) {
        // Further inputs are batched together with the first.
        let batched = Batched::new(graph, inputs, |i| subset >> (if i < MAX { i } else { 0 }) & 1 == 1);
        let wide = require("batch", "a batched graph", transform::vmap(graph, &batched.axes, 2))?;
        batched.equals_loop(&wide)?;
        batched.has_empty_batch()?;
        if let Some(reverse) = &reverse {
            gradients(&batched, &wide, reverse, &wrt)?;
        }
    }
    Ok(())
}

impl<'a> Batched<'a> {
    /// Makes a batch of two: the inputs, and the inputs with their elements in reverse order, which have the
    /// same domains.
    fn new(graph: &'a Graph, inputs: &[Literal], chosen: impl Fn(usize) -> bool) -> Batched<'a> {
        let second = |(i, l): (usize, &Literal)| if chosen(i) { reversed(l) } else { l.clone() };
        let axis = |(i, l): (usize, &Literal)| chosen(i).then(|| i % (l.shape().rank() + 1));
        Batched {
            graph,
            elements: [inputs.to_vec(), inputs.iter().enumerate().map(second).collect()],
            axes: inputs.iter().enumerate().map(axis).collect(),
        }
    }

    /// Returns the inputs of the batched graph.
    fn inputs(&self) -> Result<Vec<Literal>, Failure> {
        let one = |(i, axis): (usize, &Option<usize>)| match axis {
            Some(axis) => stacked([&self.elements[0][i], &self.elements[1][i]], *axis),
            None => Ok(self.elements[0][i].clone()),
        };
        require("batch", "stacked inputs", self.axes.iter().enumerate().map(one).collect())
    }

    fn equals_loop(&self, wide: &Graph) -> Result<(), Failure> {
        let alone = |k: usize| require("batch", "a value", evaluate(self.graph, &self.elements[k]));
        let (first, second) = (alone(0)?, alone(1)?);
        let found = require("batch", "a value of the batched graph", evaluate(wide, &self.inputs()?))?;
        for (k, found) in found.iter().enumerate() {
            let expected = require("batch", "stacked outputs", stacked([&first[k], &second[k]], 0))?;
            near(self.graph, &expected, found).map_err(|d| {
                let batched = format!("output {k} of each element, batched at {:?}", self.axes);
                Failure::new("batch", batched, d)
            })?;
        }
        Ok(())
    }

    /// Checks that a batch of no elements has outputs of no elements.
    fn has_empty_batch(&self) -> Result<(), Failure> {
        let none = require("batch", "an empty batch", transform::vmap(self.graph, &self.axes, 0))?;
        let expected: Vec<Shape> = self.graph.output_avals().iter().map(|a| prepend(0, &a.shape)).collect();
        let found: Vec<Shape> = none.output_avals().into_iter().map(|a| a.shape).collect();
        if expected == found {
            return Ok(());
        }
        Err(Failure::new("batch", format!("outputs {expected:?} of an empty batch"), format!("{found:?}")))
    }
}

/// Checks that the vjp of the batched graph gives each element's gradient for batched inputs, and their sum
/// for shared ones. The batched vjp graph, in which every gradient has the batch axis, must give the same.
fn gradients(batched: &Batched<'_>, wide: &Graph, reverse: &Graph, wrt: &[usize]) -> Result<(), Failure> {
    let mut random = Random::of(batched.graph);
    let (mut alone, mut seeds) = (Vec::new(), Vec::new());
    for element in &batched.elements {
        let values = require("batch", "a value", evaluate(batched.graph, element))?;
        let seed = cotangents(&mut random, &values);
        let point: Vec<Literal> = element.iter().chain(&seed).cloned().collect();
        alone.push(require("batch", "gradients of an element", evaluate(reverse, &point))?);
        seeds.push(seed);
    }
    let stacked_seeds = |axis: &dyn Fn(usize) -> usize| -> Result<Vec<Literal>, Failure> {
        let pairs = seeds[0].iter().zip(&seeds[1]).enumerate();
        require("batch", "stacked cotangents", pairs.map(|(k, (a, b))| stacked([a, b], axis(k))).collect())
    };
    let reverse_wide = require("batch", "a vjp graph", transform::vjp(wide, wrt))?;
    let point = [batched.inputs()?, stacked_seeds(&|_| 0)?].concat();
    let of_wide = require("batch", "gradients of the batched graph", evaluate(&reverse_wide, &point))?;

    // The cotangents of the batched vjp graph are inputs like any other: their batch axis may have any
    // position.
    let seed_axes: Vec<usize> =
        seeds[0].iter().enumerate().map(|(k, c)| k % (c.shape().rank() + 1)).collect();
    let axes: Vec<Option<usize>> =
        batched.axes.iter().copied().chain(seed_axes.iter().copied().map(Some)).collect();
    let wide_reverse = require("batch", "a batched vjp graph", transform::vmap(reverse, &axes, 2))?;
    let point = [batched.inputs()?, stacked_seeds(&|k| seed_axes[k])?].concat();
    let of_reverse = require("batch", "gradients of the batched vjp graph", evaluate(&wide_reverse, &point))?;

    for (k, &i) in wrt.iter().enumerate() {
        let (a, b) = (&alone[0][k], &alone[1][k]);
        let lead = require("batch", "stacked gradients", stacked([a, b], 0))?;
        let refuse = |what: &str, d: Difference| {
            let expected = format!("{what}, batched at {:?}", batched.axes);
            Failure::new("batch", expected, d).operand(Some(i))
        };
        near(batched.graph, &lead, &of_reverse[k])
            .map_err(|d| refuse("the gradients of the elements by the batched vjp graph", d))?;
        let (looped, mapped) = match batched.axes[i] {
            Some(axis) => (stacked([a, b], axis), move_axis(&of_reverse[k], axis)),
            None => (Ok(combine(&[(1.0, a), (1.0, b)])), summed(&of_reverse[k])),
        };
        let (looped, mapped) =
            (require("batch", "stacked gradients", looped)?, require("batch", "gradients in place", mapped)?);
        near(batched.graph, &looped, &of_wide[k]).map_err(|d| refuse("the gradients of the elements", d))?;
        near(batched.graph, &mapped, &of_wide[k]).map_err(|d| refuse("vjp of vmap to be vmap of vjp", d))?;
    }
    Ok(())
}

fn prepend(first: usize, rest: &[usize]) -> Shape {
    [first].iter().chain(rest).copied().collect()
}

/// Stacks two values along a new axis.
fn stacked(parts: [&Literal; 2], axis: usize) -> IrResult<Literal> {
    let shape = prepend(1, parts[0].shape());
    let mut rows = Vec::new();
    for part in parts {
        rows.extend(apply(&Reshape { shape: shape.clone() }.into(), std::slice::from_ref(part))?);
    }
    let joined = apply(&Concat { axis: 0 }.into(), &rows)?;
    move_axis(&joined[0], axis)
}

/// Moves the first axis to another position; the others keep their order.
fn move_axis(x: &Literal, axis: usize) -> IrResult<Literal> {
    let axes: Vec<usize> = (1..=axis).chain([0]).chain(axis + 1..x.shape().rank()).collect();
    let moved = apply(&Permute { axes }.into(), std::slice::from_ref(x))?;
    Ok(moved[0].clone())
}

/// Sums over the first axis.
fn summed(x: &Literal) -> IrResult<Literal> {
    Ok(apply(&Sum { axes: vec![0] }.into(), std::slice::from_ref(x))?[0].clone())
}

/// Returns the elements in reverse order, in the same shape.
fn reversed(l: &Literal) -> Literal {
    let data: Data = match l.data() {
        Data::F(v) => v.iter().rev().copied().collect::<Vec<_>>().into(),
        Data::C(v) => v.iter().rev().copied().collect::<Vec<_>>().into(),
        Data::I(v) => v.iter().rev().copied().collect::<Vec<_>>().into(),
    };
    Literal::new(l.aval().clone(), data).unwrap_or_else(|_| l.clone())
}
