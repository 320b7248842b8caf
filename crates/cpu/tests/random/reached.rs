//! Finds the transformations that the compiler applied to a graph, from its plan.

use gradus_compile::{Kernel, Operation, Options, Plan, Simplified, Step, rules, simplify};
use gradus_ir::Graph;
use gradus_ir::ops::Scalar;

/// The transformations that at least one random graph must have.
pub(crate) const ALL: [&str; 10] = [
    "slices of products",
    "slices of sums along columns",
    "a kernel by columns",
    "rows in parts",
    "a product with a fused kernel",
    "a reduction in two passes",
    "a recomputed value",
    "a temporary that overwrites another",
    "an output that overwrites an argument",
    "a rule that rounds",
];

/// Longest row that is not processed in parts.
const LONG: usize = 8192;

/// Returns, for each of [`ALL`], true if it was applied to a graph, according to the plan and the simplification rules
/// that fired.
pub(crate) fn reached(graph: &Graph, plan: &Plan, free: &Simplified) -> [bool; ALL.len()] {
    let (steps, kernels) = (steps(plan), kernels(plan));
    let product = |s: &Step| matches!(s, Step::Contract(_));
    let by_columns = |s: &Step| matches!(s, Step::Kernel(k) if k.columns);
    let slices = |is: fn(&Step) -> bool, products: bool| {
        let bodies = steps.iter().filter_map(|s| match s {
            Step::Slices { control, .. } => Some(&control.plans[0].steps),
            _ => None,
        });
        bodies.filter(|body| body.iter().any(product) == products).any(|body| body.iter().any(is))
    };
    // These functions are counted, because lowering and fusion do not add them.
    let function = |name: &str| ["exp", "tanh"].contains(&name);
    let simple = simplify(graph, &Options::default()).unwrap().graph;
    let wanted = |is: &dyn Fn(&str) -> bool| simple.nodes().iter().filter(|n| is(n.op.name())).count();
    let done = |is: &dyn Fn(&Operation) -> bool| {
        kernels.iter().flat_map(|k| &k.body).filter(|inst| is(&inst.op)).count()
    };
    let rounds = |name: &str| rules().iter().any(|r| r.name == name && !r.exact);
    [
        slices(product, true),
        slices(by_columns, false),
        steps.iter().any(|s| by_columns(s)),
        kernels.iter().any(|k| !k.columns && k.row_length() > LONG),
        steps.iter().any(|s| matches!(s, Step::Contract(c) if c.finish.is_some())),
        done(&|op| matches!(op, Operation::Reduce(_))) > wanted(&|name| ["sum", "max"].contains(&name)),
        done(&|op| matches!(op, Operation::Scalar(Scalar::Pointwise(p)) if function(p.name)))
            > wanted(&function),
        taken_over(plan),
        plan.donors.iter().any(Option::is_some),
        free.fired.iter().any(|(name, _)| rounds(name)),
    ]
}

/// Returns all steps, including those of slices.
fn steps(plan: &Plan) -> Vec<&Step> {
    let mut all: Vec<&Step> = plan.steps.iter().collect();
    for step in &plan.steps {
        if let Step::Slices { control, .. } = step {
            all.extend(control.plans.iter().flat_map(|p| steps(p)));
        }
    }
    all
}

fn kernels(plan: &Plan) -> Vec<&Kernel> {
    let mut all = Vec::new();
    for step in steps(plan) {
        match step {
            Step::Kernel(k) => all.push(k),
            Step::Contract(c) => all.extend(&c.finish),
            _ => {}
        }
    }
    all
}

/// Returns true if a step writes a temporary over one that it reads.
fn taken_over(plan: &Plan) -> bool {
    let lives = plan.lives();
    let over = |&(_, at, from, _): &(usize, usize, usize, usize)| {
        lives.iter().any(|&(_, other, before, until)| at == other && before < from && until == from)
    };
    lives.iter().any(over)
}
