//! Tests chains of products over the same outer axes, and sums along columns with other uses of the rows. They are computed by
//! slices: values are correct, and no temporary has the size of the full batch.

use crate::checked::checked;
use gradus_compile::{Plan, Step};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::reduce;
use gradus_ir::transform::vjp;
use gradus_ir::{Aval, DType, Graph};

/// Extents of attention: batch, heads, positions, head size.
#[derive(Clone, Copy)]
struct Sizes(usize, usize, usize, usize);

/// Returns attention over three operands `[batch, positions, heads, width]`, and its scores.
fn attention<'g>(x: &[Var<'g>], Sizes(b, h, t, _): Sizes) -> Var<'g> {
    let scores = x[0].dot(x[1], "bihd", "bjhd", "bhij");
    let shape = scores.shape();
    let row = |v: Var<'g>| v.reshape([b, h, t, 1]).broadcast_to(&shape);
    let top = scores.builder().apply1(reduce::Max { axes: vec![3] }, &[scores]);
    let e = (scores - row(top)).exp();
    let p = e / row(e.sum(&[3]));
    p.dot(x[2], "bhij", "bjhd", "bihd")
}

fn forward(sizes: Sizes) -> Graph {
    let Sizes(b, h, t, d) = sizes;
    let g = Builder::new();
    let ins: Vec<Var<'_>> = (0..3).map(|_| g.input("x", Aval::new(DType::F64, [b, t, h, d]))).collect();
    g.finish(&[attention(&ins, sizes)]).unwrap()
}

/// Returns the number of elements of the largest temporary, including those of slices.
fn largest(plan: &Plan) -> usize {
    let own = plan.lives().into_iter().map(|(b, ..)| plan.buffers[b].numel).max();
    let inner = plan.steps.iter().filter_map(|s| match s {
        Step::Slices { control, .. } => control.plans.iter().map(|p| largest(p)).max(),
        _ => None,
    });
    inner.chain(own).max().unwrap_or(0)
}

fn slices(plan: &Plan) -> Vec<&[usize]> {
    let all = plan.steps.iter();
    all.filter_map(|s| if let Step::Slices { extents, .. } = s { Some(&extents[..]) } else { None }).collect()
}

#[test]
fn attention_holds_the_scores_of_one_head() {
    let sizes = Sizes(2, 4, 96, 8);
    let plan = checked(&forward(sizes), 1e-12);
    assert_eq!(slices(&plan), [&[2, 4][..]], "{plan}");
    assert!(largest(&plan) <= 96 * 96, "{plan}");
}

#[test]
fn small_heads_share_a_slice() {
    let plan = checked(&forward(Sizes(64, 8, 16, 4)), 1e-12);
    assert_eq!(slices(&plan), [&[64, 2][..]], "{plan}");
    let plan = checked(&forward(Sizes(64, 1, 16, 4)), 1e-12);
    assert_eq!(slices(&plan), [&[16][..]], "{plan}");
}

#[test]
fn the_backward_pass_recomputes_large_scores() {
    // All scores have 3.3 MB. A slice of a third of a megabyte stays in cache.
    assert!(largest(&forward_and_backward(Sizes(2, 8, 160, 4))) <= 160 * 160);
    assert!(largest(&forward_and_backward(Sizes(2, 8, 52, 4))) >= 16 * 52 * 52);
}

fn forward_and_backward(sizes: Sizes) -> Plan {
    let plain = forward(sizes);
    let pull = vjp(&plain, &[0, 1, 2]).unwrap();
    let g = Builder::new();
    let ins: Vec<Var<'_>> = pull.input_avals().into_iter().map(|a| g.input("x", a)).collect();
    // Computes a loss, so that an op runs between forward and backward pass.
    let out = g.inline(&plain, &ins[..3])[0];
    let seed = (out * ins[3]).sum(&[0, 1, 2, 3]).broadcast_to(&out.shape()) + ins[3];
    let grads = g.inline(&pull, &[&ins[..3], &[seed]].concat());
    let both = g.finish(&[&[out][..], &grads].concat()).unwrap();
    let plan = checked(&both, 1e-11);
    assert_eq!(slices(&plan).len(), 2, "{plan}");
    plan
}

#[test]
fn long_heads_are_sliced_by_rows() {
    let plan = checked(&forward(Sizes(1, 8, 512, 4)), 1e-12);
    let [[8, parts]] = slices(&plan)[..] else { panic!("{plan}") };
    assert!(largest(&plan) <= 512 * 512 / parts && *parts > 1, "{plan}");
}

#[test]
fn products_that_depend_on_other_slices_are_not_sliced() {
    let g = Builder::new();
    let x = g.input("x", Aval::new(DType::F64, [8, 96, 96]));
    let y = g.input("y", Aval::new(DType::F64, [8, 96, 96]));
    let p = x.dot(y, "bik", "bkj", "bij");
    let at = g.iota(DType::F64, [8, 96, 96], 0);
    // One product depends on the index along the batch, the other reads elements of another index.
    let counted = (p * at).dot(y, "bij", "bjk", "bik");
    let turned = p.flip(&[0]).exp().dot(x, "bij", "bjk", "bik");
    let graph = g.finish(&[counted, turned]).unwrap();
    checked(&graph, 1e-10);
}

/// Normalizes rows to mean 0 and variance 1, then scales and shifts: `x`, scale, shift.
fn normed<'g>(x: &[Var<'g>]) -> Var<'g> {
    let shape = x[0].shape();
    let (rows, width) = (shape[0], shape[1]);
    let per_row = |v: Var<'g>| v.reshape([rows, 1]).broadcast_to(&shape);
    let mean = |v: Var<'g>| {
        let sum = v.sum(&[1]);
        per_row(sum / sum.full_like(width as f64))
    };
    let centred = x[0] - mean(x[0]);
    let spread = (mean(centred * centred) + centred.full_like(1e-5)).sqrt();
    centred / spread * x[1].broadcast_to(&shape) + x[2].broadcast_to(&shape)
}

#[test]
fn gradients_of_a_scale_are_summed_while_rows_are_in_cache() {
    let (rows, width) = (1024, 512);
    let g = Builder::new();
    let types = [vec![rows, width], vec![width], vec![width]];
    let ins: Vec<Var<'_>> = types.into_iter().map(|t| g.input("x", Aval::new(DType::F64, t))).collect();
    let pull = vjp(&g.finish(&[normed(&ins)]).unwrap(), &[0, 1, 2]).unwrap();
    let plan = checked(&pull, 1e-11);
    assert_eq!(slices(&plan), [&[16][..]], "{plan}");
    assert!(largest(&plan) <= rows * width / 16, "{plan}");
    // Outside of the slices there are only the two sums over all slices.
    assert_eq!(plan.steps.len(), 3, "{plan}");
}
