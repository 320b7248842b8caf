//! A named region: a graph applied as one op, whose name is kept through every transform.
//! Takes operands of the types of its graph's inputs; returns the values of the graph's outputs.
//! The compiler decides if a region is inlined or run as one step.

use super::select::Barrier;
use super::*;
use crate::attr::Mark;
use crate::graph::Builder;
use crate::transform::{jvp_into, transpose_into, vjp_into, vmap_mask};
use crate::{DType, message, op_struct};

op_struct! {
    /// Applies a graph to the operands under a name. Compilers may recognise a region by its name or inline it. Its
    /// derivatives are those of its body, unless it has its own rule.
    pub struct Call = "call" {
        /// The name of the region.
        name: Arc<str>,
        /// The arguments of the call other than the operands.
        args: Vec<(String, Attr)>,
        /// The graph to compute.
        body: Arc<Graph>,
        /// A rule for tangents: see [`Call::with_jvp`].
        jvp: Option<Arc<Graph>>,
        /// A rule for gradients: see [`Call::with_grad`].
        grad: Option<Arc<Graph>>,
        /// If set, the gradient recomputes the region's values: see [`Call::with_remat`].
        remat: Mark,
    }
}

impl Call {
    /// Makes a region without rules of its own.
    pub fn new(name: &str, args: Vec<(String, Attr)>, body: Arc<Graph>) -> Call {
        Call { name: name.into(), args, body, jvp: None, grad: None, remat: Mark(false) }
    }

    /// Adds a rule for gradients: a graph that takes the operands, the results and a cotangent per result, and
    /// returns a gradient per operand. The rule must be linear in the cotangents. Forward mode is its transpose,
    /// unless `with_jvp` gives a rule for it.
    pub fn with_grad(self, grad: Arc<Graph>) -> Call {
        Call { grad: Some(grad), ..self }
    }

    /// Adds a rule for tangents: a graph that takes the operands, the results and a tangent per operand, and
    /// returns a tangent per result. The rule must be linear in the tangents. Reverse mode is its transpose,
    /// unless `with_grad` gives a rule for it.
    pub fn with_jvp(self, jvp: Arc<Graph>) -> Call {
        Call { jvp: Some(jvp), ..self }
    }

    /// Recomputes the region's values for its gradient, and for the gradients of its derivatives, even after
    /// inlining. Values inside the region are not kept from the forward pass to the reverse pass.
    pub fn with_remat(self) -> Call {
        Call { remat: Mark(true), ..self }
    }

    fn derived(&self, suffix: &str, body: Graph) -> Call {
        let name = format!("{}_{suffix}", self.name);
        Call { remat: self.remat, ..Call::new(&name, self.args.clone(), Arc::new(body)) }
    }

    /// Applies the region's own rule, which maps directions at the values `at` to directions at the values `to`.
    /// Uses the rule `direct` if it exists, else the transpose of the rule `opposite`.
    fn apply_own_rule<'g>(
        &self,
        rule: &Rule<'_, 'g>,
        (at, directions): (&[Var<'g>], &[Option<Var<'g>>]),
        to: &[Var<'g>],
        (suffix, direct): (&'static str, &Option<Arc<Graph>>),
        opposite: &Option<Arc<Graph>>,
    ) -> Vec<Option<Var<'g>>> {
        let full = at.iter().zip(directions).map(|(v, d)| d.unwrap_or_else(|| v.full_like(0.0)));
        let operands: Vec<Var<'g>> = rule.ins.iter().chain(rule.outs).copied().chain(full).collect();
        let found = match (direct, opposite) {
            // Inline the rule as it is: a rule that should be named calls a region with that name.
            (Some(graph), _) => {
                rule.ins[0].builder().inline(graph, &operands).into_iter().map(Some).collect()
            }
            (None, Some(graph)) => {
                let n = rule.ins.len() + rule.outs.len();
                self.apply_derived((suffix, &[], &[]), &operands, |r, ins| {
                    let cts: Vec<_> =
                        ins[n..].iter().map(|v| v.dtype().is_differentiable().then_some(*v)).collect();
                    transpose_into(r, graph, &ins[..n], &cts)
                })
            }
            (None, None) => Vec::new(),
        };
        found.into_iter().zip(to).map(|(d, v)| d.filter(|_| v.dtype().is_differentiable())).collect()
    }

    /// Builds a derived region over new inputs like `operands` and applies it; missing results are `None`. The region
    /// must depend only on this op, on which directions are given, and on which results are wanted.
    fn apply_derived<'g>(
        &self,
        (suffix, given, wanted): (&'static str, &[Option<Var<'g>>], &[bool]),
        operands: &[Var<'g>],
        build: impl for<'r> FnOnce(&'r Builder, &[Var<'r>]) -> Vec<Option<Var<'r>>>,
    ) -> Vec<Option<Var<'g>>> {
        let Some(b) = operands.first().map(|v| v.builder()) else { return Vec::new() };
        let make = || {
            let r = Builder::new();
            let ins: Vec<Var<'_>> = operands.iter().map(|v| r.input("x", v.aval())).collect();
            let results = build(&r, &ins);
            let present: Vec<Var<'_>> = results.iter().flatten().copied().collect();
            let body = r.finish(&present)?;
            let call = (!present.is_empty()).then(|| self.derived(suffix, body).into());
            Ok((call, results.iter().map(Option::is_some).collect()))
        };
        let given = given.iter().map(Option::is_some).collect();
        match b.derived((self.clone().into(), suffix, given, wanted.to_vec()), make) {
            Ok((call, present)) => {
                let mut outs = call.map_or_else(Vec::new, |call| b.apply(call, operands)).into_iter();
                present.into_iter().map(|p| if p { outs.next() } else { None }).collect()
            }
            Err(e) => {
                b.fail(e);
                Vec::new()
            }
        }
    }
}

/// Sums the outputs whose flag in `keep` is false over their first axis.
fn sum_unbatched(graph: &Graph, keep: &[bool]) -> Result<Arc<Graph>> {
    super::switch::build(&graph.input_avals(), |r, ins| {
        let all = r.inline(graph, ins).into_iter().zip(keep);
        all.map(|(v, keep)| match (keep, v.dtype().is_differentiable()) {
            (true, _) => v,
            (false, true) => v.sum(&[0]),
            (false, false) => r.zeros(&v.aval().with_shape(&v.shape()[1..])),
        })
        .collect()
    })
}

impl Primitive for Call {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        let expected = self.body.input_avals();
        arity(ins, expected.len())?;
        if ins != expected {
            return Err(Error::shape(format!("operands of {}", self.name), message!("must be ", expected)));
        }
        let outs = self.body.output_avals();
        let own = [("gradient", &self.grad, &outs[..], ins), ("tangents", &self.jvp, ins, &outs)];
        for (what, graph, directions, gives) in own {
            let from: Vec<Aval> = ins.iter().chain(&outs).chain(directions).cloned().collect();
            if let Some(graph) = graph
                && (graph.input_avals() != from || graph.output_avals() != gives)
            {
                let why = message!("must take ", from, " and give ", gives);
                return Err(Error::shape(format!("the {what} of {}", self.name), why));
            }
        }
        Ok(self.body.output_avals())
    }

    fn derivative(&self) -> Derivative {
        Derivative::Structural
    }

    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        if self.jvp.is_some() || self.grad.is_some() {
            return self.apply_own_rule(
                rule,
                (rule.ins, tangents),
                rule.outs,
                ("jvp", &self.jvp),
                &self.grad,
            );
        }
        let operands: Vec<Var<'g>> =
            rule.ins.iter().copied().chain(tangents.iter().flatten().copied()).collect();
        let arity = rule.ins.len();
        self.apply_derived(("jvp", tangents, &[]), &operands, |r, ins| {
            let mut rest = ins[arity..].iter().copied();
            let ts: Vec<_> = tangents.iter().map(|t| t.and_then(|_| rest.next())).collect();
            jvp_into(r, &self.body, &ins[..arity], &ts).1
        })
    }

    fn vjp<'g>(&self, rule: &Rule<'_, 'g>, cts: &[Option<Var<'g>>], needs: &[bool]) -> Vec<Option<Var<'g>>> {
        if self.jvp.is_some() || self.grad.is_some() {
            return self.apply_own_rule(rule, (rule.outs, cts), rule.ins, ("grad", &self.grad), &self.jvp);
        }
        let operands: Vec<Var<'g>> = rule.ins.iter().copied().chain(cts.iter().flatten().copied()).collect();
        let arity = rule.ins.len();
        self.apply_derived(("vjp", cts, needs), &operands, |r, ins| {
            let mut rest = ins[arity..].iter().copied();
            let cts: Vec<_> = cts.iter().map(|ct| ct.and_then(|_| rest.next())).collect();
            // Recompute the values of the forward pass once the cotangents are available.
            let mut point = ins[..arity].to_vec();
            if self.remat.0 {
                point.iter_mut().for_each(|x| *x = r.apply1(Barrier {}, &[&[*x], &ins[arity..]].concat()));
            }
            vjp_into(r, &self.body, &point, &cts, needs).1
        })
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let made = || -> Result<Vec<Var<'g>>> {
            if self.jvp.is_none() && self.grad.is_none() {
                let body = vmap_mask(&self.body, batch.batched, batch.size)?;
                return batch.builder.try_apply(self.derived("vmap", body), batch.ins);
            }
            // Batch the region's own rules too. Operands shared by the batch get the sum of their gradients.
            let outs = vec![true; self.body.outputs().len()];
            let own = |g: &Option<Arc<Graph>>, directions: &[bool]| {
                let mask = [batch.batched, &outs, directions].concat();
                g.as_ref().map(|g| vmap_mask(g, &mask, batch.size)).transpose()
            };
            let jvp = own(&self.jvp, batch.batched)?.map(Arc::new);
            let grad = own(&self.grad, &outs)?.map(|g| sum_unbatched(&g, batch.batched)).transpose()?;
            let call = self.derived("vmap", vmap_mask(&self.body, batch.batched, batch.size)?);
            batch.builder.try_apply(Call { jvp, grad, ..call }, batch.ins)
        };
        made().unwrap_or_else(|e| vec![batch.builder.fail(e)])
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Region(self.body.clone())
    }
}

impl Sampled for Call {
    fn samples(s: &mut Samples) {
        let b = Builder::new();
        let (x, y) =
            (b.input("x", Aval::new(DType::F64, [2, 3])), b.input("y", Aval::new(DType::F64, [2, 3])));
        let e = (x * y).exp();
        let outs = [e, e.sum(&[1]), x.gt(y)];
        if let Ok(body) = b.finish(&outs) {
            let call = Call::new("sample_region", vec![("axis".into(), Attr::Int(1))], Arc::new(body));
            let ins = [s.normal([2, 3]), s.normal([2, 3])];
            s.case(call.clone(), ins.clone());
            s.case(call.clone().with_remat(), ins);
            s.error(
                call.clone().with_grad(call.body.clone()),
                &call.body.input_avals(),
                "the gradient of sample_region",
            );
            s.error(call, &[Aval::new(DType::F64, [2])], "takes 2 operands, got 1");
        }
        // x² with its gradient, and with its tangents, given.
        let x = Aval::new(DType::F64, [3]);
        let make = |f: for<'r> fn(&[Var<'r>]) -> Var<'r>, n: usize| {
            super::switch::build(&vec![x.clone(); n], |_, v| vec![f(v)])
        };
        if let (Ok(body), Ok(rule)) = (make(|v| v[0] * v[0], 1), make(|v| v[0] * 2.0 * v[2], 3)) {
            let square = Call::new("square", vec![], body);
            for own in [
                square.clone().with_grad(rule.clone()),
                square.clone().with_jvp(rule.clone()),
                square.with_jvp(rule.clone()).with_grad(rule),
            ] {
                let ins = [s.normal([3])];
                s.case(own, ins);
            }
        }
        // A product of two with its gradient given: a batch may share either.
        let product = (
            make(|v| v[0] * v[1], 2),
            super::switch::build(&vec![x.clone(); 4], |_, v| vec![v[3] * v[1], v[3] * v[0]]),
        );
        if let (Ok(body), Ok(rule)) = product {
            let ins = [s.normal([3]), s.normal([3])];
            s.case(Call::new("product", vec![], body).with_grad(rule), ins);
        }
    }
}
