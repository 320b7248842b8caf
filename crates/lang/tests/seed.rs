//! Checks the values of the programs in `seed`, and their gradient programs byte for byte.

use gradus_ir::DType;
use gradus_lang::{GradientOptions, Program, Settings, Source};
use std::collections::BTreeMap;

fn load(text: &str) -> Program {
    Program::parse(Source::new("seed", text)).unwrap_or_else(|f| panic!("{f}"))
}

fn loss(text: &str) -> f64 {
    let program = load(text);
    let settings = Settings { float: DType::F64, ..Settings::default() };
    let values = program.run(&BTreeMap::new(), &settings, &["Loss".into()]).unwrap_or_else(|f| panic!("{f}"));
    values["Loss"].item::<f64>().unwrap()
}

#[test]
fn losses() {
    assert!((loss(include_str!("seed/mlp.eq")) - 0.994097233248).abs() < 1e-12);
    assert!((loss(include_str!("seed/attention.eq")) - 0.279249727660).abs() < 1e-12);
}

fn gradient_text(forward: &str) -> String {
    let gradient = load(forward).gradient(&GradientOptions::default()).unwrap_or_else(|f| panic!("{f}"));
    format!("{forward}\n{}", gradient.text())
}

#[test]
fn gradient_programs_are_those_of_the_page() {
    assert_eq!(gradient_text(include_str!("seed/mlp.eq")), include_str!("seed/mlp.grad.eq"));
    assert_eq!(gradient_text(include_str!("seed/attention.eq")), include_str!("seed/attention.grad.eq"));
}
