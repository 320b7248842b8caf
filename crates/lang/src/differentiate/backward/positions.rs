//! Cotangents of lines under `max=`, `min=`, `avg=` and `prod=` that write at positions, or to parts of a name. Sums do not
//! need this.

use super::{Back, bare, over, plain, reference, times};
use crate::builtin;
use crate::differentiate::scatter::is_written_in_parts;
use crate::elaborate::core::{Expr, Index, Kind, Origin, Place, Ref};
use crate::elaborate::scope::{Names, fresh, key, keys, numbered};
use crate::syntax::ast::{self, Comparison, Name, Projection};
use crate::syntax::indices::is_timed;
use crate::syntax::source::Span;

fn number(x: f64) -> Expr {
    bare(Kind::Number(x))
}

fn choose(condition: Expr, yes: Expr, no: f64) -> Expr {
    bare(Kind::Choose(vec![[condition, yes]], Some(Box::new(number(no)))))
}

fn equal(a: Expr, b: Expr) -> Expr {
    bare(Kind::Compare(Comparison::Eq, Box::new([a, b])))
}

impl Back<'_, '_> {
    /// Returns the cotangent of the value that the line writes at positions or to parts of its name;
    /// `Some(None)` for other lines.
    pub(super) fn written_at_positions(&mut self, ct: &Expr) -> Option<Option<Expr>> {
        let e = self.equation;
        if !is_written_in_parts(self.program, e.projection, &e.target) {
            return Some(None);
        }
        let places = plain(&e.target.places);
        let several = self.program.definition(&e.target.name).is_some_and(|d| d.equations.len() > 1);
        let ct = match e.projection {
            Projection::Avg => {
                let ones = self.made("ones_like".into(), vec![e.value.clone()], Vec::new(), None)?;
                let count = self.helper(&places, ones, "count", Projection::Sum, e.guard.clone())?;
                self.by_count(ct.clone(), reference(count, places))?
            }
            Projection::Prod => {
                let from = if several { self.beside_other_lines()? } else { self.walk.name(&e.target.name) };
                self.factor_of_product(&places, from)?
            }
            _ => {
                let Kind::Ref(value) = &e.value.kind else { return Some(None) };
                let read = reference(e.target.name.clone(), places.clone());
                let hit = choose(equal(e.value.clone(), read), number(1.0), 0.0);
                let hits = self.helper(&value.places, hit, "hit", Projection::Sum, None)?;
                let hit = reference(hits, value.places.clone());
                let count = self.helper(&places, hit.clone(), "count", Projection::Sum, None)?;
                let shared = times(ct.clone(), [hit.clone()]);
                let mut ct = self.by_count(shared, reference(count, places.clone()))?;
                if several {
                    // A tie is shared first between the lines that reach the extreme.
                    let reached = self.helper(&places, hit, "reached", Projection::Max, None)?;
                    let all = self.walk.all_places(&e.target.name, &places);
                    let lines = Name::from(format!("{}{}_lines", self.walk.prefix, e.target.name));
                    self.push_local(&lines, all.clone(), reference(reached, all), Projection::Sum, None)?;
                    ct = self.by_count(ct, reference(lines, places))?;
                }
                ct
            }
        };
        Some(Some(ct))
    }

    /// Divides by a count; a count of 0 is replaced by 1.
    fn by_count(&self, value: Expr, count: Expr) -> Option<Expr> {
        Some(over(value, self.made("maximum".into(), vec![count, number(1.0)], Vec::new(), None)?))
    }

    fn index(&self, name: &Name) -> Option<Expr> {
        Some(bare(Kind::Of("index".into(), builtin::find("index", self.program)?, name.clone())))
    }

    /// Returns the position of an index entry, as an expression.
    fn position(&self, place: &Place) -> Option<Expr> {
        match &place.index {
            Index::Named(n, 0) => self.index(n),
            Index::Named(n, by) => Some(bare(Kind::Sum(vec![self.index(n)?, number(*by as f64)]))),
            Index::At(at) if *at >= 0 => Some(number(*at as f64)),
            Index::Affine(sum) => {
                let term = |(by, n): &(ast::Expr, Name)| {
                    Some(bare(Kind::Product(vec![self.elaborated(by), self.index(n)?])))
                };
                let terms: Option<Vec<Expr>> = sum.terms.iter().map(term).collect();
                let mut terms = terms?;
                terms.push(self.elaborated(&sum.offset));
                Some(bare(Kind::Sum(terms)))
            }
            Index::Computed(e) => Some((**e).clone()),
            _ => None,
        }
    }

    /// Returns a number of index arithmetic, as Core.
    fn elaborated(&self, e: &ast::Expr) -> Expr {
        let line = self.equation.surface();
        crate::elaborate::Elaborate::new(self.program, &line).expr(e, &Names::new())
    }

    /// Returns the derivative of a product of values written at positions, for one of them. It is computed
    /// from the other factors instead of by division, so that factors of 0 are correct.
    fn factor_of_product(&mut self, written: &[Place], from: Name) -> Option<Expr> {
        let e = self.equation;
        let mut taken: Names = self.all.clone();
        let (mut places, mut conditions) = (Vec::new(), Vec::new());
        for place in written {
            if is_timed(place) {
                places.push(place.clone());
                continue;
            }
            let new = fresh("at", &taken, self.program);
            taken.insert(new.clone());
            conditions.push(equal(self.index(&new)?, self.position(place)?));
            places.push(Place::named(&new));
        }
        let condition = conditions.into_iter().reduce(|a, b| bare(Kind::And(Box::new([a, b]))))?;
        let timed: Vec<Name> = written.iter().filter(|p| is_timed(p)).filter_map(key).collect();
        let axes: Vec<Name> = keys(&e.target).into_iter().filter(|k| !timed.contains(k)).collect();
        let all = reference(from, places.clone());
        let ones = self.made("ones_like".into(), vec![all.clone()], Vec::new(), None)?;
        let body = choose(condition.clone(), times(e.value.clone(), [ones]), 1.0);
        let pulled = self.reduced(Projection::Prod, body, all, axes)?;
        let chosen = choose(condition, pulled, 0.0);
        let gone = places.iter().filter(|p| !is_timed(p)).filter_map(key).collect();
        Some(bare(Kind::Reduce(Projection::Sum, gone, Box::new(chosen), Origin::Written)))
    }

    /// Returns the name of the cotangent of a product of several lines, times what the lines other than this
    /// one multiply.
    fn beside_other_lines(&mut self) -> Option<Name> {
        let e = self.equation;
        let all = self.walk.all_places(&e.target.name, &plain(&e.target.places));
        let mut factors = Vec::new();
        let equations = self.walk.equations;
        for other in equations.iter().filter(|o| o.target.name == e.target.name && o.number != e.number) {
            let name = self.helper_name("factor");
            let like = reference(e.target.name.clone(), all.clone());
            let ones = self.made("ones_like".into(), vec![like], Vec::new(), None)?;
            self.push_local(&name, all.clone(), ones, Projection::Prod, None)?;
            let (places, guard) = (plain(&other.target.places), other.guard.clone());
            self.push_local(&name, places, other.value.clone(), Projection::Prod, guard)?;
            factors.push(reference(name, all.clone()));
        }
        let ct = times(reference(self.walk.name(&e.target.name), all.clone()), factors);
        let name = self.helper_name("line");
        self.push_local(&name, all, ct, Projection::Sum, None)?;
        Some(name)
    }

    /// Returns a new name for a helper of the gradient of the left side.
    fn helper_name(&self, word: &str) -> Name {
        let base = format!("{}{}_{word}", self.walk.prefix, self.equation.target.name);
        let lines = &self.walk.lines;
        let free =
            |n: &Name| self.program.definition(n).is_none() && !lines.iter().any(|l| l.target.name == *n);
        numbered(&base, 1).find(free).unwrap_or_default()
    }

    /// Adds a helper line that gradient lines read, with 0 at elements that it does not write. Returns its name.
    fn helper(
        &mut self,
        places: &[Place],
        value: Expr,
        word: &str,
        how: Projection,
        guard: Option<Expr>,
    ) -> Option<Name> {
        let of = &self.equation.target.name;
        let name = self.helper_name(word);
        let whole = |p: &Place| matches!(p.index, Index::Named(_, 0)) || is_timed(p);
        if !places.iter().all(whole) {
            let all = self.walk.all_places(of, places);
            let like = reference(of.clone(), all.clone());
            let zeros = self.made("zeros_like".into(), vec![like], Vec::new(), None)?;
            self.push_local(&name, all, zeros, how, None)?;
        }
        self.push_local(&name, places.to_vec(), value, how, guard)?;
        Some(name)
    }

    fn push_local(
        &mut self,
        name: &Name,
        places: Vec<Place>,
        value: Expr,
        how: Projection,
        guard: Option<Expr>,
    ) -> Option<()> {
        let target = Ref { name: name.clone(), places, relation: false, span: Span::default() };
        let line = self.printed(target, value, how, guard)?;
        self.walk.lines.push(ast::Equation { local: true, ..line });
        Some(())
    }
}
