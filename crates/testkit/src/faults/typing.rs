//! Wrong types, and rules that are valid in one dtype only.

use super::{Fault, ModifiedOp, list};
use gradus_ir::ops::movement::{Flip, Permute};
use gradus_ir::ops::pointwise::{arith, exp};
use gradus_ir::ops::{Form, Samples};
use gradus_ir::{Aval, DType, Literal, Op, Result};

list![wrong_shape, wrong_shape_of_equal_count, wrong_dtype, rule_in_one_dtype,];

fn wrong_shape() -> Fault {
    let right = Flip { axes: vec![0] };
    let wrong = ModifiedOp::new("wrong_shape", right.clone())
        .infer(|ins| Ok(vec![ins[0].with_shape(ins[0].shape.without(&[0]))]));
    let ins = vec![Samples::default().normal([2, 3])];
    let what = "inference drops an axis that evaluation keeps";
    Fault { what, wrong: wrong.op(), right: right.into(), ins, smooth: true, caught: "types" }
}

/// As many elements as inferred, with other extents.
fn wrong_shape_of_equal_count() -> Fault {
    fn transposed(ins: &[Literal]) -> Result<Vec<Literal>> {
        gradus_ir::reference::apply(&Permute { axes: vec![1, 0] }.into(), ins)
    }
    let right = Permute { axes: vec![1, 0] };
    let wrong = ModifiedOp::new("unpermuted_shape", right.clone())
        .infer(|ins| Ok(ins.to_vec()))
        .form(|_| Form::external(transposed));
    let ins = vec![Samples::default().normal([2, 3])];
    let what = "inference keeps extents that evaluation exchanges";
    Fault { what, wrong: wrong.op(), right: right.into(), ins, smooth: true, caught: "types" }
}

fn wrong_dtype() -> Fault {
    let wrong =
        ModifiedOp::new("wrong_dtype", &arith::neg).infer(|ins| Ok(vec![ins[0].with_dtype(DType::I64)]));
    let ins = vec![Samples::default().normal([3])];
    let what = "inference says integers where evaluation gives floats";
    Fault { what, wrong: wrong.op(), right: Op::from(&arith::neg), ins, smooth: true, caught: "types" }
}

fn rule_in_one_dtype() -> Fault {
    let wrong = ModifiedOp::new("rule_in_one_dtype", &exp::exp).jvp(|rule, ts| {
        let y = rule.outs[0];
        let one = y.builder().full(&Aval::new(DType::F64, y.shape()), 1.0);
        vec![ts[0].map(|t| t * y * one)]
    });
    let ins = vec![Samples::default().normal([3])];
    let what = "a rule with a constant of type f64";
    Fault { what, wrong: wrong.op(), right: Op::from(&exp::exp), ins, smooth: true, caught: "dtypes" }
}
