//! Values of code under construction. They implement `Float`, so scalar functions that are generic over it produce nodes.

use super::encode::{
    ADD, ADD_INT, AND, DIV, FROM_INT, Form, MAX, MIN, MUL, OR, ROUND, SCALE, SQRT, SUB, SUB_INT, XOR,
};
use super::far;
use super::machine::Logic;
use super::node::{Action, Arg, Nodes};
use gradus_scalar::{Float, exponential};
use std::ops::{Add, BitAnd, Div, Mul, Neg, Shl, Shr, Sub};

/// A value: a constant, or a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'n> {
    Number(u32),
    Node(&'n Nodes, usize),
}

/// A value used as an integer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<'n>(Value<'n>);

/// A boolean per lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask<'n>(pub(super) Value<'n>);

const SIGN: u32 = 1 << 31;
const LESS: u8 = 0x11;
const MORE: u8 = 0x1e;

impl<'n> Value<'n> {
    pub(super) fn arg(self) -> Arg {
        match self {
            Value::Number(bits) => Arg::Number(bits),
            Value::Node(_, node) => Arg::Node(node),
        }
    }

    /// Makes the node of an operation, at least one of whose operands is a node.
    pub(super) fn of(op: Action, args: &[Value<'n>]) -> Value<'n> {
        let nodes = args.iter().find_map(|a| match a {
            Value::Node(nodes, _) => Some(*nodes),
            Value::Number(_) => None,
        });
        match nodes {
            Some(nodes) => Value::Node(nodes, nodes.push(op, args.iter().map(|a| a.arg()).collect())),
            // Does not occur: the compiler folds functions of constants. NaN would make an omission visible.
            None => Value::Number(f32::NAN.to_bits()),
        }
    }

    /// Returns true if the value is a node of code for AVX-512.
    fn has_avx512(self) -> bool {
        matches!(self, Value::Node(nodes, _) if nodes.has_avx512)
    }

    pub(super) fn binary(form: Form, a: Value<'n>, b: Value<'n>) -> Value<'n> {
        Value::of(Action::Binary(form, None), &[a, b])
    }

    pub(super) fn unary(form: Form, a: Value<'n>) -> Value<'n> {
        Value::of(Action::Unary(form, None), &[a])
    }

    fn rounded(self, mode: u8) -> Value<'n> {
        Value::of(Action::Unary(ROUND, Some(8 | mode)), &[self])
    }

    fn compare(self, how: u8, other: Value<'n>) -> Mask<'n> {
        Mask(Value::of(Action::Compare(how), &[self, other]))
    }

    /// Replaces a comparison and a selection by one minimum or maximum instruction, which returns the second operand
    /// unless the first is less, or greater. Returns `None` if they do not have this meaning.
    fn min_or_max(mask: Mask<'n>, yes: Value<'n>, no: Value<'n>) -> Option<Value<'n>> {
        let Value::Node(nodes, n) = mask.0 else { return None };
        let (op, args) = nodes.get(n);
        let (in_order, swapped) = match op {
            Action::Compare(LESS) => (MIN, MAX),
            Action::Compare(MORE) => (MAX, MIN),
            _ => return None,
        };
        match args[..] == [yes.arg(), no.arg()] {
            true => Some(Value::binary(in_order, yes, no)),
            false => (args[..] == [no.arg(), yes.arg()]).then(|| Value::binary(swapped, yes, no)),
        }
    }

    /// Returns the minimum or maximum by the instruction `form`, which returns its last operand if the operands are equal
    /// or one is NaN. The result is NaN if either operand is.
    pub(super) fn extreme(self, form: Form, b: Value<'n>) -> Value<'n> {
        match b {
            Value::Number(bits) if f32::from_bits(bits).is_nan() => self + b,
            Value::Number(_) => Value::binary(form, b, self),
            Value::Node(..) => Value::select(b.is_nan(), b, Value::binary(form, b, self)),
        }
    }
}

impl From<f32> for Value<'_> {
    fn from(x: f32) -> Self {
        Value::Number(x.to_bits())
    }
}

impl From<u32> for Bits<'_> {
    fn from(x: u32) -> Self {
        Bits(Value::Number(x))
    }
}

macro_rules! operators {
    ($($name:ident $f:ident $form:ident),*) => {$(
        impl<'n> $name for Value<'n> {
            type Output = Value<'n>;
            fn $f(self, other: Self) -> Value<'n> {
                Value::binary($form, self, other)
            }
        }
    )*};
    (bits $($name:ident $f:ident $form:ident),*) => {$(
        impl<'n> $name for Bits<'n> {
            type Output = Bits<'n>;
            fn $f(self, other: Self) -> Bits<'n> {
                Bits(Value::binary($form, self.0, other.0))
            }
        }
    )*};
}
operators!(Add add ADD, Sub sub SUB, Mul mul MUL, Div div DIV);
operators!(bits Add add ADD_INT, Sub sub SUB_INT, BitAnd bitand AND);

impl Neg for Value<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        Value::binary(XOR, self, Value::Number(SIGN))
    }
}

impl Shl<u8> for Bits<'_> {
    type Output = Self;
    fn shl(self, n: u8) -> Self {
        Bits(Value::of(Action::Shift(6, n), &[self.0]))
    }
}

impl Shr<u8> for Bits<'_> {
    type Output = Self;
    fn shr(self, n: u8) -> Self {
        Bits(Value::of(Action::Shift(4, n), &[self.0]))
    }
}

impl<'n> Float for Value<'n> {
    type Bits = Bits<'n>;
    type Mask = Mask<'n>;

    fn fma(self, b: impl Into<Self>, c: impl Into<Self>) -> Self {
        Value::of(Action::Fma, &[self, b.into(), c.into()])
    }
    fn fused(self, b: impl Into<Self>, c: impl Into<Self>) -> Self {
        self.fma(b, c)
    }
    fn abs(self) -> Self {
        Value::binary(AND, self, Value::Number(!SIGN))
    }
    fn copysign(self, sign: Self) -> Self {
        if self.has_avx512() || sign.has_avx512() {
            // Ternary logic: each bit of the third operand selects the bit of the second or of the first.
            return Value::of(Action::Ternary(0xd8), &[self, sign, Value::Number(SIGN)]);
        }
        let sign = match sign {
            Value::Number(bits) => Value::Number(bits & SIGN),
            node => Value::binary(AND, node, Value::Number(SIGN)),
        };
        let size = match self {
            Value::Number(bits) => Value::Number(bits & !SIGN),
            node => node.abs(),
        };
        Value::binary(OR, size, sign)
    }
    fn lt(self, other: impl Into<Self>) -> Mask<'n> {
        self.compare(LESS, other.into())
    }
    fn gt(self, other: impl Into<Self>) -> Mask<'n> {
        self.compare(MORE, other.into())
    }
    fn eq(self, other: impl Into<Self>) -> Mask<'n> {
        self.compare(0x00, other.into())
    }
    fn is_nan(self) -> Mask<'n> {
        self.compare(0x03, self)
    }
    fn select(mask: Mask<'n>, yes: impl Into<Self>, no: impl Into<Self>) -> Self {
        let (yes, no) = (yes.into(), no.into());
        Value::min_or_max(mask, yes, no).unwrap_or_else(|| Value::of(Action::Blend, &[mask.0, yes, no]))
    }
    fn to_bits(self) -> Bits<'n> {
        Bits(self)
    }
    fn from_bits(bits: Bits<'n>) -> Self {
        bits.0
    }
    fn from_int(bits: Bits<'n>) -> Self {
        Value::unary(FROM_INT, bits.0)
    }
    fn scaled(self, t: Self) -> Self {
        if self.has_avx512() {
            return Value::binary(SCALE, self, t - exponential::ROUND.into());
        }
        let (a, b) = exponential::powers(t);
        self * a * b
    }
}

/// A function of one operand.
type Unary = for<'n> fn(Value<'n>) -> Value<'n>;
/// A function of two operands.
type Binary = for<'n> fn(Value<'n>, Value<'n>) -> Value<'n>;

fn one<'n>() -> Value<'n> {
    1.0.into()
}

const UNARY: [(&str, Unary); 18] = [
    ("neg", |x| -x),
    ("reciprocal", |x| one() / x),
    ("square", |x| x * x),
    ("abs", |x| x.abs()),
    ("sign", |x| Value::select(x.gt(0.0), 1.0, Value::select(x.lt(0.0), -1.0, 0.0))),
    ("floor", |x| x.rounded(1)),
    ("ceil", |x| x.rounded(2)),
    ("round", |x| x.rounded(0)),
    ("trunc", |x| x.rounded(3)),
    ("sqrt", |x| Value::unary(SQRT, x)),
    ("rsqrt", |x| one() / Value::unary(SQRT, x)),
    ("exp", |x| exponential::exp(x)),
    ("exp2", |x| exponential::exp2(x)),
    ("log", |x| exponential::log(x)),
    ("sigmoid", |x| exponential::sigmoid(x)),
    ("tanh", |x| exponential::tanh(x)),
    ("erf", |x| exponential::erf(x)),
    ("erfc", |x| exponential::erfc(x)),
];

const BINARY: [(&str, Binary); 7] = [
    ("add", |a, b| a + b),
    ("sub", |a, b| a - b),
    ("mul", |a, b| a * b),
    ("div", |a, b| a / b),
    ("maximum", |a, b| a.extreme(MAX, b)),
    ("minimum", |a, b| a.extreme(MIN, b)),
    ("copysign", |a, b| a.copysign(b)),
];

/// Comparisons and their immediates. None raises an exception on NaN.
const COMPARISONS: [(&str, u8); 6] =
    [("eq", 0x00), ("ne", 0x04), ("lt", LESS), ("le", 0x12), ("gt", MORE), ("ge", 0x1d)];

const LOGIC: [(&str, Logic); 3] = [("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)];

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
}

/// Builds the float function with this name, if there is one.
pub(super) fn float<'n>(name: &str, args: &[Value<'n>]) -> Option<Value<'n>> {
    match args {
        [x] => find(&UNARY, name).map(|f| f(*x)).or_else(|| far::circular(name, *x)),
        [a, b] => find(&BINARY, name).map(|f| f(*a, *b)),
        _ => None,
    }
}

/// Builds the float test with this name, if there is one.
pub(super) fn test<'n>(name: &str, args: &[Value<'n>]) -> Option<Mask<'n>> {
    match (name, args) {
        ("is_nan", [x]) => Some(x.is_nan()),
        ("is_inf", [x]) => Some(x.abs().eq(f32::INFINITY)),
        ("is_finite", [x]) => Some(x.abs().lt(f32::INFINITY)),
        (_, [a, b]) => find(&COMPARISONS, name).map(|how| a.compare(how, *b)),
        _ => None,
    }
}

/// Builds the mask operation with this name, if there is one.
pub(super) fn logic<'n>(name: &str, args: &[Mask<'n>]) -> Option<Mask<'n>> {
    match (name, args) {
        ("not", [a]) => Some(Mask(Value::of(Action::Logic(Logic::Not), &[a.0]))),
        (_, [a, b]) => find(&LOGIC, name).map(|logic| Mask(Value::of(Action::Logic(logic), &[a.0, b.0]))),
        _ => None,
    }
}
