//! Raises switches, and loops of few steps, which are unrolled.

use super::draft::{Drafts, local, operand};
use super::forms::{Raise, call, walk};
use super::{Base, Source, View, number};
use crate::syntax::ast::{Expr, Kind, Projection};
use gradus_ir::ops::scan::Scan;
use gradus_ir::{Graph, Result};
use std::sync::Arc;

/// The largest number of steps that are unrolled. Longer loops become loops over virtual time.
pub(super) const FEW: usize = 4;

/// Reads a tensor at one index of its first axis.
fn at(view: &View, index: usize) -> View {
    let source_of = |axis| if axis == 0 { Source::At(index as i64) } else { Source::Axis(axis - 1) };
    view.with_axes(view.kinds[1..].to_vec(), source_of)
}

impl Drafts {
    /// Makes values of one shape plain tensors, and joins the kinds of their indices.
    fn alike(&mut self, all: Vec<View>) -> Vec<View> {
        let all: Vec<View> = all.iter().map(|s| self.solid(s)).collect();
        for other in all.iter().skip(1) {
            all[0].kinds.iter().zip(&other.kinds).for_each(|(a, b)| self.join(*a, *b));
        }
        all
    }
}

impl Raise<'_> {
    /// Raises a switch: writes all branches and selects one by the index, which is clamped to the existing
    /// branches.
    pub(super) fn choice(&self, branches: &[Arc<Graph>], drafts: &mut Drafts) -> Result<Option<Vec<View>>> {
        let [index, operands @ ..] = self.ins else { return Ok(None) };
        let mut results = Vec::with_capacity(branches.len());
        for branch in branches {
            results.push(walk(branch, operands, drafts)?);
        }
        let one = |k: usize, drafts: &mut Drafts| {
            let all = drafts.alike(results.iter().filter_map(|r| r.get(k).cloned()).collect());
            let places: Vec<usize> = (0..all.first()?.kinds.len()).collect();
            let index = operand(index, &[]);
            let choose = |chosen: Option<Expr>, (b, view): (usize, &View)| {
                let own = operand(view, &places);
                Some(match chosen {
                    None => own,
                    Some(rest) => {
                        let here = call("le", vec![index.clone(), number(b as f64)], Vec::new());
                        call("where", vec![here, own, rest], Vec::new())
                    }
                })
            };
            let value = all.iter().enumerate().rev().fold(None, choose)?;
            Some(drafts.equation(all[0].kinds.clone(), Vec::new(), Projection::Sum, value))
        };
        Ok((0..self.node.outs.len()).map(|k| one(k, drafts)).collect())
    }

    /// Returns the results of a loop of length 0: its initial values, and empty stacks.
    pub(super) fn no_steps(&self, scan: &Scan, drafts: &mut Drafts) -> Vec<View> {
        let begin = self.ins[scan.shared..scan.shared + scan.carries].to_vec();
        let none = |k: usize| {
            let kinds = self.extents(k).iter().map(|n| drafts.kind(*n)).collect();
            let dtype = drafts.said(self.node.outs[k].dtype);
            View { base: Base::Number(0.0, dtype), kinds, when: None }
        };
        begin.into_iter().chain((scan.carries..self.node.outs.len()).map(none).collect::<Vec<_>>()).collect()
    }

    /// Unrolls a loop.
    pub(super) fn steps(&self, scan: &Scan, drafts: &mut Drafts) -> Result<Vec<View>> {
        let (shared, rest) = self.ins.split_at(scan.shared);
        let (start, stacks) = rest.split_at(scan.carries);
        let mut carries = start.to_vec();
        let mut kept: Vec<Vec<View>> = vec![Vec::new(); self.node.outs.len() - scan.carries];
        for step in 0..scan.length {
            let place = if scan.reverse { scan.length - 1 - step } else { step };
            let slices = stacks.iter().map(|s| at(s, place));
            let ins: Vec<View> = shared.iter().chain(&carries).cloned().chain(slices).collect();
            let mut outs = walk(&scan.body, &ins, drafts)?;
            let ys = outs.split_off(scan.carries);
            kept.iter_mut().zip(ys).for_each(|(all, y)| all.push(y));
            carries = outs;
        }
        for mut ys in kept {
            if scan.reverse {
                ys.reverse();
            }
            let ys = drafts.alike(ys);
            let mut left = vec![drafts.kind(scan.length)];
            left.extend(&ys[0].kinds);
            let places: Vec<usize> = (1..left.len()).collect();
            let args = ys.iter().map(|y| operand(y, &places)).collect();
            let value = call("stack", args, vec![("axis", Kind::Text(local(0)).bare())]);
            carries.push(drafts.equation(left, Vec::new(), Projection::Sum, value));
        }
        Ok(carries)
    }
}
