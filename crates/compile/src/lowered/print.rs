//! Prints units of work as text: inputs and constants, then every unit with its dependencies and values.

use super::{Lowered, Origin, Unit};
use crate::group::{Group, Source, Task, View};
use gradus_ir::ops::Scalar;
use std::fmt;

impl fmt::Display for Lowered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (v, (aval, origin)) in self.values.iter().enumerate() {
            match origin {
                Origin::Input(i) => writeln!(f, "v{v}: {aval} = input {i}")?,
                Origin::Constant(_) => writeln!(f, "v{v}: {aval} = constant")?,
                Origin::Computed => {}
            }
        }
        for (u, unit) in self.units.iter().enumerate() {
            if matches!(unit, Unit::Gone) {
                continue;
            }
            let needs: Vec<usize> = (0..self.units.len()).filter(|o| self.depend.needs(u, *o)).collect();
            writeln!(f, "unit {u} after {needs:?}")?;
            match unit {
                Unit::Group(group) => write!(f, "{group}")?,
                Unit::Contract(c, finish) => {
                    let [lhs, rhs, out] = c.buffers;
                    let aval = &self.values[out].0;
                    writeln!(f, "  v{out}: {aval} = v{lhs} · v{rhs}, {}×{}×{}", c.m.0, c.n.0, c.k.0)?;
                    finish.iter().try_for_each(|group| write!(f, "{group}"))?;
                }
                Unit::Routine { op, ins, outs, .. } => {
                    let list = |v: &[usize]| v.iter().map(|v| format!("v{v}")).collect::<Vec<_>>().join(", ");
                    writeln!(f, "  {} = {} {}", list(outs), op.name(), list(ins))?;
                }
                Unit::Gone => {}
            }
        }
        let outputs: Vec<String> = self.outputs.iter().map(|v| format!("v{v}")).collect();
        writeln!(f, "return {}", outputs.join(", "))
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axis = |a: usize| {
            let reduced = self.reduced.as_ref().is_some_and(|r| r[a]);
            format!("{}{}", if reduced { "Σ" } else { "" }, self.space[a])
        };
        let axes: Vec<String> = (0..self.space.len()).map(axis).collect();
        writeln!(f, "  for {}", axes.join("×"))?;
        for (member, _) in &self.members {
            let args: Vec<String> = member.args.iter().map(View::to_string).collect();
            let (value, dtype, shape) = (member.value, member.dtype, &member.shape);
            writeln!(f, "    v{value}: {dtype}{shape} = {} {}", member.task, args.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Task::Scalar(Scalar::Pointwise(op)) => f.write_str(op.name),
            Task::Scalar(other) => f.write_str(&format!("{other:?}").to_lowercase()),
            Task::Reduce(combine, _) => f.write_str(&format!("{combine:?}").to_lowercase()),
            Task::Pieces(_) => f.write_str("pieces"),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Value(v) => write!(f, "v{v}[{}]", self.layout),
            Source::Scalar(l) => f.write_str(&gradus_ir::graph::literal_text(l)),
            Source::Index(_) => write!(f, "({})", self.layout),
        }
    }
}
