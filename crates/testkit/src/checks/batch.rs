//! A graph over a batch is the graph over each element, stacked; so is its derivative.

use super::derivative::cotangents;
use super::{differentiable, must, precision};
use crate::Failure;
use crate::compare::{Allowed, Difference, compare, largest};
use crate::random::Random;
use crate::vector::combine;
use gradus_ir::literal::Data;
use gradus_ir::ops::movement::{Concat, Permute, Reshape};
use gradus_ir::reference::{apply, evaluate};
use gradus_ir::transform;
use gradus_ir::{Graph, Literal, Result as IrResult, Shape};

/// Refuses a batch that is not its elements, but for rounding: sums may run in another order.
fn near(graph: &Graph, expected: &Literal, found: &Literal) -> Result<(), Difference> {
    let part = 1e-12f64.max(64.0 * precision(graph));
    let limit = part * largest(expected).max(largest(found)) + 1e-13;
    compare(expected, found, Allowed::Each(&vec![limit; expected.data().len()]))
}

/// Inputs of one subset are batched, the batch lying at another axis of each; the others are shared.
struct Batched<'a> {
    graph: &'a Graph,
    elements: [Vec<Literal>; 2],
    axes: Vec<Option<usize>>,
}

/// `vmap` over each non-empty subset of the inputs equals a loop, and so do `vmap` of the vjp graph and the vjp
/// of `vmap`, whose gradients of shared inputs are sums; a batch of nothing has the types of a batch.
pub fn batch(graph: &Graph, inputs: &[Literal], _smooth: bool) -> Result<(), Failure> {
    let count = inputs.len();
    let subsets = match count {
        0 => return Ok(()),
        1..=3 => (1..1usize << count).collect::<Vec<_>>(),
        // Each alone, and all.
        _ => (0..count.min(32)).map(|i| 1 << i).chain([usize::MAX]).collect(),
    };
    let all = subsets.last().copied();
    for subset in subsets {
        let chosen = |i: usize| i >= 32 || subset >> i & 1 == 1;
        let batched = Batched::new(graph, inputs, chosen);
        let wide = must("batch", "a batched graph", transform::vmap(graph, &batched.axes, 2))?;
        batched.equals_loop(&wide)?;
        batched.nothing()?;
        gradients(&batched, &wide)?;
        if Some(subset) == all {
            reversed(graph, inputs).map_err(|f| f.within("batch, of the vjp graph"))?;
        }
    }
    Ok(())
}

/// The vjp graph is a graph like any other.
fn reversed(graph: &Graph, inputs: &[Literal]) -> Result<(), Failure> {
    let wrt = differentiable(&graph.input_avals());
    if wrt.is_empty() {
        return Ok(());
    }
    let values = must("batch", "a value", evaluate(graph, inputs))?;
    let reverse = must("batch", "a vjp graph", transform::vjp(graph, &wrt))?;
    let point: Vec<Literal> =
        inputs.iter().cloned().chain(cotangents(&mut Random::of(graph), &values)).collect();
    let batched = Batched::new(&reverse, &point, |_| true);
    batched.equals_loop(&must("batch", "a batched graph", transform::vmap(&reverse, &batched.axes, 2))?)
}

impl<'a> Batched<'a> {
    /// A batch of two: the inputs, and the inputs backwards, which are still in their domains.
    fn new(graph: &'a Graph, inputs: &[Literal], chosen: impl Fn(usize) -> bool) -> Batched<'a> {
        let second = |(i, l): (usize, &Literal)| if chosen(i) { backwards(l) } else { l.clone() };
        let axis = |(i, l): (usize, &Literal)| chosen(i).then(|| i % (l.shape().rank() + 1));
        Batched {
            graph,
            elements: [inputs.to_vec(), inputs.iter().enumerate().map(second).collect()],
            axes: inputs.iter().enumerate().map(axis).collect(),
        }
    }

    /// The inputs of the batched graph.
    fn inputs(&self) -> Result<Vec<Literal>, Failure> {
        let one = |(i, axis): (usize, &Option<usize>)| match axis {
            Some(axis) => stacked([&self.elements[0][i], &self.elements[1][i]], *axis),
            None => Ok(self.elements[0][i].clone()),
        };
        must("batch", "stacked inputs", self.axes.iter().enumerate().map(one).collect())
    }

    fn equals_loop(&self, wide: &Graph) -> Result<(), Failure> {
        let alone = |k: usize| must("batch", "a value", evaluate(self.graph, &self.elements[k]));
        let (first, second) = (alone(0)?, alone(1)?);
        let found = must("batch", "a value of the batched graph", evaluate(wide, &self.inputs()?))?;
        for (k, found) in found.iter().enumerate() {
            let expected = must("batch", "stacked outputs", stacked([&first[k], &second[k]], 0))?;
            near(self.graph, &expected, found).map_err(|d| {
                let batched = format!("output {k} of each element, batched at {:?}", self.axes);
                Failure::new("batch", batched, d)
            })?;
        }
        Ok(())
    }

    /// A batch of no elements has outputs of no elements.
    fn nothing(&self) -> Result<(), Failure> {
        let none = must("batch", "a batch of nothing", transform::vmap(self.graph, &self.axes, 0))?;
        let expected: Vec<Shape> = self.graph.output_avals().iter().map(|a| led(0, &a.shape)).collect();
        let found: Vec<Shape> = none.output_avals().into_iter().map(|a| a.shape).collect();
        if expected == found {
            return Ok(());
        }
        Err(Failure::new(
            "batch",
            format!("outputs {expected:?} of a batch of nothing"),
            format!("{found:?}"),
        ))
    }
}

/// The vjp of the batched graph gives each element's gradient for what is batched, their sum for what is shared.
fn gradients(batched: &Batched<'_>, wide: &Graph) -> Result<(), Failure> {
    let wrt = differentiable(&batched.graph.input_avals());
    if wrt.is_empty() {
        return Ok(());
    }
    let reverse = must("batch", "a vjp graph", transform::vjp(batched.graph, &wrt))?;
    let reverse_wide = must("batch", "a vjp graph", transform::vjp(wide, &wrt))?;
    let mut random = Random::of(batched.graph);
    let mut alone = Vec::new();
    let mut cts = Vec::new();
    for element in &batched.elements {
        let values = must("batch", "a value", evaluate(batched.graph, element))?;
        let ct = cotangents(&mut random, &values);
        let point: Vec<Literal> = element.iter().chain(&ct).cloned().collect();
        alone.push(must("batch", "gradients of an element", evaluate(&reverse, &point))?);
        cts.push(ct);
    }
    let both = |a: &[Literal], b: &[Literal]| -> IrResult<Vec<Literal>> {
        a.iter().zip(b).map(|(a, b)| stacked([a, b], 0)).collect()
    };
    let mut point = batched.inputs()?;
    point.extend(must("batch", "stacked cotangents", both(&cts[0], &cts[1]))?);
    let found = must("batch", "gradients of the batched graph", evaluate(&reverse_wide, &point))?;
    for (k, (&i, found)) in wrt.iter().zip(&found).enumerate() {
        let (a, b) = (&alone[0][k], &alone[1][k]);
        let expected = match batched.axes[i] {
            Some(axis) => must("batch", "stacked gradients", stacked([a, b], axis))?,
            None => combine(&[(1.0, a), (1.0, b)]),
        };
        near(batched.graph, &expected, found).map_err(|d| {
            let of = format!("the gradients of the elements, batched at {:?}", batched.axes);
            Failure::new("batch", of, d).operand(Some(i))
        })?;
    }
    Ok(())
}

fn led(first: usize, rest: &[usize]) -> Shape {
    [first].iter().chain(rest).copied().collect()
}

/// Two values along a new axis.
fn stacked(parts: [&Literal; 2], axis: usize) -> IrResult<Literal> {
    let shape = led(1, parts[0].shape());
    let mut rows = Vec::new();
    for part in parts {
        rows.extend(apply(&Reshape { shape: shape.clone() }.into(), std::slice::from_ref(part))?);
    }
    let joined = apply(&Concat { axis: 0 }.into(), &rows)?;
    // The new axis is the first; the others keep their order around its place.
    let axes: Vec<usize> = (1..=axis).chain([0]).chain(axis + 1..shape.rank()).collect();
    let moved = apply(&Permute { axes }.into(), &joined)?;
    Ok(moved[0].clone())
}

fn backwards(l: &Literal) -> Literal {
    let data: Data = match l.data() {
        Data::F(v) => v.iter().rev().copied().collect::<Vec<_>>().into(),
        Data::C(v) => v.iter().rev().copied().collect::<Vec<_>>().into(),
        Data::I(v) => v.iter().rev().copied().collect::<Vec<_>>().into(),
    };
    Literal::new(l.aval().clone(), data).unwrap_or_else(|_| l.clone())
}
