//! Prints a plan as text: its buffers with their memory, then its steps.

use super::{BufferLocation, Control, Plan, Step};
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, b) in self.buffers.iter().enumerate() {
            let location = match &b.location {
                BufferLocation::Input(k) => format!("input {k}"),
                BufferLocation::Output(k) => format!("output {k}"),
                BufferLocation::Constant(_) => "constant".into(),
                BufferLocation::Arena(at) => format!("arena at {at}"),
            };
            writeln!(f, "b{i}: {}[{}] {location}", b.dtype, b.numel)?;
        }
        writeln!(f, "arena: {} bytes", self.arena)?;
        for step in &self.steps {
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |v: &[usize]| v.iter().map(|b| format!("b{b}")).collect::<Vec<_>>().join(", ");
        let nested = |f: &mut fmt::Formatter<'_>, name: &str, c: &Control| {
            writeln!(f, "{} := {name}({})", list(&c.outs), list(&c.ins))?;
            for plan in &c.plans {
                for line in plan.to_string().lines() {
                    writeln!(f, "  | {line}")?;
                }
            }
            Ok(())
        };
        match self {
            Step::Kernel(k) => write!(f, "{k}"),
            Step::Contract(c) => write!(f, "{c}"),
            Step::Routine(r) => writeln!(f, "{} := {}({})", list(&r.outs), r.name(), list(&r.ins)),
            Step::Switch(c) => nested(f, "switch", c),
            Step::Scan { control, length, .. } => nested(f, &format!("scan of {length}"), control),
            Step::Slices { control, extents, .. } => nested(f, &format!("slices of {extents:?}"), control),
            Step::While { control, .. } => nested(f, "while", control),
        }
    }
}
