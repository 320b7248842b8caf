//! Selection of a graph by an index; `cond` is a switch with two branches.
//! Takes an integer scalar and operands; returns the outputs of the selected graph. Its values are computed in
//! `reference/control.rs`.

use super::*;
use crate::attr::AttrField;
use crate::transform::{jvp_into, vjp_into, vmap_into, vmap_mask};
use crate::{Class, DType, message, op_struct};

op_struct! {
    /// Applies one of several graphs of equal types to the operands after the first. The first operand is the integer
    /// scalar that selects the graph, counted from 0 and clamped to the valid range. Only the selected graph runs.
    pub struct Switch = "switch" {
        /// The graphs.
        branches: Vec<Arc<Graph>>,
    }
}

/// In text, a map with numbered keys.
impl AttrField for Vec<Arc<Graph>> {
    fn to_attr(&self) -> Attr {
        Attr::Map(
            self.iter().enumerate().map(|(i, g)| (format!("branch{i}"), Attr::Graph(g.clone()))).collect(),
        )
    }
    fn from_attr(a: &Attr) -> Option<Self> {
        let Attr::Map(entries) = a else { return None };
        entries.iter().map(|(_, a)| if let Attr::Graph(g) = a { Some(g.clone()) } else { None }).collect()
    }
}

/// Builds a graph over new inputs of these types.
pub(super) fn build(
    ins: &[Aval],
    f: impl for<'r> FnOnce(&'r Builder, &[Var<'r>]) -> Vec<Var<'r>>,
) -> Result<Arc<Graph>> {
    let r = Builder::new();
    let inputs: Vec<Var<'_>> = ins.iter().map(|a| r.input("x", a.clone())).collect();
    let outs = f(&r, &inputs);
    Ok(Arc::new(r.finish(&outs)?))
}

/// Returns a tangent or cotangent for each differentiable value, zeros where there is none.
pub(super) fn or_zeros<'g>(b: &'g Builder, values: &[Aval], derivatives: &[Option<Var<'g>>]) -> Vec<Var<'g>> {
    let pairs = values.iter().zip(derivatives).filter(|(a, _)| a.dtype.is_differentiable());
    pairs.map(|(a, d)| d.unwrap_or_else(|| b.zeros(a))).collect()
}

/// Assigns derivatives to the differentiable values in order; the other values get `None`.
pub(super) fn spread_derivatives<'g>(
    values: &[Aval],
    found: impl IntoIterator<Item = Var<'g>>,
) -> Vec<Option<Var<'g>>> {
    let mut found = found.into_iter();
    values.iter().map(|a| if a.dtype.is_differentiable() { found.next() } else { None }).collect()
}

/// Returns `x` for a branch whose result is used only where `taken` is true. Elsewhere `x` counts as a constant, so no
/// gradient flows to it.
///
/// Selecting among results alone is not enough. The gradient that enters a branch is then 0 where the branch is not
/// taken, but 0 times an infinite derivative is NaN. Therefore this selects once more where the gradient leaves the
/// branch, so that exactly 0 arrives at `x`, for derivatives of every order. `lead` is the number of leading axes
/// that `x` shares with `taken`.
pub(super) fn taken_only<'g>(taken: Var<'g>, x: Var<'g>, lead: usize) -> Var<'g> {
    if !x.dtype().is_differentiable() {
        return x;
    }
    let axes: Vec<usize> = (lead..x.rank()).collect();
    taken.spread(&axes, &x.shape()).select(x, x.builder().apply1(super::select::StopGradient {}, &[x]))
}

/// Types of values.
pub(super) fn avals(values: &[Var<'_>]) -> Vec<Aval> {
    values.iter().map(|v| v.aval()).collect()
}

impl Switch {
    /// Builds the switch whose branches are made from this one's by `f`, and applies it to these operands.
    fn map_branches<'g>(
        &self,
        b: &'g Builder,
        operands: &[Var<'g>],
        f: impl for<'r> Fn(&'r Builder, &Graph, &[Var<'r>]) -> Vec<Var<'r>>,
    ) -> Vec<Var<'g>> {
        let types = avals(&operands[1..]);
        let make = |body: &Arc<Graph>| build(&types, |r, ins| f(r, body, ins));
        match self.branches.iter().map(make).collect::<Result<Vec<_>>>() {
            Ok(branches) => b.apply(Switch { branches }, operands),
            Err(e) => vec![b.fail(e)],
        }
    }
}

impl Primitive for Switch {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        let (Some(index), Some(first)) = (ins.first(), self.branches.first()) else {
            return Err(Error::value("switch", "needs an index and at least one branch"));
        };
        if index.rank() != 0 || index.dtype.class() != Class::Int {
            return Err(Error::shape(message!("the index ", index), "must be an integer scalar"));
        }
        for (k, branch) in self.branches.iter().enumerate() {
            let (from, to) = (branch.input_avals(), branch.output_avals());
            if from[..] != ins[1..] {
                return Err(Error::shape(
                    message!("branch ", k, " takes ", from),
                    message!("but is given ", &ins[1..]),
                ));
            }
            if to != first.output_avals() {
                let own = first.output_avals();
                let why = message!("and the first ", own, ": all branches must give the same types");
                return Err(Error::shape(message!("branch ", k, " gives ", to), why));
            }
        }
        Ok(first.output_avals())
    }

    fn derivative(&self) -> Derivative {
        Derivative::Structural
    }

    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let b = rule.ins[0].builder();
        let (types, outs) = (avals(&rule.ins[1..]), avals(rule.outs));
        let operands = [rule.ins, &or_zeros(b, &types, &tangents[1..])].concat();
        let n = types.len();
        let found = self.map_branches(b, &operands, |r, body, ins| {
            let ts = spread_derivatives(&types, ins[n..].iter().copied());
            or_zeros(r, &outs, &jvp_into(r, body, &ins[..n], &ts).1)
        });
        spread_derivatives(&outs, found)
    }

    fn vjp<'g>(&self, rule: &Rule<'_, 'g>, cts: &[Option<Var<'g>>], needs: &[bool]) -> Vec<Option<Var<'g>>> {
        let b = rule.ins[0].builder();
        let (types, outs) = (avals(&rule.ins[1..]), avals(rule.outs));
        let operands = [rule.ins, &or_zeros(b, &outs, cts)].concat();
        let n = types.len();
        let found = self.map_branches(b, &operands, |r, body, ins| {
            let cts = spread_derivatives(&outs, ins[n..].iter().copied());
            or_zeros(r, &types, &vjp_into(r, body, &ins[..n], &cts, &needs[1..]).1)
        });
        [None].into_iter().chain(spread_derivatives(&types, found)).collect()
    }

    // A shared index selects a batched branch. With an index per element, all branches run and results are selected.
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let b = batch.builder;
        if !batch.batched[0] {
            let made =
                self.branches.iter().map(|g| vmap_mask(g, &batch.batched[1..], batch.size).map(Arc::new));
            return match made.collect::<Result<Vec<_>>>() {
                Ok(branches) => b.apply(Switch { branches }, batch.ins),
                Err(e) => vec![b.fail(e)],
            };
        }
        // Floats need the batch axis even if all elements share them, because each element masks its own gradient.
        let wide = |i: &usize| batch.batched[*i] || batch.ins[*i].dtype().is_differentiable();
        let batched: Vec<bool> = (1..batch.ins.len()).map(|i| wide(&i)).collect();
        let ins: Vec<Var<'g>> =
            (1..batch.ins.len()).map(|i| if wide(&i) { batch.with_axis(i) } else { batch.ins[i] }).collect();
        let (index, last) = (batch.ins[0], self.branches.len() - 1);
        let from = |k: usize| index.ge(index.full_like(k as f64));
        let all: Vec<Vec<Var<'g>>> = (0..=last)
            .map(|k| {
                let taken = match k {
                    0 if last == 0 => None,
                    0 => Some(from(1).not()),
                    k if k == last => Some(from(k)),
                    k => Some(from(k).and(from(k + 1).not())),
                };
                let own = |v: &Var<'g>| taken.map_or(*v, |taken| taken_only(taken, *v, 1));
                vmap_into(
                    b,
                    &self.branches[k],
                    &ins.iter().map(own).collect::<Vec<_>>(),
                    &batched,
                    batch.size,
                )
            })
            .collect();
        let pick = |j: usize| {
            let mut chosen = all[0][j];
            for (k, outs) in all.iter().enumerate().skip(1) {
                let axes: Vec<usize> = (1..chosen.rank()).collect();
                chosen = from(k).spread(&axes, &chosen.shape()).select(outs[j], chosen);
            }
            chosen
        };
        (0..all[0].len()).map(pick).collect()
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Switch(self.branches.clone())
    }
}

impl Sampled for Switch {
    fn samples(s: &mut Samples) {
        let (x, w) = (Aval::new(DType::F64, [2, 3]), Aval::new(DType::F64, [3]));
        let types = [x.clone(), w.clone()];
        let branch = |f: for<'r> fn(Var<'r>, Var<'r>) -> Vec<Var<'r>>| build(&types, |_, v| f(v[0], v[1]));
        let made = [
            branch(|x, w| vec![x.sin(), w.sum(&[0])]),
            branch(|x, w| vec![x * w.broadcast_to(&x.shape()), (w * w).sum(&[0])]),
            branch(|x, w| vec![x.exp(), w.sum(&[0]).full_like(2.0)]),
        ];
        let Ok(branches) = made.into_iter().collect::<Result<Vec<_>>>() else { return };
        for k in [0, 1, 2, 7] {
            let ins = [crate::Literal::int_scalar(DType::I64, k), s.normal([2, 3]), s.normal([3])];
            s.case(Switch { branches: branches.clone() }, ins);
        }
        let float = Aval::scalar(DType::F64);
        s.error(
            Switch { branches: branches.clone() },
            &[float, x.clone(), w.clone()],
            "must be an integer scalar",
        );
        let index = Aval::scalar(DType::I64);
        s.error(
            Switch { branches: branches.clone() },
            &[index.clone(), w.clone(), w.clone()],
            "branch 0 takes",
        );
        if let Ok(other) = build(&types, |_, v| vec![v[0]]) {
            let branches = vec![branches[0].clone(), other];
            s.error(Switch { branches }, &[index, x, w], "all branches must give the same types");
        }
    }
}
