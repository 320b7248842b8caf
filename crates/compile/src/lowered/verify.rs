//! Checks the invariants of units of work: every value is computed by one unit, before it is read.
//! Takes lowered units; returns an error that names the violated invariant and the unit. Runs after each pass in debug
//! builds.

use super::{Lowered, Origin, Unit};
use crate::group::{Group, Member, Value};
use crate::kernel::Level;
use crate::plan::check_range;
use gradus_ir::{DType, Error, Result};

impl Lowered {
    /// Checks the invariants that passes rely on. The error names the violation and the unit.
    pub(crate) fn verify(&self) -> Result<()> {
        self.check().map_err(|what| Error::verify(format!("{what} in\n{self}")))
    }

    fn check(&self) -> Result<(), String> {
        let mut made: Vec<Option<usize>> = vec![None; self.values.len()];
        for (u, unit) in self.units.iter().enumerate() {
            for v in unit.computes() {
                let computed = self.values.get(v).is_some_and(|(_, o)| matches!(o, Origin::Computed));
                if !computed || made[v].replace(u).is_some() {
                    return Err(format!(
                        "v{v} is computed by unit {u}, but is also an input, a constant or a result of another unit"
                    ));
                }
                if self.maker.get(v) != Some(&Some(u)) {
                    return Err(format!(
                        "v{v} is computed by unit {u}, but another unit is recorded as its maker"
                    ));
                }
            }
        }
        for (u, unit) in self.units.iter().enumerate() {
            for v in unit.reads() {
                self.check_exists(v, &made).map_err(|e| format!("{e} for unit {u}"))?;
                if let Some(maker) = made[v].filter(|m| *m != u)
                    && (!self.depend.needs(u, maker) || self.depend.needs(maker, u))
                {
                    return Err(format!(
                        "unit {u} reads v{v} but does not depend on unit {maker}, which computes it"
                    ));
                }
            }
            self.check_unit(unit).map_err(|e| format!("{e} in unit {u}"))?;
        }
        for (k, &v) in self.outputs.iter().enumerate() {
            self.check_exists(v, &made).map_err(|e| format!("{e} for output {k}"))?;
            if made[v].is_none() || self.outputs[..k].contains(&v) {
                return Err(format!("output {k} is not computed, or is the value of another output"));
            }
        }
        Ok(())
    }

    /// Checks that a value is an input or constant, or that a unit computes it.
    fn check_exists(&self, v: Value, made: &[Option<usize>]) -> Result<(), String> {
        match self.values.get(v) {
            Some((_, Origin::Computed)) if made[v].is_none() => Err(format!("no unit computes v{v}")),
            Some(_) => Ok(()),
            None => Err(format!("there is no v{v}")),
        }
    }

    fn check_unit(&self, unit: &Unit) -> Result<(), String> {
        match unit {
            Unit::Group(group) => self.check_group(group),
            Unit::Contract(c, finish) => {
                let types = [c.operands, c.operands, c.dtype];
                for (o, (&v, dtype)) in c.buffers.iter().zip(types).enumerate() {
                    self.check_value(v, dtype, c.ends(o))?;
                }
                finish.as_ref().map_or(Ok(()), |group| self.check_group(group))
            }
            Unit::Routine { types, ins, .. } => types.iter().zip(ins).try_for_each(|(t, &v)| {
                let own = &self.values[v].0;
                let same = own.dtype == t.dtype && own.shape.numel() == t.shape.numel();
                if same { Ok(()) } else { Err(format!("v{v} is {own}, not {t}")) }
            }),
            Unit::Gone => Ok(()),
        }
    }

    fn check_group(&self, group: &Group) -> Result<(), String> {
        for (i, (member, level)) in group.members.iter().enumerate() {
            let v = member.value;
            if self.values[v].0.dtype != member.dtype || self.values[v].0.shape != member.shape {
                return Err(format!("the type of v{v} is not that of {}", member.describe()));
            }
            let later = |v: Value| group.members[i..].iter().any(|(m, _)| m.value == v);
            if member.args.iter().filter_map(|a| a.value()).any(later) {
                return Err(format!("v{v} uses a later value"));
            }
            self.check_member(group, member, *level).map_err(|e| format!("{e} for v{v}"))?;
        }
        Ok(())
    }

    /// Checks that the layouts of a member fit the axes of the group, and that the values it reads from memory
    /// exist.
    fn check_member(&self, group: &Group, member: &Member, level: Level) -> Result<(), String> {
        let reads = member.reads_at(level);
        for arg in &member.args {
            if group.strides(&arg.layout, &member.space, reads).is_none() {
                return Err("the layout of an operand does not fit the axes of the group".into());
            }
            let Some(v) = arg.value().filter(|v| group.find(*v).is_none()) else { continue };
            // Guarded reads may be out of range at indices that violate their bounds.
            let ends = if member.guarded() { None } else { arg.layout.ends(&member.space) };
            self.check_value(v, self.values[v].0.dtype, ends)?;
        }
        Ok(())
    }

    /// Checks that a value has this dtype and elements at these positions.
    fn check_value(&self, v: Value, dtype: DType, ends: Option<(i64, i64)>) -> Result<(), String> {
        let own = &self.values[v].0;
        check_range((own.dtype, own.shape.numel()), dtype, ends).map_err(|what| format!("v{v}: {what}"))
    }
}
