//! Metadata of GGUF files: names with typed values, in the order of the file.

use std::collections::HashMap;

/// The type of a value. Discriminants are the type numbers of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

impl Kind {
    const ALL: [Kind; 13] = [
        Kind::U8,
        Kind::I8,
        Kind::U16,
        Kind::I16,
        Kind::U32,
        Kind::I32,
        Kind::F32,
        Kind::Bool,
        Kind::String,
        Kind::Array,
        Kind::U64,
        Kind::I64,
        Kind::F64,
    ];

    /// Returns the type with this number.
    pub fn of_id(id: u32) -> Option<Kind> {
        Kind::ALL.get(id as usize).copied()
    }

    /// Returns the smallest number of bytes of a value of this type.
    pub(super) fn least_bytes(self) -> usize {
        match self {
            Kind::U8 | Kind::I8 | Kind::Bool => 1,
            Kind::U16 | Kind::I16 => 2,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::String | Kind::U64 | Kind::I64 | Kind::F64 => 8,
            Kind::Array => 12,
        }
    }
}

/// A value of the metadata.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    /// The type of the items, and the items.
    Array(Kind, Vec<Value>),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl Value {
    /// Makes an array of strings.
    pub fn strings<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Value {
        Value::Array(Kind::String, items.into_iter().map(|s| Value::String(s.into())).collect())
    }

    /// Returns the type.
    pub fn kind(&self) -> Kind {
        match self {
            Value::U8(_) => Kind::U8,
            Value::I8(_) => Kind::I8,
            Value::U16(_) => Kind::U16,
            Value::I16(_) => Kind::I16,
            Value::U32(_) => Kind::U32,
            Value::I32(_) => Kind::I32,
            Value::F32(_) => Kind::F32,
            Value::Bool(_) => Kind::Bool,
            Value::String(_) => Kind::String,
            Value::Array(..) => Kind::Array,
            Value::U64(_) => Kind::U64,
            Value::I64(_) => Kind::I64,
            Value::F64(_) => Kind::F64,
        }
    }

    /// Returns the value as an integer, or `None` if it is not an integer or does not fit.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Value::U8(x) => Some((*x).into()),
            Value::I8(x) => Some((*x).into()),
            Value::U16(x) => Some((*x).into()),
            Value::I16(x) => Some((*x).into()),
            Value::U32(x) => Some((*x).into()),
            Value::I32(x) => Some((*x).into()),
            Value::U64(x) => i64::try_from(*x).ok(),
            Value::I64(x) => Some(*x),
            _ => None,
        }
    }

    /// Returns the value as a float, if it is a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::F32(x) => Some((*x).into()),
            Value::F64(x) => Some(*x),
            other => other.integer().map(|x| x as f64),
        }
    }

    /// Returns the text of a string.
    pub fn text(&self) -> Option<&str> {
        if let Value::String(s) = self { Some(s) } else { None }
    }

    /// Returns the items of an array.
    pub fn items(&self) -> Option<&[Value]> {
        if let Value::Array(_, items) = self { Some(items) } else { None }
    }
}

/// Names and values, in the order of the file. Names are unique.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    entries: Vec<(String, Value)>,
    index: HashMap<String, usize>,
}

impl Metadata {
    /// Makes empty metadata.
    pub fn new() -> Metadata {
        Metadata::default()
    }

    /// Sets the value of a name, at the end if the name is new. Returns the old value.
    pub fn set(&mut self, name: impl Into<String>, value: Value) -> Option<Value> {
        let name = name.into();
        if let Some(at) = self.index.get(&name) {
            return Some(std::mem::replace(&mut self.entries[*at].1, value));
        }
        self.index.insert(name.clone(), self.entries.len());
        self.entries.push((name, value));
        None
    }

    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.index.get(name).map(|at| &self.entries[*at].1)
    }

    /// Returns the integer of a name.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)?.integer()
    }

    /// Returns the number of a name.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.number()
    }

    /// Returns the text of a name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.text()
    }

    /// Returns the boolean of a name.
    pub fn flag(&self, name: &str) -> Option<bool> {
        if let Value::Bool(b) = self.get(name)? { Some(*b) } else { None }
    }

    /// Iterates over all entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
