//! Evaluates scalar functions at every index.

use crate::literal::Data;
use crate::ops::{Pointwise, Scalar};
use crate::{Aval, C, Class, Error, Literal, Result};

fn zip<T: Copy, U>(ins: &[&[T]], f: impl Fn(&[T]) -> U) -> Vec<U> {
    match ins {
        [a] => a.iter().map(|x| f(&[*x])).collect(),
        [a, b] => a.iter().zip(*b).map(|(x, y)| f(&[*x, *y])).collect(),
        _ => {
            let n = ins.first().map_or(0, |a| a.len());
            (0..n).map(|i| f(&ins.iter().map(|a| a[i]).collect::<Vec<T>>())).collect()
        }
    }
}

fn apply(op: &Pointwise, ins: &[Literal]) -> Result<Data> {
    let dtype = ins[0].dtype();
    let missing = || Error::dtype(dtype, format!("{} is not defined for it", op.name));
    Ok(match dtype.class() {
        Class::Float => {
            let (f, ins) = (op.float.ok_or_else(missing)?, ins.iter().map(Literal::f).collect::<Vec<_>>());
            if op.predicate { zip(&ins, |v| f(v) as i64).into() } else { zip(&ins, f).into() }
        }
        Class::Complex => {
            let (f, ins) = (op.complex.ok_or_else(missing)?, ins.iter().map(Literal::c).collect::<Vec<_>>());
            if op.predicate { zip(&ins, |v| f(v).re as i64).into() } else { zip(&ins, f).into() }
        }
        _ => zip(&ins.iter().map(Literal::i).collect::<Vec<_>>(), op.int.ok_or_else(missing)?).into(),
    })
}

fn select<T: Copy>(c: &[i64], yes: &[T], no: &[T]) -> Vec<T> {
    c.iter().zip(yes).zip(no).map(|((c, y), n)| if *c != 0 { *y } else { *n }).collect()
}

pub(super) fn pointwise(scalar: Scalar, ins: &[Literal], out: &Aval) -> Result<Data> {
    Ok(match scalar {
        Scalar::Pointwise(r) => apply(r, ins)?,
        Scalar::Identity => ins[0].data().clone(),
        // A cast reads a value of its operand's dtype: without rounding, `f32` would keep the digits of `f64`.
        Scalar::Cast => ins[0].clone().rounded().cast(out.dtype).data().clone(),
        Scalar::Select => match (ins[1].data(), ins[2].data()) {
            (Data::F(y), Data::F(n)) => select(ins[0].i(), y, n).into(),
            (Data::C(y), Data::C(n)) => select(ins[0].i(), y, n).into(),
            _ => select(ins[0].i(), ins[1].i(), ins[2].i()).into(),
        },
        Scalar::Re => ins[0].c().iter().map(|z| z.re).collect::<Vec<f64>>().into(),
        Scalar::Im => ins[0].c().iter().map(|z| z.im).collect::<Vec<f64>>().into(),
        Scalar::Conj => ins[0].c().iter().map(|z| z.conj()).collect::<Vec<C>>().into(),
        Scalar::Complex => {
            ins[0].f().iter().zip(ins[1].f()).map(|(a, b)| C::new(*a, *b)).collect::<Vec<C>>().into()
        }
    })
}
