//! Functions: the table of builtins, every pointwise op of the catalog, the program's own, and the derivative of each
//! (`f_grad`), which is the core's own vjp.

mod absent;
mod apply;
mod branch;
mod family;
mod leaves;
mod param;
mod settings;
mod table;

pub(crate) use apply::Around;
pub(crate) use branch::{Mixes, choice, is_of_numbers};
pub(crate) use leaves::{differentiated, laid_out, leaves, own_names};
pub(crate) use param::{Param, Takes};
pub(crate) use settings::{Setting, Settings};

use crate::ast::{Call, Expr, Function, Kind, Name};
use crate::limit::MOST_GRADS;
use crate::program::Program;
use crate::scope::{keys, occurrences};
use crate::verdict::Judged;
use gradus_ir::DType;
use gradus_ir::ops::pointwise::{self, Pointwise};
use gradus_tensor::Tensor;
use param::{Is, Key, Keys, Params, flag, optional};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// How a builtin sees the axes of its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Number by number, arguments brought together by name.
    Pointwise,
    /// Along an axis, which stays; arguments are brought together by name.
    Along,
    /// Along an axis that comes out longer or shorter; arguments are brought together by name.
    Resize,
    /// Over axes that go away, all unless it is said which; arguments are brought together by name.
    Reduce,
    /// Over one axis that goes away.
    ReduceOne,
    /// A new axis at the end; arguments are brought together by name.
    Grow,
    /// Along an axis of the first argument, whose places the second holds: its axes come instead.
    Gather,
    /// As `Gather`, but the third argument goes to those places of the first.
    Scatter,
    /// By position: names mean nothing to it.
    Positional,
    /// The part of one tensor that a text describes.
    Part,
    /// Of an index itself.
    OfIndex,
}

impl Shape {
    /// Whether there is one axis in particular.
    pub(crate) fn has_one_axis(self) -> bool {
        use Shape::{Along, Gather, ReduceOne, Resize, Scatter};
        matches!(self, Along | Resize | ReduceOne | Gather | Scatter)
    }

    /// Whether there are axes in particular.
    pub(crate) fn has_axes(self) -> bool {
        self.has_one_axis() || self == Shape::Reduce
    }

    /// Whether an index may have one size in an argument and another elsewhere.
    pub(crate) fn is_of_any_size(self) -> bool {
        matches!(self, Shape::Positional | Shape::Resize)
    }
}

/// What a builtin's derivative is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Derivative {
    /// `f_grad`, from the core.
    Core,
    /// A function of its result and the cotangent, under its own name: `softmax_grad(y, g)`.
    OfResult,
    /// Of a function of the parts of complex numbers, written with such functions.
    Parts(Part),
    /// None, on purpose: nothing flows.
    Stop,
    /// None: an error if it is needed.
    None,
}

/// What a function does with the parts of complex numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Real,
    Imag,
    Conjugate,
    /// Makes a number of both.
    Both,
}

/// One function of the table.
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) params: Params,
    pub(crate) settings: Keys,
    pub(crate) shape: Shape,
    /// For functions by position, which of the arguments' last axes come out: `ij,jk->ik`, or `…|…` for other numbers of
    /// axes; a letter that is new is an axis of its own. Axes before those come out first. Nothing says: as the first
    /// argument has them.
    pub(crate) gives: &'static str,
    pub(crate) derivative: Derivative,
    /// Whether what comes out is real, of complex numbers too.
    pub(crate) real: bool,
    pub(crate) apply: fn(&[&Tensor], &Settings) -> Tensor,
}

/// Functions of one kind, as the page of the language has them.
pub struct Family {
    /// What they are.
    pub title: &'static str,
    /// What they have in common.
    pub about: &'static str,
    table: &'static [Builtin],
}

/// What a call calls.
#[derive(Clone)]
pub(crate) enum Base {
    Table(&'static Builtin),
    Row(&'static Pointwise),
    User(Arc<Function>),
}

/// A function, or its derivative of some order.
#[derive(Clone)]
pub(crate) struct Callee {
    pub(crate) base: Base,
    /// How many times `_grad`.
    pub(crate) order: usize,
}

/// A name without its endings `_grad`, and how many there were.
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

/// The table by name.
fn by_name() -> &'static HashMap<&'static str, &'static Builtin> {
    static ALL: OnceLock<HashMap<&'static str, &'static Builtin>> = OnceLock::new();
    ALL.get_or_init(|| all().map(|b| (b.name, b)).collect())
}

/// Every name a program can call without defining it.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    all().map(|b| b.name).chain(pointwise::all().map(|r| r.name)).chain(table::ALIASES.iter().map(|a| a.0))
}

/// The functions of the language, each as it is called: `softmax(x, axis=)`.
pub fn builtins() -> Vec<(&'static str, String)> {
    let own = families().iter().flat_map(Family::functions);
    own.chain(pointwise::all().map(|r| shown(r.name))).collect()
}

fn shown(name: &'static str) -> (&'static str, String) {
    let text = find(name, &Program::default()).map(|c| c.signature().text(name));
    (name, text.unwrap_or_default())
}

/// The table of builtins.
pub fn families() -> &'static [Family] {
    table::FAMILIES
}

/// Other names of builtins, each with the one it stands for.
pub fn aliases() -> &'static [(&'static str, &'static str)] {
    table::ALIASES
}

pub use absent::ABSENT;
pub(crate) use absent::instead;

impl Family {
    /// Its functions, each as it is called.
    pub fn functions(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        self.table.iter().map(|b| shown(b.name))
    }
}

/// The function of this name: the program's own before builtins, capitals aside, itself before a derivative.
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
            None => pointwise::find(lower).map(Base::Row),
        }
    };
    let (mut name, mut order) = (name, 0);
    loop {
        if let Some(base) = base(name) {
            return Some(Callee { base, order });
        }
        name = name.strip_suffix("_grad").filter(|_| order < MOST_GRADS)?;
        order += 1;
    }
}

impl Callee {
    /// Its name as programs are printed.
    pub(crate) fn name(&self) -> Name {
        let base = match &self.base {
            Base::Table(b) => b.name.to_string(),
            Base::Row(r) => r.name.to_string(),
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
            Base::Row(_) => Shape::Pointwise,
            Base::User(_) => Shape::Positional,
        }
    }

    pub(crate) fn derivative(&self) -> Derivative {
        match &self.base {
            Base::Table(b) if self.order == 0 => b.derivative,
            Base::Row(r) if r.partials.is_none() => Derivative::None,
            _ => Derivative::Core,
        }
    }

    /// The tensors it takes, cotangents included.
    pub(crate) fn params(&self) -> Vec<Param<Name>> {
        let mut params: Vec<Param<Name>> = match &self.base {
            Base::Table(b) => b.params.iter().map(Param::named).collect(),
            Base::Row(r) => {
                let takes = if r.takes(DType::I64) { Takes::Any } else { Takes::Numbers };
                let one = |p: &&str| Param { takes, ..Param::plain((*p).into()) };
                ["x", "y", "z"].iter().take(r.arity).map(one).collect()
            }
            Base::User(f) => f.params.iter().map(|p| Param::plain(p.name.clone())).collect(),
        };
        // `softmax_grad(y, g)` has a `g` of its own.
        let free: Vec<Name> =
            (1..).map(cotangent).filter(|g| params.iter().all(|p| p.name != *g)).take(self.order).collect();
        params.extend(free.into_iter().map(Param::plain));
        params
    }

    /// What each of so many arguments is, `pulled` if the last of them are cotangents. Of any number of arguments each is
    /// called by its place.
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

    /// The settings it takes.
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

    /// Which arguments of a call nothing flows into.
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

    /// What numbers must be that stand for places or classes, as an argument: nothing else stops others.
    pub(crate) fn judges(
        &self,
        at: usize,
        takes: Option<Takes>,
        given: &[(Name, Setting)],
    ) -> Option<Judged> {
        let Base::Table(b) = &self.base else { return None };
        let classes = given.iter().find(|(k, _)| b.name == "one_hot" && &**k == "classes");
        match (takes, classes) {
            _ if self.order > 0 => None,
            (_, Some((_, Setting::Number(n)))) if at == 0 => Some(Judged::Class(*n as usize)),
            (Some(Takes::Ids), _) => Some(Judged::Whole),
            _ => None,
        }
    }

    /// Whether some argument stands for places or classes.
    pub(crate) fn takes_places(&self) -> bool {
        self.params().iter().any(|p| matches!(p.takes, Takes::Ids | Takes::Classes))
    }

    /// Whether a call has the temperature of its equation, and says none of its own.
    pub(crate) fn has_temperature(&self, call: &Call) -> bool {
        let pulled = call.named.iter().any(|(k, _)| &**k == "wrt");
        let own = || self.bound(call.args.len(), pulled).iter().any(|p| &*p.name == "T");
        self.keys().iter().any(|k| k.name == "like") && !own()
    }

    /// Whether a call, or what it is a derivative of, leaves one number of all: a loss, unless it says otherwise.
    pub(crate) fn gives_one_number(&self, call: &Call) -> bool {
        let Base::Table(b) = &self.base else { return false };
        let each = |(k, v): &(Name, Expr)| {
            &**k == "reduction" && matches!(&v.kind, Kind::Text(how) if &**how == "none")
        };
        b.settings.iter().any(|k| k.name == "reduction") && !call.named.iter().any(each)
    }

    /// The derivative of a call: with some settings there is none.
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

/// The axis that a call is along, as far as it says so: as given, else the last of a tensor.
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

/// Whether what comes out of a call is called as the left side calls it: on another line it would be called otherwise.
pub(crate) fn leans(call: &Call, program: &Program) -> bool {
    let Some(callee) = find(&call.function, program).filter(|c| c.order == 0) else { return false };
    let b = match &callee.base {
        Base::Table(b) => b,
        Base::User(f) => return leaves::gives_new(f),
        Base::Row(_) => return false,
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

/// The names that come out of a function by place whose arguments are tensors.
fn given_to(b: &Builtin, call: &Call) -> Option<Vec<Name>> {
    let own = |a: &Expr| match &a.kind {
        Kind::Ref(r) => Some(keys(r)),
        _ => None,
    };
    let args: Vec<Vec<Name>> = call.args.iter().map(own).collect::<Option<_>>()?;
    apply::given(b.gives, &args.iter().map(|a| &a[..]).collect::<Vec<_>>(), None)
}

/// The names of what comes out of a call that leans on the left side, whose arguments have these: as `apply` gives them, as
/// far as that can be said before sizes are known.
pub(crate) fn result_names(
    call: &Call,
    args: &[Vec<Name>],
    axis: Option<Name>,
    left: &[Name],
    program: &Program,
) -> Option<Vec<Name>> {
    let Base::Table(b) = find(&call.function, program).filter(|_| leans(call, program))?.base else {
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

/// A call within an expression whose indices are those of the left side.
pub(crate) fn leaning<'e>(e: &'e Expr, program: &Program) -> Option<&'e Call> {
    match &e.kind {
        Kind::Call(call) if leans(call, program) => Some(call),
        _ => e.parts().into_iter().find_map(|p| leaning(p, program)),
    }
}

/// Whether an expression reads a name only where a function takes numbers as they are.
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

/// Whether something in an expression has the temperature that is given from outside.
pub(crate) fn has_temperature(e: &Expr, program: &Program) -> bool {
    let here = || match &e.kind {
        Kind::Call(call) => find(&call.function, program).is_some_and(|c| c.has_temperature(call)),
        _ => false,
    };
    here() || e.parts().into_iter().any(|p| has_temperature(p, program))
}

/// What gradient programs call besides derivatives of what the program calls.
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

/// Why nothing may be called so: lines of a gradient program would call it instead of what they mean. A tensor is only in
/// the way where such a line calls its very name.
pub(crate) fn taken(name: &str, is_function: bool, program: &Program) -> Option<String> {
    let generated = if is_function { &GENERATED[..] } else { &GENERATED[..3] };
    if generated.contains(&name) {
        return Some(format!("`{name}` is a builtin that lines of gradients call"));
    }
    let of = name.strip_suffix("_grad")?;
    find(of, program).map(|_| format!("`{name}` is the derivative of `{of}`, which lines of gradients call"))
}

/// The name of the cotangent of a derivative of some order.
fn cotangent(order: usize) -> Name {
    if order == 1 { "g".into() } else { format!("g{order}").into() }
}

/// What a function can be given.
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

    /// How many tensors must be there; a derivative of a pointwise function stands without cotangents as well.
    pub(crate) fn least(&self) -> usize {
        let needed = self.params.iter().filter(|p| p.occurs == param::Occurs::Once).count();
        needed.saturating_sub(self.order)
    }

    pub(crate) fn settings(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.keys.iter().map(|k| k.name)
    }

    /// The settings as a person reads them: `softmax(x, axis=)`.
    pub(crate) fn text(&self, name: &str) -> String {
        let params = self.params.iter().map(Param::to_string);
        let each: Vec<String> = params.chain(self.keys.iter().map(Key::to_string)).collect();
        format!("{name}({})", each.join(", "))
    }
}
