//! Wrong transposes of linear and multilinear ops, and wrong claims of linearity.

use super::{Fault, ModifiedOp, list};
use gradus_ir::Op;
use gradus_ir::graph::Builder;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::dot::Dot;
use gradus_ir::ops::index::Take;
use gradus_ir::ops::movement::{Broadcast, Concat, Flip, Pad, Permute, Slice};
use gradus_ir::ops::pointwise::arith;
use gradus_ir::ops::reduce::Sum;
use gradus_ir::ops::select::Select;
use gradus_ir::ops::{Combine, Derivative, Form, Operands, Samples, registry};
use gradus_ir::{Aval, Literal};
use std::sync::Arc;

list![
    permute_by_itself,
    wrong_partner,
    forgotten_conjugate,
    dropped_unbroadcast,
    missing_mean_scale,
    sum_without_repetition,
    slice_off_by_one,
    pad_off_by_one,
    running_sum_not_reversed,
    repeated_index_lost,
    select_without_mask,
    gradient_of_one_operand_forgotten,
    sum_claimed_multilinear,
    concat_claimed_multilinear,
    product_claimed_linear,
    affine_claimed_linear,
    batch_axis_forgotten,
    batched_operand_taken_for_shared,
];

fn fault(
    what: &'static str,
    wrong: ModifiedOp,
    right: impl Into<Op>,
    ins: Vec<Literal>,
    caught: &'static str,
) -> Fault {
    Fault { what, wrong: wrong.op(), right: right.into(), ins, smooth: true, caught }
}

/// The extents are equal, so only a random cotangent reveals the error.
fn permute_by_itself() -> Fault {
    let right = Permute { axes: vec![1, 2, 0] };
    let wrong = ModifiedOp::new("permute_by_itself", right.clone())
        .transpose(|_, _, ct| Some(ct.permute(&[1, 2, 0])));
    let ins = vec![Samples::default().normal([2, 2, 2])];
    fault("a cyclic permutation transposed by itself", wrong, right, ins, "adjoint")
}

fn wrong_partner() -> Fault {
    let right = Dot::new("ik", "kj", "ij");
    let wrong = ModifiedOp::new("wrong_partner", right.clone()).transpose(|rule, operand, ct| {
        Some(match operand {
            0 => ct.dot(rule.ins[0], "ij", "kj", "ik"),
            _ => rule.ins[1].dot(ct, "ik", "ij", "kj"),
        })
    });
    let mut s = Samples::default();
    let ins = vec![s.normal([2, 2]), s.normal([2, 2])];
    fault("a product's gradient contracted with the operand itself", wrong, right, ins, "adjoint")
}

fn forgotten_conjugate() -> Fault {
    let right = Dot::new("ik", "kj", "ij");
    let wrong = ModifiedOp::new("forgotten_conjugate", right.clone()).transpose(|rule, operand, ct| {
        Some(match operand {
            0 => ct.dot(rule.ins[1], "ij", "kj", "ik"),
            _ => rule.ins[0].dot(ct, "ik", "ij", "kj"),
        })
    });
    let mut s = Samples::default();
    let ins = vec![s.complex((-1.0, 1.0), [2, 3]), s.complex((-1.0, 1.0), [3, 2])];
    fault("a complex gradient without the conjugate", wrong, right, ins, "adjoint")
}

fn dropped_unbroadcast() -> Fault {
    let right = Broadcast { shape: [4, 3].into() };
    let wrong = ModifiedOp::new("dropped_unbroadcast", right.clone()).transpose(|_, _, ct| Some(ct));
    let ins = vec![Samples::default().normal([1, 3])];
    fault("the gradient of a broadcast keeps its extents", wrong, right, ins, "adjoint")
}

/// Returns the form of the mean over the last axis: a region.
fn mean(ins: &[Aval]) -> Form {
    let b = Builder::new();
    let x = b.input("x", ins[0].clone());
    let last = ins[0].rank() - 1;
    let mean = x.sum(&[last]) / ins[0].shape[last] as f64;
    // cannot fail: the two ops accept every float type with an axis
    Form::Region(Arc::new(b.finish(&[mean]).expect("a mean")))
}

fn missing_mean_scale() -> Fault {
    let wrong = ModifiedOp::new("missing_mean_scale", Sum { axes: vec![1] }).form(mean);
    let right = ModifiedOp::new("right_mean", Sum { axes: vec![1] }).form(mean).transpose(|rule, _, ct| {
        let shape = rule.ins[0].shape();
        Some(ct.spread(&[1], &shape) / shape[1] as f64)
    });
    registry::register("right_mean", |_| Some(missing_mean_scale().right));
    let ins = vec![Samples::default().normal([2, 3])];
    fault("the gradient of a mean without 1/n", wrong, right.op(), ins, "adjoint")
}

fn sum_without_repetition() -> Fault {
    let right = Sum { axes: vec![1] };
    let wrong = ModifiedOp::new("sum_without_repetition", right.clone()).transpose(|rule, _, ct| {
        let pad = rule.ins[0].shape()[1] as i64 - 1;
        Some(ct.reshape([ct.shape()[0], 1]).pad(vec![0, 0], vec![0, pad], vec![0, 0]))
    });
    let ins = vec![Samples::default().normal([2, 3])];
    fault("the gradient of a sum reaches the first element alone", wrong, right, ins, "adjoint")
}

fn slice_off_by_one() -> Fault {
    let right = Slice { start: vec![1], stop: vec![4], step: vec![1] };
    let wrong = ModifiedOp::new("slice_off_by_one", right.clone())
        .transpose(|_, _, ct| Some(ct.pad(vec![2], vec![0], vec![0])));
    fault(
        "the gradient of a slice, shifted up by one index",
        wrong,
        right,
        vec![Samples::default().normal([5])],
        "adjoint",
    )
}

fn pad_off_by_one() -> Fault {
    let right = Pad { low: vec![2], high: vec![1], interior: vec![0] };
    let wrong = ModifiedOp::new("pad_off_by_one", right.clone())
        .transpose(|rule, _, ct| Some(ct.slice_axis(0, 1, 1 + rule.ins[0].shape()[0])));
    fault(
        "the gradient of a pad, shifted down by one index",
        wrong,
        right,
        vec![Samples::default().normal([4])],
        "adjoint",
    )
}

fn running_sum_not_reversed() -> Fault {
    let right = Cumulate { combine: Combine::Sum, axis: 0, reverse: false };
    let wrong = ModifiedOp::new("running_sum_not_reversed", right.clone()).transpose(|_, _, ct| {
        Some(ct.builder().apply1(Cumulate { combine: Combine::Sum, axis: 0, reverse: false }, &[ct]))
    });
    fault("a running sum transposed by itself", wrong, right, vec![Samples::default().normal([4])], "adjoint")
}

fn repeated_index_lost() -> Fault {
    let right = Take { axis: 0 };
    let wrong = ModifiedOp::new("repeated_index_lost", right.clone())
        .transpose(|rule, _, ct| Some(rule.ins[0].full_like(0.0).scatter(rule.ins[1], ct, 0, None)));
    let mut s = Samples::default();
    let ins = vec![s.normal([3, 2]), s.ints((1, 2), [2])];
    fault("the gradients of a repeated index overwrite each other", wrong, right, ins, "adjoint")
}

fn select_without_mask() -> Fault {
    let wrong = ModifiedOp::new("select_without_mask", Select {}).transpose(|_, _, ct| Some(ct));
    let mut s = Samples::default();
    let ins = vec![s.bools([6]), s.normal([6]), s.normal([6])];
    fault("both branches of a choice get the complete gradient", wrong, Select {}, ins, "adjoint")
}

fn gradient_of_one_operand_forgotten() -> Fault {
    let right = Concat { axis: 0 };
    let wrong = ModifiedOp::new("forgotten_operand", right.clone())
        .transpose(|_, operand, ct| (operand == 0).then(|| ct.slice_axis(0, 0, 2)));
    let mut s = Samples::default();
    let ins = vec![s.normal([2]), s.normal([3])];
    fault("the second operand has no gradient", wrong, right, ins, "adjoint")
}

fn sum_claimed_multilinear() -> Fault {
    let wrong = ModifiedOp::new("sum_claimed_multilinear", &arith::add)
        .derivative(Derivative::Multilinear(Operands::All))
        .transpose(|_, _, ct| Some(ct));
    let mut s = Samples::default();
    let ins = vec![s.normal([3]), s.normal([3])];
    fault("a + b claimed to be linear in each operand separately", wrong, &arith::add, ins, "jvp")
}

fn concat_claimed_multilinear() -> Fault {
    let right = Concat { axis: 0 };
    let wrong = ModifiedOp::new("concat_claimed_multilinear", right.clone())
        .derivative(Derivative::Multilinear(Operands::All));
    let mut s = Samples::default();
    let ins = vec![s.normal([2]), s.normal([3])];
    fault("a concatenation claimed to be linear in each operand separately", wrong, right, ins, "jvp")
}

fn product_claimed_linear() -> Fault {
    let wrong = ModifiedOp::new("product_claimed_linear", &arith::mul)
        .derivative(Derivative::Linear(Operands::All))
        .transpose(|rule, operand, ct| Some(ct * rule.ins[1 - operand]));
    let mut s = Samples::default();
    let ins = vec![s.normal([3]), s.normal([3])];
    fault("a b claimed to be linear in both operands jointly", wrong, &arith::mul, ins, "jvp")
}

fn affine_claimed_linear() -> Fault {
    fn shifted(ins: &[Aval]) -> Form {
        let b = Builder::new();
        let x = b.input("x", ins[0].clone());
        // cannot fail: the ops accept every float type
        Form::Region(Arc::new(b.finish(&[-x + 1.0]).expect("a shift")))
    }
    let wrong = ModifiedOp::new("affine_claimed_linear", &arith::neg)
        .derivative(Derivative::Linear(Operands::All))
        .transpose(|_, _, ct| Some(-ct))
        .form(shifted);
    fault("1 - x claimed to be linear", wrong, &arith::neg, vec![Samples::default().normal([3])], "jvp")
}

/// Runs along the batch instead of its own axis, which has the same extent.
fn batch_axis_forgotten() -> Fault {
    let right = Flip { axes: vec![0] };
    let wrong = ModifiedOp::new("batch_axis_forgotten", right.clone())
        .batch(|batch| batch.apply(Flip { axes: vec![0] }));
    let ins = vec![Samples::default().normal([2, 3])];
    fault("a batching rule does not shift the axes", wrong, right, ins, "batch")
}

fn batched_operand_taken_for_shared() -> Fault {
    let wrong = ModifiedOp::new("taken_for_shared", &arith::sub).batch(|batch| {
        let first = |i: usize| match batch.batched[i] {
            true => {
                batch.ins[i].slice_axis(0, 0, batch.size.min(1)).broadcast_to(&batch.with_axis(i).shape())
            }
            false => batch.with_axis(i),
        };
        vec![batch.with_axis(0) - first(1)]
    });
    let mut s = Samples::default();
    let ins = vec![s.normal([3]), s.normal([3])];
    fault("a batching rule uses one element's operand for all", wrong, &arith::sub, ins, "batch")
}
