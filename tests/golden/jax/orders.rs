//! Derivatives of high and mixed order of pointwise functions, in all combinations of modes.

use super::tools::*;
use gradus::Tensor;

/// Computes the n-th derivatives of scalar functions at each element.
fn each(n: usize, x: &Tensor, functions: &[fn(&Tensor) -> Tensor]) -> Vec<Tensor> {
    functions.iter().map(|f| batch(&[x], |x| nth(n, &x[0], f))).collect()
}

fn rosenbrock(x: &Tensor) -> Tensor {
    let (left, right) = (x.at(..-1), x.at(1..));
    ((right - left.square()).square() * 100.0 + (1.0 - &left).square()).sum(())
}

/// A vector function in which every result depends on every element.
fn bumpy(x: &Tensor) -> Tensor {
    (x * x.sum(())).sin() + (x * 0.5).exp().cumsum(0) * x.flip(0)
}

fn guarded_log(x: &Tensor) -> Tensor {
    let positive = x.gt(0.0);
    positive.select(&positive.select(x, 1.0).log(), &x.pow(3.0))
}

fn tangents(n: usize, x: &Tensor, v: &Tensor) -> Tensor {
    if n == 0 { x.sin().exp() } else { push(x, v, |x| tangents(n - 1, x, v)) }
}

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("third_of_sine_times_exp", |x| vec![nth(3, &x[0], &|x| x.sin() * (x * 0.5).exp())]),
    ("fifth_of_tanh", |x| each(5, &x[0], &[Tensor::tanh])),
    ("fourth_of_log", |x| each(4, &x[0], &[Tensor::log])),
    ("third_of_lgamma", |x| [each(3, &x[0], &[Tensor::lgamma]), each(2, &x[0], &[Tensor::digamma])].concat()),
    ("fourth_of_erf", |x| [each(4, &x[0], &[Tensor::erf]), each(3, &x[0], &[Tensor::erfc])].concat()),
    ("third_of_erfinv", |x| each(3, &x[0], &[Tensor::erfinv])),
    ("third_of_inverse_functions", |x| {
        each(3, &x[0], &[Tensor::asin, Tensor::acos, Tensor::atan, Tensor::asinh, Tensor::atanh])
    }),
    ("third_of_roots", |x| {
        let roots = [Tensor::sqrt, Tensor::rsqrt, Tensor::cbrt];
        [each(3, &x[0], &roots), each(3, &x[0], &[Tensor::acosh, Tensor::log1p, Tensor::expm1])].concat()
    }),
    ("third_of_activations", |x| {
        let softplus = |x: &Tensor| x.softplus(1.0, 20.0);
        let gelus = each(3, &x[0], &[Tensor::gelu, Tensor::gelu_tanh, Tensor::silu, softplus]);
        [gelus, each(3, &x[0], &[Tensor::mish, Tensor::sigmoid, Tensor::logsigmoid])].concat()
    }),
    ("hessian_of_pow", |x| vec![hessian(&x[0], |x| x.at(0).pow(&x.at(1)))]),
    ("third_of_atan2", |x| vec![jacfwd(&x[0], |x| hessian(x, |x| x.at(0).atan2(&x.at(1))))]),
    ("third_of_hypot", |x| vec![jacrev(&x[0], |x| hessian(x, |x| x.at(0).hypot(&(x.at(1) * x.at(2)))))]),
    ("third_of_logaddexp", |x| {
        vec![jacfwd(&x[0], |x| hessian(x, |x| (x.at(0) * x.at(1)).logaddexp(&x.at(2))))]
    }),
    ("mixed_third", |x| {
        let f = |x: &Tensor, y: &Tensor, z: &Tensor| (x * y * z).sin() + x * y.square() * z.exp();
        vec![d(&x[2], |z| d(&x[1], |y| d(&x[0], |x| f(x, y, z))))]
    }),
    ("no_confusion_of_levels", |x| {
        let y = &x[1];
        let inner = |x: &Tensor| d(y, |y| x + y * x);
        let deepest = |x: &Tensor, y: &Tensor| d(y, |t| x * y * t.square());
        let deeper = |x: &Tensor| x * push(y, &y.ones_like(), |y| x * y * deepest(x, y));
        vec![d(&x[0], |x| x * inner(x)), d(&x[0], deeper)]
    }),
    ("rosenbrock_forward_reverse", |x| vec![jacfwd(&x[0], |x| jacrev(x, rosenbrock))]),
    ("rosenbrock_reverse_forward", |x| vec![jacrev(&x[0], |x| jacfwd(x, rosenbrock))]),
    ("rosenbrock_forward_forward", |x| vec![jacfwd(&x[0], |x| jacfwd(x, rosenbrock))]),
    ("rosenbrock_reverse_reverse", |x| vec![jacrev(&x[0], |x| jacrev(x, rosenbrock))]),
    ("third_derivatives_of_a_vector_function", |x| {
        let mixed = jacfwd(&x[0], |x| jacrev(x, |x| jacfwd(x, bumpy)));
        vec![mixed, jacrev(&x[0], |x| jacfwd(x, |x| jacrev(x, bumpy)))]
    }),
    ("fourth_derivative_tensor", |x| {
        let f = |x: &Tensor| (x.sin() * x.prod(())).sum(());
        vec![jacfwd(&x[0], |x| jacfwd(x, |x| jacrev(x, |x| jacrev(x, f))))]
    }),
    ("four_nested_tangents", |x| vec![tangents(4, &x[0], &x[1])]),
    ("tangent_of_pullback", |x| {
        jvp(&[&x[0], &x[2]], &[&x[1], &x[1].cos()], |a| vec![pull(&a[0], &a[1], bumpy)])
    }),
    ("pullback_of_tangent", |x| {
        let both = |a: &[Tensor]| jvp(&[&a[0]], &[&a[1]], |x| vec![bumpy(&x[0])]);
        gradus::vjp(&[&x[0], &x[1]], both).unwrap().1(&[&x[2], &x[3]]).unwrap()
    }),
    ("pullback_of_pullback", |x| {
        let (out, again) = gradus::vjp(&[&x[0], &x[1]], |a| pull(&a[0], &a[1], bumpy)).unwrap();
        [out, again(&[&x[2]]).unwrap()].concat()
    }),
    ("tangent_of_tangent", |x| {
        jvp(&[&x[0], &x[1]], &[&x[2], &x[2].sin()], |a| vec![push(&a[0], &a[1], bumpy)])
    }),
    ("linear_part_of_a_gradient", |x| {
        let slope = |x: &[Tensor]| d(&x[0], |x| bumpy(x).square().sum(()));
        let (_, linear) = gradus::linearize(&[&x[0]], slope).unwrap();
        [linear(&[&x[1]]).unwrap(), linear(&[&x[2]]).unwrap()].concat()
    }),
    ("gradient_of_a_squared_tangent", |x| {
        ds(&[&x[0], &x[1]], |a| push(&a[0], &a[1], bumpy).square().sum(()))
    }),
    ("hvp_of_two_arguments", |x| {
        hvp(&[&x[0], &x[1]], &[&x[2], &x[3]], |a| {
            a[1].matmul(&bumpy(&a[0])).tanh().sum(()) + a[1].pow(3.0).sum(())
        })
    }),
    ("gradient_of_hvp", |x| {
        let f = |x: &[Tensor]| bumpy(&x[0]).pow(3.0).sum(());
        vec![d(&x[0], |y| hvp(&[y], &[&x[1]], f)[0].sin().sum(()))]
    }),
    ("second_of_guarded_log", |x| {
        let whole = hessian(&x[0], |x| (guarded_log(x) * x.flip(0)).sum(()));
        [each(2, &x[0], &[guarded_log]), vec![whole]].concat()
    }),
    ("third_of_quotients", |x| {
        let f = |x: &Tensor, y: &Tensor| x.sin() / (y + x.square());
        vec![batch(&[&x[0], &x[1]], |a| d(&a[1], |y| d(&a[0], |x| d(y, |y| f(x, y)))))]
    }),
    ("stopped_gradients", |x| {
        let f = |x: &Tensor| (x.sin().stop_gradient() * x.pow(3.0) + x.stop_gradient() * x).sum(());
        vec![d(&x[0], f), hessian(&x[0], f)]
    }),
    ("straight_through_rounding", |x| {
        let through = |x: &Tensor| x + ((x * 2.0).round() - x).stop_gradient();
        let f = |x: &Tensor| (through(x) * x * 0.3).exp().sum(());
        vec![d(&x[0], f), hessian(&x[0], f)]
    }),
];
