//! Graph transforms: derivatives and batches.
//!
//! Each transform is one walk over the nodes and reads only the declarations of the ops. [`jvp`] goes forward with
//! tangents, [`vjp`] goes back with cotangents, [`vmap`] goes forward with a batch axis. Inner products are real:
//! `⟨a, b⟩ = Re Σ conj(a)·b`, so a complex gradient is the direction of steepest ascent (PyTorch's convention).

mod inline;
mod jvp;
mod loss;
mod vjp;
mod vmap;

pub use jvp::{jvp, jvp_into};
pub use loss::{Unreachable, Wrt, grad_with_cotangent, grad_with_loss};
pub use vjp::{Target, check_wrt, cotangents_into, gradients_in, pull, transpose_into, vjp, vjp_into};
pub use vmap::{vmap, vmap_into, vmap_mask};

use crate::graph::Builder;
use crate::ops::{Derivative, Op, Rule};
use crate::{Aval, Error};

/// Returns true if the op has a derivative rule for each operand that needs one. Otherwise reports an error, because a
/// missing rule does not mean 0. Also rejects a rule for one result if the op has several, since the derivatives of
/// the others would be lost.
fn has_rule(b: &Builder, op: &Op, rule: &Rule<'_, '_>, needed: impl Fn(usize) -> bool) -> bool {
    let derivative = op.def().derivative();
    let states = |i: &usize| match derivative {
        Derivative::Unknown => false,
        Derivative::Linear(linear) | Derivative::Multilinear(linear) => linear.has(*i),
        _ => true,
    };
    if let Some(i) = (0..rule.ins.len()).filter(|i| needed(*i)).find(|i| !states(i)) {
        let avals: Vec<Aval> = rule.ins.iter().map(|v| v.aval()).collect();
        let why =
            format!("{} has no derivative by operand {i}; stop its gradient, or declare a rule", op.name());
        b.fail(Error::gradient(why).in_op(op.name(), &avals));
        return false;
    }
    let several = matches!(derivative, Derivative::Jvp | Derivative::Structural | Derivative::Zero);
    if several || rule.outs.len() == 1 {
        return true;
    }
    let (name, n) = (op.name(), rule.outs.len());
    let why =
        format!("{name} has {n} results, but pointwise and linear rules are for one; declare a jvp rule");
    b.fail(Error::verify(why));
    false
}

/// Reports an error if a rule that the op's kind of derivative requires returns the wrong number of entries.
fn check_count(b: &Builder, op: &Op, rule: &str, found: usize, expected: usize) {
    if found != expected {
        let why = format!(
            "{} declares a derivative, but its {rule} returns {found} entries instead of {expected}",
            op.name()
        );
        b.fail(Error::verify(why));
    }
}

/// Reports an error if a derivative has another type than its value; it is never broadcast or cast implicitly.
fn check_type(b: &Builder, op: &Op, what: [&str; 2], found: Aval, expected: Aval) {
    if found != expected {
        let [derivative, value] = what;
        let why = format!(
            "the {derivative} of {} has type {found}, but its {value} has type {expected}",
            op.name()
        );
        b.fail(Error::verify(why));
    }
}
