//! What a call is given besides tensors: numbers, words, lists of them.

use crate::ast::Name;
use gradus_ir::DType;
use gradus_tensor::Each;

/// A number, a word or a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setting {
    Number(f64),
    Word(Name),
    List(Vec<Setting>),
}

/// The settings of one call, with its axes looked up.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) given: Vec<(Name, Setting)>,
    /// The axes as places in the first argument.
    pub(crate) axes: Vec<isize>,
    /// The dtype of the program's numbers.
    pub(crate) float: DType,
    /// The temperature in force, where one was set from outside.
    pub(crate) temperature: Option<f64>,
}

impl Settings {
    pub(crate) fn get(&self, key: &str) -> Option<&Setting> {
        self.given.iter().find(|(k, _)| **k == *key).map(|(_, s)| s)
    }

    /// The one axis.
    pub(crate) fn axis(&self) -> isize {
        self.axes.first().copied().unwrap_or(-1)
    }

    pub(crate) fn axes(&self) -> Vec<isize> {
        self.axes.clone()
    }

    pub(crate) fn number(&self, key: &str, otherwise: f64) -> f64 {
        self.optional(key).unwrap_or(otherwise)
    }

    pub(crate) fn optional(&self, key: &str) -> Option<f64> {
        match self.get(key) {
            Some(Setting::Number(x)) => Some(*x),
            Some(Setting::Word(w)) => match &**w {
                "true" => Some(1.0),
                "false" => Some(0.0),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn whole(&self, key: &str, otherwise: usize) -> usize {
        self.optional(key).filter(|x| *x >= 0.0).map_or(otherwise, |x| x as usize)
    }

    pub(crate) fn integer(&self, key: &str, otherwise: i64) -> i64 {
        self.optional(key).map_or(otherwise, |x| x as i64)
    }

    pub(crate) fn flag(&self, key: &str, otherwise: bool) -> bool {
        self.optional(key).map_or(otherwise, |x| x != 0.0)
    }

    pub(crate) fn word(&self, key: &str) -> &str {
        match self.get(key) {
            Some(Setting::Word(w)) => w,
            _ => "",
        }
    }

    /// One whole number for all axes, or one for each.
    pub(crate) fn each(&self, key: &str, otherwise: usize) -> Each {
        Each(self.wholes(key).unwrap_or_else(|| vec![otherwise]))
    }

    pub(crate) fn wholes(&self, key: &str) -> Option<Vec<usize>> {
        let whole = |s: &Setting| match s {
            Setting::Number(x) if *x >= 0.0 => Some(*x as usize),
            _ => None,
        };
        match self.get(key)? {
            Setting::List(each) => each.iter().map(whole).collect(),
            one => whole(one).map(|n| vec![n]),
        }
    }

    /// Words of a list, or the one word.
    pub(crate) fn words(&self, key: &str) -> Vec<Name> {
        match self.get(key) {
            Some(Setting::Word(w)) => vec![w.clone()],
            Some(Setting::List(each)) => each
                .iter()
                .filter_map(|s| match s {
                    Setting::Word(w) => Some(w.clone()),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}
