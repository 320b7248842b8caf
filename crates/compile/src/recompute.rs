//! Recomputes values. If a loop nest reads a value that another loop nest stored, and computing it again is cheaper than
//! storing and loading it, the reader computes it.
//!
//! Gradients read values of the forward pass. Storing and loading a value costs as much as a dozen arithmetic operations. So
//! a value that takes few operations to compute from other values in memory is not stored.

use crate::group::{Group, Member, Source, Task, Value, View};
use crate::kernel::Level;
use crate::lowered::{Lowered, Origin, Unit};
use crate::profile::Recompute;
use gradus_ir::stop;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Replaces loads by recomputation where that is cheaper.
pub(crate) fn recompute(lowered: &mut Lowered, limits: &Recompute) {
    let mut readers: BTreeMap<Value, BTreeSet<usize>> = BTreeMap::new();
    for (u, unit) in lowered.units.iter().enumerate() {
        unit.reads().into_iter().for_each(|v| {
            readers.entry(v).or_default().insert(u);
        });
    }
    // Visits later values first, because they depend on earlier ones.
    for value in
        readers.keys().copied().collect::<Vec<_>>().into_iter().rev().take_while(|_| !stop::requested())
    {
        let units = readers[&value].clone();
        let Some(changed) = recompute_in_readers(lowered, value, &units, &readers, limits) else { continue };
        for (unit, group) in changed {
            let before: BTreeSet<Value> = lowered.units[unit].reads().into_iter().collect();
            let after: BTreeSet<Value> = group.reads().into_iter().collect();
            for v in after.difference(&before) {
                readers.entry(*v).or_default().insert(unit);
                if let Some(maker) = lowered.maker[*v] {
                    lowered.depend.add(unit, [maker]);
                }
            }
            for v in before.difference(&after) {
                readers.entry(*v).or_default().remove(&unit);
            }
            group.members.iter().for_each(|(m, _)| lowered.maker[m.value] = Some(unit));
            lowered.units[unit] = Unit::Group(group);
        }
    }
}

/// Returns the groups that read a value, changed to compute it themselves. Returns `None` if one group cannot, or if
/// the limits forbid it.
fn recompute_in_readers(
    lowered: &mut Lowered,
    value: Value,
    units: &BTreeSet<usize>,
    readers: &BTreeMap<Value, BTreeSet<usize>>,
    limits: &Recompute,
) -> Option<Vec<(usize, Group)>> {
    let (aval, _) = &lowered.values[value];
    if units.is_empty() || aval.shape.numel() < limits.least || lowered.outputs.contains(&value) {
        return None;
    }
    let Some(Unit::Group(maker)) = lowered.maker[value].map(|u| &lowered.units[u]) else { return None };
    let mut recipe = Recipe {
        maker,
        lowered,
        readers,
        limits,
        value,
        members: BTreeMap::new(),
        leaves: BTreeSet::new(),
        work: 0,
    };
    recipe.add(value)?;
    let (members, leaves) = (recipe.members, recipe.leaves);
    let mut changed = Vec::new();
    for &unit in units {
        let Unit::Group(group) = &lowered.units[unit] else { return None };
        let own: BTreeSet<Value> = group.reads().into_iter().collect();
        if leaves.difference(&own).count() > limits.loads {
            return None;
        }
        changed.push((unit, group.clone()));
    }
    for (_, group) in &mut changed {
        *group = recompute_in_group(lowered, group, value, &members)?;
    }
    Some(changed)
}

/// The computation of a value from other values in memory.
struct Recipe<'a> {
    maker: &'a Group,
    lowered: &'a Lowered,
    readers: &'a BTreeMap<Value, BTreeSet<usize>>,
    limits: &'a Recompute,
    value: Value,
    members: BTreeMap<Value, Arc<Member>>,
    /// Values in memory that the recipe reads, except those smaller than `limits.least`.
    leaves: BTreeSet<Value>,
    work: usize,
}

impl Recipe<'_> {
    fn add(&mut self, value: Value) -> Option<()> {
        if self.members.contains_key(&value) {
            return Some(());
        }
        let (member, Level::Element) = self.maker.find(value)? else { return None };
        let Task::Scalar(_) = &member.task else { return None };
        self.work += if member.is_function() { self.limits.function } else { 1 };
        if self.work > self.limits.work {
            return None;
        }
        for arg in &member.args {
            let Some(v) = arg.value() else { continue };
            if self.in_memory(v) {
                if self.lowered.values[v].0.shape.numel() >= self.limits.least {
                    self.leaves.insert(v);
                }
            } else {
                self.add(v)?;
            }
        }
        self.members.insert(value, member.clone());
        Some(())
    }

    /// Returns true if a value is in memory even if the value to recompute is not stored.
    fn in_memory(&self, v: Value) -> bool {
        let read = || self.readers.get(&v).is_some_and(|r| !r.is_empty());
        v != self.value
            && (!matches!(self.lowered.values[v].1, Origin::Computed)
                || self.lowered.outputs.contains(&v)
                || (read() && self.maker.find(v).is_some())
                || (self.maker.find(v).is_none()
                    && !matches!(
                        self.lowered.maker[v].map(|u| &self.lowered.units[u]),
                        Some(Unit::Contract(..))
                    )))
    }
}

/// Returns a group that computes a value instead of reading it.
fn recompute_in_group(
    lowered: &mut Lowered,
    group: &Group,
    value: Value,
    members: &BTreeMap<Value, Arc<Member>>,
) -> Option<Group> {
    let mut renamed: HashMap<Value, Value> = HashMap::new();
    let mut new = Group { members: Vec::new(), ..group.clone() };
    let rename = |renamed: &HashMap<Value, Value>, member: &Member| {
        let arg = |a: &View| match a.source {
            Source::Value(v) => View {
                source: Source::Value(renamed.get(&v).copied().unwrap_or(v)),
                layout: a.layout.clone(),
            },
            _ => a.clone(),
        };
        Member { args: member.args.iter().map(arg).collect(), ..member.clone() }
    };
    // Adds the members in the order of their numbers, which is the order of computation.
    for (v, member) in members {
        let copy = lowered.values.len();
        lowered.values.push((lowered.values[*v].0.clone(), Origin::Computed));
        lowered.maker.push(None);
        let member = Arc::new(Member { value: copy, ..rename(&renamed, member) });
        renamed.insert(*v, copy);
        new.join(&member).ok()?;
    }
    // Replaces only the value itself, because the group may read other values of the recipe with other layouts.
    let only: HashMap<Value, Value> = renamed.get(&value).map(|c| (value, *c)).into_iter().collect();
    for (member, level) in &group.members {
        let reads = member.args.iter().any(|a| a.value() == Some(value));
        let member = if reads { Arc::new(rename(&only, member)) } else { member.clone() };
        new.join(&member).ok()?;
        if new.members.last().map(|m| m.1) != Some(*level) {
            return None;
        }
    }
    Some(new)
}
