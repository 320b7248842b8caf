//! Functions that a program can call: the table of builtins, every pointwise op of the catalog, the program's own
//! functions, and the derivative of each (`f_grad`), which is computed by the vjp of the ops.

mod absent;
mod apply;
mod branch;
mod family;
mod judged;
mod leaves;
pub(crate) mod named;
mod param;
mod settings;
mod table;
pub(crate) mod written;

pub(crate) use apply::Around;
pub(crate) use branch::{Mixes, choice, is_of_numbers};
pub(crate) use judged::{AtStep, Counts, Positions, RuntimeCheck, Verdict};
pub(crate) use leaves::{differentiated, laid_out, leaves, own_names};
pub(crate) use param::{Param, Takes, literal};
pub(crate) use settings::{Setting, Settings};

use crate::program::Program;
use crate::syntax::ast::{Call, Expr, Function, Kind, Name};
use crate::syntax::indices::{keys, occurrences};
use crate::syntax::limit::MAX_GRADS;
use gradus_ir::ops::pointwise::{self, Pointwise};
use gradus_ir::{Class, DType};
use gradus_tensor::Tensor;
use param::{Is, Key, Keys, Params, flag, optional};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The way a builtin treats the axes of its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Element by element; arguments are broadcast by name.
    Pointwise,
    /// Along one axis, which keeps its size, as `softmax`; arguments are broadcast by name.
    Along,
    /// Along one axis, whose size changes; arguments are broadcast by name.
    Resize,
    /// Reduces over the axes given by `axis`, else over all; arguments are broadcast by name.
    Reduce,
    /// Reduces over one axis.
    ReduceOne,
    /// Adds a new last axis; arguments are broadcast by name.
    Grow,
    /// Reads along an axis of the first argument at the positions in the second argument, whose axes replace it.
    Gather,
    /// Writes the third argument to the positions of the first that `Gather` would read.
    Scatter,
    /// Matches axes by position; names are ignored.
    Positional,
    /// Takes a slice of one tensor; the setting `at` describes the slice as text, such as `0:2, :`.
    Part,
    /// A function of an index itself, such as `even(i)`; its argument is the tensor of the index's values.
    OfIndex,
}

impl Shape {
    /// Returns true if the function works along exactly one axis.
    pub(crate) fn has_one_axis(self) -> bool {
        use Shape::{Along, Gather, ReduceOne, Resize, Scatter};
        matches!(self, Along | Resize | ReduceOne | Gather | Scatter)
    }

    /// Returns true if the function works along axes, as `softmax` does and `exp` does not.
    pub(crate) fn has_axes(self) -> bool {
        self.has_one_axis() || self == Shape::Reduce
    }

    /// Returns true if an index of the call's line may have another size inside an argument.
    pub(crate) fn is_of_any_size(self) -> bool {
        matches!(self, Shape::Positional | Shape::Resize)
    }
}

/// The derivative of a builtin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Derivative {
    /// `f_grad`, computed by the vjp of the ops.
    Core,
    /// A function of its result and the cotangent, under its own name: `softmax_grad(y, g)`.
    OfResult,
    /// The derivative is written with the functions `real`, `imag`, `conj` and `complex`, for functions of such parts.
    Parts(Part),
    /// Defined as zero: no gradient flows.
    Stop,
    /// Not available: an error if it is needed.
    None,
}

/// The action of a function on the parts of complex numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Real,
    Imag,
    Conjugate,
    /// Combines a real and an imaginary part into one number.
    Both,
}

/// One function of the table.
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) params: Params,
    pub(crate) settings: Keys,
    pub(crate) shape: Shape,
    /// For positional functions, how the last axes of the result follow from those of the arguments: `ij,jk->ik`, with
    /// alternatives for other ranks separated by `|`. A letter that only the result has is a new axis. Leading axes of
    /// the arguments come first in the result. If empty, the result has the axes of the first argument.
    pub(crate) gives: &'static str,
    pub(crate) derivative: Derivative,
    /// If true, the result is real even for complex arguments.
    pub(crate) real: bool,
    pub(crate) apply: fn(&[&Tensor], &Settings) -> Tensor,
}

/// A section of the function table in the language reference.
pub struct Family {
    /// The heading.
    pub title: &'static str,
    /// The introduction of the section.
    pub about: &'static str,
    table: &'static [Builtin],
}

/// The function that a call refers to, without derivatives.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    Table(&'static Builtin),
    Pointwise(&'static Pointwise),
    User(Arc<Function>),
}

/// A function, or its derivative of some order. Two are equal if they have the same name.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub(crate) base: Base,
    /// The number of `_grad` suffixes.
    pub(crate) order: usize,
}

/// Strips the suffixes `_grad` from a name. Returns the rest and the number of suffixes.
pub(crate) fn stem(name: &str) -> (&str, usize) {
    let (mut name, mut order) = (name, 0);
    while let Some(rest) = name.strip_suffix("_grad") {
        (name, order) = (rest, order + 1);
    }
    (name, order)
}

fn all() -> impl Iterator<Item = &'static Builtin> {
    table::FAMILIES.iter().flat_map(|f| f.table)
}

/// Returns the table of builtins by name.
fn by_name() -> &'static HashMap<&'static str, &'static Builtin> {
    static ALL: OnceLock<HashMap<&'static str, &'static Builtin>> = OnceLock::new();
    ALL.get_or_init(|| all().map(|b| (b.name, b)).collect())
}

/// Returns every name a program can call without defining it.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    all().map(|b| b.name).chain(pointwise::all().map(|r| r.name)).chain(table::ALIASES.iter().map(|a| a.0))
}

/// Returns the functions of the language, each with its signature: `softmax(x, axis=)`.
pub fn builtins() -> Vec<(&'static str, String)> {
    let own = families().iter().flat_map(Family::functions);
    own.chain(pointwise::all().map(|r| shown(r.name))).collect()
}

fn shown(name: &'static str) -> (&'static str, String) {
    let text = find(name, &Program::default()).map(|c| c.signature().text(name));
    (name, text.unwrap_or_default())
}

/// Returns the table of builtins.
pub fn families() -> &'static [Family] {
    table::FAMILIES
}

/// Other names of builtins, each with the name it is an alias of.
pub fn aliases() -> &'static [(&'static str, &'static str)] {
    table::ALIASES
}

pub use absent::ABSENT;
pub(crate) use absent::instead;

impl Family {
    /// Returns the functions of the section, each with its signature.
    pub fn functions(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        self.table.iter().map(|b| shown(b.name))
    }
}

/// Finds a function by name. The program's own functions shadow builtins, which are found regardless of case; a
/// function called `f_grad` shadows the derivative of `f`.
pub(crate) fn find(name: &str, program: &Program) -> Option<Callee> {
    let base = |name: &str| {
        if let Some(f) = program.functions.get(name) {
            return Some(Base::User(f.clone()));
        }
        let has_capitals = name.bytes().any(|b| b.is_ascii_uppercase());
        let lower = if has_capitals { &*name.to_ascii_lowercase() } else { name };
        let lower = table::ALIASES.iter().find(|a| a.0 == lower).map_or(lower, |a| a.1);
        match by_name().get(lower) {
            Some(b) => Some(Base::Table(b)),
            None => pointwise::find(lower).map(Base::Pointwise),
        }
    };
    let (mut name, mut order) = (name, 0);
    loop {
        if let Some(base) = base(name) {
            return Some(Callee { base, order });
        }
        name = name.strip_suffix("_grad").filter(|_| order < MAX_GRADS)?;
        order += 1;
    }
}

impl PartialEq for Callee {
    fn eq(&self, other: &Callee) -> bool {
        self.name() == other.name()
    }
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Callee {
    /// Returns the name in printed programs.
    pub(crate) fn name(&self) -> Name {
        let base = match &self.base {
            Base::Table(b) => b.name.to_string(),
            Base::Pointwise(r) => r.name.to_string(),
            Base::User(f) => f.name.to_string(),
        };
        format!("{base}{}", "_grad".repeat(self.order)).into()
    }

    pub(crate) fn is_of_index(&self) -> bool {
        self.order == 0 && self.shape() == Shape::OfIndex
    }

    pub(crate) fn shape(&self) -> Shape {
        match &self.base {
            Base::Table(b) => b.shape,
            Base::Pointwise(_) => Shape::Pointwise,
            Base::User(_) => Shape::Positional,
        }
    }

    pub(crate) fn derivative(&self) -> Derivative {
        match &self.base {
            Base::Table(b) if self.order == 0 => b.derivative,
            Base::Pointwise(r) if r.partials.is_none() => Derivative::None,
            _ => Derivative::Core,
        }
    }

    /// Returns the tensor parameters, including cotangents.
    pub(crate) fn params(&self) -> Vec<Param<Name>> {
        let mut params: Vec<Param<Name>> = match &self.base {
            Base::Table(b) => b.params.iter().map(Param::named).collect(),
            Base::Pointwise(r) => {
                let takes = if r.takes(DType::I64) { Takes::Any } else { Takes::Numbers };
                let one = |p: &&str| Param { takes, ..Param::plain((*p).into()) };
                ["x", "y", "z"].iter().take(r.arity).map(one).collect()
            }
            Base::User(f) => f.params.iter().map(|p| Param::plain(p.name.clone())).collect(),
        };
        // `softmax_grad(y, g)` already has a parameter `g`, so cotangents avoid names in use.
        let free: Vec<Name> =
            (1..).map(cotangent).filter(|g| params.iter().all(|p| p.name != *g)).take(self.order).collect();
        params.extend(free.into_iter().map(Param::plain));
        params
    }

    /// Returns the parameter of each of `count` arguments; if `pulled`, the last ones are cotangents. The
    /// arguments of a variadic function are named by their position.
    pub(crate) fn bound(&self, count: usize, pulled: bool) -> Vec<Param<Name>> {
        let mut params = self.params();
        let cotangents = params.split_off(params.len() - self.order);
        let own = if pulled { count.saturating_sub(self.order) } else { count };
        if let Some(many) = params.first().filter(|p| p.is_many()).cloned() {
            params = (0..own).map(|i| Param { name: i.to_string().into(), ..many.clone() }).collect();
        }
        params.truncate(own);
        params.extend(cotangents.into_iter().filter(|_| pulled));
        params
    }

    /// Returns the settings that the function takes.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let mut keys = match &self.base {
            Base::Table(b) => b.settings.to_vec(),
            _ => Vec::new(),
        };
        let shape = self.shape();
        if shape.has_axes() || shape == Shape::Grow {
            keys.push(optional("axis", Is::Names));
        }
        if shape == Shape::Reduce {
            keys.push(flag("keepdims", false));
        }
        if self.order > 0 {
            keys.push(optional("wrt", Is::Names));
        }
        keys
    }

    pub(crate) fn signature(&self) -> Signature {
        Signature { params: self.params(), keys: self.keys(), order: self.order }
    }

    /// Returns, for each argument of a call, true if it receives no gradient.
    pub(crate) fn still(&self, call: &Call) -> Vec<bool> {
        let (count, axis) = (call.args.len(), along(call));
        let pulled = call.named.iter().any(|(k, _)| &**k == "wrt");
        let lacks = |arg: &Expr| axis.as_ref().is_some_and(|a| !occurrences(arg).contains(a));
        let params = self.bound(count, pulled).into_iter().zip(&call.args).enumerate();
        let is = |(i, (p, arg)): (usize, (Param<Name>, &Expr))| {
            p.is_still(i, count) || p.takes == Takes::Classes && lacks(arg)
        };
        params.map(is).collect()
    }

    /// Returns the run-time check for argument `at` if its values are positions or classes; the ops
    /// themselves do not check them.
    pub(crate) fn judges(
        &self,
        at: usize,
        takes: Option<Takes>,
        class: Class,
        given: &[(Name, Setting)],
    ) -> Option<RuntimeCheck> {
        let Base::Table(b) = &self.base else { return None };
        let classes = given.iter().find(|(k, _)| b.name == "one_hot" && &**k == "classes");
        match (takes, classes) {
            _ if self.order > 0 => None,
            (_, Some((_, Setting::Number(n)))) if at == 0 => Some(RuntimeCheck::Class(*n as usize)),
            // The op itself reports integers out of range.
            (Some(Takes::Ids), _) if class == Class::Float => Some(RuntimeCheck::Whole),
            _ => None,
        }
    }

    /// Returns true if some argument holds positions or classes.
    pub(crate) fn takes_places(&self) -> bool {
        self.params().iter().any(|p| matches!(p.takes, Takes::Ids | Takes::Classes))
    }

    /// Returns true if a call has no temperature argument and takes one, so that it uses the temperature of its
    /// equation.
    pub(crate) fn has_temperature(&self, call: &Call) -> bool {
        let pulled = call.named.iter().any(|(k, _)| &**k == "wrt");
        let own = || self.bound(call.args.len(), pulled).iter().any(|p| &*p.name == "T");
        self.keys().iter().any(|k| k.name == "like") && !own()
    }

    /// Returns true if the called function, or the one it is a derivative of, is a loss that reduces to one number.
    /// With `reduction="none"` it does not.
    pub(crate) fn gives_one_number(&self, call: &Call) -> bool {
        let Base::Table(b) = &self.base else { return false };
        let each = |(k, v): &(Name, Expr)| {
            &**k == "reduction" && matches!(&v.kind, Kind::Text(how) if &**how == "none")
        };
        b.settings.iter().any(|k| k.name == "reduction") && !call.named.iter().any(each)
    }

    /// Returns the derivative of the called function; `Derivative::None` if a setting of the call makes it unavailable.
    pub(crate) fn derivative_of(&self, call: &Call) -> Derivative {
        let stops = |k: &Key| {
            let is = |v: &Expr| matches!(&v.kind, Kind::Text(t) if k.flat.contains(&&**t));
            call.named.iter().any(|(name, v)| **name == *k.name && is(v))
        };
        match &self.base {
            Base::Table(b) if b.settings.iter().any(stops) => Derivative::None,
            _ => self.derivative(),
        }
    }
}

/// Returns the axis along which a call works, if it is known: the axis that `axis=` names, else the last axis of the
/// first argument if that is a tensor.
fn along(call: &Call) -> Option<Name> {
    let own = match call.args.first().map(|a| &a.kind) {
        Some(Kind::Ref(r)) => keys(r),
        _ => Vec::new(),
    };
    let Some((_, given)) = call.named.iter().find(|(k, _)| &**k == "axis") else {
        return own.last().cloned();
    };
    match param::literal(given)? {
        Setting::Word(axis) => Some(axis),
        Setting::Number(n) if n < 0.0 => own.iter().nth_back((-n) as usize - 1).cloned(),
        Setting::Number(n) => own.get(n as usize).cloned(),
        Setting::List(_) => None,
    }
}

/// Returns true if the axes of a call's result take names from the left side, so that moving the call to another line
/// could rename them.
pub(crate) fn takes_names_from_left(call: &Call, program: &Program) -> bool {
    let Some(callee) = find(&call.function, program).filter(|c| c.order == 0) else { return false };
    let b = match &callee.base {
        Base::Table(b) => b,
        Base::User(f) => return leaves::gives_new(f),
        Base::Pointwise(_) => return false,
    };
    match b.shape {
        Shape::Resize => true,
        Shape::Grow => !call.named.iter().any(|(k, _)| &**k == "axis"),
        Shape::Positional if b.params.is_empty() => true,
        Shape::Positional => {
            let new = b.gives.split('|').any(|way| match way.split_once("->") {
                Some((ins, out)) => out.chars().any(|c| !ins.contains(c)),
                None => true,
            });
            new || given_to(b, call).is_some_and(|names| apply::has_twins(&names))
        }
        _ => false,
    }
}

/// Returns the names of the result axes of a positional function, if all arguments are tensors.
fn given_to(b: &Builtin, call: &Call) -> Option<Vec<Name>> {
    let own = |a: &Expr| match &a.kind {
        Kind::Ref(r) => Some(keys(r)),
        _ => None,
    };
    let args: Vec<Vec<Name>> = call.args.iter().map(own).collect::<Option<_>>()?;
    apply::given(b.gives, &args.iter().map(|a| &a[..]).collect::<Vec<_>>(), None)
}

/// Returns the names of the result axes of a call that takes names from the left side. `args` are the names of the
/// arguments' axes. Must agree with `apply`; returns `None` if the names depend on sizes.
pub(crate) fn result_names(
    call: &Call,
    args: &[Vec<Name>],
    axis: Option<Name>,
    left: &[Name],
    program: &Program,
) -> Option<Vec<Name>> {
    let Base::Table(b) = find(&call.function, program).filter(|_| takes_names_from_left(call, program))?.base
    else {
        return None;
    };
    let mut union: Vec<Name> = Vec::new();
    args.iter().flatten().for_each(|n| {
        if !union.contains(n) {
            union.push(n.clone())
        }
    });
    let new = |own: &[Name]| left.iter().filter(|l| !own.contains(l)).cloned().collect::<Vec<_>>();
    match b.shape {
        Shape::Resize => {
            let (axis, new) = (axis?, new(&union));
            let name = if new.len() == 1 && !left.contains(&axis) { new[0].clone() } else { axis.clone() };
            Some(union.iter().map(|n| if *n == axis { name.clone() } else { n.clone() }).collect())
        }
        Shape::Grow => Some(new(&union)).filter(|new| new.len() == 1).map(|new| [union, new].concat()),
        Shape::Positional if b.params.is_empty() => Some(left.to_vec()),
        Shape::Positional if b.gives.is_empty() => {
            Some(left.to_vec()).filter(|_| args.first().is_some_and(|a| a.len() == left.len()))
        }
        Shape::Positional => {
            let args: Vec<&[Name]> = args.iter().map(|a| &a[..]).collect();
            b.gives.split('|').find_map(|way| {
                let own = apply::given(way, &args, None)?;
                if apply::has_twins(&own) {
                    return Some(left.to_vec()).filter(|_| own.len() == left.len());
                }
                let open = own.iter().filter(|n| n.contains(' ')).count();
                let mut others = Some(new(&own)).filter(|others| others.len() == open)?.into_iter();
                own.iter().map(|n| if n.contains(' ') { others.next() } else { Some(n.clone()) }).collect()
            })
        }
        _ => None,
    }
}

/// Returns true if an expression reads `name` only as arguments that a function takes unconverted.
pub(crate) fn reads_as_given(e: &Expr, name: &Name, program: &Program) -> bool {
    let is = |e: &Expr| matches!(&e.kind, Kind::Ref(r) if r.name == *name);
    let raw = |call: &Call, i: usize| {
        let params = find(&call.function, program).map(|c| c.params()).unwrap_or_default();
        params.get(i).is_some_and(|p| p.takes == Takes::AsIs)
    };
    match &e.kind {
        Kind::Call(call) => {
            let arg = |(i, a): (usize, &Expr)| is(a) && raw(call, i) || reads_as_given(a, name, program);
            call.args.iter().enumerate().all(arg)
        }
        _ => !is(e) && e.parts().into_iter().all(|p| reads_as_given(p, name, program)),
    }
}

/// Returns true if an expression contains a call that uses the temperature of its equation.
pub(crate) fn has_temperature(e: &Expr, program: &Program) -> bool {
    let here = || match &e.kind {
        Kind::Call(call) => find(&call.function, program).is_some_and(|c| c.has_temperature(call)),
        _ => false,
    };
    here() || e.parts().into_iter().any(|p| has_temperature(p, program))
}

/// Builtins that generated gradient equations call, in addition to derivatives of the functions that the program calls.
const GENERATED: [&str; 14] = [
    "const",
    "ones_like",
    "zeros_like",
    "slice",
    "pow",
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "real",
    "imag",
    "conj",
    "complex",
];

/// Explains why `name` is reserved; `None` if it is free. A generated gradient equation would call the program's own
/// function instead of the builtin. Tensors conflict only with names that gradient equations also use for tensors.
pub(crate) fn taken(name: &str, is_function: bool, program: &Program) -> Option<String> {
    let generated = if is_function { &GENERATED[..] } else { &GENERATED[..3] };
    if generated.contains(&name) {
        return Some(format!("`{name}` is a builtin that gradient equations call; choose another name"));
    }
    let of = name.strip_suffix("_grad")?;
    find(of, program).map(|_| format!("`{name}` is the derivative of `{of}`, which gradient equations call"))
}

/// Returns the name of the cotangent parameter of a derivative of this order.
fn cotangent(order: usize) -> Name {
    if order == 1 { "g".into() } else { format!("g{order}").into() }
}

/// The parameters and settings of a function.
pub(crate) struct Signature {
    params: Vec<Param<Name>>,
    keys: Vec<Key>,
    order: usize,
}

impl Signature {
    pub(crate) fn is_param(&self, key: &str) -> bool {
        self.params.iter().any(|p| &*p.name == key)
    }

    pub(crate) fn takes(&self, key: &str) -> bool {
        self.is_param(key) || self.keys.iter().any(|k| k.name == key)
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(|p| &*p.name).chain(self.keys.iter().map(|k| k.name))
    }

    /// Returns the minimum number of tensor arguments. Derivatives can also be called without cotangents.
    pub(crate) fn least(&self) -> usize {
        let needed = self.params.iter().filter(|p| p.occurs == param::Occurs::Once).count();
        needed.saturating_sub(self.order)
    }

    pub(crate) fn settings(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.keys.iter().map(|k| k.name)
    }

    /// Returns the signature as shown to users: `softmax(x, axis=)`.
    pub(crate) fn text(&self, name: &str) -> String {
        let params = self.params.iter().map(Param::to_string);
        let each: Vec<String> = params.chain(self.keys.iter().map(Key::to_string)).collect();
        format!("{name}({})", each.join(", "))
    }
}
