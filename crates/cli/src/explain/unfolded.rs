//! Makes the constants of a program inputs. Otherwise the compiler would fold all values that depend only on
//! constants, and their cost would not be shown.

use super::single_equation;
use crate::Done;
use crate::inputs::{Ready, avals};
use gradus::Tensor;
use gradus::ir::Op;
use gradus::lang::ast::{Equation, Index, Kind, Name, Place, Ref};
use gradus::lang::{Lowered, Program, Settings, Span};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

pub(super) struct Unfolded<'a> {
    program: Program,
    /// The values of all names and of the constants.
    values: BTreeMap<Name, Tensor>,
    ready: &'a Ready,
}

/// The number of times that mutually dependent names are computed.
#[derive(Clone, Copy)]
pub(super) enum Repeated {
    Rounds(u64),
    /// Rules derive facts, which are stored as bits. Each fact is processed once, so the number of rounds
    /// does not determine the cost.
    Facts,
}

/// Mutually dependent names, and the number of times that they are computed.
#[derive(Clone)]
pub(super) struct Rounds {
    pub(super) repeated: Repeated,
    pub(super) names: Arc<HashSet<Name>>,
}

/// A graph and its inputs.
pub(super) type LoweredInputs = (Lowered, BTreeMap<Name, Tensor>);

impl<'a> Unfolded<'a> {
    pub(super) fn new(
        program: &Program,
        values: &BTreeMap<Name, Tensor>,
        ready: &'a Ready,
    ) -> Done<Unfolded<'a>> {
        let mut open = program.clone();
        open.equations.retain(|e| computes(program, &e.target.name));
        open.exports.clear();
        open.sinks.clear();
        let mut values = values.clone();
        for (i, e) in open.equations.iter_mut().enumerate().filter(|(_, e)| e.reads().is_empty()) {
            let name = Name::from(format!("constant {i}"));
            if let Some((places, value)) = constant(program, e, &name, &values, &ready.settings) {
                let span = e.value.span;
                e.value = Kind::Ref(Ref { name: name.clone(), places, relation: false, span }).at(span);
                values.insert(name, value);
            }
        }
        Ok(Unfolded { program: open.extended(&[])?, values, ready })
    }

    /// Lowers the equations of some names to a graph.
    pub(super) fn lowered(&self, wanted: &[Name]) -> Done<LoweredInputs> {
        let wanted: Vec<Name> = wanted.iter().filter(|n| computes(&self.program, n)).cloned().collect();
        Ok(self.of(&self.program, &wanted)?)
    }

    fn of(&self, program: &Program, wanted: &[Name]) -> Result<LoweredInputs, gradus::lang::Faults> {
        let needed = program.needed(wanted);
        let given =
            |n: &Name| needed.contains(n) && (program.is_input(n) || self.ready.inputs.contains_key(n));
        let inputs: BTreeMap<Name, Tensor> = self
            .values
            .iter()
            .filter(|(n, _)| given(n))
            .map(|(n, t)| (n.clone(), self.ready.inputs.get(n).unwrap_or(t).clone()))
            .collect();
        Ok((program.lower(&avals(&inputs), &self.ready.settings, wanted)?, inputs))
    }

    /// Returns the rounds of names that depend on themselves, or on a virtual time that ends by a condition.
    pub(super) fn rounds(&self, names: &HashSet<Name>) -> Done<HashMap<Name, Rounds>> {
        // A program without equations; each group adds its own.
        let mut around = self.program.clone();
        let equations = std::mem::take(&mut around.equations);
        around.definitions.clear();
        around.names.clear();
        let mut out = HashMap::new();
        for group in self.program.repeated(names) {
            let own = group.iter().filter_map(|n| self.program.definition(n)).flat_map(|d| &d.equations);
            let mut own: Vec<usize> = own.copied().collect();
            own.sort_unstable();
            let own: Vec<Equation> = own.into_iter().map(|i| equations[i].clone()).collect();
            // A group that does not compile on its own counts as computed once.
            let part = around.clone().extended(&own);
            let Ok((lowered, inputs)) = part.and_then(|part| self.of(&part, &group)) else { continue };
            let ins: Vec<&Tensor> = lowered.inputs.iter().filter_map(|n| inputs.get(n)).collect();
            let repeated = if lowered.graph.nodes().iter().any(|n| is_closure(&n.op)) {
                Repeated::Facts
            } else {
                match lowered.compiled()?.measured(&ins)?.iterations {
                    0 => continue,
                    rounds => Repeated::Rounds(rounds),
                }
            };
            let rounds = Rounds { repeated, names: Arc::new(group.iter().cloned().collect()) };
            out.extend(group.into_iter().map(|n| (n, rounds.clone())));
        }
        Ok(out)
    }
}

/// Returns true if an op derives facts from rules.
pub(super) fn is_closure(op: &Op) -> bool {
    op.name() == "closure"
}

/// Returns true if a name has equations that read something.
fn computes(program: &Program, name: &Name) -> bool {
    let own = program.definition(name).map(|d| &d.equations[..]).unwrap_or_default();
    own.iter().any(|i| !program.equations[*i].reads().is_empty())
}

/// Computes an equation that reads no names; returns its indices and value. Returns `None` if the target has
/// a time index, the value comes from a file, or its dtype is not the program's float dtype.
fn constant(
    program: &Program,
    e: &Equation,
    name: &Name,
    values: &BTreeMap<Name, Tensor>,
    settings: &Settings,
) -> Option<(Vec<Place>, Tensor)> {
    let plain = |p: &Place| matches!(p.index, Index::Named(_, 0) | Index::Step(_));
    if !e.target.places.iter().all(plain) || e.file().is_some() {
        return None;
    }
    let named = e.target.places.iter().filter(|p| matches!(p.index, Index::Named(..)));
    let places: Vec<Place> = named.map(|p| Place { dotted: false, ..p.clone() }).collect();
    let target = Ref { name: name.clone(), places: places.clone(), relation: false, span: Span::NOWHERE };
    let one = single_equation(program, e, target, values).ok()?;
    let value = one.run(&BTreeMap::new(), settings, std::slice::from_ref(name)).ok()?.remove(name)?;
    (value.dtype() == settings.float).then_some((places, value))
}
