//! Tests random graphs: values after simplification, fusion, slicing, recomputation and memory planning equal those of a run in
//! which each op is compiled separately.

mod control;
mod grow;
mod reached;

use control::{Kind, Nested};
use gradus_compile::{BufferLocation, Options, Plan, Step, compile, rules, simplify};
use gradus_cpu::{Executable, PROFILE, Pool, evaluate_on};
use gradus_ir::graph::Builder;
use gradus_ir::transform::{jvp, vjp};
use gradus_ir::{DType, Graph, Literal, Op, reference};
use grow::{Grown, Random, grow};
use reached::{ALL, reached};
use std::sync::Arc;

/// Number of graphs per dtype. All graphs of both dtypes, in parallel, take about twenty seconds.
const SEEDS: u64 = 48;
/// Number of graphs of control flow per dtype.
const NESTED: u64 = 60;

#[test]
fn graphs_of_f32() {
    check(DType::F32);
}

#[test]
fn graphs_of_f64() {
    check(DType::F64);
}

#[test]
fn control_flow_of_f32() {
    check_control(DType::F32);
}

#[test]
fn control_flow_of_f64() {
    check_control(DType::F64);
}

/// Checks graphs of control flow, and that every kind of control flow op is nested in every other.
fn check_control(dtype: DType) {
    let (mut seen, mut reversed) = (Vec::new(), 0);
    for seed in 0..NESTED {
        let nested = control::grow(dtype, seed);
        checked_control(&nested, &format!("seed {seed} of {dtype}"));
        // Only in `f64` is there a useful bound on the errors of gradients.
        if dtype == DType::F64 {
            reversed += usize::from(nested.reversible);
            checked_gradient(&nested, &format!("gradient of seed {seed}"));
        }
        seen.extend(nested.nesting);
    }
    for outer in [None, Some(Kind::Scan), Some(Kind::While), Some(Kind::Switch)] {
        for inner in Kind::ALL {
            let count = seen.iter().filter(|n| **n == (outer, inner)).count();
            assert!(count >= 5, "{inner:?} in {outer:?} occurs {count} times in graphs of {dtype}");
        }
    }
    assert!(dtype != DType::F64 || reversed >= 15, "{reversed} graphs have a gradient");
}

/// Checks values on the device: every way of running returns the same bits, and they are within the bound of the reference.
fn checked_control(nested: &Nested, what: &str) {
    let Nested { graph, inputs, bound, .. } = nested;
    let plan = compile(graph, &PROFILE).unwrap();
    let run = |executable: Executable, threads: usize| {
        evaluate_on(&Pool::new(threads), &executable, graph, inputs).unwrap()
    };
    let poisoned = |threads: usize| run(Executable::of(plan.clone()).unwrap().poisoned(), threads);
    let right = reference::evaluate(graph, inputs).unwrap();
    let first = poisoned(1);
    let ways = [
        ("on 3 threads", poisoned(3), &first, 0.0),
        ("interpreted", run(Executable::interpreted(plan.clone()).unwrap().poisoned(), 2), &first, 0.0),
        ("without shared memory", run(Executable::of(without_shared_memory(&plan)).unwrap(), 2), &first, 0.0),
        ("as it is", first.clone(), &right, *bound),
    ];
    for (how, found, expected, bound) in ways {
        if let Err(why) = agree(&found, expected, bound) {
            panic!("{what}, {how}: {why}\n{graph}\n{plan}");
        }
    }
}

/// Checks derivatives: compares forward mode and reverse mode on the device with the reference, and checks that reverse mode is
/// the adjoint of forward mode.
fn checked_gradient(nested: &Nested, what: &str) {
    let Nested { graph, inputs, bound, ops, .. } = nested;
    // The error of an op's derivative is its own rounding, plus the rounding of the operands times a second derivative (at most
    // 2). The sum of cotangents is at most 1, so these errors only add over the ops.
    let bound = bound * 2.0 * (*ops as f64 + 1.0);
    let wrt: Vec<usize> = (0..control::FLOATS).collect();
    let mut random = Random::new(*ops as u64);
    let mut like = |of: &[Literal], total: f64| -> Vec<Literal> {
        let count: usize = of.iter().map(|l| l.f().len()).sum();
        let mut one = |l: &Literal| {
            let data = l.f().iter().map(|_| random.number() * total / count as f64).collect();
            Literal::floats(DType::F64, &l.aval().shape, data).unwrap()
        };
        of.iter().map(&mut one).collect()
    };
    let outputs = reference::evaluate(graph, inputs).unwrap();
    let (tangents, cotangents) = (like(&inputs[..control::FLOATS], 1.0), like(&outputs, 1.0));
    let both = |derivative: &Graph, more: &[Literal]| {
        let inputs = [inputs, more].concat();
        let found =
            evaluate_on(&Pool::new(2), &Executable::new(derivative).unwrap().poisoned(), derivative, &inputs);
        let right = reference::evaluate(derivative, &inputs).unwrap();
        if let Err(why) = agree(&found.unwrap(), &right, bound) {
            panic!("{what}: {why}\n{graph}\n{derivative}");
        }
        right
    };
    let forward = both(&jvp(graph, &wrt).unwrap(), &tangents);
    if !nested.reversible {
        let why = vjp(graph, &wrt).expect_err("a loop without a bound has no gradient").to_string();
        assert!(why.contains("bound"), "{what}: {why}");
        return;
    }
    let gradients = both(&vjp(graph, &wrt).unwrap(), &cotangents);
    assert!(gradients.iter().any(|g| g.f().iter().any(|x| *x != 0.0)), "{what}: all zero\n{graph}");
    let dot = |a: &[Literal], b: &[Literal]| -> f64 {
        a.iter().zip(b).flat_map(|(a, b)| a.f().iter().zip(b.f())).map(|(x, y)| x * y).sum()
    };
    let (down, up) = (dot(&cotangents, &forward[outputs.len()..]), dot(&gradients, &tangents));
    assert!((down - up).abs() <= bound, "{what}: {down} by forward mode, {up} by reverse mode\n{graph}");
}

/// Checks the graphs of all seeds, and that they reach every pass.
fn check(dtype: DType) {
    let mut seen = [false; ALL.len()];
    for seed in 0..SEEDS {
        let new = checked(dtype, seed);
        seen.iter_mut().zip(new).for_each(|(seen, new)| *seen |= new);
    }
    let missed: Vec<&str> =
        ALL.into_iter().zip(seen).filter(|(_, seen)| !seen).map(|(what, _)| what).collect();
    assert!(missed.is_empty(), "no graph of {dtype} has {missed:?}");
}

/// Checks the graph of a seed. Returns the kinds of steps and rules that its plan covers.
fn checked(dtype: DType, seed: u64) -> [bool; ALL.len()] {
    let Grown { graph, open, inputs, bound } = grow(dtype, seed);
    let plan = compile(&graph, &PROFILE).unwrap();
    let free = simplify(&graph, &Options { also: rules().iter().map(|r| r.name).collect() }).unwrap();
    let native = |plan: &Plan| Executable::of(plan.clone()).unwrap();
    let run = |executable: &Executable, graph: &Graph, threads: usize| {
        evaluate_on(&Pool::new(threads), executable, graph, &inputs).unwrap()
    };
    let poisoned = native(&plan).poisoned();
    let interpreted = Executable::interpreted(plan.clone()).unwrap().poisoned();
    let first = run(&poisoned, &graph, 1);
    let same = [
        ("on 2 threads", run(&poisoned, &graph, 2)),
        ("on 3 threads", run(&poisoned, &graph, 3)),
        ("interpreted on 1 thread", run(&interpreted, &graph, 1)),
        ("interpreted on 3 threads", run(&interpreted, &graph, 3)),
        ("without shared memory", run(&native(&without_shared_memory(&plan)), &graph, 2)),
    ];
    let unfused = [
        ("with all values as outputs", run(&native(&compile(&open, &PROFILE).unwrap()), &open, 2)),
        ("one op at a time", one_by_one(&graph, &inputs)),
    ];
    let right = reference::evaluate(&graph, &inputs).unwrap();
    let near = [
        ("as it is", first.clone()),
        ("with rules that round", run(&native(&compile(&free.graph, &PROFILE).unwrap()), &graph, 2)),
    ];
    // The order of sums in a product depends on the strides of its operands and on the number of rows, which is smaller
    // in slices. All other ops return the same bits in every plan.
    let products = graph.nodes().iter().any(|n| matches!(n.op, Op::Dot(_)));
    let (expected, off) = if products { (&right, bound) } else { (&first, 0.0) };
    for (ways, expected, off) in
        [(&same[..], &first, 0.0), (&unfused[..], expected, off), (&near[..], &right, bound)]
    {
        for (how, found) in ways {
            if let Err(why) = agree(found, expected, off) {
                panic!("seed {seed} of {dtype}, {how}: {why}\n{graph}\n{plan}");
            }
        }
    }
    reached(&graph, &plan, &free)
}

/// Returns an error if outputs differ from the expected ones by more than `bound`; 0 requires equal bits.
fn agree(found: &[Literal], expected: &[Literal], bound: f64) -> Result<(), String> {
    assert!(found.len() >= expected.len());
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.aval(), expected.aval());
        for (i, (x, y)) in found.f().iter().zip(expected.f()).enumerate() {
            let close = x.to_bits() == y.to_bits() || (bound > 0.0 && (x - y).abs() <= bound);
            if !close {
                return Err(format!("element {i} of output {k} is {x}, not {y} within {bound:e}"));
            }
        }
    }
    Ok(())
}

/// Returns a plan without shared memory: temporaries do not overlap, and no argument is overwritten.
fn without_shared_memory(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.donors.fill(None);
    plan.arena = 0;
    for buffer in &mut plan.buffers {
        let bytes = buffer.bytes().next_multiple_of(64);
        if let BufferLocation::Arena(at) = &mut buffer.location {
            *at = plan.arena;
            plan.arena += bytes;
        }
    }
    for step in &mut plan.steps {
        if let Step::Slices { control, .. }
        | Step::Scan { control, .. }
        | Step::While { control, .. }
        | Step::Switch(control) = step
        {
            control.plans.iter_mut().for_each(|p| *p = Arc::new(without_shared_memory(p)));
        }
    }
    plan
}

/// Evaluates a graph by compiling and running each op separately. So nothing is fused, and no simplification rule sees
/// more than one op.
fn one_by_one(graph: &Graph, inputs: &[Literal]) -> Vec<Literal> {
    let mut inputs = inputs.iter();
    let mut values: Vec<Literal> = Vec::new();
    for node in graph.nodes() {
        if let Op::Input(_) = node.op {
            values.extend(inputs.next().cloned());
            continue;
        }
        let operands: Vec<Literal> = node.ins.iter().map(|id| values[id.node as usize].clone()).collect();
        let b = Builder::new();
        let ins: Vec<_> = operands.iter().map(|l| b.input("x", l.aval().clone())).collect();
        let one = b.finish(&[b.apply1(node.op.clone(), &ins)]).unwrap();
        let executable = Executable::new(&one).unwrap();
        values.extend(evaluate_on(Pool::global(), &executable, &one, &operands).unwrap());
    }
    graph.outputs().iter().map(|id| values[id.node as usize].clone()).collect()
}
