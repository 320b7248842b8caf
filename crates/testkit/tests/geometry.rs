//! Tests structural ops with random attributes: if inference accepts them, evaluation and derivatives must
//! succeed.

use gradus_ir::ops::Combine;
use gradus_ir::ops::conv::Conv;
use gradus_ir::ops::cumulate::Cumulate;
use gradus_ir::ops::dot::Dot;
use gradus_ir::ops::index::{Scatter, Take};
use gradus_ir::ops::movement::{Broadcast, Concat, Flip, Pad, Permute, Reshape, Slice};
use gradus_ir::ops::reduce::{Max, Min, Prod, Sum};
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::window::{Fold, Windows};
use gradus_ir::{Aval, DType, Literal, Op, Shape};
use gradus_testkit::catalog::graph_of;
use gradus_testkit::random::Random;
use gradus_testkit::{Failure, checks};

const CASES: u64 = 150;

/// Returns random extents for `rank` axes.
fn extents(r: &mut Random, rank: usize) -> Vec<usize> {
    (0..rank).map(|_| [0, 1, 1, 2, 2, 3, 4][r.below(7)]).collect()
}

fn normal(r: &mut Random, shape: &[usize]) -> Literal {
    let dtype = if r.below(4) == 0 { DType::C128 } else { DType::F64 };
    r.literal(&Aval::new(dtype, shape))
}

fn real(r: &mut Random, shape: &[usize]) -> Literal {
    r.literal(&Aval::new(DType::F64, shape))
}

fn subset(r: &mut Random, rank: usize) -> Vec<usize> {
    (0..rank).filter(|_| r.below(2) == 0).collect()
}

/// Checks the cases that inference accepts, which must be more than a fifth.
fn fuzz(what: &str, make: impl Fn(&mut Random) -> (Op, Vec<Literal>)) {
    let mut accepted = 0;
    for seed in 0..CASES {
        let (op, ins) = make(&mut Random::new(seed));
        let Ok(graph) = graph_of(&op, &ins) else { continue };
        accepted += 1;
        let outcome: Result<(), Failure> = checks::all(&graph, &ins, true);
        if let Err(f) = outcome {
            panic!("{what}, seed {seed}: {f}");
        }
    }
    assert!(accepted * 5 > CASES, "{what}: only {accepted} of {CASES} cases were accepted");
}

#[test]
fn conv() {
    fuzz("conv", |r| {
        let n = r.below(3);
        let list = |r: &mut Random, low: i64, count: usize| -> Vec<i64> {
            (0..n).map(|_| low + r.below(count) as i64).collect()
        };
        let positive = |v: Vec<i64>| v.into_iter().map(|x| x as usize).collect::<Vec<usize>>();
        let op = Conv {
            stride: positive(list(r, 1, 3)),
            low: list(r, -2, 6),
            high: list(r, -2, 6),
            base_dilation: positive(list(r, 1, 3)),
            window_dilation: positive(list(r, 1, 3)),
        };
        let (batch, groups, channels, outs) = (r.below(3), 1 + r.below(2), 1 + r.below(2), r.below(3));
        let mut x = vec![batch, groups, channels];
        x.extend((0..n).map(|_| r.below(6)));
        let mut w = vec![groups, outs, channels];
        w.extend((0..n).map(|_| 1 + r.below(3)));
        let dtype = if r.below(4) == 0 { DType::C128 } else { DType::F64 };
        let ins = [x, w].map(|s| r.literal(&Aval::new(dtype, s)));
        (op.into(), ins.to_vec())
    });
}

#[test]
fn pad_and_slice() {
    fuzz("pad", |r| {
        let rank = r.below(3);
        let shape = extents(r, rank);
        let list = |r: &mut Random| (0..rank).map(|_| r.below(8) as i64 - 4).collect::<Vec<i64>>();
        let (low, high) = (list(r), list(r));
        let interior = (0..rank).map(|_| r.below(3)).collect();
        (Pad { low, high, interior }.into(), vec![normal(r, &shape)])
    });
    fuzz("slice", |r| {
        let rank = r.below(4);
        let shape = extents(r, rank);
        let start: Vec<usize> = shape.iter().map(|d| r.below(d + 1)).collect();
        let stop = shape.iter().zip(&start).map(|(d, s)| s + r.below(d - s + 1)).collect();
        let step = (0..rank).map(|_| 1 + r.below(3)).collect();
        (Slice { start, stop, step }.into(), vec![normal(r, &shape)])
    });
}

#[test]
fn movements() {
    fuzz("permute", |r| {
        let rank = r.below(5);
        let mut axes: Vec<usize> = (0..rank).collect();
        (1..rank).for_each(|i| axes.swap(i, r.below(i + 1)));
        let shape = extents(r, rank);
        (Permute { axes }.into(), vec![normal(r, &shape)])
    });
    fuzz("flip", |r| {
        let rank = r.below(4);
        let shape = extents(r, rank);
        (Flip { axes: subset(r, rank) }.into(), vec![normal(r, &shape)])
    });
    fuzz("broadcast", |r| {
        let rank = r.below(4);
        let shape = extents(r, rank);
        let from: Vec<usize> = shape[r.below(rank + 1)..].to_vec();
        let from: Vec<usize> = from.into_iter().map(|d| if r.below(2) == 0 { 1 } else { d }).collect();
        (Broadcast { shape: shape.into() }.into(), vec![normal(r, &from)])
    });
    fuzz("reshape", |r| {
        let shape = extents(r, 3);
        let to: Shape = [shape[2], 1, shape[0] * shape[1]].into();
        (Reshape { shape: to }.into(), vec![normal(r, &shape)])
    });
    fuzz("concat", |r| {
        let (shape, axis) = (Shape::from(extents(r, 3)), r.below(3));
        let part = |r: &mut Random| shape.with(axis, r.below(4));
        let ins = (0..1 + r.below(4)).map(|_| part(r)).collect::<Vec<_>>();
        (Concat { axis }.into(), ins.iter().map(|s| real(r, s)).collect())
    });
}

#[test]
fn reductions() {
    fuzz("sum and prod", |r| {
        let rank = r.below(4);
        let shape = extents(r, rank);
        let mut axes = subset(r, rank);
        axes.reverse();
        let op: Op = if r.below(2) == 0 { Sum { axes }.into() } else { Prod { axes }.into() };
        (op, vec![normal(r, &shape)])
    });
    fuzz("max and min", |r| {
        let rank = r.below(4);
        let shape = extents(r, rank);
        let axes = subset(r, rank);
        let op: Op = if r.below(2) == 0 { Max { axes }.into() } else { Min { axes }.into() };
        (op, vec![apart(r, &shape)])
    });
}

/// Returns numbers that are far from each other, in random order.
fn apart(r: &mut Random, shape: &[usize]) -> Literal {
    let n: usize = shape.iter().product();
    let mut data: Vec<f64> = (0..n).map(|i| i as f64 * 0.3 - 1.0).collect();
    (1..n).for_each(|i| data.swap(i, r.below(i + 1)));
    Literal::floats(DType::F64, shape, data).unwrap()
}

#[test]
fn running_and_sorted() {
    fuzz("cumulate and sort", |r| {
        let rank = 1 + r.below(3);
        let shape = extents(r, rank);
        let (axis, reverse) = (r.below(rank), r.below(2) == 0);
        let op: Op = match Combine::ALL.get(r.below(6)) {
            Some(&combine) => Cumulate { combine, axis, reverse }.into(),
            None => {
                let first = (r.below(2) == 0).then(|| r.below(shape[axis] + 1));
                Sort { axis, descending: reverse, first }.into()
            }
        };
        (op, vec![apart(r, &shape)])
    });
}

#[test]
fn dots() {
    fuzz("dot", |r| {
        let all = ['a', 'b', 'c', 'd'];
        let sizes = extents(r, 4);
        let labels = |r: &mut Random| -> Vec<usize> {
            let mut chosen: Vec<usize> = (0..4).filter(|_| r.below(2) == 0).collect();
            (1..chosen.len()).for_each(|i| chosen.swap(i, r.below(i + 1)));
            chosen
        };
        let (lhs, rhs) = (labels(r), labels(r));
        let mut out: Vec<usize> =
            (0..4).filter(|l| (lhs.contains(l) || rhs.contains(l)) && r.below(3) > 0).collect();
        (1..out.len()).for_each(|i| out.swap(i, r.below(i + 1)));
        let text = |v: &[usize]| v.iter().map(|&l| all[l]).collect::<String>();
        let dtype = if r.below(4) == 0 { DType::C128 } else { DType::F64 };
        let operand = |v: &[usize], r: &mut Random| {
            let shape: Shape = v.iter().map(|&l| sizes[l]).collect();
            r.literal(&Aval::new(dtype, shape))
        };
        let ins = vec![operand(&lhs, r), operand(&rhs, r)];
        (Dot::new(text(&lhs), text(&rhs), text(&out)).into(), ins)
    });
}

#[test]
fn indices() {
    fuzz("take and scatter", |r| {
        let rank = 1 + r.below(3);
        let axis = r.below(rank);
        let mut shape = extents(r, rank);
        shape[axis] = 1 + r.below(3);
        let index = {
            let rank = r.below(3);
            extents(r, rank)
        };
        let count: usize = index.iter().product();
        let at: Vec<i64> = (0..count).map(|_| r.below(shape[axis]) as i64).collect();
        let at = Literal::ints([DType::I64, DType::U8, DType::I32][r.below(3)], &index[..], at).unwrap();
        let x = apart(r, &shape);
        if r.below(2) == 0 {
            return (Take { axis }.into(), vec![x, at]);
        }
        let spliced: Vec<usize> =
            shape[..axis].iter().chain(&index).chain(&shape[axis + 1..]).copied().collect();
        let updates = apart(r, &spliced);
        // Makes updates differ from the base's values, which are multiples of the same step.
        let shifted: Vec<f64> = updates.f().iter().map(|x| x * 1.1 + 0.04).collect();
        let updates = Literal::floats(DType::F64, &spliced[..], shifted).unwrap();
        let combine = [None, Some(Combine::Sum), Some(Combine::Max), Some(Combine::Min)][r.below(4)];
        (Scatter { axis, combine }.into(), vec![x, at, updates])
    });
}

#[test]
fn windows() {
    fuzz("windows and fold", |r| {
        let n = r.below(3);
        let rank = n + r.below(2);
        let shape: Vec<usize> = (0..rank).map(|_| 1 + r.below(6)).collect();
        let list = |r: &mut Random| (0..n).map(|_| 1 + r.below(3)).collect::<Vec<usize>>();
        let (size, stride, dilation) = (list(r), list(r), list(r));
        let windows = Windows { size: size.clone(), stride: stride.clone(), dilation: dilation.clone() };
        let x = Aval::new(DType::F64, &shape[..]);
        if r.below(2) == 0 {
            return (windows.into(), vec![normal(r, &shape)]);
        }
        let extent = Shape::from(&shape[rank - n..]);
        let of = Op::from(windows).infer(&[x]).map_or(Shape::scalar(), |outs| outs[0].shape.clone());
        (Fold { extent, size, stride, dilation }.into(), vec![normal(r, &of)])
    });
}
