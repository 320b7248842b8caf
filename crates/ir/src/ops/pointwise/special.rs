//! Error, gamma, Bessel and Airy functions, on real numbers.
//! Declares these ops with their derivatives. Their values are computed in `special.rs`, `bessel.rs` and `igamma.rs`.

use super::*;
use crate::{bessel, igamma as incomplete, igamma_grad, special};
use std::f64::consts::FRAC_2_SQRT_PI;

/// Passes the special functions to a macro.
#[macro_export]
macro_rules! special_ops {
    ($then:ident) => {
        $then! {
            /// Error function.
            erf(x) -> y {
                float: libm::erf(x);
                partials: [(-(x * x)).exp() * FRAC_2_SQRT_PI];
                ulp: 4.0;
            }
            /// `1 - erf(x)`, exact where it is small.
            erfc(x) -> y {
                float: libm::erfc(x);
                partials: [(-(x * x)).exp() * -FRAC_2_SQRT_PI];
                ulp: 4.0;
            }
            /// Inverse of the error function; infinite at -1 and 1, as its derivative is, NaN beyond.
            erfinv(x) -> y {
                float: special::erfinv(x);
                partials: [(y * y).exp() / FRAC_2_SQRT_PI];
                domain: [(-0.9, 0.9)];
                ulp: 4.0;
            }
            /// Logarithm of the modulus of the gamma function; infinite at its poles 0, -1, -2, ...
            lgamma(x) -> y {
                float: special::lgamma(x);
                partials: [x.digamma()];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// Derivative of `lgamma`; minus infinity at 0, infinity at -0, NaN at -1, -2, ...
            digamma(x) -> y {
                float: special::digamma(x);
                partials: [x.full_like(1.0).polygamma(x)];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// The `n`-th derivative of `digamma` at `x`. The order is rounded to an integer, so its derivative is 0;
            /// NaN for orders below 0. At the poles 0, -1, -2, ... it is infinite for odd orders, and behaves as
            /// `digamma` for even ones.
            polygamma(n, x) -> y {
                float: polygamma_float(n, x);
                partials: [0.0, (n + 1.0).polygamma(x)];
                domain: [(0.6, 1.4), (0.4, 3.0)];
                ulp: 4.0;
            }
            /// Regularised lower incomplete gamma function P(a, x); NaN for arguments below 0.
            igamma(a, x) -> y {
                float: incomplete::igamma(a, x);
                partials: [a.full_like(1.0).igamma_grad_a(a, x), a.full_like(0.0).gamma_density(a, x)];
                domain: [(0.4, 3.0), (0.3, 5.0)];
                ulp: 4.0;
            }
            /// Regularised upper incomplete gamma function 1 - P(a, x), exact where it is small.
            igammac(a, x) -> y {
                float: incomplete::igammac(a, x);
                partials: [-a.full_like(1.0).igamma_grad_a(a, x), -a.full_like(0.0).gamma_density(a, x)];
                domain: [(0.4, 3.0), (0.3, 5.0)];
                ulp: 4.0;
            }
            /// The `n`-th derivative by `a` of `igamma(a, x)`. The order is rounded to an integer, so its derivative
            /// is 0; NaN for orders below 0 and above 20.
            igamma_grad_a(n, a, x) -> y {
                float: igamma_grad::igamma_grad_a(n, a, x);
                partials: [0.0, (n + 1.0).igamma_grad_a(a, x), n.gamma_density(a, x)];
                domain: [(0.6, 1.4), (0.4, 3.0), (0.3, 5.0)];
                ulp: 4.0;
            }
            /// The `n`-th derivative by `a` of `x^(a-1) exp(-x) / Γ(a)`, the derivative by `x` of `igamma(a, x)`. The
            /// order is rounded to an integer, so its derivative is 0; NaN for orders below 0 and above 20.
            gamma_density(n, a, x) -> y {
                float: igamma_grad::gamma_density(n, a, x);
                partials: [0.0, (n + 1.0).gamma_density(a, x), gamma_density_by_x(n, a, x, y)];
                domain: [(0.6, 1.4), (0.4, 3.0), (0.3, 5.0)];
                ulp: 4.0;
            }
            /// Bessel function of the first kind of order 0.
            bessel_j0(x) -> y {
                float: bessel::j0(x);
                partials: [-x.bessel_j1()];
                ulp: 4.0;
            }
            /// Bessel function of the first kind of order 1.
            bessel_j1(x) -> y {
                float: bessel::j1(x);
                partials: [x.bessel_j0() - y.over_or_half(x)];
                ulp: 4.0;
            }
            /// Bessel function of the second kind of order 0; minus infinity at 0, NaN below.
            bessel_y0(x) -> y {
                float: bessel::y0(x);
                partials: [-x.bessel_y1()];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// Bessel function of the second kind of order 1; minus infinity at 0, NaN below.
            bessel_y1(x) -> y {
                float: bessel::y1(x);
                partials: [x.bessel_y0() - y / x];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// Modified Bessel function of the first kind of order 0.
            bessel_i0(x) -> y {
                float: bessel::i0(x);
                partials: [x.bessel_i1()];
                ulp: 4.0;
            }
            /// Modified Bessel function of the first kind of order 1.
            bessel_i1(x) -> y {
                float: bessel::i1(x);
                partials: [x.bessel_i0() - y.over_or_half(x)];
                ulp: 4.0;
            }
            /// Modified Bessel function of the second kind of order 0; infinite at 0, NaN below.
            bessel_k0(x) -> y {
                float: bessel::k0(x);
                partials: [-x.bessel_k1()];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// Modified Bessel function of the second kind of order 1; infinite at 0, NaN below.
            bessel_k1(x) -> y {
                float: bessel::k1(x);
                partials: [-(x.bessel_k0() + y / x)];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// `exp(-|x|)` times the modified Bessel function of the first kind of order 0.
            bessel_i0e(x) -> y {
                float: bessel::i0e(x);
                partials: [x.bessel_i1e() - x.sign() * y];
                domain: [(0.2, 3.0)];
                ulp: 4.0;
            }
            /// `exp(-|x|)` times the modified Bessel function of the first kind of order 1.
            bessel_i1e(x) -> y {
                float: bessel::i1e(x);
                partials: [x.bessel_i0e() - y.over_or_half(x) - x.sign() * y];
                domain: [(0.2, 3.0)];
                ulp: 4.0;
            }
            /// `exp(x)` times the modified Bessel function of the second kind of order 0; infinite at 0, NaN below.
            bessel_k0e(x) -> y {
                float: bessel::k0e(x);
                partials: [y - x.bessel_k1e()];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// `exp(x)` times the modified Bessel function of the second kind of order 1; infinite at 0, NaN below.
            bessel_k1e(x) -> y {
                float: bessel::k1e(x);
                partials: [y - y / x - x.bessel_k0e()];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// Airy function Ai.
            airy_ai(x) -> y {
                float: bessel::airy_ai(x);
                partials: [x.airy_ai_prime()];
                ulp: 4.0;
            }
            /// Derivative of the Airy function Ai.
            airy_ai_prime(x) -> y {
                float: bessel::airy_ai_prime(x);
                partials: [x * x.airy_ai()];
                ulp: 4.0;
            }
        }
    };
}
special_ops!(define_ops);

impl<'g> Var<'g> {
    /// Divides by `x`, for a function that behaves like `x / 2` near 0: one half where `x` is 0.
    fn over_or_half(self, x: Var<'g>) -> Var<'g> {
        let zero = x.eq(x.full_like(0.0));
        let quotient = self / zero.select(x.full_like(1.0), x);
        zero.select(x.full_like(0.5), quotient)
    }
}

/// Returns the derivative by `x` of `y = gamma_density(n, a, x)`.
fn gamma_density_by_x<'g>(n: Var<'g>, a: Var<'g>, x: Var<'g>, y: Var<'g>) -> Var<'g> {
    let (zero, order) = (x.eq(x.full_like(0.0)), n.round());
    let safe = zero.select(x.full_like(1.0), x);
    let before = (order - 1.0).maximum(n.full_like(0.0)).gamma_density(a, safe);
    let inside = (y * (a - 1.0 - x) + order * before) / safe;
    // In the branch that is not selected the shape parameter is 1, so that its derivatives are finite too.
    let lower = zero.select(a - 1.0, x.full_like(1.0));
    zero.select(n.gamma_density(lower, x) - y, inside)
}

fn polygamma_float(n: f64, x: f64) -> f64 {
    let order = n.round_ties_even();
    if (0.0..=f64::from(u32::MAX)).contains(&order) { special::polygamma(order as u32, x) } else { f64::NAN }
}
