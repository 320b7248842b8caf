//! Compiles JSON schemas to expressions over bytes.
//!
//! References are resolved. Each level of nesting has its own expressions: values deeper than
//! [`MAX_DEPTH`](super::MAX_DEPTH) match no text, so recursive schemas terminate. Every keyword is either
//! honoured or refused.

use super::MAX_DEPTH;
use super::document::{Document, Fields};
use super::expression::{Arena, Id, NEVER};
use super::integer;
use gradus_ir::{Error, Result};
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};

/// Keywords that do not constrain documents.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
];

/// Supported keywords of each type.
const OF_TYPES: &[(&str, &[&str])] = &[
    ("object", &["properties", "required", "additionalProperties"]),
    ("array", &["items", "minItems", "maxItems"]),
    ("string", &["minLength", "maxLength"]),
    ("integer", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
    ("number", &["minimum"]),
    ("boolean", &[]),
    ("null", &[]),
];

/// Largest nesting depth of schemas, including references.
const MAX_NESTED: usize = 256;

/// Largest number of values in the document of a schema, including nested values.
const MAX_PARTS: usize = 20_000;

/// Largest number of characters or items in a limit of a schema.
const MAX_COUNT: u64 = 1 << 20;

/// Compiles a schema to an expression of the documents that it permits.
pub(super) fn expression(schema: &Document) -> Result<(Arena, Id)> {
    if schema.parts() > MAX_PARTS {
        return Err(schema_error("document", format!("must have at most {MAX_PARTS} values")));
    }
    let mut compiler = Compiler::new(schema);
    let root = compiler.value(schema, 0)?;
    finish(compiler.arena, root)
}

/// Makes the expression of all JSON objects.
pub(super) fn any_object() -> Result<(Arena, Id)> {
    let nothing = Document::Array(Vec::new());
    let mut compiler = Compiler::new(&nothing);
    let root = compiler.map(None, 0)?;
    finish(compiler.arena, root)
}

fn finish(arena: Arena, root: Id) -> Result<(Arena, Id)> {
    if arena.shortest(root) == NEVER {
        let why = format!("permits no document of at most {MAX_DEPTH} levels");
        return Err(Error::value("the schema", why));
    }
    Ok((arena, root))
}

struct Compiler<'a> {
    root: &'a Document,
    arena: Arena,
    /// Compiled values, by address of their schema and level of nesting.
    done: HashMap<(usize, usize), Id>,
    /// Values that are being compiled. A schema that refers to itself at the same level matches no text
    /// there.
    open: HashSet<(usize, usize)>,
    /// The expressions of any value, by level of nesting.
    any: HashMap<usize, Id>,
}

fn schema_error(what: impl Into<String>, why: impl Into<String>) -> Error {
    Error::value(format!("the schema's {}", what.into()), why.into())
}

impl<'a> Compiler<'a> {
    fn new(root: &'a Document) -> Compiler<'a> {
        let (done, open, any) = (HashMap::new(), HashSet::new(), HashMap::new());
        Compiler { root, arena: Arena::default(), done, open, any }
    }

    /// Makes the expression of the values of a schema at a level of nesting.
    fn value(&mut self, schema: &'a Document, depth: usize) -> Result<Id> {
        let key = (std::ptr::from_ref(schema) as usize, depth);
        if let Some(id) = self.done.get(&key) {
            return Ok(*id);
        }
        if self.open.len() >= MAX_NESTED {
            return Err(schema_error("nesting", format!("must be at most {MAX_NESTED} levels")));
        }
        if !self.open.insert(key) {
            return self.arena.choice(&[]);
        }
        let id = match schema {
            Document::Scalar(Json::Bool(true)) => self.any(depth)?,
            Document::Scalar(Json::Bool(false)) => self.arena.choice(&[])?,
            Document::Object(map) => self.of_map(map, depth)?,
            other => return Err(schema_error(format!("part {other}"), "must be an object or a boolean")),
        };
        self.open.remove(&key);
        self.done.insert(key, id);
        Ok(id)
    }

    fn of_map(&mut self, map: &'a Fields, depth: usize) -> Result<Id> {
        let types = types(map)?;
        let known = |key: &str| {
            let of = |t: &str| OF_TYPES.iter().any(|(name, keys)| *name == t && keys.contains(&key));
            ANNOTATIONS.contains(&key)
                || ["type", "enum", "const", "anyOf", "$ref", "allOf"].contains(&key)
                || types.iter().any(|t| of(t))
        };
        if let Some(key) = map.keys().find(|k| !known(k)) {
            let here = if types.is_empty() { "here".into() } else { format!("of {}", types.join(" or ")) };
            return Err(schema_error(format!("keyword `{key}`"), format!("is not supported {here}")));
        }
        // Each of these keywords must be alone, because intersections of schemas are not supported.
        let keys = ["$ref", "anyOf", "allOf", "enum", "const"];
        let exclusive = keys.into_iter().find_map(|key| Some((key, map.get(key)?)));
        if let Some((key, _)) = exclusive {
            let typed = |k: &str| k == "type" && ["enum", "const"].contains(&key);
            let with = map.keys().find(|k| *k != key && !ANNOTATIONS.contains(k) && !typed(k));
            if let Some(other) = with {
                return Err(schema_error(
                    format!("keyword `{key}`"),
                    format!("is not supported together with `{other}`"),
                ));
            }
        }
        match exclusive {
            Some(("$ref", reference)) => {
                let target = self.resolve(reference)?;
                self.value(target, depth)
            }
            Some(("allOf", parts)) => match parts.as_array() {
                Some([only]) => self.value(only, depth),
                _ => Err(schema_error("keyword `allOf`", "is supported with one schema only")),
            },
            Some(("anyOf", parts)) => {
                let Some(parts) = parts.as_array().filter(|p| !p.is_empty()) else {
                    return Err(schema_error("keyword `anyOf`", "must be a list of schemas"));
                };
                let parts: Vec<Id> = parts.iter().map(|p| self.value(p, depth)).collect::<Result<_>>()?;
                self.arena.choice(&parts)
            }
            Some((key, value)) => {
                let values =
                    if key == "const" { Some(std::slice::from_ref(value)) } else { value.as_array() };
                let Some(values) = values.filter(|v| !v.is_empty()) else {
                    return Err(schema_error("keyword `enum`", "must be a list of values"));
                };
                let fits =
                    |v: &&Document| types.is_empty() || types.iter().any(|t| has_type(&Json::from(*v), t));
                let texts: Vec<Id> = values
                    .iter()
                    .filter(fits)
                    .map(|v| self.arena.literal(&v.to_string()))
                    .collect::<Result<_>>()?;
                self.arena.choice(&texts)
            }
            None if types.is_empty() => self.any(depth),
            None => {
                let parts: Vec<Id> =
                    types.iter().map(|t| self.typed(t, map, depth)).collect::<Result<_>>()?;
                self.arena.choice(&parts)
            }
        }
    }

    /// Finds the schema that a reference names: a JSON pointer into the root document.
    fn resolve(&self, reference: &Document) -> Result<&'a Document> {
        let failed = || schema_error(format!("reference {reference}"), "names nothing in the schema");
        let path = reference.as_str().and_then(|r| r.strip_prefix('#')).ok_or_else(failed)?;
        self.root.pointer(path).ok_or_else(failed)
    }

    fn typed(&mut self, name: &str, map: &'a Fields, depth: usize) -> Result<Id> {
        match name {
            "object" => self.object(map, depth),
            "array" => {
                let (min, max) = counts(map, "minItems", "maxItems")?;
                if depth >= MAX_DEPTH {
                    return self.arena.choice(&[]);
                }
                let item = match map.get("items") {
                    Some(items) => self.value(items, depth + 1)?,
                    None => self.any(depth + 1)?,
                };
                self.array(item, min, max)
            }
            "string" => {
                let (min, max) = counts(map, "minLength", "maxLength")?;
                self.string(min, max)
            }
            "integer" => {
                let bounds = integer::bounds(map)?;
                integer::between(&mut self.arena, bounds)
            }
            "number" => self.number(map.get("minimum")),
            "boolean" => self.literals(&["true", "false"]),
            _ => self.arena.literal("null"),
        }
    }

    fn literals(&mut self, texts: &[&str]) -> Result<Id> {
        let all: Vec<Id> = texts.iter().map(|t| self.arena.literal(t)).collect::<Result<_>>()?;
        self.arena.choice(&all)
    }

    /// Any JSON value.
    fn any(&mut self, depth: usize) -> Result<Id> {
        if let Some(id) = self.any.get(&depth) {
            return Ok(*id);
        }
        let mut parts = vec![self.string(0, u32::MAX)?, self.number(None)?];
        parts.push(self.literals(&["true", "false", "null"])?);
        if depth < MAX_DEPTH {
            let item = self.any(depth + 1)?;
            parts.push(self.array(item, 0, u32::MAX)?);
            parts.push(self.map(None, depth)?);
        }
        let id = self.arena.choice(&parts)?;
        self.any.insert(depth, id);
        Ok(id)
    }

    /// Makes the expression of an object with any keys, whose values match a schema, or any value if `values`
    /// is `None`.
    fn map(&mut self, values: Option<&'a Document>, depth: usize) -> Result<Id> {
        if depth >= MAX_DEPTH {
            return self.arena.choice(&[]);
        }
        let value = match values {
            Some(schema) => self.value(schema, depth + 1)?,
            None => self.any(depth + 1)?,
        };
        let (key, colon) = (self.string(0, u32::MAX)?, self.colon()?);
        let pair = self.arena.sequence(&[key, colon, value])?;
        self.list("{", pair, 0, u32::MAX, "}")
    }

    fn array(&mut self, item: Id, min: u32, max: u32) -> Result<Id> {
        self.list("[", item, min, max, "]")
    }

    /// `min` to `max` items separated by commas, between brackets.
    fn list(&mut self, open: &str, item: Id, min: u32, max: u32, close: &str) -> Result<Id> {
        let (open, close) = (self.arena.literal(open)?, self.arena.literal(close)?);
        let (space, comma) = (self.space()?, self.comma()?);
        let another = self.arena.sequence(&[comma, item])?;
        let more = self.arena.repeat(
            another,
            min.saturating_sub(1),
            if max == u32::MAX { max } else { max.saturating_sub(1) },
        )?;
        let items = self.arena.sequence(&[space, item, more, space])?;
        let inside = match (min, max) {
            (_, 0) => self.arena.sequence(&[])?,
            (0, _) => self.arena.optional(items)?,
            _ => items,
        };
        self.arena.sequence(&[open, inside, close])
    }

    /// White space where a line may break: none, one space, or a new line with indentation.
    fn space(&mut self) -> Result<Id> {
        let (space, newline) = (self.arena.literal(" ")?, self.arena.literal("\n")?);
        let indentation = self.arena.repeat(space, 0, 24)?;
        let line = self.arena.sequence(&[newline, indentation])?;
        let some = self.arena.choice(&[space, line])?;
        self.arena.optional(some)
    }

    fn comma(&mut self) -> Result<Id> {
        let (comma, space) = (self.arena.literal(",")?, self.space()?);
        self.arena.sequence(&[comma, space])
    }

    fn colon(&mut self) -> Result<Id> {
        let (colon, space) = (self.arena.literal(":")?, self.arena.literal(" ")?);
        let space = self.arena.optional(space)?;
        self.arena.sequence(&[colon, space])
    }

    /// Makes the expression of an object with the properties that its schema lists, in order. Other
    /// properties are generated only if it lists none.
    fn object(&mut self, map: &'a Fields, depth: usize) -> Result<Id> {
        let listed = match map.get("properties") {
            None => None,
            Some(Document::Object(listed)) => Some(listed),
            Some(_) => return Err(schema_error("keyword `properties`", "must be an object")),
        };
        let mut required = HashSet::new();
        let not_names = || schema_error("keyword `required`", "must be a list of names");
        let names = map.get("required").map(|names| names.as_array().ok_or_else(not_names)).transpose()?;
        for name in names.unwrap_or_default() {
            let name = name.as_str().ok_or_else(not_names)?;
            if !listed.is_some_and(|l| l.contains_key(name)) {
                let why = format!("names `{name}`, which `properties` does not list");
                return Err(schema_error("keyword `required`", why));
            }
            required.insert(name);
        }
        if depth >= MAX_DEPTH {
            return self.arena.choice(&[]);
        }
        let others = map.get("additionalProperties");
        if listed.is_none_or(Fields::is_empty) && others != Some(&Document::Scalar(Json::Bool(false))) {
            return self.map(others, depth);
        }
        let (comma, space, colon) = (self.comma()?, self.space()?, self.colon()?);
        let close = self.arena.literal("}")?;
        // Builds the object from the last property to the first: the rest of the text after some property,
        // and after none.
        let mut after_some = self.arena.sequence(&[space, close])?;
        let mut after_none = close;
        for (name, schema) in listed.into_iter().flat_map(Fields::iter).rev() {
            let key = self.arena.literal(&Json::from(name).to_string())?;
            let value = self.value(schema, depth + 1)?;
            let later = self.arena.sequence(&[comma, key, colon, value, after_some])?;
            let first = self.arena.sequence(&[space, key, colon, value, after_some])?;
            match required.contains(name) {
                true => (after_some, after_none) = (later, first),
                false => {
                    after_some = self.arena.choice(&[later, after_some])?;
                    after_none = self.arena.choice(&[first, after_none])?;
                }
            }
        }
        let open = self.arena.literal("{")?;
        self.arena.sequence(&[open, after_none])
    }

    /// Makes the expression of a string of `min` to `max` characters, each UTF-8 or an escape.
    fn string(&mut self, min: u32, max: u32) -> Result<Id> {
        let a = &mut self.arena;
        let tail = a.byte(&[(0x80, 0xBF)])?;
        let mut chars = vec![a.byte(&[(0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7F)])?];
        // First bytes, the range of the second byte, and the number of further continuation bytes.
        let longer = [
            ((0xC2, 0xDF), (0x80, 0xBF), 0),
            ((0xE0, 0xE0), (0xA0, 0xBF), 1),
            ((0xE1, 0xEC), (0x80, 0xBF), 1),
            ((0xED, 0xED), (0x80, 0x9F), 1),
            ((0xEE, 0xEF), (0x80, 0xBF), 1),
            ((0xF0, 0xF0), (0x90, 0xBF), 2),
            ((0xF1, 0xF3), (0x80, 0xBF), 2),
            ((0xF4, 0xF4), (0x80, 0x8F), 2),
        ];
        for (first, second, more) in longer {
            let mut parts = vec![a.byte(&[first])?, a.byte(&[second])?];
            parts.resize(2 + more, tail);
            chars.push(a.sequence(&parts)?);
        }
        let backslash = a.literal("\\")?;
        let hex = a.byte(&[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')])?;
        let short = a.byte(&[b'"', b'\\', b'/', b'b', b'f', b'n', b'r', b't'].map(|c| (c, c)))?;
        chars.push(a.sequence(&[backslash, short])?);
        // `\u` with four hex digits, except surrogates (`\uD800` to `\uDFFF`).
        let (u, d) = (a.literal("u")?, a.byte(&[(b'D', b'D'), (b'd', b'd')])?);
        let not_d = a.byte(&[(b'0', b'9'), (b'A', b'C'), (b'E', b'F'), (b'a', b'c'), (b'e', b'f')])?;
        let low = a.byte(&[(b'0', b'7')])?;
        chars.push(a.sequence(&[backslash, u, not_d, hex, hex, hex])?);
        chars.push(a.sequence(&[backslash, u, d, low, hex, hex])?);
        let one = a.choice(&chars)?;
        let (quote, inside) = (a.literal("\"")?, a.repeat(one, min, max)?);
        a.sequence(&[quote, inside, quote])
    }

    fn number(&mut self, minimum: Option<&Document>) -> Result<Id> {
        let signed = match minimum.map(Document::as_f64) {
            None => true,
            Some(Some(0.0)) => false,
            _ => return Err(schema_error("keyword `minimum` of number", "is supported for 0 only")),
        };
        let a = &mut self.arena;
        let digit = a.byte(&[(b'0', b'9')])?;
        let (zero, from_one) = (a.literal("0")?, a.byte(&[(b'1', b'9')])?);
        let more = a.repeat(digit, 0, integer::MAX_DIGITS as u32 - 1)?;
        let long = a.sequence(&[from_one, more])?;
        let before = a.choice(&[zero, long])?;
        let (point, places) = (a.literal(".")?, a.repeat(digit, 1, 17)?);
        let fraction = a.sequence(&[point, places])?;
        let fraction = a.optional(fraction)?;
        let (e, signs) = (a.byte(&[(b'e', b'e'), (b'E', b'E')])?, a.byte(&[(b'+', b'+'), (b'-', b'-')])?);
        let (sign, power) = (a.optional(signs)?, a.repeat(digit, 1, 2)?);
        let exponent = a.sequence(&[e, sign, power])?;
        let exponent = a.optional(exponent)?;
        let minus = a.literal("-")?;
        let minus = a.optional(minus)?;
        let all = [minus, before, fraction, exponent];
        a.sequence(if signed { &all } else { &all[1..] })
    }
}

/// Returns the types that a schema permits, as stated or inferred from its keywords; empty if any type is
/// permitted.
fn types(map: &Fields) -> Result<Vec<&str>> {
    let known = |t: &&str| OF_TYPES.iter().any(|(name, _)| name == t);
    let one = |t: &Document| -> Result<()> {
        match t.as_str().as_ref().filter(|t| known(t)) {
            Some(_) => Ok(()),
            None => Err(schema_error(
                format!("type {t}"),
                "must be one of object, array, string, number, integer, boolean, null",
            )),
        }
    };
    match map.get("type") {
        None => {
            // In JSON Schema, such keywords permit all values of other types. Here those values are not
            // generated.
            let by_keyword = OF_TYPES.iter().find(|(_, keys)| map.keys().any(|k| keys.contains(&k)));
            Ok(by_keyword
                .map(|(name, _)| if *name == "integer" { "number" } else { *name })
                .into_iter()
                .collect())
        }
        Some(Document::Array(all)) if (1..=OF_TYPES.len()).contains(&all.len()) => {
            all.iter().try_for_each(one)?;
            Ok(all.iter().filter_map(Document::as_str).collect())
        }
        Some(t) => {
            one(t)?;
            Ok(t.as_str().into_iter().collect())
        }
    }
}

fn has_type(value: &Json, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => {
            value.as_i64().is_some()
                || value.as_u64().is_some()
                || value.as_f64().is_some_and(|x| x.fract() == 0.0)
        }
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    }
}

/// Reads the smallest and the largest number of characters or items, from the keywords `least` and `most`.
fn counts(map: &Fields, least: &str, most: &str) -> Result<(u32, u32)> {
    let read = |key: &str, absent: u32| match map.get(key) {
        None => Ok(absent),
        Some(n) => match n.as_u64() {
            Some(n) if n <= MAX_COUNT => Ok(n as u32),
            _ => Err(schema_error(format!("{key} {n}"), format!("must be an integer from 0 to {MAX_COUNT}"))),
        },
    };
    let (min, max) = (read(least, 0)?, read(most, u32::MAX)?);
    if min > max {
        return Err(schema_error(format!("{least} {min}"), format!("must be at most {most}, {max}")));
    }
    Ok((min, max))
}
