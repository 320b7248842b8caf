//! Plans that are broken in one place are refused, with the place.

#[path = "common/profile.rs"]
mod device;

use device::PROFILE;
use gradus_compile as limits;
use gradus_compile::{Place, Plan, Step, compile};
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::while_loop::While;
use gradus_ir::{Aval, DType, Graph};
use std::sync::Arc;

fn input<'g>(b: &'g Builder, shape: &[usize]) -> Var<'g> {
    b.input("x", Aval::new(DType::F32, shape))
}

/// Two products, what follows them, and sums of rows: temporaries that live together, and one after the other.
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

/// The plan, changed; what is said of it.
fn said(plan: &Plan, change: impl FnOnce(&mut Plan)) -> String {
    let mut broken = plan.clone();
    change(&mut broken);
    let error = broken.verify().expect_err("a broken plan is refused").to_string();
    error.lines().next().unwrap_or_default().to_string()
}

/// The temporaries, in the order of buffers.
fn temporaries(plan: &Plan) -> Vec<usize> {
    let temporary = |b: &usize| matches!(plan.buffers[*b].place, Place::Arena(_));
    (0..plan.buffers.len()).filter(temporary).collect()
}

#[test]
fn plans_as_compiled_are_right() {
    products().verify().unwrap();
    loops().verify().unwrap();
}

#[test]
fn steps_in_another_order() {
    let plan = products();
    let last = plan.steps.len() - 1;
    let why = said(&plan, |p| p.steps.swap(0, last));
    assert!(why.contains("is read before it is written in step 0"), "{why}");
    let why = said(&plan, |p| p.steps.push(p.steps[0].clone()));
    assert!(why.contains(&format!("is written again in step {}", last + 1)), "{why}");
    let why = said(&plan, |p| p.steps.truncate(1));
    assert!(why.contains("is an output that nothing writes"), "{why}");
}

#[test]
fn accesses_beyond_their_buffers() {
    let plan = products();
    let nest = plan.steps.iter().position(|s| matches!(s, Step::Kernel(_))).expect("a loop nest");
    let moved = |by: i64| {
        said(&plan, |p| match &mut p.steps[nest] {
            Step::Kernel(k) => k.stores[0].access.layout.offset += by,
            other => panic!("{other}"),
        })
    };
    for why in [moved(1), moved(-1)] {
        assert!(why.contains("is used as f32 at Some("), "{why}");
    }
    let contract = plan.steps.iter().position(|s| matches!(s, Step::Contract(_))).expect("a product");
    let why = said(&plan, |p| match &mut p.steps[contract] {
        Step::Contract(c) => c.k.0 += 1,
        other => panic!("{other}"),
    });
    assert!(why.contains(&format!("in step {contract}")) && why.contains("is used as f32 at"), "{why}");
}

#[test]
fn other_types_than_their_buffers() {
    let plan = products();
    let why = said(&plan, |p| p.buffers[0].dtype = DType::F64);
    assert!(why.contains("b0: f64[128] is used as f32"), "{why}");
    let why = said(&plan, |p| p.outputs.swap(0, 1));
    assert!(why.contains("is not output 0"), "{why}");
}

#[test]
fn temporaries_over_each_other() {
    let plan = products();
    let own = temporaries(&plan);
    assert!(own.len() >= 2, "{plan}");
    let why = said(&plan, |p| own.iter().for_each(|b| p.buffers[*b].place = Place::Arena(0)));
    assert!(why.contains("is still needed"), "{why}");
    let why = said(&plan, |p| p.arena -= 1);
    assert!(why.contains("lies beyond the arena"), "{why}");
}

#[test]
fn loops_over_other_stacks() {
    let plan = loops();
    let at = plan.steps.iter().position(|s| matches!(s, Step::Scan { .. })).expect("a loop");
    let why = said(&plan, |p| match &mut p.steps[at] {
        Step::Scan { length, .. } => *length = 7,
        other => panic!("{other}"),
    });
    assert!(why.contains("f32[24] is used as f32[28]"), "{why}");
    let why = said(&plan, |p| match &mut p.steps[at] {
        Step::Scan { control, .. } => control.outs.truncate(1),
        other => panic!("{other}"),
    });
    assert!(why.contains("1 results of a plan that gives 2"), "{why}");
}

/// A product whose rows are normalised and used by another, one part of a batch at a time.
fn sliced() -> Plan {
    let b = Builder::new();
    let ins: Vec<Var<'_>> = (0..3).map(|_| input(&b, &[16, 64, 32])).collect();
    let scores = ins[0].dot(ins[1], "bid", "bjd", "bij").exp();
    let sums = scores.sum(&[2]).reshape([16, 64, 1]).broadcast_to(&scores.shape());
    compile(&b.finish(&[(scores / sums).dot(ins[2], "bij", "bjd", "bid")]).unwrap(), &PROFILE).unwrap()
}

#[test]
fn slices_over_each_other() {
    let plan = sliced();
    let at = plan.steps.iter().position(|s| matches!(s, Step::Slices { .. })).expect("slices");
    let said = |change: &dyn Fn(&mut Vec<Vec<i64>>)| {
        said(&plan, |p| match &mut p.steps[at] {
            Step::Slices { moves, .. } => change(moves),
            other => panic!("{other}"),
        })
    };
    let why = said(&|moves| moves.last_mut().unwrap().fill(0));
    assert!(why.contains("two slices write one place of result 0"), "{why}");
    let why = said(&|moves| moves[0].iter_mut().for_each(|m| *m *= 2));
    assert!(why.contains("is used as f32 at Some((0,"), "{why}");
    let why = said(&|moves| moves.truncate(1));
    assert!(why.contains("slices with other operands than their plan"), "{why}");
}

#[test]
fn inputs_that_cannot_be_taken_over() {
    let b = Builder::new();
    let (x, y) = (input(&b, &[8, 8]), input(&b, &[8, 8]));
    let plan = compile(&b.finish(&[x + y, x.permute(&[1, 0]) * y]).unwrap(), &PROFILE).unwrap();
    plan.verify().unwrap();
    let given = plan.donors.iter().flatten().count();
    assert!(given <= 1, "{:?}", plan.donors);
    for donors in [vec![Some(1), Some(1)], vec![None, Some(0)], vec![Some(2), None]] {
        let why = said(&plan, |p| p.donors.clone_from(&donors));
        assert!(why.contains("cannot take over input") || why.contains("no input 2 for output 0"), "{why}");
    }
    let why = said(&plan, |p| p.donors.clear());
    assert!(why.contains("0 donors for 2 outputs"), "{why}");
}

#[test]
fn products_that_do_not_lie_in_rows() {
    let plan = products();
    let at = plan.steps.iter().position(|s| matches!(s, Step::Contract(c) if c.finish.is_some()));
    let at = at.expect("a product with what follows it");
    let said = |change: &dyn Fn(&mut gradus_compile::Contraction)| {
        said(&plan, |p| match &mut p.steps[at] {
            Step::Contract(c) => change(c),
            other => panic!("{other}"),
        })
    };
    let why = said(&|c| c.m.1[1] = 1);
    assert!(why.contains("whose elements do not lie in rows"), "{why}");
    let why = said(&|c| c.finish.as_mut().unwrap().axes[0] /= 2);
    assert!(why.contains("what follows a product of 128 elements runs over others"), "{why}");
}

#[test]
fn loops_that_carry_something_else() {
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
    let said = |change: &dyn Fn(&mut gradus_compile::Control, &mut usize)| {
        said(&plan, |p| match &mut p.steps[at] {
            Step::While { control, shared, .. } => change(control, shared),
            other => panic!("{other}"),
        })
    };
    let why = said(&|_, shared| *shared = 2);
    assert!(why.contains("a loop that carries something else"), "{why}");
    let why = said(&|control, _| control.plans.swap(0, 1));
    assert!(why.contains("is used as bool[1]"), "{why}");
    let why = said(&|control, _| control.plans.truncate(1));
    assert!(why.contains("a loop without two plans"), "{why}");
}
