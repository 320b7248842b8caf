//! Gives lines of one name that combine by `max=`, `min=` or `prod=` names of their own before differentiation. So a
//! tie is shared first between the lines, then within a line. Takes a program; returns one in which every such name
//! has one line, and the added equations.

use crate::elaborate::scope::{Names, fresh, keys, numbered};
use crate::program::Program;
use crate::syntax::ast::{Equation, Index, Kind, Name, Place, Projection, Ref};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::source::Span;

/// A program with equations that were added to it.
type Added = (Program, Vec<Equation>);

impl Program {
    /// Returns the program with one line for each of these names, or `None` if all have one.
    pub(super) fn with_single_lines(
        &self,
        among: impl Fn(&Name) -> bool,
    ) -> Result<Option<Added>, Diagnostic> {
        let several = |n: &&Name| {
            let own = self.definition(n).filter(|d| !d.relation);
            let joined = |i: &&usize| combines(&self.equations[**i]);
            let parts = |d: &&crate::program::Definition| {
                let in_parts =
                    |e: &Equation| super::scatter::is_written_in_parts(self, e.projection, &e.target);
                d.equations.iter().any(|i| in_parts(&self.equations[*i]))
            };
            own.is_some_and(|d| d.equations.iter().filter(joined).count() > 1 && !parts(&d))
        };
        let names: Vec<&Name> = self.names.iter().filter(several).filter(|n| among(n)).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let mut taken: Names = self.names.iter().cloned().collect();
        let (mut equations, mut found) = (Vec::new(), Vec::new());
        for e in self.equations.iter().filter(|e| !names.contains(&&e.target.name)) {
            equations.push(e.clone());
        }
        for name in names {
            let own: Vec<&Equation> = self.equations.iter().filter(|e| e.target.name == *name).collect();
            let (lines, others): (Vec<&Equation>, Vec<&Equation>) =
                own.into_iter().partition(|e| combines(e));
            equations.extend(others.into_iter().cloned());
            let mut new = |from: usize| {
                let free = numbered(name, from).find(|n| !taken.contains(n)).unwrap_or_else(|| name.clone());
                taken.insert(free.clone());
                free
            };
            let all = new(0);
            let places = plain(&lines[0].target).ok_or_else(|| unequal(lines[0], lines[1]))?;
            let line: Name = fresh("line", &keys(&lines[0].target).into_iter().collect(), self);
            let with = |places: &[Place], last: Index| {
                let last = Place { index: last, dotted: false, span: Span::default() };
                places.iter().cloned().chain([last]).collect::<Vec<_>>()
            };
            for (k, e) in lines.iter().enumerate() {
                let own = plain(&e.target).filter(|p| offsets(p) == offsets(&places));
                let own = own.ok_or_else(|| unequal(lines[0], e))?;
                let part = Ref { name: new(1), ..e.target.clone() };
                found.push(Equation { target: part.clone(), local: true, ..(*e).clone() });
                let value = Kind::Ref(Ref { places: own.clone(), ..part }).at(e.span);
                let target =
                    Ref { name: all.clone(), places: with(&own, Index::At(k as i64)), ..e.target.clone() };
                found.push(sum(target, value, e.span));
            }
            let read =
                Ref { name: all, places: with(&places, Index::Named(line, 0)), ..lines[0].target.clone() };
            let value = Kind::Ref(read).at(lines[0].span);
            equations.push(Equation { value, guard: None, ..lines[0].clone() });
        }
        equations.extend(found.iter().cloned());
        let program = Program { equations, ..self.clone() };
        program.again().map(|p| Some((p, found))).map_err(|mut faults| faults.faults.remove(0))
    }
}

/// Returns true if a line may combine with others by a reduction other than a sum. Means never meet.
fn combines(e: &Equation) -> bool {
    !matches!(e.projection, Projection::Sum | Projection::Avg)
}

fn sum(target: Ref, value: crate::syntax::ast::Expr, span: Span) -> Equation {
    Equation { target, guard: None, projection: Projection::Sum, spelled: false, value, local: true, span }
}

/// Returns the indices of a left side that writes to all elements of its name, without dots.
fn plain(target: &Ref) -> Option<Vec<Place>> {
    let all = keys(target);
    let distinct = (1..all.len()).all(|i| !all[..i].contains(&all[i]));
    let whole = |p: &Place| matches!(p.index, Index::Named(_, 0) | Index::Time(..));
    let places = target.places.iter().map(|p| Place { dotted: false, ..p.clone() });
    (distinct && target.places.iter().all(whole)).then(|| places.collect())
}

/// Returns the time offset of each index.
fn offsets(places: &[Place]) -> Vec<Option<i64>> {
    let one = |p: &Place| if let Index::Time(_, by) = p.index { Some(by) } else { None };
    places.iter().map(one).collect()
}

fn unequal(a: &Equation, b: &Equation) -> Diagnostic {
    let what =
        format!("lines of `{}` that write to parts of it cannot be differentiated together", a.target.name);
    let fault = Diagnostic::error(b.target.span, what).and(a.target.span, "the other line");
    fault.help("give the lines names of their own, and combine those").about(&a.target.name)
}
