//! Values as vectors over the reals: sums, multiples and the inner product `Re Σ conj(a)·b`.

use gradus_ir::literal::Data;
use gradus_ir::{C, Literal};

/// Returns `Σ factor · value`, element by element; integers are taken unchanged from the first term.
pub fn combine(terms: &[(f64, &Literal)]) -> Literal {
    let Some((_, first)) = terms.first() else { return Literal::scalar(gradus_ir::DType::F64, 0.0) };
    let n = first.data().len();
    let data: Data = match first.data() {
        Data::F(_) => {
            (0..n).map(|i| terms.iter().map(|(k, v)| k * v.f()[i]).sum()).collect::<Vec<f64>>().into()
        }
        Data::C(_) => {
            (0..n).map(|i| terms.iter().map(|(k, v)| v.c()[i] * *k).sum()).collect::<Vec<C>>().into()
        }
        Data::I(v) => Data::I(v.clone()),
    };
    Literal::new(first.aval().clone(), data).unwrap_or_else(|_| (*first).clone())
}

/// Replaces elements by zeros where `mask` is NaN.
pub fn zero_where_nan(value: &Literal, mask: &Literal) -> Literal {
    let data: Data = match (value.data(), mask.data()) {
        (Data::F(v), Data::F(m)) => v
            .iter()
            .zip(m.iter())
            .map(|(x, m)| if m.is_nan() { 0.0 } else { *x })
            .collect::<Vec<f64>>()
            .into(),
        (Data::C(v), Data::C(m)) => v
            .iter()
            .zip(m.iter())
            .map(|(x, m)| if m.is_nan() { C::ZERO } else { *x })
            .collect::<Vec<C>>()
            .into(),
        (other, _) => other.clone(),
    };
    Literal::new(value.aval().clone(), data).unwrap_or_else(|_| value.clone())
}

/// Returns the real inner product, and the sum of the magnitudes of its terms, to which rounding is relative.
pub fn inner(a: &[Literal], b: &[Literal]) -> (f64, f64) {
    let (mut sum, mut scale) = (0.0, 0.0);
    let mut add = |term: f64, size: f64| {
        sum += term;
        scale += size;
    };
    for (a, b) in a.iter().zip(b) {
        a.f().iter().zip(b.f()).for_each(|(x, y)| add(x * y, (x * y).abs()));
        a.c()
            .iter()
            .zip(b.c())
            .for_each(|(x, y)| add((x.conj() * y).re, (x.re * y.re).abs() + (x.im * y.im).abs()));
    }
    (sum, scale)
}

/// Returns the sum of all magnitudes.
pub fn size(values: &[Literal]) -> f64 {
    let one = |l: &Literal| {
        l.f().iter().map(|x| x.abs()).sum::<f64>() + l.c().iter().map(|z| z.norm()).sum::<f64>()
    };
    values.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gradus_ir::{Aval, DType};

    #[test]
    fn the_inner_product_is_real_and_symmetric() {
        let z = |v: Vec<C>| Literal::new(Aval::new(DType::C128, [v.len()]), v).unwrap();
        let (a, b) = (z(vec![C::new(1.0, 2.0)]), z(vec![C::new(3.0, -4.0)]));
        let (a, b) = ([a], [b]);
        assert_eq!(inner(&a, &b), (-5.0, 11.0));
        assert_eq!(inner(&b, &a), (-5.0, 11.0));
        assert_eq!(inner(&a, &a).0, 5.0);
    }

    #[test]
    fn combinations_keep_integers() {
        let x = Literal::floats(DType::F64, [2], vec![1.0, 2.0]).unwrap();
        let y = Literal::floats(DType::F64, [2], vec![10.0, 20.0]).unwrap();
        assert_eq!(combine(&[(1.0, &x), (0.5, &y)]).f(), [6.0, 12.0]);
        let i = Literal::ints(DType::I64, [2], vec![3, 4]).unwrap();
        assert_eq!(combine(&[(1.0, &i), (0.5, &i)]), i);
    }
}
