//! A loop that runs while a condition holds.
//! Takes shared values and initial carries; returns final carries. A bounded loop differentiates as a `scan`.

use super::scan::Scan;
use super::switch::{avals, build, or_zeros, spread_derivatives, taken_only};
use super::*;
use crate::transform::{jvp_into, vjp_into, vmap_into};
use crate::{DType, message, op_struct};

op_struct! {
    /// Applies a graph to the carries as long as the condition, another graph, returns true. Operands: values shared
    /// by all iterations, then the initial values of the carries; both graphs take all of them. Results: the final
    /// carries.
    ///
    /// Forward mode always works. Reverse mode needs a bound on the number of iterations. The loop then becomes a
    /// scan of that length, whose iterations do nothing once the condition fails.
    pub struct While = "while" {
        /// The condition to continue: a graph that returns a boolean scalar.
        condition: Arc<Graph>,
        /// One iteration.
        body: Arc<Graph>,
        /// Number of shared operands.
        shared: usize,
        /// Largest number of iterations; 0 if unknown.
        bound: usize,
    }
}

/// Returns the shape of a value with a leading batch axis.
fn batched_shape(v: Var<'_>, size: usize) -> crate::Shape {
    [size].iter().chain(v.shape().iter()).copied().collect()
}

impl While {
    /// Builds the loop as a scan of `bound` iterations. An additional carry is true while the loop is still
    /// running.
    fn as_scan<'g>(&self, b: &'g Builder, ins: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
        let types = avals(ins);
        let running = Aval::scalar(DType::Bool);
        let body = build(&[&types[..], &[running]].concat(), |r, v| {
            let (now, going) = (&v[..types.len()], v[types.len()]);
            let own: Vec<Var<'_>> = now.iter().map(|v| taken_only(going, *v, 0)).collect();
            let next = r.inline(&self.body, &own);
            let carries: Vec<Var<'_>> = next
                .iter()
                .zip(&now[self.shared..])
                .map(|(new, old)| {
                    let axes: Vec<usize> = (0..old.rank()).collect();
                    going.spread(&axes, &old.shape()).select(*new, *old)
                })
                .collect();
            let check = r.inline(&self.condition, &[&now[..self.shared], &carries].concat());
            let going = going.and(check[0]);
            [carries, vec![going]].concat()
        })?;
        let first = b.inline(&self.condition, ins);
        let operands = [ins, &first[..1]].concat();
        let carries = types.len() - self.shared + 1;
        let scan = Scan { body, shared: self.shared, carries, length: self.bound, reverse: false };
        let mut outs = b.try_apply(scan, &operands)?;
        outs.truncate(carries - 1);
        Ok(outs)
    }
}

impl Primitive for While {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        for (what, graph) in [("the condition", &self.condition), ("the step", &self.body)] {
            if graph.input_avals() != ins {
                let why = message!("but is given ", ins);
                return Err(Error::shape(message!(what, " takes ", graph.input_avals()), why));
            }
        }
        if self.condition.output_avals() != [Aval::scalar(DType::Bool)] {
            let what = message!("the condition gives ", self.condition.output_avals());
            return Err(Error::shape(what, "but must give one boolean scalar"));
        }
        match ins.get(self.shared..) {
            Some(carries) if carries == self.body.output_avals() => Ok(carries.to_vec()),
            carries => {
                let what = message!("the step takes carries ", carries.unwrap_or_default());
                Err(Error::shape(
                    what,
                    message!("and gives ", self.body.output_avals(), ": a carry keeps its type"),
                ))
            }
        }
    }

    fn derivative(&self) -> Derivative {
        Derivative::Structural
    }

    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let b = rule.ins[0].builder();
        let types = avals(rule.ins);
        let (ts, tc) = types.split_at(self.shared);
        let (ds, dc) = tangents.split_at(self.shared);
        let (shared, carries) = rule.ins.split_at(self.shared);
        let operands = [shared, &or_zeros(b, ts, ds), carries, &or_zeros(b, tc, dc)].concat();
        let wide = avals(&operands);
        let count = |types: &[Aval]| types.iter().filter(|a| a.dtype.is_differentiable()).count();
        let (n, ns, m) = (ts.len(), count(ts), tc.len());
        let primals = |v: &[Var<'_>]| -> Vec<usize> {
            (0..n).chain(n + ns..n + ns + m).filter(|i| *i < v.len()).collect()
        };
        let condition = build(&wide, |r, v| {
            let point: Vec<Var<'_>> = primals(v).into_iter().map(|i| v[i]).collect();
            r.inline(&self.condition, &point)
        });
        let body = build(&wide, |r, v| {
            let point: Vec<Var<'_>> = primals(v).into_iter().map(|i| v[i]).collect();
            let dots = [
                spread_derivatives(ts, v[n..n + ns].iter().copied()),
                spread_derivatives(tc, v[n + ns + m..].iter().copied()),
            ]
            .concat();
            let (outs, touts) = jvp_into(r, &self.body, &point, &dots);
            [outs, or_zeros(r, tc, &touts)].concat()
        });
        let found = match (condition, body) {
            (Ok(condition), Ok(body)) => {
                b.apply(While { condition, body, shared: n + ns, bound: self.bound }, &operands)
            }
            (Err(e), _) | (_, Err(e)) => vec![b.fail(e)],
        };
        spread_derivatives(tc, found.into_iter().skip(m))
    }

    fn vjp<'g>(&self, rule: &Rule<'_, 'g>, cts: &[Option<Var<'g>>], needs: &[bool]) -> Vec<Option<Var<'g>>> {
        let b = rule.ins[0].builder();
        if self.bound == 0 {
            let why = "reverse mode through a loop needs a bound on its steps; give one, or use forward mode";
            b.fail(Error::gradient(why));
            return vec![None; needs.len()];
        }
        let types = avals(rule.ins);
        let as_scan = build(&types, |r, ins| match self.as_scan(r, ins) {
            Ok(outs) => outs,
            Err(e) => vec![r.fail(e)],
        });
        match as_scan {
            Ok(graph) => vjp_into(b, &graph, rule.ins, cts, needs).1,
            Err(e) => {
                b.fail(e);
                vec![None; needs.len()]
            }
        }
    }

    // With a condition per element the loop continues while any is true; elements that are done keep their values.
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let b = batch.builder;
        let batched: Vec<bool> = (0..batch.ins.len()).map(|i| batch.batched[i] || i >= self.shared).collect();
        let operands: Vec<Var<'g>> = (0..batch.ins.len())
            .map(|i| if batched[i] { batch.with_axis(i) } else { batch.ins[i] })
            .collect();
        let types = avals(&operands);
        let size = batch.size;
        let condition = build(&types, |r, v| {
            let each = vmap_into(r, &self.condition, v, &batched, size)[0];
            vec![r.apply1(super::reduce::Max { axes: vec![0] }, &[each])]
        });
        let body = build(&types, |r, v| {
            let each = vmap_into(r, &self.condition, v, &batched, size)[0];
            let own = |i: usize| match batched[i] || !v[i].dtype().is_differentiable() {
                true => taken_only(each, v[i], 1),
                false => taken_only(each, v[i].broadcast_to(&batched_shape(v[i], size)), 1),
            };
            let ins: Vec<Var<'_>> = (0..v.len()).map(own).collect();
            let floats: Vec<bool> = v.iter().map(|v| v.dtype().is_differentiable()).collect();
            let mask: Vec<bool> = batched.iter().zip(&floats).map(|(b, f)| *b || *f).collect();
            let next = vmap_into(r, &self.body, &ins, &mask, size);
            next.iter()
                .zip(&v[self.shared..])
                .map(|(new, old)| {
                    let axes: Vec<usize> = (1..old.rank()).collect();
                    each.spread(&axes, &old.shape()).select(*new, *old)
                })
                .collect()
        });
        match (condition, body) {
            (Ok(condition), Ok(body)) => b.apply(While { condition, body, ..self.clone() }, &operands),
            (Err(e), _) | (_, Err(e)) => vec![b.fail(e)],
        }
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::While(Box::new(self.clone()))
    }
}

impl Sampled for While {
    fn samples(s: &mut Samples) {
        let (a, x, n) = (Aval::scalar(DType::F64), Aval::new(DType::F64, [2]), Aval::scalar(DType::I64));
        let types = [a.clone(), x.clone(), n.clone()];
        let condition = build(&types, |_, v| vec![v[2].lt(v[2].full_like(3.0))]);
        let body = build(&types, |_, v| vec![(v[1] * v[0].broadcast_to(&v[1].shape())).sin(), v[2] + 1.0]);
        let (Ok(condition), Ok(body)) = (condition, body) else { return };
        let op = While { condition, body: body.clone(), shared: 1, bound: 5 };
        for from in [0, 2, 3] {
            let ins = [s.normal([]), s.normal([2]), crate::Literal::int_scalar(DType::I64, from)];
            s.case(op.clone(), ins);
        }
        s.error(op.clone(), &[a, x.clone(), x], "the condition takes");
        s.error(While { condition: body, ..op }, &types, "must give one boolean scalar");
    }
}
