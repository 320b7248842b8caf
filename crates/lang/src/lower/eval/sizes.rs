//! Infers sizes of indices that appear only in offsets and index arithmetic. Takes the reads of a term and the known
//! sizes. The index of `V[i+1]` gets the size of that axis; others get the largest size for which all reads are in
//! range.

use super::{Eval, Term};
use crate::elaborate::core::{Index, Place, Ref};
use crate::elaborate::number;
use crate::syntax::ast::{Affine, Expr, Name};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::is_time;
use crate::syntax::source::Span;

/// One read by index arithmetic, with its factors as numbers and the extent of the axis.
struct Read<'e> {
    terms: Vec<(i64, &'e Name)>,
    offset: i64,
    extent: i64,
    place: &'e Place,
}

impl Term<'_> {
    /// Returns the factors and the offset of index arithmetic as numbers.
    pub(super) fn factors_of<'e>(&self, sum: &'e Affine) -> Eval<(Vec<(i64, &'e Name)>, i64)> {
        let whole = |e: &Expr| {
            let x = number(e, &self.options.numbers)?;
            if x.fract() == 0.0 && x.abs() < 1.0e12 {
                return Ok(x as i64);
            }
            Err(Diagnostic::error(e.span, format!("index arithmetic takes integers, not {x}")))
        };
        let terms = sum.terms.iter().map(|(by, n)| Ok((whole(by)?, n))).collect::<Result<_, Diagnostic>>()?;
        Ok((terms, whole(&sum.offset)?))
    }

    /// Returns the size of an index, if known.
    pub(super) fn size_of(&self, index: &Name) -> Option<usize> {
        let declared = |name: &str| self.options.axes.get(name).map(|a| a.0);
        let said = self.sizes.get(index).map(|s| s.0).or_else(|| declared(index));
        let left = || {
            let places = &self.equation.target.places;
            let at = places.iter().position(|p| p.index == Index::Named(index.clone(), 0))?;
            self.kept_by.get(at).copied().flatten()
        };
        let brought = || {
            let axis =
                |v: &super::Value| v.batch.iter().position(|b| b == index).map(|p| v.tensor.dim(p as isize));
            self.batch.contains(index).then(|| self.values.values().flatten().find_map(axis)).flatten()
        };
        said.or_else(left).or_else(brought).or_else(|| declared(index.trim_end_matches('\'')))
    }

    /// Infers the sizes of indices that appear only in offsets and index arithmetic.
    pub(crate) fn infer_sizes(&mut self) -> Eval<()> {
        let mut refs: Vec<&Ref> = self.equation.reads();
        let arithmetic = |p: &Place| matches!(p.index, Index::Affine(_) | Index::Named(_, 1.. | ..=-1));
        refs.retain(|r| r.places.iter().any(arithmetic));
        let left = self.equation.target.places.iter().any(|p| matches!(p.index, Index::Affine(_)));
        if refs.is_empty() && !left {
            return Ok(());
        }
        let mut reads = Vec::new();
        self.offsets(&refs)?;
        for r in refs {
            self.arithmetic(r, &mut reads)?;
        }
        loop {
            let unknown = |read: &Read<'_>| -> Vec<Name> {
                let open = read.terms.iter().filter(|(by, n)| *by != 0 && self.is_open(n));
                open.map(|t| t.1.clone()).collect()
            };
            let all: Vec<(Vec<Name>, &Read<'_>)> =
                reads.iter().map(|r| (unknown(r), r)).filter(|(names, _)| !names.is_empty()).collect();
            let Some((first, read)) = all.first() else { return Ok(()) };
            let alone = |n: &&Name| all.iter().all(|(names, _)| !names.contains(n) || names.len() == 1);
            let Some(name) = all.iter().flat_map(|(names, _)| names).find(alone) else {
                let what = format!(
                    "the sizes of indices {} are not known, and one read cannot determine both",
                    first.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" and ")
                );
                let help = format!("declare one of them: axis {} = …", first[first.len() - 1]);
                return Err(Diagnostic::error(read.place.span, what).help(help).into());
            };
            let own = all.iter().filter(|(names, _)| names.contains(name));
            let found = own.map(|(_, read)| (self.largest(read, name), read.place.span)).min_by_key(|f| f.0);
            let (name, found) = (name.clone(), found);
            if let Some((n, span)) = found {
                if n == 0 {
                    let what = format!("for every size of index `{name}`, a read here is out of range");
                    let help = format!("declare it (axis {name} = …): reads out of range are 0");
                    return Err(Diagnostic::error(span, what).help(help).into());
                }
                self.sizes.insert(name, (n, span));
            }
        }
    }

    fn is_open(&self, name: &Name) -> bool {
        self.size_of(name).is_none() && self.current_step(name).is_none()
    }

    /// Returns the largest size of an index for which a read is in range for all values of the other indices.
    fn largest(&self, read: &Read<'_>, name: &Name) -> usize {
        let (mut low, mut high) = (read.offset, read.offset);
        let mut own = 0;
        for (by, n) in &read.terms {
            if *n == name {
                own = *by;
                continue;
            }
            let last = self.size_of(n).unwrap_or(1).saturating_sub(1) as i64;
            if *by > 0 { high += by * last } else { low += by * last }
        }
        if low < 0 || high >= read.extent {
            return 0;
        }
        let most = if own > 0 { (read.extent - 1 - high) / own } else { low / -own };
        most as usize + 1
    }

    /// Gives the index of `V[i+1]` the size of that axis, unless its size is known otherwise.
    fn offsets(&mut self, refs: &[&Ref]) -> Eval<()> {
        let mut found: Vec<(&Name, usize, Span)> = Vec::new();
        for r in refs {
            for (place, extent) in self.extents_of(r)? {
                let Index::Named(name, 1.. | ..=-1) = &place.index else { continue };
                if self.size_of(name).is_some() {
                    continue;
                }
                if let Some((_, n, span)) = found.iter().find(|f| f.0 == name && f.1 != extent) {
                    let what = format!("index `{name}` has size {extent} in `{}`, but {n} elsewhere", r.name);
                    let fault =
                        Diagnostic::error(place.span, what).here(format!("{extent} here")).about(&r.name);
                    let fault = fault.and(*span, format!("{n} here"));
                    return Err(fault.help(format!("declare its size: axis {name} = …")).into());
                }
                found.push((name, extent, place.span));
            }
        }
        for (name, extent, span) in found {
            self.sizes.insert(name.clone(), (extent, span));
        }
        Ok(())
    }

    fn arithmetic<'e>(&self, r: &'e Ref, out: &mut Vec<Read<'e>>) -> Eval<()> {
        for (place, extent) in self.extents_of(r)? {
            if let Index::Affine(sum) = &place.index {
                let (terms, offset) = self.factors_of(sum)?;
                out.push(Read { terms, offset, extent: extent as i64, place });
            }
        }
        Ok(())
    }

    /// Returns the indices of a tensor with their extents, without its time if it is read at the current
    /// step.
    pub(super) fn extents_of<'e>(&self, r: &'e Ref) -> Eval<Vec<(&'e Place, usize)>> {
        if self.options.numbers.contains_key(&r.name) && r.places.is_empty() {
            return Ok(Vec::new());
        }
        let (value, timed) = (self.value(r)?, self.timed(r));
        let places = r.places.iter().filter(|p| !(timed && is_time(&self.equation.target, p)));
        let first = value.batch.len();
        let extents = (first..value.tensor.rank()).map(|axis| value.tensor.dim(axis as isize));
        Ok(places.zip(extents).collect())
    }

    /// Returns the size of an index; an error if it is unknown.
    pub(super) fn sized(&self, name: &Name, span: Span) -> Eval<usize> {
        self.size_of(name).ok_or_else(|| {
            let what = format!("the size of index `{name}` is not known");
            Diagnostic::error(span, what).help(format!("declare it (axis {name} = …)")).into()
        })
    }
}
