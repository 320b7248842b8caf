//! Attributes of an op as data: one conversion per field type serves printing, parsing, hashing and equality.
//! Takes fields of op structs; returns [`Attr`] values and reads them back. Their text is in `graph/print.rs`.

use crate::{Aval, DType, Graph, Literal, Shape};
use std::sync::Arc;

/// The value of one attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attr {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A float, stored as its bits so that it can be compared and hashed.
    Float(u64),
    /// A string.
    Str(String),
    /// A dtype.
    DType(DType),
    /// A type: dtype and extents.
    Type(Aval),
    /// A concrete value.
    Literal(Literal),
    /// A graph held by a structural op.
    Graph(Arc<Graph>),
    /// Named values, such as the arguments of a region.
    Map(Vec<(String, Attr)>),
}

impl Attr {
    /// Returns the graphs in the attribute, at any depth.
    pub fn graphs(&self) -> Vec<&Arc<Graph>> {
        match self {
            Attr::Graph(g) => vec![g],
            Attr::Map(m) => m.iter().flat_map(|(_, a)| a.graphs()).collect(),
            _ => Vec::new(),
        }
    }
}

/// Named attributes in declaration order.
pub type Attrs = Vec<(&'static str, Attr)>;

/// A field type that can be an attribute.
pub trait AttrField: Sized {
    /// Converts the field to data.
    fn to_attr(&self) -> Attr;
    /// Reads the field from data. Returns `None` if the data is of another kind.
    fn from_attr(a: &Attr) -> Option<Self>;
    /// Returns the value of the field if the text omits it; `None` if the text must give it.
    fn absent() -> Option<Self> {
        None
    }
    /// Returns true if the field has its default value, so that the printer omits it.
    fn is_absent(&self) -> bool {
        false
    }
}

macro_rules! fields {
    ($($t:ty, $variant:ident, |$s:ident| $to:expr, |$a:ident| $from:expr;)*) => {$(
        impl AttrField for $t {
            fn to_attr(&self) -> Attr { let $s = self; Attr::$variant($to) }
            fn from_attr(a: &Attr) -> Option<$t> { if let Attr::$variant($a) = a { $from } else { None } }
        }
    )*};
}

fields! {
    bool, Bool, |s| *s, |a| Some(*a);
    usize, Int, |s| *s as i64, |a| usize::try_from(*a).ok();
    i64, Int, |s| *s, |a| Some(*a);
    f64, Float, |s| s.to_bits(), |a| Some(f64::from_bits(*a));
    Vec<i64>, Ints, |s| s.clone(), |a| Some(a.clone());
    Vec<usize>, Ints, |s| s.iter().map(|&x| x as i64).collect(), |a| a.iter().map(|&x| usize::try_from(x).ok()).collect();
    Shape, Ints, |s| s.iter().map(|&x| x as i64).collect(), |a| a.iter().map(|&x| usize::try_from(x).ok()).collect();
    String, Str, |s| s.clone(), |a| Some(a.clone());
    Arc<str>, Str, |s| s.to_string(), |a| Some(a.as_str().into());
    DType, DType, |s| *s, |a| Some(*a);
    Aval, Type, |s| s.clone(), |a| Some(a.clone());
    Literal, Literal, |s| s.clone(), |a| Some(a.clone());
    Arc<Graph>, Graph, |s| s.clone(), |a| Some(a.clone());
    Vec<(String, Attr)>, Map, |s| s.clone(), |a| Some(a.clone());
}

/// An optional graph; the text omits `None`.
impl AttrField for Option<Arc<Graph>> {
    fn to_attr(&self) -> Attr {
        self.clone().map_or(Attr::Bool(false), Attr::Graph)
    }
    fn from_attr(a: &Attr) -> Option<Self> {
        if let Attr::Graph(g) = a { Some(Some(g.clone())) } else { None }
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

/// An optional number; the text omits `None`.
impl AttrField for Option<usize> {
    fn to_attr(&self) -> Attr {
        self.map_or(Attr::Bool(false), |n| n.to_attr())
    }
    fn from_attr(a: &Attr) -> Option<Self> {
        usize::from_attr(a).map(Some)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

/// A flag that is false by default; the text shows it only if it is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mark(pub bool);

impl AttrField for Mark {
    fn to_attr(&self) -> Attr {
        Attr::Bool(self.0)
    }
    fn from_attr(a: &Attr) -> Option<Self> {
        bool::from_attr(a).map(Mark)
    }
    fn absent() -> Option<Self> {
        Some(Mark(false))
    }
    fn is_absent(&self) -> bool {
        !self.0
    }
}

/// Returns the name and value of a field, or `None` if the printer omits it.
#[doc(hidden)]
pub fn written<T: AttrField>(name: &'static str, field: &T) -> Option<(&'static str, Attr)> {
    (!field.is_absent()).then(|| (name, field.to_attr()))
}

/// Declares a structural op: a struct of attributes, its name in text, and its documentation as data.
#[macro_export]
macro_rules! op_struct {
    ($(#[doc = $doc:literal])* pub struct $name:ident = $text:literal { $($(#[doc = $fdoc:literal])* $field:ident: $ty:ty),* $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name { $($(#[doc = $fdoc])* pub $field: $ty),* }

        impl $crate::ops::Declared for $name {
            const NAME: &'static str = $text;
            const DOCS: &'static str = concat!($($doc, "\n"),*);
            fn to_attrs(&self) -> $crate::attr::Attrs {
                let attrs: Vec<Option<(&'static str, $crate::attr::Attr)>> = vec![$($crate::attr::written(stringify!($field), &self.$field)),*];
                attrs.into_iter().flatten().collect()
            }
            fn from_attrs(_attrs: &dyn Fn(&str) -> Option<$crate::attr::Attr>) -> Option<$name> {
                Some($name { $($field: match _attrs(stringify!($field)) {
                    Some(attr) => $crate::attr::AttrField::from_attr(&attr)?,
                    None => $crate::attr::AttrField::absent()?,
                }),* })
            }
        }
    };
}
