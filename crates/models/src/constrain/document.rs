//! JSON documents that keep the order of their keys, because properties of a schema are generated in this
//! order.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};
use std::collections::HashMap;
use std::fmt;

/// A JSON document.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// A null, boolean, number or string.
    Scalar(Json),
    /// A list of values.
    Array(Vec<Document>),
    /// Values by key.
    Object(Fields),
}

/// Values by key, in the order in which they appear in the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    all: Vec<(String, Document)>,
    /// The position of each key in `all`.
    positions: HashMap<String, usize>,
}

impl Fields {
    /// Adds a value. Returns false if the key already exists.
    fn push(&mut self, key: String, value: Document) -> bool {
        let is_new = self.positions.insert(key.clone(), self.all.len()).is_none();
        self.all.push((key, value));
        is_new
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Document> {
        self.positions.get(key).map(|at| &self.all[*at].1)
    }

    /// Keys with their values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Document)> {
        self.all.iter().map(|(k, v)| (k.as_str(), v))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(k, _)| k)
    }

    pub(super) fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl Document {
    /// Returns the value of a key, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Document> {
        match self {
            Document::Object(fields) => fields.get(key),
            _ => None,
        }
    }

    /// Returns the value at a JSON pointer such as `/$defs/Node`.
    pub(super) fn pointer(&self, path: &str) -> Option<&Document> {
        if path.is_empty() {
            return Some(self);
        }
        path.strip_prefix('/')?.split('/').try_fold(self, |part, word| {
            let word = word.replace("~1", "/").replace("~0", "~");
            match part {
                Document::Array(all) => all.get(word.parse::<usize>().ok()?),
                other => other.get(&word),
            }
        })
    }

    /// Number of values in the document, including nested values.
    pub(super) fn parts(&self) -> usize {
        match self {
            Document::Scalar(_) => 1,
            Document::Array(all) => 1 + all.iter().map(Document::parts).sum::<usize>(),
            Document::Object(fields) => 1 + fields.iter().map(|(_, v)| v.parts()).sum::<usize>(),
        }
    }

    pub(super) fn as_array(&self) -> Option<&[Document]> {
        match self {
            Document::Array(all) => Some(all),
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Document::Scalar(value) => value.as_str(),
            _ => None,
        }
    }

    pub(super) fn as_u64(&self) -> Option<u64> {
        match self {
            Document::Scalar(value) => value.as_u64(),
            _ => None,
        }
    }

    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Document::Scalar(value) => value.as_f64(),
            _ => None,
        }
    }
}

impl From<&Json> for Document {
    fn from(json: &Json) -> Document {
        match json {
            Json::Array(all) => Document::Array(all.iter().map(Document::from).collect()),
            Json::Object(map) => {
                let mut fields = Fields::default();
                for (key, value) in map {
                    fields.push(key.clone(), Document::from(value));
                }
                Document::Object(fields)
            }
            scalar => Document::Scalar(scalar.clone()),
        }
    }
}

impl From<&Document> for Json {
    fn from(document: &Document) -> Json {
        match document {
            Document::Scalar(value) => value.clone(),
            Document::Array(all) => all.iter().map(Json::from).collect(),
            Document::Object(fields) => Json::Object(
                fields.iter().map(|(k, v)| (k.to_string(), Json::from(v))).collect::<Map<_, _>>(),
            ),
        }
    }
}

/// Compact JSON.
impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Json::from(self))
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Builds documents from the events of a parser.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document::Scalar(Json::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Document, E> {
        Ok(Document::Scalar(Json::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Document, E> {
        Ok(Document::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Document, E> {
        Ok(Document::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Document, E> {
        Ok(Document::Scalar(Number::from_f64(value).map_or(Json::Null, Json::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Document, E> {
        Ok(Document::Scalar(Json::String(value.to_string())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Document, A::Error> {
        let mut all = Vec::new();
        while let Some(part) = parts.next_element()? {
            all.push(part);
        }
        Ok(Document::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Document, A::Error> {
        let mut fields = Fields::default();
        while let Some((key, value)) = entries.next_entry::<String, Document>()? {
            let named = key.clone();
            if !fields.push(key, value) {
                return Err(A::Error::custom(format!("key `{named}` appears twice")));
            }
        }
        Ok(Document::Object(fields))
    }
}
