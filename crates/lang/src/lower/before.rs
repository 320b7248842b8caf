//! Values that are known before a program is lowered: those of solved relations, and of the tables that rules did not take.
//! Takes a program with its settings; returns what `run` adds to the values of the tensor equations.

use crate::lower::eval::{Value, Values};
use crate::program::Program;
use crate::solve::Options;
use crate::solve::Solution;
use crate::syntax::ast::Name;
use crate::syntax::diagnostic::Diagnostic;
use gradus_ir::Aval;
use std::collections::{BTreeMap, HashSet};

impl Program {
    /// Solves the relations that need no other evaluation.
    pub(crate) fn relations_before(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        unknown: &HashSet<Name>,
        options: &Options,
        wanted: Option<&[Name]>,
    ) -> Result<Option<Solution>, Diagnostic> {
        if !options.sparse || !self.has_facts() {
            return Ok(None);
        }
        let needed = match wanted {
            Some(wanted) => self.needed(wanted),
            None => self.names.iter().cloned().collect(),
        };
        let excluded = |n: &Name| unknown.contains(n) || inputs.contains_key(n);
        self.solve_relations(options, &excluded, &needed)
    }

    /// Adds the values of solved relations that tensor equations read or that are wanted, and of the remaining tables.
    /// Returns the names that need no other evaluation.
    pub(crate) fn known_before(
        &self,
        relations: Option<&Solution>,
        options: &Options,
        wanted: Option<&[Name]>,
        values: &mut Values,
        faults: &mut Vec<Diagnostic>,
    ) -> HashSet<Name> {
        let is_solved = |n: &Name| relations.is_some_and(|r| r.holds(n));
        let known: HashSet<Name> = self.names.iter().filter(|n| is_solved(n)).cloned().collect();
        let mut read: HashSet<&Name> = wanted.unwrap_or_default().iter().collect();
        let needed = wanted.map(|w| self.needed(w));
        let evaluated = |n: &Name| !known.contains(n) && needed.as_ref().is_none_or(|all| all.contains(n));
        for e in self.equations.iter().filter(|e| evaluated(&e.target.name)) {
            read.extend(e.reads().iter().map(|r| &r.name));
        }
        for name in self.names.iter().filter(|n| read.contains(n)) {
            let at = self.definition(name).map(|d| d.span).unwrap_or_default();
            let tensor = match relations.filter(|_| known.contains(name)) {
                Some(solved) => {
                    let failed = |e: gradus_ir::Error| Diagnostic::error(at, e.message());
                    solved.tensor(name, options.float).map_err(failed)
                }
                None if values.contains_key(name) => continue,
                None => self.table_tensor(name, options),
            };
            match tensor {
                Ok(Some(tensor)) => drop(values.insert(name.clone(), Some(Value::new(tensor)))),
                Ok(None) => {}
                Err(fault) => {
                    faults.push(fault);
                    values.insert(name.clone(), None);
                }
            }
        }
        known
    }
}
