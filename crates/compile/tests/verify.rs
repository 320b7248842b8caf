//! Tests that plans with one error are rejected, and that the message names the error.

use crate::device::PROFILE;
use gradus_compile::{BufferLocation, Operation, Piece, Plan, Step, compile};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::movement::Concat;
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::switch::Switch;
use gradus_ir::ops::while_loop::While;
use gradus_ir::{Aval, DType, Graph, Literal};
use std::sync::Arc;

fn input<'g>(b: &'g Builder, shape: &[usize]) -> Var<'g> {
    b.input("x", Aval::new(DType::F32, shape))
}

/// Returns a plan of two products with fused kernels, and sums of rows. Some of its temporaries are in use at the same
/// time, others are not.
fn products() -> Plan {
    let b = Builder::new();
    let (x, w, v) = (input(&b, &[8, 16]), input(&b, &[16, 16]), input(&b, &[16, 16]));
    let h = x.dot(w, "ij", "jk", "ik").tanh();
    let y = h.dot(v, "ij", "jk", "ik");
    let rows = (y * h).sum(&[1]).reshape([8, 1]).broadcast_to(&h.shape());
    let out = (y - rows).dot(w, "ij", "jk", "ik");
    compile(&b.finish(&[out, (h + out).sum(&[0])]).unwrap(), &PROFILE).unwrap()
}

fn loops() -> Plan {
    let step = {
        let b = Builder::new();
        let (w, h, x) = (input(&b, &[4, 4]), input(&b, &[4]), input(&b, &[4]));
        let next = (w.dot(h, "ij", "j", "i") + x).tanh();
        b.finish(&[next, next]).unwrap()
    };
    let b = Builder::new();
    let ins = [input(&b, &[4, 4]), input(&b, &[4]), input(&b, &[6, 4])];
    let outs = b.apply(scan(step), &ins);
    compile(&b.finish(&outs).unwrap(), &PROFILE).unwrap()
}

fn scan(body: Graph) -> Scan {
    Scan { body: Arc::new(body), shared: 1, carries: 1, length: 6, reverse: false }
}

/// Returns the verifier's message for the changed plan.
fn error_of(plan: &Plan, change: impl FnOnce(&mut Plan)) -> String {
    let mut broken = plan.clone();
    change(&mut broken);
    let error = broken.verify().expect_err("a broken plan is refused").to_string();
    error.lines().next().unwrap_or_default().to_string()
}

/// Returns the temporaries, in the order of buffers.
fn temporaries(plan: &Plan) -> Vec<usize> {
    let temporary = |b: &usize| matches!(plan.buffers[*b].location, BufferLocation::Arena(_));
    (0..plan.buffers.len()).filter(temporary).collect()
}

#[test]
fn compiled_plans_are_valid() {
    products().verify().unwrap();
    loops().verify().unwrap();
}

#[test]
fn steps_in_another_order() {
    let plan = products();
    let last = plan.steps.len() - 1;
    let why = error_of(&plan, |p| p.steps.swap(0, last));
    assert!(why.contains("is read before it is written in step 0"), "{why}");
    let why = error_of(&plan, |p| p.steps.push(p.steps[0].clone()));
    assert!(why.contains(&format!("is written again in step {}", last + 1)), "{why}");
    let why = error_of(&plan, |p| p.steps.truncate(1));
    assert!(why.contains("is an output that no step writes"), "{why}");
}

#[test]
fn writes_to_inputs_and_constants() {
    let b = Builder::new();
    let x = input(&b, &[3]);
    let table = b.constant(Literal::floats(DType::F32, [3], vec![1.0, 2.0, 4.0]).unwrap());
    let plan = compile(&b.finish(&[x + table]).unwrap(), &PROFILE).unwrap();
    let number = |f: &dyn Fn(&BufferLocation) -> bool| {
        plan.buffers.iter().position(|b| f(&b.location)).expect("a buffer of this kind")
    };
    let input = number(&|l| matches!(l, BufferLocation::Input(_)));
    let constant = number(&|l| matches!(l, BufferLocation::Constant(_)));
    for (b, why) in [
        (input, "is an input, but is written in step 0"),
        (constant, "is a constant, but is written in step 0"),
        (plan.buffers.len(), "does not exist, but is written in step 0"),
    ] {
        let found = error_of(&plan, |p| match &mut p.steps[0] {
            Step::Kernel(k) => k.stores[0].access.buffer = b,
            other => panic!("{other}"),
        });
        assert!(found.contains(&format!("b{b} {why}")), "{found}");
    }
}

/// Returns the pieces that the kernels of a plan read.
fn pieces(plan: &mut Plan) -> Vec<&mut Piece> {
    let kernels = plan.steps.iter_mut().filter_map(|s| if let Step::Kernel(k) = s { Some(k) } else { None });
    let all = kernels.flat_map(|k| &mut k.body);
    all.flat_map(|inst| if let Operation::Pieces(pieces) = &mut inst.op { &mut pieces[..] } else { &mut [] })
        .collect()
}

/// Tests pieces whose bounds use one axis, with a stride, and several axes.
#[test]
fn pieces_beyond_their_buffers() {
    let joined = |split: bool| {
        planned(&[&[5], &[7], &[4], &[3]], |b, x| {
            let whole = b.apply1(Concat { axis: 0 }, &[x[0], x[1]]);
            match split {
                // The bounds use both axes of the table, whose rows and columns are scaled.
                true => {
                    let table = whole.reshape([3, 4]);
                    let row = x[2].reshape([1, 4]).broadcast_to(&table.shape());
                    let column = x[3].reshape([3, 1]).broadcast_to(&table.shape());
                    vec![table * row + column]
                }
                false => vec![whole.flip(&[0]).tanh()],
            }
        })
    };
    for split in [true, false] {
        let mut plan = joined(split);
        let used = |p: &Piece| p.bounds[0].0.strides.iter().filter(|s| **s != 0).count();
        let found: Vec<usize> = pieces(&mut plan).into_iter().map(|p| used(p)).collect();
        assert_eq!(found, [1 + usize::from(split); 2], "{plan}");
        for (k, by) in [(0, -1), (0, 1), (1, -1), (1, 1)] {
            let why = error_of(&plan, |p| pieces(p)[k].access.layout.offset += by);
            let (numel, low) = ([5, 7][k], by);
            let high = low + numel - 1;
            assert!(why.contains(&format!("f32[{numel}] is accessed as f32 at {low}..={high}")), "{why}");
        }
        // A bound that no index satisfies: the piece is never read.
        let mut unread = plan.clone();
        pieces(&mut unread)[0].bounds[0].0.offset -= 100;
        pieces(&mut unread)[0].access.layout.offset += 100;
        unread.verify().unwrap();
    }
}

#[test]
fn accesses_beyond_their_buffers() {
    let plan = products();
    let nest = plan.steps.iter().position(|s| matches!(s, Step::Kernel(_))).expect("a loop nest");
    let moved = |by: i64| {
        error_of(&plan, |p| match &mut p.steps[nest] {
            Step::Kernel(k) => k.stores[0].access.layout.offset += by,
            other => panic!("{other}"),
        })
    };
    for why in [moved(1), moved(-1)] {
        assert!(why.contains("is accessed as f32 at "), "{why}");
    }
    let contract = plan.steps.iter().position(|s| matches!(s, Step::Contract(_))).expect("a product");
    let why = error_of(&plan, |p| match &mut p.steps[contract] {
        Step::Contract(c) => c.k.0 += 1,
        other => panic!("{other}"),
    });
    assert!(why.contains(&format!("in step {contract}")) && why.contains("is accessed as f32 at"), "{why}");
}

#[test]
fn accesses_of_another_type_than_their_buffers() {
    let plan = products();
    let why = error_of(&plan, |p| p.buffers[0].dtype = DType::F64);
    assert!(why.contains("b0: f64[128] is accessed as f32"), "{why}");
    let why = error_of(&plan, |p| p.outputs.swap(0, 1));
    assert!(why.contains("is not output 0"), "{why}");
}

#[test]
fn overlapping_temporaries() {
    let plan = products();
    let own = temporaries(&plan);
    assert!(own.len() >= 2, "{plan}");
    let why = error_of(&plan, |p| own.iter().for_each(|b| p.buffers[*b].location = BufferLocation::Arena(0)));
    assert!(why.contains("is still needed"), "{why}");
    let why = error_of(&plan, |p| p.arena -= 1);
    assert!(why.contains("is outside of the arena"), "{why}");
}

#[test]
fn loops_with_stacks_of_other_types() {
    let plan = loops();
    let at = plan.steps.iter().position(|s| matches!(s, Step::Scan { .. })).expect("a loop");
    let why = error_of(&plan, |p| match &mut p.steps[at] {
        Step::Scan { length, .. } => *length = 7,
        other => panic!("{other}"),
    });
    assert!(why.contains("f32[24] is used as f32[28]"), "{why}");
    let why = error_of(&plan, |p| match &mut p.steps[at] {
        Step::Scan { control, .. } => control.outs.truncate(1),
        other => panic!("{other}"),
    });
    assert!(why.contains("1 results of a plan with 2 outputs"), "{why}");
}

/// Returns a plan in which the rows of a product are normalised and multiplied again, in slices along the batch.
fn sliced() -> Plan {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = (0..3).map(|_| input(&b, &[16, 64, 32])).collect();
    let scores = ins[0].dot(ins[1], "bid", "bjd", "bij").exp();
    let sums = scores.sum(&[2]).reshape([16, 64, 1]).broadcast_to(&scores.shape());
    compile(&b.finish(&[(scores / sums).dot(ins[2], "bij", "bjd", "bid")]).unwrap(), &PROFILE).unwrap()
}

#[test]
fn overlapping_slices() {
    let plan = sliced();
    let at = plan.steps.iter().position(|s| matches!(s, Step::Slices { .. })).expect("slices");
    let error_of = |change: &dyn Fn(&mut Vec<Vec<i64>>)| {
        error_of(&plan, |p| match &mut p.steps[at] {
            Step::Slices { moves, .. } => change(moves),
            other => panic!("{other}"),
        })
    };
    let why = error_of(&|moves| moves.last_mut().unwrap().fill(0));
    assert!(why.contains("two slices write the same element of result 0"), "{why}");
    let why = error_of(&|moves| moves[0].iter_mut().for_each(|m| *m *= 2));
    assert!(why.contains("is accessed as f32 at 0.."), "{why}");
    let why = error_of(&|moves| moves.truncate(1));
    assert!(why.contains("the operands of slices do not match the inputs of their plan"), "{why}");
}

/// Returns the plan of a graph over `f32` inputs of these shapes.
fn planned(shapes: &[&[usize]], build: impl for<'g> Fn(&'g Builder, &[Var<'g>]) -> Vec<Var<'g>>) -> Plan {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = shapes.iter().map(|s| input(&b, s)).collect();
    let plan = compile(&b.finish(&build(&b, &ins)).unwrap(), &PROFILE).unwrap();
    plan.verify().unwrap();
    plan
}

/// Returns the verifier's message for the plan with these donors.
fn with_donors(plan: &Plan, donors: &[Option<usize>]) -> String {
    error_of(plan, |p| p.donors = donors.to_vec())
}

#[test]
fn a_donor_is_an_input_of_one_output() {
    let plan = planned(&[&[8, 8], &[8, 8]], |_, x| vec![x[0] + x[1], x[0] * x[1]]);
    assert_eq!(plan.donors, [Some(0), Some(1)]);
    let why = with_donors(&plan, &[Some(1), Some(1)]);
    assert!(why.contains("output 1 cannot take over input 1: output 0 does"), "{why}");
    let why = with_donors(&plan, &[Some(2), None]);
    assert!(why.contains("output 0 cannot take over input 2: there are 2 inputs"), "{why}");
    let why = with_donors(&plan, &[]);
    assert!(why.contains("0 donors for 2 outputs"), "{why}");
}

#[test]
fn a_donor_has_the_type_and_the_elements_of_the_output() {
    let plan = planned(&[&[8]], |_, x| vec![(x[0] * 2.0).to(DType::I32)]);
    let why = with_donors(&plan, &[Some(0)]);
    assert!(why.contains("cannot take over input 0: their dtypes differ"), "{why}");
    let plan = planned(&[&[8, 4]], |_, x| vec![x[0].sum(&[1])]);
    let why = with_donors(&plan, &[Some(0)]);
    assert!(why.contains("cannot take over input 0: their elements differ in number or size"), "{why}");
}

#[test]
fn a_donor_is_read_element_by_element() {
    let refused = |plan: &Plan, why: &str| {
        assert_eq!(plan.donors, [None], "{plan}");
        let found = with_donors(plan, &[Some(0)]);
        assert!(found.contains("output 0 cannot take over input 0: ") && found.contains(why), "{found}");
    };
    let mut transposed = planned(&[&[8, 8], &[8, 8]], |_, x| vec![x[0].permute(&[1, 0]) * x[1].exp()]);
    assert_eq!(transposed.donors, [Some(1)]);
    transposed.donors = vec![None];
    refused(&transposed, "an index reads other elements of b0 than it writes");
    let both = planned(&[&[8, 8]], |_, x| vec![x[0].permute(&[1, 0]) * x[0]]);
    refused(&both, "an index reads other elements of b0 than it writes");
    let shifted = planned(&[&[8]], |_, x| vec![x[0].slice_axis(0, 1, 8).pad(vec![0], vec![1], vec![0])]);
    refused(&shifted, "b0 is read in pieces");
    let product = planned(&[&[8, 8], &[8, 8]], |_, x| vec![x[0].dot(x[1], "ij", "jk", "ik")]);
    refused(&product, "step 0 does not run element by element");
    let constant = planned(&[&[8], &[8]], |_, x| vec![x[1].exp()]);
    assert_eq!(constant.donors, [Some(1)]);
    let found = with_donors(&constant, &[Some(0)]);
    assert!(found.contains("does not read b0"), "{found}");
}

#[test]
fn a_donor_is_not_read_in_passes_that_come_after_the_write() {
    // The output has one element per row, and as many elements as the input, but the kernel reduces after it reads the input.
    let rows = planned(&[&[8, 1], &[8, 4]], |_, x| vec![x[0] * x[1].sum(&[1]).reshape([8, 1])]);
    let nest = rows.steps.iter().find_map(|s| if let Step::Kernel(k) = s { Some(k) } else { None }).unwrap();
    assert!(nest.parallel < nest.axes.len() && rows.donors == [None], "{rows}");
    let why = with_donors(&rows, &[Some(0)]);
    assert!(why.contains("is written once per row"), "{why}");
    // A kernel along rows writes elements in the last pass. A kernel by columns writes them in every pass.
    let centred = planned(&[&[8, 64]], |_, x| vec![x[0] - x[0].sum(&[1]).spread(&[1], &x[0].shape())]);
    assert_eq!(centred.donors, [Some(0)]);
    let why = error_of(&centred, |p| match &mut p.steps[0] {
        Step::Kernel(k) => k.columns = true,
        other => panic!("{other}"),
    });
    assert!(why.contains("reads and writes its elements in several passes"), "{why}");
}

#[test]
fn no_later_step_reads_a_donor() {
    let mut plan = planned(&[&[8, 8]], |_, x| vec![x[0].exp(), x[0].dot(x[0], "ij", "jk", "ik")]);
    let nest = plan.steps.iter().position(|s| matches!(s, Step::Kernel(_))).expect("a loop nest");
    // A loop nest that is the last reader of the input may overwrite it. After the exchange it is not the last reader.
    plan.steps.swap(nest, 1);
    plan.donors = vec![Some(0), None];
    plan.verify().unwrap();
    let why = error_of(&plan, |p| p.steps.swap(0, 1));
    assert!(why.contains("output 0 cannot take over input 0: step 1 reads it after step 0"), "{why}");
}

#[test]
fn no_later_step_can_fail() {
    type Later = for<'g> fn(&'g Builder, Var<'g>, Var<'g>) -> Vec<Var<'g>>;
    let take: Later = |_, y, at| vec![y.take(at.to(DType::I64), 0)];
    let scan: Later = |b, y, _| {
        let r = Builder::new();
        let (h, x) = (input(&r, &[8]), input(&r, &[8]));
        let body = r.finish(&[h.dot(x, "i", "j", "ij").sum(&[0]) + x]).unwrap();
        let own = Scan { body: Arc::new(body), shared: 0, carries: 1, length: 4, reverse: false };
        b.apply(own, &[y, y.reshape([1, 8]).broadcast_to(&[4, 8].as_slice().into())])
    };
    let while_loop: Later = |b, y, _| {
        let one = |build: &dyn for<'g> Fn(Var<'g>) -> Var<'g>| {
            let r = Builder::new();
            Arc::new(r.finish(&[build(input(&r, &[8]))]).unwrap())
        };
        let condition = one(&|x| x.sum(&[0]).lt(x.sum(&[0]).full_like(10.0)));
        b.apply(While { condition, body: one(&|x| x + 1.0), shared: 0, bound: 0 }, &[y])
    };
    let switch: Later = |b, y, at| {
        let one = |scale: f64| {
            let r = Builder::new();
            let x = input(&r, &[8]);
            Arc::new(r.finish(&[x.sum(&[0]) * scale]).unwrap())
        };
        let index = at.sum(&[0]).to(DType::I32);
        b.apply(Switch { branches: vec![one(1.0), one(2.0)] }, &[index, y])
    };
    for (name, later) in [("take", take), ("scan", scan), ("while", while_loop), ("switch", switch)] {
        let plan = planned(&[&[8], &[2]], |b, x| {
            let y = x[0].exp();
            [vec![y], later(b, y, x[1])].concat()
        });
        assert_eq!(plan.donors[0], None, "{name}: {plan}");
        let why = error_of(&plan, |p| p.donors[0] = Some(0));
        assert!(why.contains("output 0 cannot take over input 0: step"), "{name}: {why}");
        assert!(why.contains("can fail after step"), "{name}: {why}");
    }
    // A step before the overwriting one may fail, because no argument has been written yet.
    let plan = planned(&[&[8], &[8]], |_, x| vec![x[0].exp() + x[0].take(x[1].to(DType::I64), 0)]);
    assert!(plan.steps.iter().any(|s| matches!(s, Step::Routine(_))), "{plan}");
    assert_eq!(plan.donors, [Some(0)]);
    // Slices of loop nests and products cannot fail.
    let plan = planned(&[&[16, 64, 32], &[16, 64, 32], &[16, 64, 32]], |_, x| {
        let scores = x[0].dot(x[1], "bid", "bjd", "bij").exp();
        let sums = scores.sum(&[2]).spread(&[2], &scores.shape());
        vec![(scores / sums).dot(x[2], "bij", "bjd", "bid")]
    });
    assert!(plan.steps.iter().any(|s| matches!(s, Step::Slices { .. })), "{plan}");
}

#[test]
fn temporaries_are_overwritten_element_by_element_only() {
    // A loop nest between two sorts reads the result of the first transposed.
    let plan = planned(&[&[8, 8], &[8, 8]], |b, x| {
        let first = b.apply(Sort::all(0, false), &[x[0]])[0];
        let between = first.permute(&[1, 0]).exp();
        vec![b.apply(Sort::all(0, false), &[between])[0]]
    });
    let own = temporaries(&plan);
    assert!(own.len() >= 2, "{plan}");
    let why = error_of(&plan, |p| own.iter().for_each(|b| p.buffers[*b].location = BufferLocation::Arena(0)));
    assert!(why.contains("is still needed"), "{why}");
}

#[test]
fn products_that_are_not_row_major() {
    let plan = products();
    let at = plan.steps.iter().position(|s| matches!(s, Step::Contract(c) if c.finish.is_some()));
    let at = at.expect("a product with a fused kernel");
    let error_of = |change: &dyn Fn(&mut gradus_compile::Contraction)| {
        error_of(&plan, |p| match &mut p.steps[at] {
            Step::Contract(c) => change(c),
            other => panic!("{other}"),
        })
    };
    let why = error_of(&|c| c.m.1[1] = 1);
    assert!(why.contains("the result of a product is not row-major"), "{why}");
    let why = error_of(&|c| c.finish.as_mut().unwrap().axes[0] /= 2);
    assert!(why.contains("the kernel fused with a product of 128 elements has another number"), "{why}");
}

#[test]
fn loops_that_change_the_type_of_a_carry() {
    let one = |build: &dyn for<'g> Fn(Var<'g>) -> Var<'g>| {
        let b = Builder::new();
        let x = input(&b, &[4]);
        Arc::new(b.finish(&[build(x)]).unwrap())
    };
    let condition = one(&|x| {
        let sum = x.sum(&[0]);
        sum.lt(sum.full_like(10.0))
    });
    let body = one(&|x| x + x);
    let b = Builder::new();
    let outs = b.apply(While { condition, body, shared: 0, bound: 0 }, &[input(&b, &[4])]);
    let plan = compile(&b.finish(&outs).unwrap(), &PROFILE).unwrap();
    let at = plan.steps.iter().position(|s| matches!(s, Step::While { .. })).expect("a loop");
    let error_of = |change: &dyn Fn(&mut gradus_compile::Control, &mut usize)| {
        error_of(&plan, |p| match &mut p.steps[at] {
            Step::While { control, shared, .. } => change(control, shared),
            other => panic!("{other}"),
        })
    };
    let why = error_of(&|_, shared| *shared = 2);
    assert!(why.contains("the operands, condition and body of a while loop have different types"), "{why}");
    let why = error_of(&|control, _| control.plans.swap(0, 1));
    assert!(why.contains("is used as bool[1]"), "{why}");
    let why = error_of(&|control, _| control.plans.truncate(1));
    assert!(why.contains("a while loop needs two plans"), "{why}");
}
