//! Optimizers and schedules compared with PyTorch's trajectories (`tests/golden/optim.json`), eagerly and
//! compiled.

use gradus_nn::optim::{Adafactor, Adagrad, Adam, AdamW, Lbfgs, LbfgsOptions, Lion, RmsProp, Sgd};
use gradus_nn::{Clip, Module, Optimizer, Param, Rule, Schedule, compile_training, module};
use gradus_tensor::Tensor;
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../tests/golden/optim.json")).unwrap()
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn case(name: &str) -> Value {
    let all = golden();
    all["cases"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap().clone()
}

struct Function {
    w: Param,
    v: Param,
    a: Tensor,
    b: Tensor,
}
module!(Function { w, v; a, b });

impl Function {
    fn new() -> Function {
        let start = golden()["start"].clone();
        let at = |i: usize, shape: &[usize]| Tensor::from_slice(&numbers(&start[i]), shape);
        Function {
            w: Param::new(&at(0, &[3, 4])),
            v: Param::new(&at(1, &[5])),
            a: at(2, &[3, 4]),
            b: at(3, &[5]),
        }
    }

    fn loss(&self) -> Tensor {
        let (w, v) = (&*self.w, &*self.v);
        let first = (w * &self.a).sin().sum(()) + w.square().sum(()) * 0.5;
        first + (&self.b * (v - 1.0).square()).sum(()) + w.sum(()) * v.sum(()) * 0.1 + v.pow(4.0).mean(())
    }
}

/// The tolerance of the trajectories over 50 steps.
const WITHIN: f64 = 1e-6;

#[track_caller]
fn check_step(name: &str, step: u64, found: Vec<f64>) {
    let case = case(name);
    let kept = case["kept"].as_array().unwrap();
    let Some(right) = kept.iter().map(numbers).find(|k| k[0] == step as f64) else { return };
    assert_eq!(found.len() + 1, right.len());
    for (x, y) in found.iter().zip(&right[1..]) {
        assert!((x - y).abs() <= WITHIN, "{name}, step {step}: {x} is not {y}");
    }
}

fn values(cells: &[(String, Tensor)]) -> Vec<f64> {
    cells.iter().flat_map(|(_, t)| t.to_vec::<f64>().unwrap()).collect()
}

/// Runs fifty steps eagerly and fifty compiled, and compares them with PyTorch's.
fn check(name: &str, make: impl Fn(&Function) -> Optimizer) {
    let shown = |f: &Function, o: &Optimizer| {
        let averages = o.state().into_iter().filter(|(n, _)| n.starts_with("average.")).collect::<Vec<_>>();
        if averages.is_empty() { values(&f.parameters()) } else { values(&averages) }
    };
    let f = Function::new();
    let mut optimizer = make(&f);
    for step in 1..=50 {
        f.loss().backward().unwrap();
        optimizer.step().unwrap();
        check_step(name, step, shown(&f, &optimizer));
    }
    let f = Function::new();
    let mut compiled = compile_training(&f, |f, _| f.loss(), make(&f), &[] as &[Tensor]).unwrap();
    for step in 1..=50 {
        compiled.run(&[] as &[Tensor]).unwrap();
        check_step(name, step, shown(&f, compiled.optimizer()));
    }
    assert_eq!(compiled.compilations(), 1);
}

fn rule(name: &str, rule: impl Rule + Copy + 'static) {
    check(name, |f| Optimizer::new(f.parameters(), rule));
}

#[test]
fn gradient_descent() {
    let sgd = Sgd { rate: 0.02, ..Sgd::default() };
    rule("sgd", sgd);
    rule("sgd_momentum", Sgd { momentum: 0.9, dampening: 0.3, ..sgd });
    rule("sgd_nesterov", Sgd { momentum: 0.9, nesterov: true, weight_decay: 0.1, ..sgd });
    rule("lion", Lion { rate: 0.013, weight_decay: 0.1, ..Lion::default() });
}

#[test]
fn adam() {
    let (adam, adamw) = (Adam { rate: 0.05, ..Adam::default() }, AdamW { rate: 0.05, ..AdamW::default() });
    rule("adam", adam);
    rule("adam_amsgrad", Adam { betas: (0.8, 0.9), eps: 1e-4, weight_decay: 0.1, amsgrad: true, ..adam });
    rule("adamw", AdamW { weight_decay: 0.1, ..adamw });
    rule("adamw_amsgrad", AdamW { betas: (0.8, 0.9), amsgrad: true, ..adamw });
}

#[test]
fn scaled_by_past_gradients() {
    rule("rmsprop", RmsProp { rate: 0.02, ..RmsProp::default() });
    let centered =
        RmsProp { rate: 0.01, alpha: 0.9, eps: 1e-3, momentum: 0.5, centered: true, weight_decay: 0.1 };
    rule("rmsprop_centered", centered);
    let adagrad = Adagrad { rate: 0.2, ..Adagrad::default() };
    rule("adagrad", adagrad);
    rule("adagrad_decay", Adagrad { rate_decay: 0.05, weight_decay: 0.1, initial: 0.3, ..adagrad });
    rule("adafactor", Adafactor { rate: 0.05, ..Adafactor::default() });
    let decay = Adafactor { rate: 0.2, decay: -0.6, eps: (Some(1e-3), 1e-2), clip: 1.2, weight_decay: 0.1 };
    rule("adafactor_decay", decay);
}

#[test]
fn limited_memory() {
    let run = |name: &str, steps: u64, options: LbfgsOptions| {
        let f = Function::new();
        let mut optimizer = Lbfgs::new(&f.parameters(), options);
        let first = f.loss().item::<f64>().unwrap();
        for step in 1..=steps {
            let before = optimizer.step(|| f.loss()).unwrap();
            assert!(step > 1 || before == first);
            check_step(name, step, values(&f.parameters()));
        }
    };
    run(
        "lbfgs",
        50,
        LbfgsOptions { rate: 0.1, iterations: 4, evaluations: 5, history: 5, ..LbfgsOptions::default() },
    );
    run("lbfgs_long", 10, LbfgsOptions { rate: 0.5, ..LbfgsOptions::default() });
    let wolfe = LbfgsOptions { iterations: 2, evaluations: 2, line_search: true, ..LbfgsOptions::default() };
    run("lbfgs_wolfe", 10, wolfe);
    run("lbfgs_wolfe_far", 10, LbfgsOptions { rate: 4.0, iterations: 3, evaluations: 3, ..wolfe });
}

#[test]
fn clipping_averages_and_groups() {
    let sgd = Sgd { rate: 0.05, ..Sgd::default() };
    check("clip_norm", |f| Optimizer::new(f.parameters(), sgd).clip(Clip::Norm(1.5)));
    check("clip_value", |f| Optimizer::new(f.parameters(), sgd).clip(Clip::Value(0.4)));
    check("average", |f| Optimizer::new(f.parameters(), Adam { rate: 0.05, ..Adam::default() }).average(0.9));
    check("groups", |f| {
        let [w, v] = f.parameters().try_into().unwrap();
        let first = AdamW { rate: 0.05, weight_decay: 0.1, ..AdamW::default() };
        let second = AdamW { rate: 0.2, weight_decay: 0.0, ..AdamW::default() };
        Optimizer::new(vec![w], first).group(vec![v], second).schedule(Schedule::cosine(50, 0.0))
    });
}

#[test]
fn schedules() {
    let check = |name: &str, schedule: Schedule| {
        for (step, right) in numbers(&case(name)["rates"]).into_iter().enumerate() {
            let found = schedule.factor(step as u64);
            assert!((found - right).abs() <= 1e-12, "{name}, step {step}: {found} is not {right}");
        }
    };
    check("step", Schedule::step(7, 0.5));
    check("multistep", Schedule::multistep(&[5, 20, 21], 0.3));
    check("linear", Schedule::linear(0.2, 0.9, 30));
    check("cosine", Schedule::cosine(50, 0.1));
    check("warm_up", Schedule::warm_up(0.1, 10, Schedule::cosine(40, 0.0)));
    check("one_cycle", Schedule::one_cycle(51, 0.3, 25.0, 1e4));
    check("piecewise", Schedule::piecewise(&[(5, 1.0), (15, 0.2), (40, 0.6)]));
    assert_eq!(Schedule::constant().factor(9), 1.0);
    assert_eq!(Schedule::cosine(10, 0.1).factor(30), 0.1);
    assert_eq!(Schedule::piecewise(&[]).factor(3), 1.0);
    let near = |schedule: Schedule, right: &[f64]| {
        for (step, right) in right.iter().enumerate() {
            let found = schedule.factor(step as u64);
            assert!((found - right).abs() <= 1e-15, "step {step}: {found} is not {right}");
        }
    };
    let quarter = 2f64.sqrt() / 4.0;
    // Periods of 2, 4 and 8 steps.
    near(Schedule::restarts(2, 2), &[1.0, 0.5, 1.0, 0.5 + quarter, 0.5, 0.5 - quarter, 1.0]);
    // 2 steps up, 4 down.
    near(Schedule::triangle(6.0, 1.0 / 3.0), &[0.0, 0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.5, 1.0]);
}
