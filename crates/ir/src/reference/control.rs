//! Choices and loops, by running their graphs.

use super::movement::{concat, pick};
use super::{evaluate_exact, movement};
use crate::ops::scan::Scan;
use crate::ops::while_loop::While;
use crate::{Aval, Graph, Literal, Result};
use std::sync::Arc;

pub(super) fn switch(branches: &[Arc<Graph>], ins: &[Literal]) -> Result<Vec<Literal>> {
    let index = ins[0].i().first().copied().unwrap_or(0);
    evaluate_exact(&branches[index.clamp(0, branches.len() as i64 - 1) as usize], &ins[1..])
}

/// Slice `i` of a stack.
fn slice(stack: &Literal, i: usize) -> Result<Literal> {
    let shape: crate::Shape = stack.shape()[1..].into();
    let n = shape.numel();
    let data = pick(stack.data(), (i * n) as i64..((i + 1) * n) as i64);
    Literal::new(stack.aval().with_shape(shape), data)
}

pub(super) fn scan(op: &Scan, ins: &[Literal], outs: &[Aval]) -> Result<Vec<Literal>> {
    let (shared, rest) = ins.split_at(op.shared);
    let (first, xs) = rest.split_at(op.carries);
    let mut carries = first.to_vec();
    let mut ys: Vec<Vec<Literal>> = vec![Vec::with_capacity(op.length); outs.len() - op.carries];
    for step in 0..op.length {
        let i = if op.reverse { op.length - 1 - step } else { step };
        let mut point = shared.to_vec();
        point.append(&mut carries);
        for x in xs {
            point.push(slice(x, i)?);
        }
        let mut results = evaluate_exact(&op.body, &point)?;
        for (y, stack) in results.split_off(op.carries).into_iter().zip(&mut ys) {
            let shape: crate::Shape = [1].iter().chain(y.shape().iter()).copied().collect();
            stack.push(y.reshaped(&shape)?);
        }
        carries = results;
    }
    for (mut stack, aval) in ys.into_iter().zip(&outs[op.carries..]) {
        if op.reverse {
            stack.reverse();
        }
        let data = if stack.is_empty() { movement::zeros(aval) } else { concat(&stack, 0, aval)? };
        carries.push(Literal::new(aval.clone(), data)?);
    }
    Ok(carries)
}

/// Runs while the condition holds, and never more than the bound if there is one.
pub(super) fn while_loop(op: &While, ins: &[Literal]) -> Result<Vec<Literal>> {
    let mut point = ins.to_vec();
    let mut left = if op.bound == 0 { usize::MAX } else { op.bound };
    while left > 0 && evaluate_exact(&op.condition, &point)?[0].i() == [1] {
        let next = evaluate_exact(&op.body, &point)?;
        point.truncate(op.shared);
        point.extend(next);
        left -= 1;
    }
    Ok(point.split_off(op.shared))
}
