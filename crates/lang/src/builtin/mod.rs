//! Functions: the table of builtins, every pointwise op of the catalog, the program's own, and the derivative of each
//! (`f_grad`), which is the core's own vjp.

mod apply;
mod arrays;
mod settings;
mod table;

pub(crate) use apply::Around;
pub(crate) use settings::{Setting, Settings};

use crate::ast::{Function, Name};
use crate::limit::MOST_GRADS;
use crate::program::Program;
use gradus_ir::ops::pointwise::{self, Pointwise};
use gradus_tensor::Tensor;
use std::sync::Arc;

/// How a builtin sees the axes of its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Number by number, arguments brought together by name.
    Pointwise,
    /// Along one axis, which stays; further arguments are brought to the first one's axes by name.
    Along,
    /// Over axes that go away; further arguments are brought to the first one's axes by name.
    Reduce,
    /// By position: names mean nothing to it.
    Positional,
    /// The part of one tensor that a text describes.
    Part,
    /// Of an index itself.
    OfIndex,
}

/// What a builtin's derivative is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Derivative {
    /// `f_grad`, from the core.
    Core,
    /// A function of its result and the cotangent, under its own name: `softmax_grad(y, g)`.
    OfResult,
    /// None, on purpose: nothing flows.
    Stop,
    /// None: an error if it is needed.
    None,
}

/// One function of the table.
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    /// Tensors it takes; `?` may be left out, `*` is any number of them.
    pub(crate) params: &'static [&'static str],
    /// What else can be set.
    pub(crate) settings: &'static [&'static str],
    pub(crate) shape: Shape,
    pub(crate) derivative: Derivative,
    pub(crate) apply: fn(&[&Tensor], &Settings) -> Tensor,
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

/// Every name a program can call without defining it.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    let table = table::TABLE.iter().flat_map(|t| t.iter()).map(|b| b.name);
    table.chain(pointwise::rows().map(|r| r.name)).chain(table::ALIASES.iter().map(|a| a.0))
}

/// The functions of the language, each as it is called: `softmax(x, axis=)`.
pub fn builtins() -> Vec<(&'static str, String)> {
    let program = Program::default();
    let table = table::TABLE.iter().flat_map(|t| t.iter()).map(|b| b.name);
    let all = table.chain(pointwise::rows().map(|r| r.name));
    all.filter_map(|name| find(name, &program).map(|c| (name, c.signature().text(name)))).collect()
}

/// The function of this name: the program's own before builtins, capitals aside, itself before a derivative.
pub(crate) fn find(name: &str, program: &Program) -> Option<Callee> {
    let base = |name: &str| {
        if let Some(f) = program.functions.get(name) {
            return Some(Base::User(f.clone()));
        }
        let lower = name.to_ascii_lowercase();
        let lower = table::ALIASES.iter().find(|a| a.0 == lower).map_or(lower.as_str(), |a| a.1);
        if let Some(b) = table::TABLE.iter().flat_map(|t| t.iter()).find(|b| b.name == lower) {
            return Some(Base::Table(b));
        }
        pointwise::find(lower).map(Base::Row)
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

    /// The tensors it takes by name, cotangents included.
    pub(crate) fn params(&self) -> Vec<String> {
        let mut params: Vec<String> = match &self.base {
            Base::Table(b) => b.params.iter().map(|p| p.to_string()).collect(),
            Base::Row(r) => ["x", "y", "z"].iter().take(r.arity).map(|p| p.to_string()).collect(),
            Base::User(f) => f.params.iter().map(|p| p.name.to_string()).collect(),
        };
        params.extend((1..=self.order).map(cotangent));
        params
    }

    pub(crate) fn signature(&self) -> Signature {
        let settings: &[&str] = match &self.base {
            Base::Table(b) => b.settings,
            _ => &[],
        };
        let mut settings: Vec<&'static str> = settings.to_vec();
        match self.shape() {
            Shape::Along => settings.push("axis"),
            Shape::Reduce => settings.extend(["axis", "keepdims"]),
            _ => {}
        }
        if self.order > 0 {
            settings.push("wrt");
        }
        Signature { params: self.params(), settings, order: self.order }
    }
}

/// The name of the cotangent of a derivative of some order.
pub(crate) fn cotangent(order: usize) -> String {
    if order == 1 { "g".into() } else { format!("g{order}") }
}

/// What a function can be given.
pub(crate) struct Signature {
    params: Vec<String>,
    settings: Vec<&'static str>,
    order: usize,
}

impl Signature {
    pub(crate) fn is_param(&self, key: &str) -> bool {
        self.params.iter().any(|p| p.trim_matches(['?', '*']) == key)
    }

    pub(crate) fn takes(&self, key: &str) -> bool {
        self.is_param(key) || self.settings.contains(&key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(|p| p.trim_matches(['?', '*'])).chain(self.settings.iter().copied())
    }

    /// How many tensors must be there; a derivative of a pointwise function stands without cotangents as well.
    pub(crate) fn least(&self) -> usize {
        let needed = self.params.iter().filter(|p| !p.starts_with(['?', '*'])).count();
        needed.saturating_sub(self.order)
    }

    pub(crate) fn settings(&self) -> &[&'static str] {
        &self.settings
    }

    /// The settings as a person reads them: `softmax(x, axis=)`.
    pub(crate) fn text(&self, name: &str) -> String {
        let param = |p: &String| match p.strip_prefix('?') {
            Some(optional) => format!("[{optional}]"),
            None => p.strip_prefix('*').map_or_else(|| p.clone(), |many| format!("{many}, …")),
        };
        let each: Vec<String> =
            self.params.iter().map(param).chain(self.settings.iter().map(|s| format!("{s}="))).collect();
        format!("{name}({})", each.join(", "))
    }
}
