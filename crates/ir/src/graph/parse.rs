//! Parses graph text. Nothing is trusted: every type is inferred again and compared with the one in the text.

use super::print::is_word;
use super::{Builder, FORMAT_VERSION, Graph, Id};
use crate::attr::Attr;
use crate::literal::Data;
use crate::ops::Op;
use crate::{Aval, C, Class, DType, Error, Kind, Literal, Result, Shape};
use std::collections::HashMap;
use std::sync::Arc;

/// Deepest nesting of attribute maps that is accepted.
const MAX_DEPTH: usize = 16;

/// Deepest nesting of regions that is accepted, since passes recurse into regions.
const MAX_REGION_DEPTH: usize = 64;

/// Returns how deep regions are nested in a graph, given the depths of the regions it can refer to.
fn depth(graph: &Graph, regions: &[Arc<Graph>], depths: &[usize]) -> usize {
    let attrs = graph.nodes().iter().flat_map(|n| n.op.def().attrs());
    let nested: Vec<Arc<Graph>> =
        attrs.flat_map(|(_, a)| a.graphs().into_iter().cloned().collect::<Vec<_>>()).collect();
    let of = |g: &Arc<Graph>| regions.iter().position(|r| Arc::ptr_eq(r, g)).map_or(0, |k| depths[k]);
    nested.iter().map(|g| of(g) + 1).max().unwrap_or(0)
}

/// Parses a graph.
pub fn parse(text: &str) -> Result<Graph> {
    let mut p = Parser { text, at: 0 };
    p.require("gradus")?;
    p.require("graph")?;
    let version = p.word()?;
    if version.parse() != Ok(FORMAT_VERSION) {
        return Err(p.error(format!("format version {version}; this build reads version {FORMAT_VERSION}")));
    }
    let mut regions: Vec<Arc<Graph>> = Vec::new();
    let mut depths: Vec<usize> = Vec::new();
    while p.eat("region") {
        p.require("@")?;
        let k = p.word()?;
        if k.parse() != Ok(regions.len()) {
            return Err(p.error(format!("region @{k}, expected @{}", regions.len())));
        }
        let graph = p.body(&regions)?;
        if depth(&graph, &regions, &depths) > MAX_REGION_DEPTH {
            return Err(p.error(format!("regions are nested more than {MAX_REGION_DEPTH} deep")));
        }
        depths.push(depth(&graph, &regions, &depths));
        regions.push(Arc::new(graph));
    }
    p.require("graph")?;
    let graph = p.body(&regions)?;
    p.skip_space();
    if p.at < text.len() {
        return Err(p.error("expected the end of the text"));
    }
    Ok(graph)
}

/// Reads `{hex}` after `\u` and returns its character.
fn unicode(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let (_, '{') = chars.next()? else { return None };
    let mut code = 0u32;
    for _ in 0..=6 {
        match chars.next()?.1 {
            '}' => return char::from_u32(code),
            c => code = (code << 4) | c.to_digit(16)?,
        }
    }
    None
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn error(&self, why: impl Into<String>) -> Error {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        Error::new(Kind::Text { line, column, why: why.into() })
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let hit = self.rest().starts_with(token);
        if hit {
            self.at += token.len();
        }
        hit
    }

    fn require(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { Err(self.error(format!("expected `{token}`"))) }
    }

    /// Reads a nonempty run of letters, digits and `_ . ' + -`.
    fn word(&mut self) -> Result<&'t str> {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.error("expected a name or number"));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    /// Reads `item, item` up to a closing token; the list may be empty.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            self.require(",")?;
        }
    }

    fn number<N: std::str::FromStr>(&mut self, what: &str) -> Result<N> {
        let word = self.word()?;
        word.parse().map_err(|_| self.error(format!("`{word}` is not {what}")))
    }

    fn float(&mut self) -> Result<f64> {
        self.number("a number")
    }

    fn aval(&mut self) -> Result<Aval> {
        let name = self.word()?;
        let dtype = DType::parse(name).ok_or_else(|| self.error(format!("`{name}` is not a dtype")))?;
        self.require("[")?;
        let extents = self.list("]", |p| p.number::<usize>("an extent"))?;
        Ok(Aval::new(dtype, Shape::from(extents)))
    }

    fn body(&mut self, regions: &[Arc<Graph>]) -> Result<Graph> {
        let b = Builder::new();
        let mut values: HashMap<String, (Id, u32)> = HashMap::new();
        self.require("(")?;
        let inputs = self.list(")", |p| {
            let name = p.word()?;
            p.require(":")?;
            Ok((name, p.aval()?))
        })?;
        for (name, aval) in inputs {
            let aval = aval.checked().map_err(|e| self.error(e.to_string()))?;
            if values.insert(name.to_string(), (b.input(name, aval).id(), 1)).is_some() {
                return Err(self.error(format!("input `{name}` is named twice")));
            }
        }
        self.require("{")?;
        while !self.eat("return") {
            self.node(&b, &mut values, regions)?;
        }
        let outputs = self.list("}", |p| p.value(&values))?;
        b.finish_ids(&outputs)
    }

    /// Reads a node: `%3 = op(a, %2.1) key=value … : type, type`.
    fn node(
        &mut self,
        b: &Builder,
        values: &mut HashMap<String, (Id, u32)>,
        regions: &[Arc<Graph>],
    ) -> Result<()> {
        self.require("%")?;
        let label = format!("%{}", self.word()?);
        self.require("=")?;
        let name = self.word()?;
        self.require("(")?;
        let ins = self.list(")", |p| p.value(values))?;
        let mut attrs: Vec<(&str, Attr)> = Vec::new();
        while !self.eat(":") {
            let key = self.word()?;
            self.require("=")?;
            attrs.push((key, self.attr(regions, 0)?));
        }
        let mut types = vec![self.aval()?];
        while self.eat(",") {
            types.push(self.aval()?);
        }
        let find = |key: &str| attrs.iter().find(|(k, _)| *k == key).map(|(_, a)| a.clone());
        let op = match Op::parse(name, &find) {
            None if !Op::is_known(name) => return Err(self.error(format!("there is no op `{name}`"))),
            Some(Op::Input(_)) | None => {
                return Err(self.error(format!("`{name}` cannot be made from these attributes")));
            }
            Some(op) => op,
        };
        let own = op.def().attrs();
        if let Some((key, _)) = attrs.iter().find(|(k, _)| own.iter().all(|(o, _)| o != k)) {
            return Err(self.error(format!("`{name}` has no attribute `{key}`")));
        }
        let (node, outs) = b.try_apply_ids(op, ins).map_err(|e| self.error(e.to_string()))?;
        let ids = (0..outs).map(|out| Id { node, out });
        let inferred: Vec<Aval> = ids.map(|id| b.aval(id)).collect();
        if inferred != types {
            return Err(self.error(format!("{label} is written as {types:?} but is {inferred:?}")));
        }
        if values.insert(label.clone(), (Id { node, out: 0 }, outs)).is_some() {
            return Err(self.error(format!("{label} is defined twice")));
        }
        Ok(())
    }

    fn value(&mut self, values: &HashMap<String, (Id, u32)>) -> Result<Id> {
        let percent = self.eat("%");
        let word = self.word()?;
        let (name, out) = match word.split_once('.') {
            Some((node, out)) if percent => (format!("%{node}"), out.parse::<u32>().unwrap_or(u32::MAX)),
            _ if percent => (format!("%{word}"), 0),
            _ => (word.to_string(), 0),
        };
        match values.get(&name) {
            Some((id, outs)) if out < *outs => Ok(Id { node: id.node, out }),
            Some((_, outs)) => Err(self.error(format!("{name} has {outs} results"))),
            None => Err(self.error(format!("`{name}` is not defined"))),
        }
    }

    fn attr(&mut self, regions: &[Arc<Graph>], depth: usize) -> Result<Attr> {
        if depth > MAX_DEPTH {
            return Err(self.error("attributes are nested too deeply"));
        }
        if self.eat("[") {
            return Ok(Attr::Ints(self.list("]", |p| p.number("an integer"))?));
        }
        if self.eat("\"") {
            return self.string().map(Attr::Str);
        }
        if self.eat("@") {
            let k: usize = self.number("a region number")?;
            return match regions.get(k) {
                Some(g) => Ok(Attr::Graph(g.clone())),
                None => Err(self.error(format!("region @{k} is not defined yet"))),
            };
        }
        if self.eat("{") {
            let entries = self.list("}", |p| {
                let key = if p.eat("\"") { p.string()? } else { p.word()?.to_string() };
                p.require("=")?;
                Ok((key, p.attr(regions, depth + 1)?))
            })?;
            return Ok(Attr::Map(entries));
        }
        let start = self.at;
        let word = self.word()?;
        if let Some(dtype) = DType::parse(word) {
            if !self.rest().starts_with('[') {
                return Ok(Attr::DType(dtype));
            }
            self.at = start;
            let aval = self.aval()?;
            return if self.eat("{") { self.elements(aval).map(Attr::Literal) } else { Ok(Attr::Type(aval)) };
        }
        match word {
            "true" => Ok(Attr::Bool(true)),
            "false" => Ok(Attr::Bool(false)),
            _ => match (word.parse::<i64>(), word.parse::<f64>()) {
                (Ok(i), _) => Ok(Attr::Int(i)),
                (_, Ok(x)) => Ok(Attr::Float(x.to_bits())),
                _ => Err(self.error(format!("`{word}` is not an attribute value"))),
            },
        }
    }

    fn string(&mut self) -> Result<String> {
        let mut out = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, 't')) => out.push('\t'),
                    Some((_, 'r')) => out.push('\r'),
                    Some((_, '0')) => out.push('\0'),
                    Some((_, c @ ('"' | '\\' | '\''))) => out.push(c),
                    Some((_, 'u')) => match unicode(&mut chars) {
                        Some(c) => out.push(c),
                        None => break,
                    },
                    _ => break,
                },
                c => out.push(c),
            }
        }
        Err(self.error("string is not terminated, or has an escape that Rust strings do not have"))
    }

    fn elements(&mut self, aval: Aval) -> Result<Literal> {
        let data: Data = match aval.dtype.class() {
            Class::Float => self.list("}", Self::float)?.into(),
            Class::Int => self.list("}", |p| p.number::<i64>("an integer"))?.into(),
            Class::Bool => self.list("}", |p| Ok(p.number::<bool>("true or false")? as i64))?.into(),
            Class::Complex => {
                let part = |p: &mut Self| {
                    p.require("(")?;
                    let z = C::new(p.float()?, p.float()?);
                    p.require(")")?;
                    Ok(z)
                };
                self.list("}", part)?.into()
            }
        };
        let literal = Literal::new(aval, data).map_err(|e| self.error(e.to_string()))?;
        if literal.clone().rounded() != literal {
            return Err(self.error("an element does not fit its dtype"));
        }
        Ok(literal)
    }
}
