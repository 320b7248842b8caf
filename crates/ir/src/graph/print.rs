//! Prints graphs as text that [`parse`](super::parse) reads back to the same graph.
//! Takes a graph; returns text with regions first, each once. Attributes become data in `attr.rs`.

use super::{Graph, Id};
use crate::attr::Attr;
use crate::literal::Data;
use crate::ops::Op;
use crate::{C, DType, Literal};
use std::fmt;
use std::sync::Arc;

/// Version of the text format, printed in its first line.
pub const FORMAT_VERSION: u32 = 1;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "gradus graph {FORMAT_VERSION}")?;
        let mut regions = Vec::new();
        collect_regions(self, &mut regions);
        for (k, region) in regions.iter().enumerate() {
            write_body(f, &format!("region @{k} "), region, &regions)?;
        }
        write_body(f, "graph ", self, &regions)
    }
}

/// Collects regions in the order in which they must be parsed: inner ones first, each once.
fn collect_regions(graph: &Graph, regions: &mut Vec<Arc<Graph>>) {
    for node in graph.nodes() {
        for (_, attr) in node.op.def().attrs() {
            for g in attr.graphs() {
                if !regions.contains(g) {
                    collect_regions(g, regions);
                    regions.push(g.clone());
                }
            }
        }
    }
}

fn write_body(f: &mut fmt::Formatter<'_>, head: &str, graph: &Graph, regions: &[Arc<Graph>]) -> fmt::Result {
    let inputs: Vec<String> =
        graph.inputs().iter().map(|(n, id)| format!("{n}: {}", graph.aval(*id))).collect();
    writeln!(f, "{head}({}) {{", inputs.join(", "))?;
    let name = |id: &Id| {
        let node = &graph.nodes()[id.node as usize];
        match &node.op {
            Op::Input(input) => graph.inputs()[input.index].0.clone(),
            _ if node.outs.len() == 1 => format!("%{}", id.node),
            _ => format!("%{}.{}", id.node, id.out),
        }
    };
    let list = |ids: &[Id]| ids.iter().map(name).collect::<Vec<_>>().join(", ");
    let mut region = |g: &Arc<Graph>| match regions.iter().position(|r| r == g) {
        Some(k) => format!("@{k}"),
        None => "@?".to_string(),
    };
    for (i, node) in graph.nodes().iter().enumerate().filter(|(_, n)| !matches!(n.op, Op::Input(_))) {
        write!(f, "  %{i} = {}({})", node.op.name(), list(&node.ins))?;
        for (key, attr) in node.op.def().attrs() {
            write!(f, " {key}={}", attr_text(&attr, &mut region))?;
        }
        let types: Vec<String> = node.outs.iter().map(|a| a.to_string()).collect();
        writeln!(f, " : {}", types.join(", "))?;
    }
    writeln!(f, "  return {}\n}}", list(graph.outputs()))
}

/// Returns an attribute as text; `region` names the graphs in it.
pub fn attr_text(attr: &Attr, region: &mut dyn FnMut(&Arc<Graph>) -> String) -> String {
    match attr {
        Attr::Bool(b) => b.to_string(),
        Attr::Int(i) => i.to_string(),
        Attr::Ints(v) => format!("[{}]", v.iter().map(|x| x.to_string()).collect::<Vec<_>>().join(",")),
        Attr::Float(bits) => float(f64::from_bits(*bits)),
        Attr::Str(s) => format!("{s:?}"),
        Attr::DType(d) => d.to_string(),
        Attr::Type(a) => a.to_string(),
        Attr::Literal(l) => literal_text(l),
        Attr::Graph(g) => region(g),
        Attr::Map(m) => {
            let parts: Vec<String> =
                m.iter().map(|(k, a)| format!("{}={}", key(k), attr_text(a, region))).collect();
            format!("{{{}}}", parts.join(", "))
        }
    }
}

/// Returns a key, quoted unless it is a word.
fn key(k: &str) -> String {
    let word = !k.is_empty() && k.chars().all(is_word);
    if word { k.to_string() } else { format!("{k:?}") }
}

/// Returns true if a character may occur in names and numbers.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.'+-".contains(c)
}

fn float(x: f64) -> String {
    if x.is_nan() { "nan".to_string() } else { format!("{x:?}") }
}

/// Returns a literal as its type and elements, exactly.
pub fn literal_text(l: &Literal) -> String {
    let complex = |x: &C| format!("({} {})", float(x.re), float(x.im));
    let elements: Vec<String> = match l.data() {
        Data::F(v) => v.iter().map(|x| float(*x)).collect(),
        Data::C(v) => v.iter().map(complex).collect(),
        Data::I(v) if l.dtype() == DType::Bool => v.iter().map(|x| (*x != 0).to_string()).collect(),
        Data::I(v) => v.iter().map(|x| x.to_string()).collect(),
    };
    format!("{}{{{}}}", l.aval(), elements.join(","))
}
