//! Estimates the cost of a plan before it runs: operations, bytes read and written, and the lifetime of each buffer.
//! Takes a plan or a step; returns work, lifetimes, and a description for users.
//! `gradus-device` measures the rates at which a device does this work.

use crate::kernel::{Kernel, Level, Operation};
use crate::plan::{BufferLocation, Plan, Step};
use gradus_ir::ops::Scalar;
use gradus_ir::{Builder, Var};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The work of one or more steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Number of scalar operations, counted as `gradus_ir` counts those of graphs. A multiply-add counts as two, a function as
    /// one; copies, sorting and external routines count as none.
    pub flops: f64,
    /// Number of bytes that are read or written, each counted once.
    pub bytes: f64,
}

impl std::ops::Add for Work {
    type Output = Work;
    fn add(self, other: Work) -> Work {
        Work { flops: self.flops + other.flops, bytes: self.bytes + other.bytes }
    }
}

impl Work {
    /// Returns the work of `n` repetitions.
    pub fn times(self, n: usize) -> Work {
        Work { flops: self.flops * n as f64, bytes: self.bytes * n as f64 }
    }
}

fn kernel_flops(k: &Kernel) -> f64 {
    let (rows, length) = (k.rows() as f64, k.row_length() as f64);
    let each = |op: &Operation, level: Level| match (op, level) {
        // A reduction combines every element of a row.
        (Operation::Reduce(_), _) => rows * length,
        (Operation::Scalar(Scalar::Pointwise(_) | Scalar::Select), Level::Element) => rows * length,
        (Operation::Scalar(Scalar::Pointwise(_) | Scalar::Select), Level::Row) => rows,
        _ => 0.0,
    };
    k.body.iter().map(|i| each(&i.op, i.level)).sum()
}

impl Step {
    /// Returns the work of this step of a plan. A loop that ends by a condition counts as one iteration.
    pub fn work(&self, plan: &Plan) -> Work {
        let flops = match self {
            Step::Kernel(k) => kernel_flops(k),
            Step::Contract(c) => {
                let product = 2.0 * c.products() as f64 * c.m.0 as f64 * c.n.0 as f64 * c.k.0 as f64;
                product + c.finish.as_ref().map_or(0.0, kernel_flops)
            }
            Step::Routine(r) => {
                let b = Builder::new();
                let ins: Vec<Var<'_>> = r.types.iter().map(|a| b.input("x", a.clone())).collect();
                b.finish(&b.apply(r.op.clone(), &ins)).map_or(0.0, |g| g.stats().flops as f64)
            }
            Step::Scan { control, length, .. } => {
                return control
                    .plans
                    .iter()
                    .map(|p| p.work().times(*length))
                    .fold(Work::default(), |a, b| a + b);
            }
            // Values that steps of a slice pass to each other stay in cache, so their bytes are not counted.
            Step::Slices { control, extents, .. } => {
                let slices = extents.iter().product::<usize>() as f64;
                control.plans.iter().map(|p| p.work().flops * slices).sum()
            }
            Step::Switch(control) => {
                let each = control.plans.iter().map(|p| p.work());
                let more = |a: &Work, b: &Work| (b.flops, b.bytes) > (a.flops, a.bytes);
                return each.fold(Work::default(), |a, b| if more(&a, &b) { b } else { a });
            }
            Step::While { control, .. } => {
                return control.plans.iter().map(|p| p.work()).fold(Work::default(), |a, b| a + b);
            }
        };
        let mut touched: BTreeMap<usize, f64> = BTreeMap::new();
        for b in self.reads().into_iter().chain(self.writes()) {
            touched.insert(b, plan.buffers[b].bytes() as f64);
        }
        Work { flops, bytes: touched.values().sum() }
    }

    /// Returns a short description of the kind of step.
    pub fn title(&self) -> String {
        match self {
            Step::Kernel(k) if k.axes.len() > k.parallel => format!("kernel {:?}, reduced", k.axes),
            Step::Kernel(k) => format!("kernel {:?}", k.axes),
            Step::Contract(c) => {
                let batch = if c.products() > 1 { format!("{} × ", c.products()) } else { String::new() };
                let after = if c.finish.is_some() { ", with a fused kernel" } else { "" };
                format!("product {batch}{}×{}×{}{after}", c.m.0, c.n.0, c.k.0)
            }
            Step::Routine(r) => r.name().to_string(),
            Step::Switch(_) => "switch".into(),
            Step::Scan { length, .. } => format!("scan of {length}"),
            Step::Slices { control, extents, .. } => {
                let steps: usize = control.plans.iter().map(|p| p.steps.len()).sum();
                format!("{} slices of {steps} steps", extents.iter().product::<usize>())
            }
            Step::While { .. } => "while".into(),
        }
    }
}

impl Plan {
    /// Returns the work of all steps.
    pub fn work(&self) -> Work {
        self.steps.iter().map(|s| s.work(self)).fold(Work::default(), |a, b| a + b)
    }

    /// Describes the plan for users: totals, simplifications, ops that were not fused with the reasons, the use of the arena
    /// over time, and each step.
    pub fn explained(&self) -> String {
        let mut out = String::new();
        let total = self.work();
        let _ = writeln!(
            out,
            "{} steps: {} operations, {} moved, arena of {}",
            self.steps.len(),
            amount(total.flops, ""),
            amount(total.bytes, "B"),
            amount(self.arena as f64, "B")
        );
        if !self.simplified.is_empty() {
            let each: Vec<String> = self.simplified.iter().map(|(rule, n)| format!("{rule} ×{n}")).collect();
            let _ = writeln!(out, "simplified: {}", each.join(", "));
        }
        let mut reasons: BTreeMap<(&str, String), usize> = BTreeMap::new();
        for op in &self.not_fused {
            *reasons.entry((op.why, op.what())).or_default() += 1;
        }
        for ((why, what), n) in reasons {
            let times = if n > 1 { format!(" (×{n})") } else { String::new() };
            let _ = writeln!(out, "not fused: {what}: {why}{times}");
        }
        for (buffer, at, from, to) in self.lives() {
            let bytes = self.buffers[buffer].bytes();
            let _ = writeln!(out, "arena {at:>10} +{bytes:<10} b{buffer} from step {from} to {to}");
        }
        for (i, step) in self.steps.iter().enumerate() {
            let work = step.work(self);
            let cost = format!("{}, {}", amount(work.flops, ""), amount(work.bytes, "B"));
            let _ = writeln!(out, "step {i}: {} ({cost})", step.title());
            for line in step.to_string().lines() {
                let _ = writeln!(out, "  {line}");
            }
        }
        out
    }

    /// Returns the buffers in the arena by offset: buffer, first byte, and the first and the last step that use it.
    pub fn lives(&self) -> Vec<(usize, usize, usize, usize)> {
        let mut out = Vec::new();
        for (b, buffer) in self.buffers.iter().enumerate() {
            let BufferLocation::Arena(at) = buffer.location else { continue };
            let uses = |s: &Step| s.reads().contains(&b) || s.writes().contains(&b);
            let used: Vec<usize> =
                self.steps.iter().enumerate().filter(|(_, s)| uses(s)).map(|(i, _)| i).collect();
            if let (Some(first), Some(last)) = (used.first(), used.last()) {
                out.push((b, at, *first, *last));
            }
        }
        out.sort_by_key(|l| (l.1, l.2));
        out
    }
}

/// Formats a number with a metric prefix: `1.2 M`, `3.4 GB`.
pub fn amount(x: f64, unit: &str) -> String {
    let (scaled, prefix) = match x {
        x if x >= 1e12 => (x / 1e12, "T"),
        x if x >= 1e9 => (x / 1e9, "G"),
        x if x >= 1e6 => (x / 1e6, "M"),
        x if x >= 1e3 => (x / 1e3, "k"),
        x => (x, ""),
    };
    let digits = if scaled >= 100.0 || scaled.fract() == 0.0 { 0 } else { 1 };
    format!("{scaled:.digits$} {prefix}{unit}").trim_end().to_string()
}
