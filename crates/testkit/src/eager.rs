//! Checks of a function over tensors, run eagerly: it must equal its own trace, in value and gradient, for
//! any layout of its operands.

use crate::Failure;
use crate::compare::{Allowed, compare, largest};
use crate::random::Random;
use gradus_ir::{Graph, Kind, Literal, reference, transform};
use gradus_tensor::autograd::{Backward, grad};
use gradus_tensor::{Tensor, trace};

/// A function over tensors.
pub type Function<'a> = &'a dyn Fn(&[Tensor]) -> Vec<Tensor>;

/// Allowed difference relative to the largest element, for the rounding of each eager call on `f64` operands.
const WITHIN: f64 = 1e-11;

/// Allowed absolute difference, for the rounding of operands around 1 where the result cancels.
const NOISE: f64 = 1e-14;

/// The name of a memory layout, and a function that copies a tensor to it.
type LayoutVariant = (&'static str, fn(&Tensor) -> Tensor);

fn error(check: &str, e: gradus_ir::Error) -> Failure {
    Failure::new(check, "a value", format!("error: {e}"))
}

fn check_equal(check: &str, expected: &[Literal], found: &[Tensor]) -> Result<(), Failure> {
    if expected.len() != found.len() {
        return Err(Failure::new(check, format!("{} results", expected.len()), found.len()));
    }
    for (k, (right, t)) in expected.iter().zip(found).enumerate() {
        let found = t.to_literal().map_err(|e| error(check, e))?;
        let limit = WITHIN * largest(right).max(largest(&found)) + NOISE;
        compare(right, &found, Allowed::Each(&vec![limit; right.data().len()]))
            .map_err(|d| Failure::new(check, format!("result {k} as traced"), d))?;
    }
    Ok(())
}

/// Runs all checks. Returns the traced graph for further checks.
pub fn all(f: Function<'_>, ins: &[Literal]) -> Result<Graph, Failure> {
    let tensors: Vec<Tensor> = ins.iter().map(Tensor::from_literal).collect();
    let graph = trace(&tensors.iter().collect::<Vec<_>>(), |x| f(x)).map_err(|e| error("trace", e))?;
    let values = reference::evaluate(&graph, ins).map_err(|e| error("reference", e))?;
    check_equal("eager = traced", &values, &f(&tensors))?;
    layouts(f, ins, &values)?;
    gradients(f, ins, &graph)?;
    Ok(graph)
}

/// Checks that values are the same for operands with other memory layouts, and for operands that repeat one
/// slice.
fn layouts(f: Function<'_>, ins: &[Literal], values: &[Literal]) -> Result<(), Failure> {
    let variants: [LayoutVariant; 3] =
        [("transposed", transposed), ("strided", strided), ("flipped", |t| t.flip(()).contiguous().flip(()))];
    for (name, relayout) in variants {
        let tensors: Vec<Tensor> = ins.iter().map(|l| relayout(&Tensor::from_literal(l))).collect();
        check_equal(&format!("{name} operands"), values, &f(&tensors))?;
    }
    // Differentiable operands only: repeating indices or masks may not be a valid call.
    for i in
        (0..ins.len()).filter(|&i| ins[i].dtype().is_differentiable() && ins[i].shape().first() > Some(&0))
    {
        let mut tensors: Vec<Tensor> = ins.iter().map(Tensor::from_literal).collect();
        let repeated = tensors[i].narrow(0, 0, 1).expand(ins[i].shape());
        tensors[i] = repeated.contiguous();
        let plain = f(&tensors).iter().map(|t| t.to_literal()).collect::<Result<Vec<_>, _>>();
        tensors[i] = repeated;
        match plain {
            Ok(plain) => check_equal("broadcast operands", &plain, &f(&tensors))?,
            // Equal rows may have no result, as a singular matrix has no inverse. Then the call must fail for
            // every layout.
            Err(e) if matches!(e.kind(), Kind::Value { .. }) => {
                if f(&tensors).iter().all(|t| t.error().is_none()) {
                    return Err(Failure::new("broadcast operands", format!("error: {e}"), "a value"));
                }
            }
            Err(e) => return Err(error("broadcast operands", e)),
        }
    }
    Ok(())
}

/// Copies the elements in column-major order.
fn transposed(t: &Tensor) -> Tensor {
    let backwards: Vec<isize> = (0..t.rank() as isize).rev().collect();
    t.permute(backwards.clone()).contiguous().permute(backwards)
}

/// Copies the elements to every second element of a larger tensor.
fn strided(t: &Tensor) -> Tensor {
    let wide = Tensor::stack(&[t, t], -1);
    let last = wide.rank() as isize - 1;
    wide.narrow(last, 1, 1).squeeze(last)
}

/// Checks that backward passes of first and second order equal the vjp graphs.
fn gradients(f: Function<'_>, ins: &[Literal], graph: &Graph) -> Result<(), Failure> {
    let wrt: Vec<usize> = (0..ins.len()).filter(|&i| ins[i].dtype().is_differentiable()).collect();
    let outs: Vec<usize> = graph
        .output_avals()
        .iter()
        .enumerate()
        .filter(|(_, a)| a.dtype.is_differentiable())
        .map(|(k, _)| k)
        .collect();
    if wrt.is_empty() || outs.is_empty() {
        return Ok(());
    }
    let mut random = Random::of(graph);
    let seeds: Vec<Literal> = outs.iter().map(|&k| random.literal(&graph.output_avals()[k])).collect();
    let vjp = transform::vjp(graph, &wrt).map_err(|e| error("vjp", e))?;
    let point: Vec<Literal> = ins.iter().chain(&seeds).cloned().collect();
    let first = reference::evaluate(&vjp, &point).map_err(|e| error("vjp", e))?;

    let leaf = |l: &Literal| {
        let t = Tensor::from_literal(l);
        if l.dtype().is_differentiable() { t.requires_grad_() } else { t }
    };
    let leaves: Vec<Tensor> = ins.iter().map(leaf).collect();
    let results = f(&leaves);
    let flowing: Vec<usize> = (0..outs.len()).filter(|&k| results[outs[k]].requires_grad()).collect();
    let roots: Vec<&Tensor> = flowing.iter().map(|&k| &results[outs[k]]).collect();
    let seed_tensors: Vec<Tensor> = flowing.iter().map(|&k| Tensor::from_literal(&seeds[k])).collect();
    let targets: Vec<&Tensor> = wrt.iter().map(|&i| &leaves[i]).collect();
    let options = Backward { create_graph: true, allow_unused: true, ..Backward::default() };
    let seed_refs: Vec<Option<&Tensor>> = seed_tensors.iter().map(Some).collect();
    let grads = grad(&roots, &seed_refs, &targets, options).map_err(|e| error("backward", e))?;
    let found: Vec<Tensor> =
        grads.into_iter().zip(&targets).map(|(g, t)| g.unwrap_or_else(|| t.zeros_like().detach())).collect();
    check_equal("backward = vjp", &first, &found)?;

    // The gradient of the gradients, contracted with other random cotangents.
    let seconds: Vec<Literal> = first.iter().map(|g| random.literal(g.aval())).collect();
    let twice = transform::vjp(&vjp, &wrt).map_err(|e| error("vjp of vjp", e))?;
    let point: Vec<Literal> = point.iter().chain(&seconds).cloned().collect();
    let second = reference::evaluate(&twice, &point).map_err(|e| error("vjp of vjp", e))?;
    let flowing: Vec<usize> = (0..found.len()).filter(|&k| found[k].requires_grad()).collect();
    let roots: Vec<&Tensor> = flowing.iter().map(|&k| &found[k]).collect();
    let seed_tensors: Vec<Tensor> = flowing.iter().map(|&k| Tensor::from_literal(&seconds[k])).collect();
    let seed_refs: Vec<Option<&Tensor>> = seed_tensors.iter().map(Some).collect();
    let options = Backward { allow_unused: true, ..Backward::default() };
    let grads = grad(&roots, &seed_refs, &targets, options).map_err(|e| error("backward twice", e))?;
    let found: Vec<Tensor> =
        grads.into_iter().zip(&targets).map(|(g, t)| g.unwrap_or_else(|| t.zeros_like().detach())).collect();
    check_equal("backward twice = vjp of vjp", &second, &found)
}
