//! The table of pointwise ops: scalar functions applied at every index.
//!
//! One block declares everything about an op. Its static, its method on graph values and on tensors, its checks and
//! its documentation are generated from that block. Each family of ops has a file with a macro that passes its blocks
//! to a callback. Other crates read the same table by `gradus_ir::for_each_pointwise!`.
//!
//! Fields of a block, in this order; at least one of `float`, `complex` and `int` is required, the others are
//! optional:
//! - `predicate: true;` the result is a boolean (the functions then return 0 or 1);
//! - `float:`, `complex:`, `int:` the function in the carrier type of each class; a class without one is rejected;
//! - `bools: true;` the op also takes booleans, through `int`;
//! - `constant: true;` the result is piecewise constant, as that of `floor`: the derivative is 0;
//! - `partials: [..];` one factor per operand, in terms of operands and result. If the result may be a float or a complex
//!   number, exactly one of `constant` and `partials` is required, else the block does not compile;
//! - `domain: [(low, high), ..];` the range of samples of each operand, default (-2, 2);
//! - `ulp:` allowed error of a device in units in the last place, default 1.

use super::{Batch, Bound, Derivative, Form, Named, Primitive, Rule, Samples, Scalar, arity};
use crate::attr::Attrs;
use crate::graph::{IntoVar, Var};
use crate::{Aval, C, Class, DType, Error, Result, message};
use std::hash::{Hash, Hasher};

/// A function from the operands and the result to the partial derivative by each operand.
pub type Partials = for<'g> fn(&[Var<'g>], Var<'g>) -> Vec<Var<'g>>;

/// An entry of the table: the declaration of a pointwise op.
#[derive(Debug)]
pub struct Pointwise {
    /// The name in graph text and of the method.
    pub name: &'static str,
    /// The documentation.
    pub docs: &'static str,
    /// Number of operands.
    pub arity: usize,
    /// If true, the result is a boolean.
    pub predicate: bool,
    /// The function on floats.
    pub float: Option<fn(&[f64]) -> f64>,
    /// The function on complex numbers.
    pub complex: Option<fn(&[C]) -> C>,
    /// The function on integers; the result is wrapped to the dtype.
    pub int: Option<fn(&[i64]) -> i64>,
    /// If true, `int` also applies to booleans.
    pub bools: bool,
    /// If true, the result is piecewise constant, as that of `floor`: the derivative is 0.
    pub constant: bool,
    /// The derivative. If it is missing and `constant` is false, the derivative is unknown.
    pub partials: Option<Partials>,
    /// The range of samples of each operand.
    pub domain: &'static [(f64, f64)],
    /// Allowed error in units in the last place.
    pub ulp: f64,
}

macro_rules! option {
    () => {
        None
    };
    ($e:expr) => {
        Some($e)
    };
}

macro_rules! has {
    () => {
        false
    };
    ($($some:tt)+) => {
        true
    };
}

macro_rules! default {
    ($d:expr;) => {
        $d
    };
    ($d:expr; $e:expr) => {
        $e
    };
}

macro_rules! scalar_fn {
    (($($x:ident),+), $t:ty, $none:expr, $body:expr) => {{
        #[allow(unused_variables)]
        fn meaning(v: &[$t]) -> $t {
            let &[$($x),+] = v else { return $none };
            $body
        }
        meaning
    }};
}

macro_rules! partials_fn {
    (($($x:ident),+), $y:ident, [$($p:expr),*]) => {{
        #[allow(unused_variables)]
        fn partials<'g>(v: &[Var<'g>], $y: Var<'g>) -> Vec<Var<'g>> {
            let &[$($x),+] = v else { return Vec::new() };
            vec![$(IntoVar::into_var($p, $y)),*]
        }
        partials
    }};
}

macro_rules! count {
    (($($x:ident),+)) => { [$(stringify!($x)),+].len() };
}

macro_rules! var_method {
    ($($doc:literal)* $name:ident ($x:ident $(, $rest:ident)*)) => {
        $(#[doc = $doc])*
        #[allow(clippy::should_implement_trait)]
        pub fn $name(self $(, $rest: Var<'g>)*) -> Var<'g> {
            self.builder().apply1(&$name, &[self $(, $rest)*])
        }
    };
}

macro_rules! define_ops {
    ($($(#[doc = $doc:literal])* $name:ident $args:tt -> $y:ident {
        $(predicate: $predicate:literal;)?
        $(float: $float:expr;)?
        $(complex: $complex:expr;)?
        $(int: $int:expr;)?
        $(bools: $bools:literal;)?
        $(constant: $constant:literal;)?
        $(partials: $partials:tt;)?
        $(domain: [$($domain:expr),*];)?
        $(ulp: $ulp:literal;)?
    })*) => {
        $(
            $(#[doc = $doc])*
            #[allow(non_upper_case_globals)]
            pub static $name: Pointwise = Pointwise {
                name: stringify!($name),
                docs: concat!($($doc, "\n"),*),
                arity: count!($args),
                predicate: default!(false; $($predicate)?),
                float: option!($(scalar_fn!($args, f64, f64::NAN, $float))?),
                complex: option!($(scalar_fn!($args, C, C::ZERO, $complex))?),
                int: option!($(scalar_fn!($args, i64, 0, $int))?),
                bools: default!(false; $($bools)?),
                constant: default!(false; $($constant)?),
                partials: option!($(partials_fn!($args, $y, $partials))?),
                domain: default!(&[]; $(&[$($domain),*])?),
                ulp: default!(1.0; $($ulp)?),
            };

            const _: () = assert!(
                (has!($($partials)?) != default!(false; $($constant)?))
                    || (default!(false; $($predicate)?) || !(has!($($float)?) || has!($($complex)?))),
                concat!("the op `", stringify!($name), "` must have either `partials` or `constant: true`"),
            );
        )*

        /// The ops of this family.
        pub(super) static OPS: &[&Pointwise] = &[$(&$name),*];

        impl<'g> Var<'g> {
            $(var_method! { $($doc)* $name $args })*
        }
    };
}

pub mod arith;
pub mod cast;
pub mod compare;
pub mod exp;
pub mod logic;
pub mod round;
pub mod special;
pub mod trig;

pub use cast::Cast;

/// Passes every block of the table to a macro, family by family: `for_each_pointwise!(my_macro)`.
#[macro_export]
macro_rules! for_each_pointwise {
    ($then:ident) => {
        $crate::arith_ops!($then);
        $crate::compare_ops!($then);
        $crate::exp_ops!($then);
        $crate::trig_ops!($then);
        $crate::special_ops!($then);
        $crate::round_ops!($then);
        $crate::logic_ops!($then);
    };
}

/// All ops by name, for applying them.
pub mod table {
    pub use super::{arith::*, compare::*, exp::*, logic::*, round::*, special::*, trig::*};
}

/// The families of ops.
static FAMILIES: &[&[&Pointwise]] =
    &[arith::OPS, compare::OPS, exp::OPS, trig::OPS, special::OPS, round::OPS, logic::OPS];

/// Returns all ops of the table.
pub fn all() -> impl Iterator<Item = &'static Pointwise> {
    FAMILIES.iter().flat_map(|f| f.iter().copied())
}

/// Returns the op with this name.
pub fn find(name: &str) -> Option<&'static Pointwise> {
    all().find(|r| r.name == name)
}

/// A pointwise op: an entry of the table, or a user's own static declaration.
#[derive(Clone, Copy, Debug)]
pub struct Map(pub &'static Pointwise);

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Map {}

impl Hash for Map {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.0.name.hash(h);
    }
}

impl Pointwise {
    /// Returns true if the op is defined for this dtype.
    pub fn takes(&self, dtype: DType) -> bool {
        match dtype.class() {
            Class::Float => self.float.is_some(),
            Class::Complex => self.complex.is_some(),
            Class::Int => self.int.is_some(),
            Class::Bool => self.int.is_some() && self.bools,
        }
    }

    /// Returns the range from which samples of an operand are drawn.
    pub fn domain_of(&self, operand: usize) -> (f64, f64) {
        self.domain.get(operand).or(self.domain.last()).copied().unwrap_or((-2.0, 2.0))
    }
}

impl From<Map> for super::Op {
    fn from(map: Map) -> super::Op {
        super::Op::Map(map)
    }
}

impl Named for Map {
    fn name(&self) -> &str {
        self.0.name
    }
    fn docs(&self) -> &str {
        self.0.docs
    }
    fn attrs(&self) -> Attrs {
        Attrs::new()
    }
}

impl Primitive for Map {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, self.0.arity)?;
        if let Some(other) = ins.iter().find(|a| a.shape != ins[0].shape) {
            return Err(Error::shape(
                format!("extents {} and {}", ins[0].shape, other.shape),
                "differ; a graph op takes equal extents (broadcast first)",
            ));
        }
        let dtype = ins[0].dtype;
        if let Some(other) = ins.iter().find(|a| a.dtype != dtype) {
            return Err(Error::dtype(other.dtype, message!("the first operand is ", dtype, " (cast first)")));
        }
        if !self.0.takes(dtype) {
            let fits: Vec<DType> = DType::ALL.into_iter().filter(|d| self.0.takes(*d)).collect();
            return Err(Error::dtype(dtype, message!("it takes ", &fits[..])));
        }
        Ok(vec![if self.0.predicate { ins[0].with_dtype(DType::Bool) } else { ins[0].clone() }])
    }

    fn derivative(&self) -> Derivative {
        let numbers = !self.0.predicate && (self.0.float.is_some() || self.0.complex.is_some());
        match self.0.partials {
            Some(_) => Derivative::Pointwise,
            None if self.0.constant || !numbers => Derivative::Zero,
            None => Derivative::Unknown,
        }
    }

    fn partials<'g>(&self, rule: &Rule<'_, 'g>) -> Vec<Option<Var<'g>>> {
        match self.0.partials {
            Some(partials) => partials(rule.ins, rule.outs[0]).into_iter().map(Some).collect(),
            None => vec![None; rule.ins.len()],
        }
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(*self)
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Pointwise(self.0))
    }

    fn bound(&self) -> Bound {
        Bound::Ulps(self.0.ulp)
    }
}

/// Adds samples: every op gets the same shapes, in each class it is defined for.
pub(super) fn samples(s: &mut Samples) {
    for op in all() {
        for shape in [&[2, 3][..], &[], &[0], &[1, 4]] {
            if op.float.is_some() {
                let ins: Vec<_> = (0..op.arity).map(|i| s.uniform(op.domain_of(i), shape)).collect();
                s.case(op, ins);
            }
            if op.complex.is_some() {
                let ins: Vec<_> = (0..op.arity).map(|i| s.complex(op.domain_of(i), shape)).collect();
                s.case(op, ins);
            }
            if op.int.is_some() {
                let ins: Vec<_> = (0..op.arity).map(|_| s.ints((0, 9), shape)).collect();
                s.case(op, ins);
            }
            if op.bools {
                let ins: Vec<_> = (0..op.arity).map(|_| s.bools(shape)).collect();
                s.case(op, ins);
            }
        }
        let two = [Aval::new(DType::F64, [2]), Aval::new(DType::F64, [3])];
        if op.arity == 2 && op.float.is_some() {
            s.error(op, &two, "extents [2] and [3] differ");
        } else {
            let ins = vec![two[0].clone(); op.arity + 1];
            s.error(op, &ins, &format!("takes {} operands, got {}", op.arity, op.arity + 1));
        }
    }
}
