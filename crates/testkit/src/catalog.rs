//! Walks over the catalog: runs every check on every sample, and checks the samples themselves.
//! Takes a filter of op names; returns a report of counts and failures. The checks are in `checks`.

use crate::Failure;
use crate::checks::{self, describe};
use crate::random::Random;
use gradus_ir::graph::{Builder, Var};
use gradus_ir::ops::{self, Derivative, ErrorSample, Pointwise, Sample, Samples, pointwise};
use gradus_ir::{Graph, Literal, Op, Result as IrResult, transform};
use gradus_tensor::{Tensor, func, trace};
use std::fmt;

/// Counts and failures of a walk.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Samples walked.
    pub samples: usize,
    /// Error samples walked.
    pub errors: usize,
    /// Checks run.
    pub checks: usize,
    /// The checks that failed.
    pub failures: Vec<Failure>,
}

impl Report {
    fn record(&mut self, outcome: Result<(), Failure>) {
        self.checks += 1;
        self.failures.extend(outcome.err());
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "{failure}\n")?;
        }
        let Report { samples, errors, checks, failures } = self;
        write!(f, "{samples} samples and {errors} error samples, {checks} checks: {} failed", failures.len())
    }
}

/// Returns the names of all ops that must have samples: the structural ones except `input`, and the pointwise
/// ops.
pub fn names() -> Vec<&'static str> {
    let structural = Op::STRUCTURAL.iter().copied().filter(|n| *n != "input");
    structural.chain(pointwise::all().map(|r: &Pointwise| r.name)).collect()
}

/// A name, a graph, and inputs to check it at.
pub type Case = (String, Graph, Vec<Literal>);

/// Returns the jvp graphs of the smooth samples of the catalog, with the operands themselves as tangents.
pub fn derivatives() -> Vec<Case> {
    let derivative = |sample: &Sample| {
        let wrt: Vec<usize> =
            (0..sample.ins.len()).filter(|&i| sample.ins[i].dtype().is_differentiable()).collect();
        let graph = graph_of(&sample.op, &sample.ins).ok().filter(|_| !wrt.is_empty())?;
        let forward = transform::jvp(&graph, &wrt).ok()?;
        let mut inputs = sample.ins.clone();
        inputs.extend(wrt.iter().map(|&i| sample.ins[i].clone()));
        Some((format!("jvp of {}", sample.op.name()), forward, inputs))
    };
    ops::samples().cases.iter().filter(|s| s.smooth).filter_map(derivative).collect()
}

/// Returns the graphs of the composites at their samples, each followed by its gradient. Composites that read
/// cells, as random ones do, are left out.
pub fn composites() -> Vec<Case> {
    let mut all = Vec::new();
    for sample in func::samples().cases {
        let tensors: Vec<Tensor> = sample.ins.iter().map(|l| Tensor::from_literal(l)).collect();
        let traced = trace(&tensors.iter().collect::<Vec<_>>(), |x| (sample.call)(x));
        let Ok(graph) = traced else { continue };
        if graph.input_avals().len() != sample.ins.len() {
            continue;
        }
        let wrt: Vec<usize> =
            (0..sample.ins.len()).filter(|&i| sample.ins[i].dtype().is_differentiable()).collect();
        let pull = transform::vjp(&graph, &wrt);
        all.push((sample.name.to_string(), graph, sample.ins.clone()));
        let Ok(pull) = pull else { continue };
        let mut inputs = sample.ins;
        for aval in pull.input_avals().iter().skip(inputs.len()) {
            inputs.push(Random::new(inputs.len() as u64).literal(aval));
        }
        all.push((format!("gradient of {}", sample.name), pull, inputs));
    }
    all
}

/// Runs all checks of the ops whose names pass the filter.
pub fn check_catalog(filter: impl Fn(&str) -> bool) -> Report {
    let samples = ops::samples();
    let mut report = Report::default();
    names().into_iter().filter(|n| filter(n)).for_each(|name| check_op(name, &samples, &mut report));
    report
}

/// Runs all checks of one op of the catalog; `samples` contains its samples.
fn check_op(name: &str, samples: &Samples, report: &mut Report) {
    let cases: Vec<&Sample> = samples.cases.iter().filter(|s| s.op.name() == name).collect();
    let errors: Vec<&ErrorSample> = samples.errors.iter().filter(|s| s.op.name() == name).collect();
    report.samples += cases.len();
    report.errors += errors.len();
    for case in &cases {
        check_sample(case, report);
    }
    errors.iter().for_each(|error| report.record(check_error(error)));
    for outcome in requirements(&cases, &errors) {
        report.record(outcome.map_err(|f| f.of(name)));
    }
}

/// Runs all checks of one sample, each independently.
pub fn check_sample(sample: &Sample, report: &mut Report) {
    let graph = match graph_of(&sample.op, &sample.ins) {
        Ok(graph) => graph,
        Err(e) => {
            let failure = Failure::new("sample", "operands that fit", e).of(sample.op.name());
            return report.record(Err(failure));
        }
    };
    for (_, check) in checks::ALL {
        let outcome = check(&graph, &sample.ins, sample.smooth);
        report.record(outcome.map_err(|f| f.of(describe(&graph, &sample.ins))));
    }
}

/// Builds the graph of one op on these operands.
pub fn graph_of(op: &Op, ins: &[Literal]) -> IrResult<Graph> {
    let b = Builder::new();
    let ins: Vec<Var<'_>> =
        ins.iter().enumerate().map(|(i, l)| b.input(&format!("x{i}"), l.aval().clone())).collect();
    let outs = b.try_apply(op.clone(), &ins)?;
    b.finish(&outs)
}

/// Checks that the op rejects the operands with the expected message, which names the op.
fn check_error(sample: &ErrorSample) -> Result<(), Failure> {
    let of = || format!("{:?} of {:?}", sample.op, sample.ins);
    match sample.op.infer(&sample.ins) {
        Ok(outs) => {
            let expected = format!("an error that says `{}`", sample.says);
            Err(Failure::new("error", expected, format!("{outs:?}")).of(of()))
        }
        Err(e) => {
            let message = e.to_string();
            for part in [sample.says.as_str(), sample.op.name()] {
                if !message.contains(part) {
                    return Err(Failure::new("error", format!("a message with `{part}`"), message).of(of()));
                }
            }
            Ok(())
        }
    }
}

/// Checks that an op has samples, error samples and documentation; and, if it has derivatives, a smooth
/// sample with elements and axes.
fn requirements(cases: &[&Sample], errors: &[&ErrorSample]) -> Vec<Result<(), Failure>> {
    let requirement = |holds: bool, expected: &str| {
        if holds { Ok(()) } else { Err(Failure::new("requirement", expected, "none")) }
    };
    let documented = cases.iter().all(|s| !s.op.def().docs().trim().is_empty());
    let differentiable = |s: &&&Sample| s.op.def().derivative() != Derivative::Zero;
    let has_slope =
        |l: &Literal| l.dtype().is_differentiable() && l.shape().rank() > 0 && !l.data().is_empty();
    let smooth = |s: &&Sample| s.smooth && s.ins.iter().any(has_slope);
    vec![
        requirement(!cases.is_empty(), "a sample"),
        requirement(!errors.is_empty(), "an error sample"),
        requirement(!cases.is_empty() && documented, "documentation"),
        requirement(
            cases.iter().find(differentiable).is_none() || cases.iter().filter(differentiable).any(smooth),
            "a smooth sample with axes and elements, since the op has a derivative",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use gradus_ir::ops::pointwise::{arith, compare};
    use gradus_ir::{Aval, DType};

    fn messages(outcomes: Vec<Result<(), Failure>>) -> Vec<String> {
        outcomes.into_iter().filter_map(Result::err).map(|f| f.expected).collect()
    }

    #[test]
    fn an_op_without_samples_is_reported() {
        assert_eq!(messages(requirements(&[], &[])), ["a sample", "an error sample", "documentation"]);
        let at_a_point =
            Sample { op: Op::from(&arith::neg), ins: vec![Literal::scalar(DType::F64, 1.0)], smooth: true };
        let found = messages(requirements(&[&at_a_point], &[]));
        assert_eq!(found[0], "an error sample");
        assert!(found[1].starts_with("a smooth sample"), "{found:?}");
        let constant = Sample { op: Op::from(&compare::lt), ins: vec![], smooth: true };
        assert_eq!(messages(requirements(&[&constant], &[])), ["an error sample"]);
    }

    #[test]
    fn error_samples_must_fail_as_they_say() {
        let sample = |ins: &[Aval], says: &str| {
            check_error(&ErrorSample { op: Op::from(&arith::neg), ins: ins.to_vec(), says: says.into() })
        };
        let x = Aval::new(DType::F64, [2]);
        let (one, two) = ([x.clone()], [x.clone(), x]);
        assert!(sample(&two, "takes 1 operands, got 2").is_ok());
        assert!(sample(&two, "something else").unwrap_err().found.contains("takes 1 operands"));
        assert!(sample(&one, "takes").unwrap_err().found.contains("f64[2]"));
    }

    #[test]
    fn samples_that_do_not_fit_are_reported() {
        let mut report = Report::default();
        let two = vec![Literal::scalar(DType::F64, 1.0); 2];
        check_sample(&Sample { op: Op::from(&arith::neg), ins: two, smooth: true }, &mut report);
        assert_eq!((report.checks, report.failures.len()), (1, 1));
        assert!(report.to_string().contains("operands that fit"), "{report}");
    }
}
