//! Functions of `f32` that are computed in `f64`: each half of the lanes on its own, which then fills a vector.

use super::encode::{
    ADD, AND, BLEND, DIV, FROM_DOUBLE, JOIN_HALVES, MUL, SHIFT_WIDE, SHUFFLE_QUARTERS, SUB, TEST, TO_DOUBLE,
    XOR,
};
use super::functions::{Mask, Value};
use super::node::Action;
use crate::vector::circular;
use crate::vector::number::{Double, Single};
use std::ops::{Add, Div, Mul, Sub};

/// A value of 64 bits in half of the lanes.
#[derive(Clone, Copy, Debug)]
struct Half<'n>(Value<'n>);

impl From<f64> for Half<'_> {
    fn from(x: f64) -> Self {
        Half(Value::Wide(x.to_bits()))
    }
}

macro_rules! halves {
    ($($name:ident $f:ident $form:ident),*) => {$(
        impl<'n> $name for Half<'n> {
            type Output = Half<'n>;
            fn $f(self, other: Self) -> Half<'n> {
                Half(Value::binary($form.wide(), self.0, other.0))
            }
        }
    )*};
}
halves!(Add add ADD, Sub sub SUB, Mul mul MUL, Div div DIV);

impl<'n> Double for Half<'n> {
    type Mask = Mask<'n>;

    fn fma(self, b: impl Into<Self>, c: impl Into<Self>) -> Self {
        Half(Value::of(Action::Fma(true), &[self.0, b.into().0, c.into().0]))
    }
    fn is_odd(self) -> Mask<'n> {
        Mask(Value::of(Action::Compare(TEST.wide(), None), &[self.0, Value::Wide(1)]))
    }
    fn select(mask: Mask<'n>, yes: Self, no: Self) -> Self {
        Half(Value::of(Action::Blend(BLEND.wide()), &[mask.0, yes.0, no.0]))
    }
    fn turned(self, turns: Self) -> Self {
        let second = Value::binary(AND.wide(), turns.0, Value::Wide(2));
        let sign = Value::of(Action::Shift(SHIFT_WIDE, 6, 62), &[second]);
        Half(Value::binary(XOR.wide(), self.0, sign))
    }
}

/// What code calls for numbers too large for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Far {
    Sin,
    Cos,
    Tan,
}

/// The lanes of a vector.
type Lanes = [f32; super::emit::LANES];

impl Far {
    pub(super) const ALL: [Far; 3] = [Far::Sin, Far::Cos, Far::Tan];

    /// Where the function is.
    pub(super) fn address(self) -> usize {
        extern "sysv64" fn sin(x: &Lanes, y: &mut Lanes) {
            replace(x, y, circular::far_sin);
        }
        extern "sysv64" fn cos(x: &Lanes, y: &mut Lanes) {
            replace(x, y, circular::far_cos);
        }
        extern "sysv64" fn tan(x: &Lanes, y: &mut Lanes) {
            replace(x, y, circular::far_tan);
        }
        fn replace(x: &Lanes, y: &mut Lanes, f: fn(f32) -> f32) {
            for (x, y) in x.iter().zip(y) {
                if x.abs() > circular::FAR {
                    *y = f(*x);
                }
            }
        }
        let function: extern "sysv64" fn(&Lanes, &mut Lanes) = match self {
            Far::Sin => sin,
            Far::Cos => cos,
            Far::Tan => tan,
        };
        function as usize
    }
}

/// The function with that name, if there is one and values of 64 bits can be.
pub(super) fn circular<'n>(name: &str, x: Value<'n>) -> Option<Value<'n>> {
    match name {
        "sin" => odd(x, circular::sin, Far::Sin),
        "cos" => doubled(x, circular::cos, Far::Cos),
        "tan" => odd(x, circular::tan, Far::Tan),
        _ => None,
    }
}

/// A function in 64 bits, and what is called where it is not good enough.
fn doubled<'n>(x: Value<'n>, f: fn(Half<'n>) -> Half<'n>, far: Far) -> Option<Value<'n>> {
    let Value::Node(nodes, _) = x else { return None };
    let half = |x: Value<'n>| Value::unary(FROM_DOUBLE, f(Half(Value::unary(TO_DOUBLE, x))).0);
    let y = match nodes.lanes {
        0 => return None,
        1..=8 => half(x),
        _ => {
            let swapped = Value::of(Action::Binary(SHUFFLE_QUARTERS, Some(0x4e)), &[x, x]);
            Value::of(Action::Binary(JOIN_HALVES, Some(1)), &[half(x), half(swapped)])
        }
    };
    Some(Value::of(Action::Far(far), &[x, y, x.abs().gt(circular::FAR).0]))
}

/// The function, which leaves zeros as they are.
fn odd<'n>(x: Value<'n>, f: fn(Half<'n>) -> Half<'n>, far: Far) -> Option<Value<'n>> {
    Some(Value::select(x.eq(0.0), x, doubled(x, f, far)?))
}
