//! A loop of known length: carries from iteration to iteration, an input slice and an output slice per iteration.
//! Takes shared values, initial carries and stacked inputs; returns final carries and stacked outputs.
//! Its values are computed in `reference/control.rs`, and gradients of shared values in `sums.rs`.

use super::sums::{LoopResults, Sum, SumPlanner, inline_products, invariants};
use super::switch::{avals, build, or_zeros, spread_derivatives};
use super::*;
use crate::graph::Id;
use crate::transform::{jvp_into, vjp_into, vmap_into};
use crate::{DType, Shape, message, op_struct};

op_struct! {
    /// Applies a graph `length` times. Operands: values shared by all iterations, initial values of the carries, and
    /// inputs with a leading axis of iterations. The graph maps (shared, carries, a slice of each input) to (carries,
    /// a slice of each output). Results: the final carries, then the outputs with a leading axis of iterations.
    ///
    /// Reverse mode runs the forward loop again, keeps the carries of every iteration, and then runs one loop
    /// backwards. Shared operands get the sum over iterations; sums of products are computed as one contraction after
    /// the loop. A scan of scans keeps only the outer carries and reruns the inner loops, which is how checkpointing
    /// works.
    pub struct Scan = "scan" {
        /// One iteration.
        body: Arc<Graph>,
        /// Number of shared operands.
        shared: usize,
        /// Number of carries.
        carries: usize,
        /// Number of iterations.
        length: usize,
        /// If true, iterates from the last slice to the first.
        reverse: bool,
    }
}

/// Returns the type of a stack of slices.
fn stacked(slice: &Aval, length: usize) -> Aval {
    slice.with_shape([length].iter().chain(slice.shape.iter()).copied().collect::<Shape>())
}

/// Returns the type of one slice.
fn slice_of(stack: &Aval) -> Aval {
    stack.with_shape(&stack.shape[1..])
}

/// Returns the number of differentiable values.
fn count_differentiable(types: &[Aval]) -> usize {
    types.iter().filter(|a| a.dtype.is_differentiable()).count()
}

impl Scan {
    /// Splits values into (shared, carries, inputs).
    fn split<'a, T>(&self, values: &'a [T]) -> (&'a [T], &'a [T], &'a [T]) {
        let (shared, rest) = values.split_at(self.shared);
        let (carries, xs) = rest.split_at(self.carries);
        (shared, carries, xs)
    }

    fn apply<'g>(
        &self,
        b: &'g Builder,
        body: Result<Arc<Graph>>,
        (shared, carries): (usize, usize),
        ins: &[Var<'g>],
    ) -> Vec<Var<'g>> {
        match body {
            Ok(body) => b.apply(Scan { body, shared, carries, ..self.clone() }, ins),
            Err(e) => vec![b.fail(e)],
        }
    }
}

impl Primitive for Scan {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        let (takes, gives) = (self.body.input_avals(), self.body.output_avals());
        arity(ins, takes.len())?;
        if ins.len() < self.shared + self.carries || gives.len() < self.carries {
            return Err(Error::value(
                "the step",
                "needs an input per shared operand and per carry, and an output per carry",
            ));
        }
        let (shared, carries, xs) = self.split(ins);
        for (k, x) in xs.iter().enumerate() {
            if x.shape.first() != Some(&self.length) {
                return Err(Error::shape(
                    message!("input ", k, " of type ", x),
                    format!("must have a leading axis of extent {}, the number of steps", self.length),
                ));
            }
        }
        let given: Vec<Aval> = shared.iter().chain(carries).cloned().chain(xs.iter().map(slice_of)).collect();
        if given != takes {
            return Err(Error::shape(message!("the step takes ", takes), message!("but is given ", given)));
        }
        if gives[..self.carries] != *carries {
            let why = message!("and gives ", &gives[..self.carries], ": a carry keeps its type");
            return Err(Error::shape(message!("the step takes carries ", carries), why));
        }
        let ys = gives[self.carries..].iter().map(|y| stacked(y, self.length));
        Ok(carries.iter().cloned().chain(ys).collect())
    }

    fn derivative(&self) -> Derivative {
        Derivative::Structural
    }

    // The same loop with a tangent next to every differentiable value. Suffixes: s shared, c carries, x inputs, y
    // outputs.
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let b = rule.ins[0].builder();
        let takes = self.body.input_avals();
        let (ds, dc, dx) = self.split(tangents);
        let (shared, carries, xs) = self.split(rule.ins);
        let side =
            |values: &[Var<'g>], ds: &[Option<Var<'g>>]| [values, &or_zeros(b, &avals(values), ds)].concat();
        let (shared, carries, xs) = (side(shared, ds), side(carries, dc), side(xs, dx));
        let operands = [&shared[..], &carries, &xs].concat();
        let types: Vec<Aval> = avals(&shared)
            .into_iter()
            .chain(avals(&carries))
            .chain(avals(&xs).iter().map(slice_of))
            .collect();
        let (ts, tc, tx) = self.split(&takes);
        let gives = self.body.output_avals();
        let (oc, oy) = gives.split_at(self.carries);
        let body = build(&types, |r, ins| {
            let (mut primals, mut dots, mut at) = (Vec::new(), Vec::new(), 0);
            for part in [ts, tc, tx] {
                primals.extend(&ins[at..at + part.len()]);
                at += part.len();
                let n = count_differentiable(part);
                dots.extend(spread_derivatives(part, ins[at..at + n].iter().copied()));
                at += n;
            }
            let (outs, touts) = jvp_into(r, &self.body, &primals, &dots);
            let ((c, y), (dc, dy)) = (outs.split_at(self.carries), touts.split_at(self.carries));
            [c, &or_zeros(r, oc, dc), y, &or_zeros(r, oy, dy)].concat()
        });
        let found = self.apply(b, body, (shared.len(), carries.len()), &operands);
        // Final carries, their tangents, outputs, their tangents.
        let (nc, ny) = (count_differentiable(oc), count_differentiable(oy));
        let part =
            |from: usize, n: usize| found.get(from..from + n).map_or_else(Vec::new, <[Var<'g>]>::to_vec);
        let dc = part(oc.len(), nc);
        let dy = part(oc.len() + nc + oy.len(), ny);
        [spread_derivatives(oc, dc), spread_derivatives(oy, dy)].concat()
    }

    fn vjp<'g>(&self, rule: &Rule<'_, 'g>, cts: &[Option<Var<'g>>], needs: &[bool]) -> Vec<Option<Var<'g>>> {
        let b = rule.ins[0].builder();
        let (takes, gives) = (self.body.input_avals(), self.body.output_avals());
        let (shared, _, xs) = self.split(rule.ins);
        let (_, tc, tx) = self.split(&takes);
        let (oc, oy) = gives.split_at(self.carries);
        // Run forward again, and keep the carries that each iteration began with.
        let kept = build(&takes, |r, ins| {
            let outs = r.inline(&self.body, ins);
            [&outs[..self.carries], self.split(ins).1].concat()
        });
        let kept = self.apply(b, kept, (self.shared, self.carries), rule.ins);
        let Some(kept) = kept.get(self.carries..) else { return vec![None; needs.len()] };
        // Backward loop. Its carries are the cotangents of the carries. Its inputs are the kept carries, the forward
        // inputs and the cotangents of the outputs. Its outputs are cotangents of the inputs. Shared operands get a
        // sum over iterations.
        let (ct_carries, ct_ys) = cts.split_at(self.carries);
        let stacks: Vec<Aval> = oy.iter().map(|y| stacked(y, self.length)).collect();
        let first = or_zeros(b, oc, ct_carries);
        let ct_ys = or_zeros(b, &stacks, ct_ys);
        let inputs = [kept, xs, &ct_ys].concat();
        let slices: Vec<Aval> = avals(&inputs).iter().map(slice_of).collect();
        let (n, m) = (shared.len(), first.len());
        // Every differentiable carry passes its cotangent between iterations, even if it is not needed outside.
        let inner: Vec<bool> = takes
            .iter()
            .zip(needs)
            .enumerate()
            .map(|(i, (a, need))| {
                a.dtype.is_differentiable()
                    && (*need || (self.shared..self.shared + self.carries).contains(&i))
            })
            .collect();
        let mut reached = Vec::new();
        let types = [avals(shared), avals(&first), slices.clone()].concat();
        let step = build(&types, |r, ins| {
            let (shared, rest) = ins.split_at(n);
            let (ct_c, rest) = rest.split_at(m);
            let (carries, rest) = rest.split_at(tc.len());
            let (xs, ct_y) = rest.split_at(tx.len());
            let cts =
                [spread_derivatives(oc, ct_c.iter().copied()), spread_derivatives(oy, ct_y.iter().copied())]
                    .concat();
            let point = [shared, carries, xs].concat();
            let grads = vjp_into(r, &self.body, &point, &cts, &inner).1;
            let (gs, gc, gx) = self.split(&grads);
            reached = gs.iter().map(Option::is_some).collect();
            let gs: Vec<Var<'_>> = gs.iter().flatten().copied().collect();
            [or_zeros(r, tc, gc), gs, or_zeros(r, tx, gx)].concat()
        });
        let s = reached.iter().filter(|r| **r).count();
        let step = match step.and_then(|step| inline_products(&step, m..m + s)) {
            Ok(step) => step,
            Err(e) => {
                b.fail(e);
                return vec![None; needs.len()];
            }
        };
        let outs = step.outputs();
        let mut planner = SumPlanner::new(&step, n, n + m, &outs[m + s..]);
        let sums: Vec<Sum> = outs[m..m + s].iter().map(|id| planner.sum(*id)).collect();
        let (kept, mut carried) = (planner.kept, Vec::new());
        sums.iter().for_each(|sum| sum.collect_carried(&mut carried));
        let zeros: Vec<Var<'g>> = carried.iter().map(|id| b.zeros(step.aval(*id))).collect();
        let carries = [&first[..], &zeros].concat();
        let types = [avals(shared), avals(&carries), slices].concat();
        let body = build(&types, |r, ins| {
            let (before, sums, slices) =
                (&ins[..n + m], &ins[n + m..n + carries.len()], &ins[n + carries.len()..]);
            let values = r.inline_all(&step, &[before, slices].concat());
            let value = |id: &Id| values[id.node as usize][id.out as usize];
            let added = carried.iter().zip(sums).map(|(id, sum)| *sum + value(id));
            outs[..m].iter().map(value).chain(added).chain(kept[inputs.len()..].iter().map(value)).collect()
        });
        let back = Scan { reverse: !self.reverse, ..self.clone() };
        let found = back.apply(b, body, (n, carries.len()), &[shared, &carries, &inputs].concat());
        let at = |i: usize| found.get(i).copied().unwrap_or(found[0]);
        let index_of = |list: &[Id], id: Id| list.iter().position(|other| *other == id).unwrap_or_default();
        let outside = invariants(b, &step, shared, &sums);
        let after = LoopResults {
            carried: &|id| at(m + index_of(&carried, id)),
            stack: &|id| match index_of(&kept, id) {
                i if i < inputs.len() => inputs[i],
                i => at(carries.len() + i - inputs.len()),
            },
            invariant: &|id| outside[id.node as usize][id.out as usize],
        };
        let mut sums = sums.iter().map(|sum| sum.build(b, &after));
        let gs = reached.iter().map(|r| if *r { sums.next() } else { None }).collect();
        let gx = (0..count_differentiable(tx)).map(|i| at(carries.len() + i));
        [gs, spread_derivatives(tc, (0..m).map(at)), spread_derivatives(tx, gx)].concat()
    }

    // Moves the batch axis of inputs after the axis of iterations. All carries are batched, because any of them may
    // become batched in the first iteration.
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let b = batch.builder;
        let is_input = |i: usize| i >= self.shared + self.carries;
        let is_shared = |i: usize| i < self.shared;
        let swap = |v: Var<'g>| {
            let order: Vec<usize> = [1, 0].into_iter().chain(2..v.rank()).collect();
            v.permute(&order)
        };
        let batched: Vec<bool> =
            (0..batch.ins.len()).map(|i| batch.batched[i] || !(is_shared(i) || is_input(i))).collect();
        let operand = |i: usize| match batched[i] {
            true if is_input(i) => swap(batch.with_axis(i)),
            true => batch.with_axis(i),
            false => batch.ins[i],
        };
        let operands: Vec<Var<'g>> = (0..batch.ins.len()).map(operand).collect();
        let types: Vec<Aval> = operands
            .iter()
            .enumerate()
            .map(|(i, v)| if is_input(i) { slice_of(&v.aval()) } else { v.aval() })
            .collect();
        let body = build(&types, |r, ins| vmap_into(r, &self.body, ins, &batched, batch.size));
        let outs = self.apply(b, body, (self.shared, self.carries), &operands);
        outs.into_iter().enumerate().map(|(k, v)| if k < self.carries { v } else { swap(v) }).collect()
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Scan(Box::new(self.clone()))
    }
}

impl Sampled for Scan {
    fn samples(s: &mut Samples) {
        let (w, h, n, x) = (
            Aval::new(DType::F64, [2, 2]),
            Aval::new(DType::F64, [2]),
            Aval::scalar(DType::I64),
            Aval::new(DType::F64, [2]),
        );
        // A recurrent step: h' = tanh(W h + x), a counter, and outputs h'·x and the count.
        let body = build(&[w.clone(), h.clone(), n.clone(), x.clone()], |_, v| {
            let h = (v[0].dot(v[1], "ij", "j", "i") + v[3]).tanh();
            let n = v[2] + 1.0;
            vec![h, n, h * v[3], n]
        });
        let Ok(body) = body else { return };
        let scan = |length, reverse| Scan { body: body.clone(), shared: 1, carries: 2, length, reverse };
        for (length, reverse) in [(3, false), (4, true), (1, false), (0, false)] {
            let ins = [
                s.normal([2, 2]),
                s.normal([2]),
                crate::Literal::int_scalar(DType::I64, 0),
                s.normal([length, 2]),
            ];
            s.case(scan(length, reverse), ins);
        }
        let types = [w.clone(), h.clone(), n.clone(), stacked(&x, 3)];
        s.error(scan(4, false), &types, "must have a leading axis of extent 4");
        s.error(scan(3, false), &[w.clone(), n.clone(), n.clone(), stacked(&x, 3)], "the step takes");
        if let Ok(body) = build(std::slice::from_ref(&h), |_, v| vec![v[0].sum(&[0])]) {
            let op = Scan { body, shared: 0, carries: 1, length: 2, reverse: false };
            s.error(op, &[h], "a carry keeps its type");
        }
    }
}
