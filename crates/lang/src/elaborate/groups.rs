//! Groups: names in dependency order, those that depend on each other together. Takes equations in Core; returns how each
//! group is solved. Which step computes what is decided when sizes are known.

use crate::elaborate::core::{Equation, Index, Ref};
use crate::elaborate::scope::place_keys;
use crate::program::Program;
use crate::syntax::ast::Name;
use crate::syntax::indices::{from_moment, moving};
use crate::syntax::order::components;
use std::collections::HashMap;

/// The names of a group, by their numbers, and how it is solved.
pub(crate) struct Group {
    pub(crate) names: Vec<usize>,
    pub(crate) solved: Solved,
}

/// The way a group is solved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Solved {
    /// One name, from the values of others.
    Plain,
    /// Step by step along time.
    Steps,
    /// Relations that depend on themselves: all facts that follow.
    Rules,
    /// Numbers that depend on themselves: in rounds until they converge.
    Fixpoint,
}

/// The equations of a program or a function, by name in order of first appearance.
pub(crate) struct Equations<'a> {
    pub(crate) program: &'a Program,
    pub(crate) equations: &'a [Equation],
    /// The names with the numbers of their equations.
    pub(crate) names: Vec<(Name, Vec<usize>)>,
}

impl<'a> Equations<'a> {
    /// Returns the names of equations, except for those that are read from files, which have values already.
    pub(crate) fn new(program: &'a Program, equations: &'a [Equation]) -> Equations<'a> {
        let mut names: Vec<(Name, Vec<usize>)> = Vec::new();
        let mut at: HashMap<&Name, usize> = HashMap::new();
        for (i, e) in equations.iter().enumerate().filter(|(_, e)| !e.is_file) {
            let place = *at.entry(&e.target.name).or_insert_with(|| {
                names.push((e.target.name.clone(), Vec::new()));
                names.len() - 1
            });
            names[place].1.push(i);
        }
        Equations { program, equations, names }
    }

    /// Returns the equations of a name.
    pub(crate) fn own(&self, name: usize) -> Vec<&'a Equation> {
        self.names[name].1.iter().map(|i| &self.equations[*i]).collect()
    }

    /// Returns true if some equation of the name writes a relation.
    pub(crate) fn is_relation(&self, name: usize) -> bool {
        self.own(name).iter().any(|e| e.target.relation)
    }

    /// Returns the groups in the order in which they are solved.
    pub(crate) fn groups(&self) -> Vec<Group> {
        let needs = self.needs();
        let group = |names: Vec<usize>| {
            let recursive = names.len() > 1 || needs[names[0]].contains(&names[0]);
            let moves = names.iter().flat_map(|i| self.own(*i)).any(|e| moving(&e.target.places).is_some());
            let solved = match (recursive, moves) {
                (false, true) if self.own(names[0]).iter().any(|e| e.by_step) => Solved::Steps,
                (false, _) => Solved::Plain,
                (true, true) => Solved::Steps,
                (true, false) if names.iter().all(|i| self.is_relation(*i)) => Solved::Rules,
                (true, false) => Solved::Fixpoint,
            };
            Group { names, solved }
        };
        components(&needs).into_iter().map(group).collect()
    }

    /// Returns true if later names of a group are read: such a group is computed from the last step to the first.
    pub(crate) fn is_backward(&self, group: &Group) -> bool {
        let own = group.names.iter().flat_map(|i| self.own(*i));
        own.filter_map(|e| Some((e, moving(&e.target.places)?.1))).any(|(e, by)| {
            let inside = |r: &Ref| group.names.iter().any(|i| self.names[*i].0 == r.name);
            let ahead = |r: &Ref| from_moment(&e.target, &r.places).is_some_and(|own| own > by.max(0));
            e.reads().into_iter().any(|r| inside(r) && ahead(r))
        })
    }

    /// Returns the names that each name depends on.
    fn needs(&self) -> Vec<Vec<usize>> {
        let at: HashMap<&Name, usize> = self.names.iter().enumerate().map(|(i, n)| (&n.0, i)).collect();
        let reads = |i: usize| {
            let reads = self.own(i).into_iter().flat_map(Equation::reads);
            let mut needs: Vec<usize> = reads.filter_map(|r| at.get(&r.name).copied()).collect();
            needs.sort_unstable();
            needs.dedup();
            needs
        };
        let mut needs: Vec<Vec<usize>> = (0..self.names.len()).map(reads).collect();
        // At computed indices, sizes come from names that read the result there; these are solved first, unless they
        // depend on it.
        for (i, needs) in needs.iter_mut().enumerate() {
            let own = &self.names[i].0;
            for name in self.sized_by(i) {
                if let Some(&other) = at.get(name)
                    && !self.program.needed(std::slice::from_ref(name)).contains(own)
                    && !needs.contains(&other)
                {
                    needs.push(other);
                }
            }
        }
        // All names with a time that ends by a condition are one loop.
        for (time, (go, _)) in &self.program.times {
            let moves = |i: &usize| {
                let own = self.own(*i).into_iter().filter_map(|e| moving(&e.target.places));
                own.into_iter().any(|t| t.0 == time)
            };
            let Some(&go) = at.get(go).filter(|go| moves(go)) else { continue };
            let all: Vec<usize> = (0..needs.len()).filter(moves).collect();
            all.iter().for_each(|i| needs[*i].push(go));
            needs[go].extend(all);
        }
        needs
    }

    /// Returns the names that could determine the sizes of a name at its computed indices.
    fn sized_by(&self, name: usize) -> Vec<&'a Name> {
        let own = self.own(name);
        let places: Vec<usize> = own
            .iter()
            .flat_map(|e| e.target.places.iter().enumerate())
            .filter(|(_, p)| matches!(p.index, Index::Computed(_)))
            .map(|(at, _)| at)
            .collect();
        if places.is_empty() {
            return Vec::new();
        }
        let name = &self.names[name].0;
        let readers = self.equations.iter().filter(|e| e.any_read(&mut |r| r.name == *name));
        let mut out = Vec::new();
        for e in readers {
            let indices: Vec<Name> = e
                .reads()
                .into_iter()
                .filter(|r| r.name == *name)
                .flat_map(|r| places.iter().filter_map(|p| r.places.get(*p)).flat_map(place_keys))
                .collect();
            // If the size is declared, no other name is needed.
            if indices.iter().any(|n| self.program.axes.contains_key(n)) {
                return Vec::new();
            }
            let has = |r: &&Ref| {
                r.name != *name && r.places.iter().flat_map(place_keys).any(|k| indices.contains(&k))
            };
            out.extend(e.reads().into_iter().filter(has).map(|r| &r.name));
        }
        // Two such names would depend on each other.
        let computed = |e: &&Equation| e.target.places.iter().any(|p| matches!(p.index, Index::Computed(_)));
        let open: Vec<&Name> = self.equations.iter().filter(computed).map(|e| &e.target.name).collect();
        out.retain(|n| !open.contains(n));
        out
    }
}
