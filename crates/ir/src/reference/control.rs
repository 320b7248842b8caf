//! Switches and loops, evaluated by running their graphs.

use super::evaluate_exact;
use super::live::{Live, Value};
use super::movement::{pick, put, zeros};
use crate::ops::scan::Scan;
use crate::ops::while_loop::While;
use crate::{Aval, Graph, Literal, Result};
use std::sync::Arc;

pub(super) fn switch<'l>(
    branches: &[Arc<Graph>],
    mut ins: Vec<Value<'l>>,
    live: Option<&'l Live>,
) -> Result<Vec<Value<'l>>> {
    let index = ins.remove(0).i().first().copied().unwrap_or(0);
    evaluate_exact(&branches[index.clamp(0, branches.len() as i64 - 1) as usize], ins, live)
}

/// Returns slice `i` of a stack.
fn slice(stack: &Literal, i: usize) -> Result<Literal> {
    let shape: crate::Shape = stack.shape()[1..].into();
    let n = shape.numel();
    let data = pick(stack.data(), (i * n) as i64..((i + 1) * n) as i64);
    Literal::new(stack.aval().with_shape(shape), data)
}

/// Runs a scan. Outputs are written into their stacks in each iteration, so they are never stored twice.
pub(super) fn scan<'l>(
    op: &Scan,
    mut shared: Vec<Value<'l>>,
    outs: &[Aval],
    live: Option<&'l Live>,
) -> Result<Vec<Value<'l>>> {
    let mut carries = shared.split_off(op.shared);
    let xs = carries.split_off(op.carries);
    let stack = |aval: &Aval| Ok(Value::new(Literal::new(aval.clone(), zeros(aval))?, live));
    let mut stacks = outs[op.carries..].iter().map(stack).collect::<Result<Vec<_>>>()?;
    for step in 0..op.length {
        let i = if op.reverse { op.length - 1 - step } else { step };
        let mut point = shared.clone();
        point.append(&mut carries);
        for x in &xs {
            point.push(Value::new(slice(x, i)?, live));
        }
        carries = evaluate_exact(&op.body, point, live)?;
        for (y, stack) in carries.split_off(op.carries).into_iter().zip(&mut stacks) {
            put(stack.data_mut(), i * y.data().len(), y.data());
        }
    }
    carries.append(&mut stacks);
    Ok(carries)
}

/// Runs while the condition holds, and at most `bound` iterations if there is a bound.
pub(super) fn while_loop<'l>(
    op: &While,
    mut shared: Vec<Value<'l>>,
    live: Option<&'l Live>,
) -> Result<Vec<Value<'l>>> {
    let mut carries = shared.split_off(op.shared);
    let mut left = if op.bound == 0 { usize::MAX } else { op.bound };
    while left > 0 {
        let point = [&shared[..], &carries].concat();
        if evaluate_exact(&op.condition, point, live)?[0].i() != [1] {
            break;
        }
        let mut point = shared.clone();
        point.append(&mut carries);
        carries = evaluate_exact(&op.body, point, live)?;
        left -= 1;
    }
    Ok(carries)
}
