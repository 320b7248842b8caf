//! A named region: a graph applied as one op, which keeps its name through every transform.

use super::*;
use crate::graph::Builder;
use crate::transform::{jvp_into, vjp_into};
use crate::{DType, op_struct};

op_struct! {
    /// Applies a graph to the operands under a name. Compilers may claim a region by its name or inline it;
    /// derivatives are those of its body, unless it has a gradient region of its own.
    pub struct Call = "call" {
        /// What the region is called.
        name: Arc<str>,
        /// The arguments it was called with, besides the operands.
        args: Vec<(String, Attr)>,
        /// What it computes.
        body: Arc<Graph>,
        /// Its own gradient: see [`Call::with_grad`].
        grad: Option<Arc<Graph>>,
    }
}

impl Call {
    /// A region.
    pub fn new(name: &str, args: Vec<(String, Attr)>, body: Arc<Graph>) -> Call {
        Call { name: name.into(), args, body, grad: None }
    }

    /// With a gradient of its own: a graph from the operands, the results and a cotangent per result to a
    /// gradient per operand. It must equal the derived one, and the test kit checks that it does.
    pub fn with_grad(self, grad: Arc<Graph>) -> Call {
        Call { grad: Some(grad), ..self }
    }

    fn derived(&self, suffix: &str, body: Graph) -> Call {
        Call::new(&format!("{}_{suffix}", self.name), self.args.clone(), Arc::new(body))
    }

    /// Builds a derived region over fresh inputs like `operands` and applies it; `None` keeps its place.
    fn apply_derived<'g>(
        &self,
        suffix: &str,
        operands: &[Var<'g>],
        build: impl for<'r> FnOnce(&'r Builder, &[Var<'r>]) -> Vec<Option<Var<'r>>>,
    ) -> Vec<Option<Var<'g>>> {
        let Some(b) = operands.first().map(|v| v.builder()) else { return Vec::new() };
        let r = Builder::new();
        let ins: Vec<Var<'_>> = operands.iter().map(|v| r.input("x", v.aval())).collect();
        let results = build(&r, &ins);
        let present: Vec<Var<'_>> = results.iter().flatten().copied().collect();
        if present.is_empty() {
            return vec![None; results.len()];
        }
        match r.finish(&present) {
            Ok(body) => {
                let mut outs = b.apply(self.derived(suffix, body), operands).into_iter();
                results.iter().map(|r| r.and_then(|_| outs.next())).collect()
            }
            Err(e) => {
                b.fail(e);
                Vec::new()
            }
        }
    }
}

impl Primitive for Call {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        let expected = self.body.input_avals();
        arity(ins, expected.len())?;
        if ins != expected {
            return Err(Error::shape(format!("operands of {}", self.name), format!("must be {expected:?}")));
        }
        if let Some(grad) = &self.grad {
            let outs = self.body.output_avals();
            let from: Vec<Aval> = ins.iter().chain(&outs).chain(&outs).cloned().collect();
            if grad.input_avals() != from || grad.output_avals() != ins {
                let why = format!("must take {from:?} and give {ins:?}");
                return Err(Error::shape(format!("the gradient of {}", self.name), why));
            }
        }
        Ok(self.body.output_avals())
    }

    fn derivative(&self) -> Derivative {
        Derivative::Structural
    }

    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        let operands: Vec<Var<'g>> =
            rule.ins.iter().copied().chain(tangents.iter().flatten().copied()).collect();
        let arity = rule.ins.len();
        self.apply_derived("jvp", &operands, |r, ins| {
            let mut rest = ins[arity..].iter().copied();
            let ts: Vec<_> = tangents.iter().map(|t| t.and_then(|_| rest.next())).collect();
            jvp_into(r, &self.body, &ins[..arity], &ts).1
        })
    }

    fn vjp<'g>(&self, rule: &Rule<'_, 'g>, cts: &[Option<Var<'g>>], needs: &[bool]) -> Vec<Option<Var<'g>>> {
        if let Some(grad) = &self.grad {
            let ct = |(ct, out): (&Option<Var<'g>>, &Var<'g>)| ct.unwrap_or_else(|| out.full_like(0.0));
            let cts = cts.iter().zip(rule.outs).map(ct);
            let operands: Vec<Var<'g>> = rule.ins.iter().chain(rule.outs).copied().chain(cts).collect();
            let call = Call::new(&format!("{}_grad", self.name), self.args.clone(), grad.clone());
            return rule.ins[0].builder().apply(call, &operands).into_iter().map(Some).collect();
        }
        let operands: Vec<Var<'g>> = rule.ins.iter().copied().chain(cts.iter().flatten().copied()).collect();
        let arity = rule.ins.len();
        self.apply_derived("vjp", &operands, |r, ins| {
            let mut rest = ins[arity..].iter().copied();
            let cts: Vec<_> = cts.iter().map(|ct| ct.and_then(|_| rest.next())).collect();
            vjp_into(r, &self.body, &ins[..arity], &cts, needs).1
        })
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        match crate::transform::vmap_mask(&self.body, batch.batched, batch.size) {
            // A gradient of its own would have to be batched as well; the derived one is as good.
            Ok(body) => batch.builder.apply(self.derived("vmap", body), batch.ins),
            Err(e) => vec![batch.builder.fail(e)],
        }
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
            s.case(call.clone(), ins);
            s.error(call, &[Aval::new(DType::F64, [2])], "takes 2 operands, was given 1");
        }
    }
}
