//! The settings of a call: numbers, words, and lists of them.

use super::param::{Key, Otherwise};
use crate::syntax::ast::Name;
use gradus_ir::{DType, Error, Result};
use gradus_tensor::Each;
use std::fmt;

/// A number, a word or a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setting {
    Number(f64),
    Word(Name),
    List(Vec<Setting>),
}

impl Setting {
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Setting::Number(x) => Some(*x),
            Setting::Word(w) if &**w == "inf" => Some(f64::INFINITY),
            _ => None,
        }
    }

    pub(super) fn flag(&self) -> Option<bool> {
        match self {
            Setting::Number(x) => Some(*x != 0.0),
            Setting::Word(w) => w.parse().ok(),
            Setting::List(_) => None,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Number(x) => write!(f, "{x}"),
            Setting::Word(w) => write!(f, "\"{w}\""),
            Setting::List(all) => {
                let each: Vec<String> = all.iter().map(Setting::to_string).collect();
                write!(f, "[{}]", each.join(", "))
            }
        }
    }
}

/// The settings of one call, with its axes resolved.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) given: Vec<(Name, Setting)>,
    /// The axes as positions in the first argument.
    pub(crate) axes: Vec<isize>,
    /// The dtype of the program's numbers.
    pub(crate) float: DType,
    /// The temperature of the equation, if set from outside.
    pub(crate) temperature: Option<f64>,
}

impl Settings {
    /// Checks every setting and adds the defaults of those that are not given.
    pub(super) fn completed(&self, keys: &[Key]) -> Result<Settings> {
        let mut out = self.clone();
        for key in keys {
            match self.get(key.name) {
                Some(given) => key.check(given)?,
                None if key.otherwise == Otherwise::Needed => {
                    return Err(Error::value(format!("`{}`", key.name), "must be given"));
                }
                None => out.given.extend(key.default().map(|d| (key.name.into(), d))),
            }
        }
        Ok(out)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Setting> {
        self.given.iter().find(|(k, _)| **k == *key).map(|(_, s)| s)
    }

    /// Returns the axis of a function along one axis.
    pub(crate) fn axis(&self) -> isize {
        self.axes.first().copied().unwrap_or(-1)
    }

    pub(crate) fn axes(&self) -> Vec<isize> {
        self.axes.clone()
    }

    pub(crate) fn optional(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Setting::number)
    }

    /// Returns the number of a setting that is given or has a default.
    pub(crate) fn number(&self, key: &str) -> f64 {
        self.optional(key).unwrap_or(f64::NAN)
    }

    pub(crate) fn whole(&self, key: &str) -> usize {
        self.number(key) as usize
    }

    pub(crate) fn integer(&self, key: &str) -> i64 {
        self.number(key) as i64
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key).and_then(Setting::flag).unwrap_or(false)
    }

    pub(crate) fn word(&self, key: &str) -> &str {
        match self.get(key) {
            Some(Setting::Word(w)) => w,
            _ => "",
        }
    }

    /// One integer for all axes, or one per axis.
    pub(crate) fn each(&self, key: &str) -> Each {
        Each(self.wholes(key).unwrap_or_default())
    }

    /// As `each`, with a single number repeated for each of `axes` axes.
    pub(crate) fn for_axes(&self, key: &str, axes: usize) -> Vec<usize> {
        match (self.get(key), self.wholes(key)) {
            (Some(Setting::List(_)), Some(each)) => each,
            (_, Some(one)) => one.into_iter().cycle().take(axes).collect(),
            (_, None) => Vec::new(),
        }
    }

    pub(crate) fn wholes(&self, key: &str) -> Option<Vec<usize>> {
        self.integers(key).map(|all| all.into_iter().map(|n| n as usize).collect())
    }

    pub(crate) fn integers(&self, key: &str) -> Option<Vec<i64>> {
        let one = |s: &Setting| s.number().map(|x| x as i64);
        match self.get(key)? {
            Setting::List(each) => each.iter().map(one).collect(),
            other => one(other).map(|n| vec![n]),
        }
    }

    /// Returns the words of a list, or the single word.
    pub(crate) fn words(&self, key: &str) -> Vec<Name> {
        let word = |s: &Setting| match s {
            Setting::Word(w) => Some(w.clone()),
            _ => None,
        };
        match self.get(key) {
            Some(Setting::List(each)) => each.iter().filter_map(word).collect(),
            Some(one) => word(one).into_iter().collect(),
            None => Vec::new(),
        }
    }
}
