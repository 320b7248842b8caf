//! Checks the inputs of programs: whether all are given, with which rank, and as which dtype they are read.

use crate::builtin;
use crate::check::Settings;
use crate::program::{Definition, Program};
use crate::syntax::ast::{Equation, Expr, Index, Kind, Name};
use crate::syntax::diagnostic::{Diagnostic, add_near};
use crate::syntax::indices::moving;
use crate::syntax::order::components;
use crate::syntax::source::Span;
use gradus_ir::{Aval, Class, DType};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Keywords of other languages that parse as names, with their equivalents here.
const ELSEWHERE: [(&str, &str); 6] = [
    ("if", "write a conditional as c ? x : y"),
    ("else", "write a conditional as c ? x : y"),
    ("and", "write a conjunction as a && b"),
    ("or", "write a disjunction as a || b"),
    ("not", "write a negation as !a"),
    ("pi", "write its digits: const pi = 3.141592653589793"),
];

impl Program {
    /// Returns the dtype of an input in the program: floats become the program's float dtype and integers
    /// `i64`, unless the input is read only by `cast` and other functions that take numbers unconverted.
    pub fn input_dtype(&self, name: &Name, given: DType, float: DType) -> DType {
        let own = match given.class() {
            Class::Bool => DType::Bool,
            Class::Int => DType::I64,
            Class::Float => float,
            Class::Complex => float.complex(),
        };
        if own != given && self.reads_as_given(name) { given } else { own }
    }

    /// Returns the least precise float dtype that a program uses, where `float` is the dtype of its numbers.
    pub fn least_float(&self, float: DType) -> DType {
        fn casts(e: &Expr, least: DType) -> DType {
            let own = match &e.kind {
                Kind::Call(c) if &*c.function == "cast" => c.named.iter().find_map(|(_, v)| match &v.kind {
                    Kind::Text(to) => DType::parse(to).filter(|d| d.class() == Class::Float),
                    _ => None,
                }),
                _ => None,
            };
            let least = own.filter(|d| d.epsilon() > least.epsilon()).unwrap_or(least);
            e.parts().into_iter().fold(least, |least, p| casts(p, least))
        }
        let bodies = self.functions.values().flat_map(|f| &f.body);
        self.equations.iter().chain(bodies).fold(float, |least, e| casts(&e.value, least))
    }

    /// Returns true if a name is read only by `cast` and other functions that take numbers unconverted.
    pub fn reads_as_given(&self, name: &Name) -> bool {
        let mut parts = self.equations.iter().flat_map(|e| [&e.value].into_iter().chain(&e.guard));
        parts.all(|e| builtin::reads_as_given(e, name, self))
    }

    /// Returns the number of axes of an input; for a state, that of its initial value.
    fn input_rank(&self, d: &Definition) -> usize {
        let file = |i: &usize| self.equations[*i].file().is_some();
        d.rank - usize::from(d.time.is_some() && !d.equations.iter().all(file))
    }

    pub(crate) fn fits_input(&self, name: &Name, aval: &Aval) -> bool {
        self.definition(name).is_some_and(|d| self.input_rank(d) == aval.shape.rank())
    }

    /// Checks that every needed input is given, that nothing else is, and that ranks match. Inputs in `unknown` are
    /// skipped.
    pub(crate) fn check_inputs(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        unknown: &HashSet<Name>,
        settings: &Settings,
        wanted: &[Name],
    ) -> Vec<Diagnostic> {
        let mut faults = Vec::new();
        let needed = self.needed(wanted);
        let missing = |n: &&Name| needed.contains(*n) && !inputs.contains_key(*n) && !unknown.contains(*n);
        let places = self
            .equations
            .iter()
            .flat_map(|e| e.reads().into_iter().chain([&e.target]))
            .flat_map(|r| &r.places);
        let indices: HashSet<Name> = places.filter_map(crate::elaborate::scope::key).collect();
        for name in self.inputs().filter(missing) {
            let Some(d) = self.definition(name) else { continue };
            let what = format!("`{name}` has no equation, so it is an input, and none was given");
            // Names that are missing themselves are not suggested.
            let is_there = |n: &&Name| !self.is_input(n) || inputs.contains_key(*n);
            let others = self.names.iter().filter(is_there).map(|n| &**n);
            let fault = Diagnostic::error(d.span, what);
            if d.rank == 0 && indices.contains(name) {
                let own = |e: &&Equation| {
                    e.target.relation && crate::elaborate::scope::keys(&e.target).contains(name)
                };
                let help = match self.equations.iter().find(own).map(|e| &e.target) {
                    Some(left) => format!(
                        "`{name}` is an index of the relation `{}`; a function is fn {}({name}) -> y {{ y = … }}",
                        left.name, left.name
                    ),
                    None => format!("`{name}` is an index: index({name}) is its position, as a number"),
                };
                faults.push(fault.help(help));
                continue;
            }
            let elsewhere = ELSEWHERE.iter().find(|(word, _)| **word == **name).map(|(_, here)| *here);
            let give = match self.ends_with_a_block(name) {
                true => format!("the `{name}` that `let` defines is visible only in its block"),
                false if elsewhere.is_some() => elsewhere.unwrap_or_default().to_string(),
                false => format!("give it (--input {name}=FILE), or define it"),
            };
            add_near(&mut faults, fault.help(give), name, others);
        }
        for (name, aval) in inputs {
            let told = ["--input", "--set"].map(|o| settings.place(&format!("{o} {name}="), self));
            let place = told.into_iter().find(|p| *p != Span::NOWHERE).unwrap_or(Span::NOWHERE);
            let Some(d) = self.definition(name) else {
                let fault = Diagnostic::error(place, format!("no equation reads the input `{name}`"));
                let open = self.inputs().filter(|n| !inputs.contains_key(*n)).map(|n| &**n);
                add_near(&mut faults, fault, name, open);
                continue;
            };
            let source = |i: &usize| self.equations[*i].file().is_some();
            let given = d.equations.iter().all(source);
            if !given && !self.is_state(name) {
                let what = format!("`{name}` has an equation and cannot be given as an input");
                faults.push(Diagnostic::error(d.span, what).about(name));
            }
            let begins = |i: &&usize| {
                let places = &self.equations[**i].target.places;
                places.iter().any(|p| matches!(p.index, Index::Step(0)))
            };
            if let Some(i) = d.equations.iter().find(begins).filter(|_| !given) {
                let what = format!("`{name}` cannot be given: the program defines its start");
                let fault = Diagnostic::error(place, what).and(self.equations[*i].span, "its start");
                faults.push(fault.about(name));
            }
            let expected = self.input_rank(d);
            if !self.fits_input(name, aval) {
                let expected = crate::syntax::diagnostic::indices(expected);
                let what = format!("the input `{name}` has shape {}, but {expected} here", aval.shape);
                faults.push(Diagnostic::error(d.span, what).about(name));
            }
        }
        faults
    }

    /// Returns the groups of names that are computed together in rounds: they depend on themselves or each
    /// other, or share a time that ends by a condition, which is one loop.
    pub fn repeated(&self, names: &HashSet<Name>) -> Vec<Vec<Name>> {
        let own: Vec<&Name> = self.names.iter().filter(|n| names.contains(*n) && !self.is_input(n)).collect();
        let at: HashMap<&Name, usize> = own.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        let mut needs: Vec<Vec<usize>> = vec![Vec::new(); own.len()];
        let mut last: HashMap<&Name, usize> = HashMap::new();
        for (i, name) in own.iter().enumerate() {
            for e in self.definition(name).into_iter().flat_map(|d| &d.equations).map(|e| &self.equations[*e])
            {
                needs[i].extend(e.reads().iter().filter_map(|r| at.get(&r.name)));
                if let Some(time) =
                    moving(&e.target.places).map(|t| t.0).filter(|t| self.times.contains_key(*t))
                    && let Some(before) = last.insert(time, i)
                {
                    needs[i].push(before);
                    needs[before].push(i);
                }
            }
        }
        let reads_itself = |group: &[usize]| group.len() > 1 || needs[group[0]].contains(&group[0]);
        let groups = components(&needs).into_iter().filter(|group| reads_itself(group));
        groups.map(|group| group.into_iter().map(|i| own[i].clone()).collect()).collect()
    }
}
