//! Records the scalar functions of `gradus_scalar` as text. Takes a function over [`Symbol`]s, which are values of the
//! function under construction. Returns the lines of a function of GPU code, which computes each value once. Terms of
//! sums are fenced, because the functions rely on the rounding of each operation and GPU compilers may reassociate or
//! fuse them.

use gradus_scalar::exponential::powers;
use gradus_scalar::{Float, Real};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, BitAnd, Div, Mul, Neg, Shl, Shr, Sub};

/// One value. Operands are positions in the list of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    Argument(u8),
    Number(u32),
    Word(u32),
    Add(u32, u32),
    Sub(u32, u32),
    Mul(u32, u32),
    Div(u32, u32),
    Neg(u32),
    Fma(u32, u32, u32),
    Fused(u32, u32, u32),
    Abs(u32),
    Copysign(u32, u32),
    Sqrt(u32),
    Fence(u32),
    Less(u32, u32),
    Equal(u32, u32),
    IsNan(u32),
    And(u32, u32),
    Or(u32, u32),
    Select(u32, u32, u32),
    ToBits(u32),
    FromBits(u32),
    FromInt(u32),
    WordAdd(u32, u32),
    WordSub(u32, u32),
    WordAnd(u32, u32),
    WordShl(u32, u8),
    WordShr(u32, u8),
}

#[derive(Default)]
struct Record {
    nodes: Vec<Node>,
    known: HashMap<Node, u32>,
}

thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
}

fn push(node: Node) -> u32 {
    RECORD.with_borrow_mut(|r| match r.known.get(&node) {
        Some(&at) => at,
        None => {
            let at = r.nodes.len() as u32;
            r.nodes.push(node);
            r.known.insert(node, at);
            at
        }
    })
}

/// A float in a function under construction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol(u32);

/// A word in a function under construction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits(u32);

/// A condition in a function under construction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask(u32);

impl From<f32> for Symbol {
    fn from(x: f32) -> Symbol {
        Symbol(push(Node::Number(x.to_bits())))
    }
}

impl From<u32> for Bits {
    fn from(x: u32) -> Bits {
        Bits(push(Node::Word(x)))
    }
}

macro_rules! operators {
    ($($t:ident: $name:ident $f:ident $node:ident;)*) => {$(
        impl $name for $t {
            type Output = $t;
            fn $f(self, other: $t) -> $t {
                $t(push(Node::$node(self.0, other.0)))
            }
        }
    )*};
}
operators! {
    Symbol: Add add Add;
    Symbol: Sub sub Sub;
    Symbol: Mul mul Mul;
    Symbol: Div div Div;
    Bits: Add add WordAdd;
    Bits: Sub sub WordSub;
    Bits: BitAnd bitand WordAnd;
}

impl Neg for Symbol {
    type Output = Symbol;
    fn neg(self) -> Symbol {
        Symbol(push(Node::Neg(self.0)))
    }
}

impl Shl<u8> for Bits {
    type Output = Bits;
    fn shl(self, n: u8) -> Bits {
        Bits(push(Node::WordShl(self.0, n)))
    }
}

impl Shr<u8> for Bits {
    type Output = Bits;
    fn shr(self, n: u8) -> Bits {
        Bits(push(Node::WordShr(self.0, n)))
    }
}

impl Float for Symbol {
    type Bits = Bits;
    type Mask = Mask;

    fn fma(self, b: impl Into<Self>, c: impl Into<Self>) -> Self {
        Symbol(push(Node::Fma(self.0, b.into().0, c.into().0)))
    }
    fn fused(self, b: impl Into<Self>, c: impl Into<Self>) -> Self {
        Symbol(push(Node::Fused(self.0, b.into().0, c.into().0)))
    }
    fn abs(self) -> Self {
        Symbol(push(Node::Abs(self.0)))
    }
    fn copysign(self, sign: Self) -> Self {
        Symbol(push(Node::Copysign(self.0, sign.0)))
    }
    fn lt(self, other: impl Into<Self>) -> Mask {
        Mask(push(Node::Less(self.0, other.into().0)))
    }
    fn gt(self, other: impl Into<Self>) -> Mask {
        Mask(push(Node::Less(other.into().0, self.0)))
    }
    fn eq(self, other: impl Into<Self>) -> Mask {
        Mask(push(Node::Equal(self.0, other.into().0)))
    }
    fn is_nan(self) -> Mask {
        Mask(push(Node::IsNan(self.0)))
    }
    fn select(mask: Mask, yes: impl Into<Self>, no: impl Into<Self>) -> Self {
        Symbol(push(Node::Select(mask.0, yes.into().0, no.into().0)))
    }
    fn to_bits(self) -> Bits {
        Bits(push(Node::ToBits(self.0)))
    }
    fn from_bits(bits: Bits) -> Self {
        Symbol(push(Node::FromBits(bits.0)))
    }
    fn from_int(bits: Bits) -> Self {
        Symbol(push(Node::FromInt(bits.0)))
    }
    fn scaled(self, t: Self) -> Self {
        let (a, b) = powers(t);
        (self * a).fence() * b
    }
}

impl Real for Symbol {
    fn sqrt(self) -> Self {
        Symbol(push(Node::Sqrt(self.0)))
    }
    fn fence(self) -> Self {
        Symbol(push(Node::Fence(self.0)))
    }
    fn both(a: Mask, b: Mask) -> Mask {
        Mask(push(Node::And(a.0, b.0)))
    }
    fn either(a: Mask, b: Mask) -> Mask {
        Mask(push(Node::Or(a.0, b.0)))
    }
}

/// Records a function of `arity` floats. Returns its text as a function called `name`.
pub(crate) fn record(name: &str, arity: u8, f: impl FnOnce(&[Symbol]) -> Symbol) -> String {
    RECORD.with_borrow_mut(|r| *r = Record::default());
    let arguments: Vec<Symbol> = (0..arity).map(|k| Symbol(push(Node::Argument(k)))).collect();
    let mut result = f(&arguments);
    if let [x] = arguments[..] {
        // Every recorded function of one argument returns NaN for NaN. This is written explicitly, because compilers
        // turn comparisons with limits into `min` and `max`, which lose NaN.
        result = Symbol::select(x.is_nan(), x, result);
    }
    let nodes = RECORD.with_borrow_mut(|r| std::mem::take(&mut r.nodes));
    let list: Vec<String> = (0..arity).map(|k| format!("{}: f32", ARGUMENTS[k as usize])).collect();
    let mut text = format!("fn {name}({}) -> f32 {{\n", list.join(", "));
    let mut used = vec![false; nodes.len()];
    used[result.0 as usize] = true;
    for (i, node) in nodes.iter().enumerate().rev().filter(|(i, _)| *i <= result.0 as usize) {
        if used[i] {
            operands(*node).into_iter().for_each(|a| used[a as usize] = true);
        }
    }
    for (i, node) in nodes.iter().enumerate().filter(|(i, _)| used[*i]) {
        if !matches!(node, Node::Argument(_) | Node::Number(_) | Node::Word(_)) {
            text += &format!("  let v{i} = {};\n", expression(&nodes, *node));
        }
    }
    text + &format!("  return {};\n}}\n", value(&nodes, result.0))
}

const ARGUMENTS: [&str; 3] = ["a", "b", "c"];

fn operands(node: Node) -> Vec<u32> {
    use Node::*;
    match node {
        Argument(_) | Number(_) | Word(_) => vec![],
        Neg(a) | Abs(a) | Sqrt(a) | Fence(a) | IsNan(a) | ToBits(a) | FromBits(a) | FromInt(a) => vec![a],
        WordShl(a, _) | WordShr(a, _) => vec![a],
        Add(a, b) | Sub(a, b) | Mul(a, b) | Div(a, b) | Copysign(a, b) | Less(a, b) | Equal(a, b) => {
            vec![a, b]
        }
        And(a, b) | Or(a, b) | WordAdd(a, b) | WordSub(a, b) | WordAnd(a, b) => vec![a, b],
        Fma(a, b, c) | Fused(a, b, c) | Select(a, b, c) => vec![a, b, c],
    }
}

/// Returns the literal of a float. Numbers that compilers reject or flush to zero are made from their bits at run time.
pub(crate) fn number(bits: u32) -> String {
    let x = f32::from_bits(bits);
    if x.is_normal() || bits == 0 { format!("{x:?}f") } else { format!("f_bits({bits:#x}u)") }
}

fn value(nodes: &[Node], at: u32) -> String {
    match nodes[at as usize] {
        Node::Argument(k) => ARGUMENTS[k as usize].to_string(),
        Node::Number(bits) => number(bits),
        Node::Word(w) => format!("{w:#x}u"),
        _ => format!("v{at}"),
    }
}

/// Returns a term of a sum. Fences a term that is itself a sum, product or negation, so that compilers cannot
/// reassociate it or fuse it with the sum.
fn term(nodes: &[Node], at: u32) -> String {
    let v = value(nodes, at);
    match nodes[at as usize] {
        Node::Add(..) | Node::Sub(..) | Node::Fma(..) | Node::Mul(..) | Node::Neg(..) => {
            format!("f_fence({v})")
        }
        _ => v,
    }
}

fn expression(nodes: &[Node], node: Node) -> String {
    use Node::*;
    let v = |at: u32| value(nodes, at);
    let t = |at: u32| term(nodes, at);
    match node {
        Argument(_) | Number(_) | Word(_) => String::new(),
        Add(a, b) => format!("({} + {})", t(a), t(b)),
        Sub(a, b) => format!("({} - {})", t(a), t(b)),
        Mul(a, b) => format!("({} * {})", v(a), v(b)),
        Div(a, b) => format!("({} / {})", v(a), v(b)),
        Neg(a) => format!("(-{})", v(a)),
        Fma(a, b, c) => format!("fma({}, {}, {})", v(a), v(b), t(c)),
        Fused(a, b, c) => match nodes[c as usize] {
            // `a * b - p`, where `p` is the rounded product of `a` and `b`, is the rounding error of the product.
            Neg(p) if nodes[p as usize] == Mul(a, b) => {
                format!("f_product_error({}, {}, {})", v(a), v(b), v(p))
            }
            _ => format!("f_fused({}, {}, {})", v(a), v(b), v(c)),
        },
        Abs(a) => format!("f_abs({})", v(a)),
        Copysign(a, b) => format!("f_copysign({}, {})", v(a), v(b)),
        Sqrt(a) => format!("sqrt({})", v(a)),
        Fence(a) => format!("f_fence({})", v(a)),
        Less(a, b) => format!("({} < {})", v(a), v(b)),
        Equal(a, b) => format!("({} == {})", v(a), v(b)),
        IsNan(a) => format!("f_is_nan({})", v(a)),
        And(a, b) => format!("({} && {})", v(a), v(b)),
        Or(a, b) => format!("({} || {})", v(a), v(b)),
        Select(m, yes, no) => format!("select({}, {}, {})", v(no), v(yes), v(m)),
        ToBits(a) => format!("bitcast<u32>({})", v(a)),
        FromBits(a) => format!("bitcast<f32>({})", v(a)),
        FromInt(a) => format!("f32(bitcast<i32>({}))", v(a)),
        WordAdd(a, b) => format!("({} + {})", v(a), v(b)),
        WordSub(a, b) => format!("({} - {})", v(a), v(b)),
        WordAnd(a, b) => format!("({} & {})", v(a), v(b)),
        WordShl(a, n) => format!("({} << {n}u)", v(a)),
        WordShr(a, n) => format!("bitcast<u32>(bitcast<i32>({}) >> {n}u)", v(a)),
    }
}
