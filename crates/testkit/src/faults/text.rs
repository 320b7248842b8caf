//! Ops whose text does not contain all of their attributes, or is not parsed correctly.

use super::Fault;
use gradus_ir::attr::{Attr, AttrField, Attrs};
use gradus_ir::ops::{Bound, Declared, Derivative, Form, Named, Primitive, Rule, Samples, registry};
use gradus_ir::{Aval, Class, Error, Literal, Op, Result, Var, op_struct};

pub(super) fn faults() -> Vec<Fault> {
    registry::register("affine", |attrs| Affine::from_attrs(attrs).map(Op::user));
    registry::register("field_left_out", |attrs| {
        Some(field_left_out(read(attrs, "factor"), read(attrs, "shift")))
    });
    registry::register("fields_exchanged", |attrs| {
        Some(fields_exchanged(read(attrs, "shift"), read(attrs, "factor")))
    });
    let fault = |what, wrong| {
        let right = Op::user(Affine { factor: 3, shift: 5 });
        Fault { what, wrong, right, ins: vec![Samples::default().normal([3])], smooth: true, caught: "text" }
    };
    let unknown = Op::user(Written(Affine { factor: 3, shift: 5 }, "not_registered", Affine::to_attrs));
    vec![
        fault("the text leaves an attribute out, and so does the hash", field_left_out(3, 5)),
        fault("the parser takes one attribute for another", fields_exchanged(3, 5)),
        fault("no parser is registered", unknown),
    ]
}

fn read(attrs: &dyn Fn(&str) -> Option<Attr>, name: &str) -> i64 {
    attrs(name).and_then(|a| i64::from_attr(&a)).unwrap_or(0)
}

fn field_left_out(factor: i64, shift: i64) -> Op {
    let written = |op: &Affine| vec![("factor", op.factor.to_attr())];
    Op::user(Written(Affine { factor, shift }, "field_left_out", written))
}

fn fields_exchanged(factor: i64, shift: i64) -> Op {
    Op::user(Written(Affine { factor, shift }, "fields_exchanged", Affine::to_attrs))
}

op_struct! {
    /// `factor x + shift`.
    pub struct Affine = "affine" {
        /// The factor.
        factor: i64,
        /// The summand.
        shift: i64,
    }
}

impl Primitive for Affine {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        match ins[0].dtype.class() {
            Class::Float => Ok(ins.to_vec()),
            _ => Err(Error::dtype(ins[0].dtype, "it takes floats")),
        }
    }
    fn derivative(&self) -> Derivative {
        Derivative::Jvp
    }
    fn jvp<'g>(&self, _rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        vec![tangents[0].map(|t| t * self.factor as f64)]
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        let (factor, shift) = (self.factor as f64, self.shift as f64);
        Form::external(move |ins| {
            let data: Vec<f64> = ins[0].f().iter().map(|x| factor * x + shift).collect();
            Ok(vec![Literal::new(ins[0].aval().clone(), data)?.rounded()])
        })
    }
    fn bound(&self) -> Bound {
        Bound::Ulps(1.0)
    }
}

/// An affine op that writes its attributes differently.
#[derive(Clone, Debug)]
struct Written(Affine, &'static str, fn(&Affine) -> Attrs);

impl Named for Written {
    fn name(&self) -> &str {
        self.1
    }
    fn docs(&self) -> &str {
        Affine::DOCS
    }
    fn attrs(&self) -> Attrs {
        (self.2)(&self.0)
    }
}

impl Primitive for Written {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        self.0.infer(ins)
    }
    fn derivative(&self) -> Derivative {
        self.0.derivative()
    }
    fn jvp<'g>(&self, rule: &Rule<'_, 'g>, tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        self.0.jvp(rule, tangents)
    }
    fn form(&self, ins: &[Aval]) -> Form {
        self.0.form(ins)
    }
    fn bound(&self) -> Bound {
        self.0.bound()
    }
}
