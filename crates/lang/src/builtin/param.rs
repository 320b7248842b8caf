//! The parameters of functions in the table: tensors by position or name, settings by key. Types and defaults are
//! declared here once; calls are checked against them, and the language reference is generated from them.

use super::Setting;
use crate::syntax::ast::{Expr, Kind, Name};
use gradus_ir::{Error, Result};
use std::fmt;

/// The conversion of an argument, and whether it receives a gradient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Takes {
    /// Floats.
    Numbers,
    /// Floats without a gradient.
    Still,
    /// Floats or integers, as they are.
    Any,
    /// Any dtype, unconverted.
    AsIs,
    /// Integers: positions and classes.
    Ids,
    /// Booleans; numbers are converted.
    Truth,
    /// Booleans; numbers are an error.
    Mask,
    /// Classes as in `Ids` if the argument lacks the axis of the call, else any dtype.
    Classes,
}

/// The number of times that an argument may occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Occurs {
    Once,
    /// Once, or not at all.
    Maybe,
    /// Any number of times.
    Many,
    /// Any number of alternating conditions and values; a last value without a condition is the default.
    Pairs,
}

/// A tensor parameter of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param<N = &'static str> {
    pub(crate) name: N,
    pub(crate) takes: Takes,
    pub(crate) occurs: Occurs,
}

pub(super) type Params = &'static [Param];

pub(super) const fn tensor(name: &'static str) -> Param {
    Param { name, takes: Takes::Numbers, occurs: Occurs::Once }
}

/// Floats or integers.
pub(super) const fn any(name: &'static str) -> Param {
    tensor(name).taking(Takes::Any)
}

pub(super) const fn ids(name: &'static str) -> Param {
    tensor(name).taking(Takes::Ids)
}

pub(super) const fn truth(name: &'static str) -> Param {
    tensor(name).taking(Takes::Truth)
}

impl Param {
    pub(super) const fn taking(self, takes: Takes) -> Param {
        Param { takes, ..self }
    }

    pub(super) const fn maybe(self) -> Param {
        Param { occurs: Occurs::Maybe, ..self }
    }

    pub(super) const fn many(self, occurs: Occurs) -> Param {
        Param { occurs, ..self }
    }

    pub(super) fn named(&self) -> Param<Name> {
        Param { name: self.name.into(), takes: self.takes, occurs: self.occurs }
    }
}

impl Param<Name> {
    /// Makes a required parameter that takes floats.
    pub(super) fn plain(name: Name) -> Param<Name> {
        Param { name, takes: Takes::Numbers, occurs: Occurs::Once }
    }

    pub(crate) fn is_many(&self) -> bool {
        matches!(self.occurs, Occurs::Many | Occurs::Pairs)
    }

    /// Returns true if argument `at` of `count` receives no gradient.
    pub(crate) fn is_still(&self, at: usize, count: usize) -> bool {
        let condition = self.occurs == Occurs::Pairs && at.is_multiple_of(2) && at + 1 < count;
        condition || matches!(self.takes, Takes::Still | Takes::Ids | Takes::Truth | Takes::Mask)
    }
}

impl fmt::Display for Param<Name> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.occurs {
            Occurs::Once => write!(f, "{}", self.name),
            Occurs::Maybe => write!(f, "[{}]", self.name),
            Occurs::Many | Occurs::Pairs => write!(f, "{}, …", self.name),
        }
    }
}

/// The type of a setting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Is {
    Number,
    /// An integer from 0 on.
    Whole,
    /// An integer of either sign.
    Integer,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One integer from 0 on, or a list of them.
    Wholes,
    /// As `Wholes`, or this word.
    WholesOr(&'static str),
    /// An integer of either sign, or a list of them.
    Integers,
    Text,
    /// Names or positions of axes, or names of arguments; checked elsewhere.
    Names,
}

/// The default of a setting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Otherwise {
    Number(f64),
    Word(&'static str),
    /// It may be omitted and then has no value.
    Nothing,
    /// It is required.
    Needed,
}

/// A setting that a function takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) is: Is,
    pub(crate) otherwise: Otherwise,
    /// The values of the setting for which the function has no derivative.
    pub(crate) flat: &'static [&'static str],
}

pub(super) type Keys = &'static [Key];

const fn key(name: &'static str, is: Is, otherwise: Otherwise) -> Key {
    Key { name, is, otherwise, flat: &[] }
}

/// Selects the values that are found or their positions, which have no derivative.
pub(super) const VALUES_OR_INDICES: Key = Key { flat: &["indices"], ..word("part", &["values", "indices"]) };

pub(super) const fn number(name: &'static str, otherwise: f64) -> Key {
    key(name, Is::Number, Otherwise::Number(otherwise))
}

pub(super) const fn whole(name: &'static str, otherwise: usize) -> Key {
    key(name, Is::Whole, Otherwise::Number(otherwise as f64))
}

pub(super) const fn integer(name: &'static str, otherwise: i64) -> Key {
    key(name, Is::Integer, Otherwise::Number(otherwise as f64))
}

/// One integer for all axes, or a list with one per axis.
pub(super) const fn each(name: &'static str, otherwise: usize) -> Key {
    key(name, Is::Wholes, Otherwise::Number(otherwise as f64))
}

pub(super) const fn flag(name: &'static str, otherwise: bool) -> Key {
    key(name, Is::Flag, Otherwise::Word(if otherwise { "true" } else { "false" }))
}

/// One of some words; the first is the default.
pub(super) const fn word(name: &'static str, words: &'static [&'static str]) -> Key {
    key(name, Is::Word(words), Otherwise::Word(words[0]))
}

pub(super) const fn needed(name: &'static str, is: Is) -> Key {
    key(name, is, Otherwise::Needed)
}

pub(super) const fn optional(name: &'static str, is: Is) -> Key {
    key(name, is, Otherwise::Nothing)
}

impl Key {
    /// Checks the setting as far as it is literal: parameters of the program are not known yet.
    pub(crate) fn literally(&self, given: Option<&Expr>) -> Result<()> {
        match given.map(literal) {
            Some(Some(setting)) => self.check(&setting),
            Some(None) => Ok(()),
            None if self.otherwise == Otherwise::Needed => {
                Err(Error::value(format!("`{}`", self.name), "must be given"))
            }
            None => Ok(()),
        }
    }

    /// Returns the default value, if there is one.
    pub(super) fn default(&self) -> Option<Setting> {
        match self.otherwise {
            Otherwise::Number(x) => Some(Setting::Number(x)),
            Otherwise::Word(w) => Some(Setting::Word(w.into())),
            Otherwise::Nothing | Otherwise::Needed => None,
        }
    }

    /// Checks the type of a value.
    pub(super) fn check(&self, given: &Setting) -> Result<()> {
        let whole = |s: &Setting| matches!(s, Setting::Number(x) if x.fract() == 0.0 && x.abs() < 9.0e15);
        let count = |s: &Setting| whole(s) && matches!(s, Setting::Number(x) if *x >= 0.0);
        let each = |one: &dyn Fn(&Setting) -> bool| match given {
            Setting::List(all) => all.iter().all(one),
            other => one(other),
        };
        let (fits, what) = match self.is {
            Is::Number => (given.number().is_some(), "a number".to_string()),
            Is::Whole => (count(given), "a whole number".into()),
            Is::Integer => (whole(given), "a whole number".into()),
            Is::Flag => (given.flag().is_some(), "true or false".into()),
            Is::Word(words) => {
                let is = |w: &&str| matches!(given, Setting::Word(g) if **g == **w);
                (words.iter().any(is), either(words))
            }
            Is::Wholes => (each(&count), "a whole number or a list of them".into()),
            Is::WholesOr(word) => {
                let fits = each(&count) || matches!(given, Setting::Word(w) if **w == *word);
                (fits, format!("a whole number, a list of them or \"{word}\""))
            }
            Is::Integers => (each(&whole), "a whole number or a list of them".into()),
            Is::Text => (matches!(given, Setting::Word(_)), "a text".into()),
            Is::Names => (true, String::new()),
        };
        if fits {
            Ok(())
        } else {
            Err(Error::value(format!("`{}`", self.name), format!("must be {what}, not {given}")))
        }
    }
}

/// `"a", "b" or "c"`.
fn either(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
    match &quoted[..] {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        _ => quoted.concat(),
    }
}

/// Returns the value of a setting that does not depend on the program's parameters.
pub(crate) fn literal(e: &Expr) -> Option<Setting> {
    Some(match &e.kind {
        Kind::Text(t) => Setting::Word(t.clone()),
        Kind::Number(x) => Setting::Number(*x),
        Kind::Negative(one) => match literal(one)? {
            Setting::Number(x) => Setting::Number(-x),
            _ => return None,
        },
        Kind::List(parts) => Setting::List(parts.iter().map(literal).collect::<Option<_>>()?),
        Kind::Array(a) if a.shape.is_empty() => Setting::Number(*a.numbers.first()?),
        Kind::Array(a) => Setting::List(a.numbers.iter().map(|x| Setting::Number(*x)).collect()),
        _ => return None,
    })
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is, self.otherwise) {
            (Is::Word(words), _) => write!(f, "{}={}", self.name, words.join("|")),
            (_, Otherwise::Number(x)) if x.abs() < 1e-3 && x != 0.0 => write!(f, "{}={x:e}", self.name),
            (_, Otherwise::Number(x)) => write!(f, "{}={x}", self.name),
            (_, Otherwise::Word(w)) => write!(f, "{}={w}", self.name),
            (Is::Names, _) | (_, Otherwise::Needed) => write!(f, "{}=", self.name),
            (_, Otherwise::Nothing) => write!(f, "[{}=]", self.name),
        }
    }
}
