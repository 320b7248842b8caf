//! Compares gradient programs with the graph's own gradient and with central differences.

use gradus_ir::{Aval, DType, transform};
use gradus_lang::ast::Name;
use gradus_lang::{GradientOptions, Program, Settings, Source};
use gradus_tensor::{Tensor, compile_graph};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn load(text: &str) -> Program {
    Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{f}"))
}

/// Pseudo-random numbers that depend on `seed` only.
pub(crate) fn numbers(seed: &str, n: usize) -> Vec<f64> {
    let mut state =
        seed.bytes().fold(0x9E3779B97F4A7C15u64, |h, b| (h ^ b as u64).wrapping_mul(0x100000001B3));
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n).map(|_| 0.2 + 0.9 * next()).collect()
}

pub(crate) fn settings(steps: Option<usize>) -> Settings {
    Settings { float: DType::F64, steps, ..Settings::default() }
}

/// Checks the gradients of all inputs of a program with a loss. Returns the gradient program.
pub(crate) fn check_with(text: &str, shapes: &[(&str, &[usize])], steps: Option<usize>) -> String {
    let program = load(text);
    let tensor = |name: &str, shape: &[usize]| {
        Tensor::from_slice(&numbers(name, shape.iter().product()), shape.to_vec())
    };
    let inputs: BTreeMap<Name, Tensor> = shapes.iter().map(|(n, s)| (Name::from(*n), tensor(n, s))).collect();
    let gradient = program.gradient(&GradientOptions::default()).unwrap_or_else(|f| panic!("{text}\n{f}"));
    let shown = gradient.text();
    // The text parses to the same program.
    let whole = load(&format!("{}\n{shown}", program.open_text()));
    let wanted: Vec<Name> = inputs.keys().map(|n| Name::from(format!("Grad_{n}"))).collect();
    let settings = settings(steps);
    let found = whole.run(&inputs, &settings, &wanted).unwrap_or_else(|f| panic!("{text}\n{shown}\n{f}"));
    let merged = GradientOptions { merged: true, ..Default::default() };
    let merged = program.gradient(&merged).unwrap_or_else(|f| panic!("{text}\n{f}")).text();
    let at_once = load(&format!("{}\n{merged}", program.open_text())).run(&inputs, &settings, &wanted);
    let at_once = at_once.unwrap_or_else(|f| panic!("{text}\n{merged}\n{f}"));
    for (name, g) in &found {
        let far = (g - &at_once[name]).abs().max(()).item::<f64>().unwrap();
        let most = g.abs().max(()).item::<f64>().unwrap();
        assert!(far <= 1e-12 * (1.0 + most), "{text}\n{shown}\nmerged:\n{merged}\n{name}");
    }
    let avals: BTreeMap<Name, Aval> = inputs.iter().map(|(n, t)| (n.clone(), t.aval().unwrap())).collect();
    let lowered = program.lower(&avals, &settings, &["Loss".into()]).unwrap();
    let plan = compile_graph(&lowered.graph).unwrap();
    let loss = |inputs: &BTreeMap<Name, Tensor>| {
        let ins: Vec<&Tensor> = lowered.inputs.iter().map(|n| &inputs[n]).collect();
        plan.run(&ins).unwrap()[0].item::<f64>().unwrap()
    };
    for (name, x) in &inputs {
        let Some(g) = found.get(&Name::from(format!("Grad_{name}"))) else {
            panic!("{text}\n{shown}\nno Grad_{name}")
        };
        assert_eq!(g.shape(), x.shape(), "{text}\n{shown}\nGrad_{name}");
        let direction = Tensor::from_slice(&numbers(&format!("direction {name}"), x.numel()), x.shape());
        let slope = (g * &direction).sum(()).item::<f64>().unwrap();
        let h = 1e-5;
        let at = |by: f64| {
            let mut moved = inputs.clone();
            moved.insert(name.clone(), x + &(&direction * by));
            loss(&moved)
        };
        let difference = (at(h) - at(-h)) / (2.0 * h);
        let close = (slope - difference).abs() <= 1e-6 * (1.0 + difference.abs());
        assert!(close, "{text}\n{shown}\nGrad_{name}: {slope} beside {difference}");
    }
    // The number of rounds of a fixpoint is unknown before the run, so its graph has no reverse mode to
    // compare with.
    if !lowered.has_fixpoints() {
        let pulled = transform::vjp(&lowered.graph, &(0..inputs.len()).collect::<Vec<_>>()).unwrap();
        let one = Tensor::from_slice(&[1.0f64], []);
        let others: Vec<Tensor> =
            lowered.graph.output_avals().iter().skip(1).map(|a| Tensor::zeros_of(a)).collect();
        let given = lowered.inputs.iter().map(|n| &inputs[n]);
        let ins: Vec<&Tensor> = given.chain([&one]).chain(&others).collect();
        let core = compile_graph(&Arc::new(pulled)).unwrap().run(&ins).unwrap();
        for (name, core) in lowered.inputs.iter().zip(&core) {
            let g = &found[&Name::from(format!("Grad_{name}"))];
            let far = (g - core).abs().max(()).item::<f64>().unwrap();
            assert!(far <= 1e-9 * (1.0 + core.abs().max(()).item::<f64>().unwrap()), "{shown}\nGrad_{name}");
        }
    }
    shown
}
