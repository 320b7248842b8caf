//! A graph as Graphviz text.

use crate::label;
use gradus_ir::{Graph, Op};
use std::fmt::Write;

/// The graph as Graphviz text: graphs inside ops are clusters, with the op as their first node.
pub fn dot(graph: &Graph) -> String {
    let mut s = String::from("digraph gradus {\n  node [shape=box, fontname=monospace];\n");
    body(&mut s, graph, "", 1);
    s.push_str("}\n");
    s
}

fn line(s: &mut String, indent: usize, text: &str) {
    let _ = writeln!(s, "{}{text}", "  ".repeat(indent));
}

fn body(s: &mut String, graph: &Graph, path: &str, indent: usize) {
    for (i, node) in graph.nodes().iter().enumerate() {
        let types: Vec<String> = node.outs.iter().map(|a| a.to_string()).collect();
        let regions = label::regions(node);
        let (title, style) = match &node.op {
            Op::Input(input) => (graph.inputs()[input.index].0.clone(), ", style=rounded, color=blue"),
            Op::Constant(c) => (label::line(&label::value(&c.value)), ", style=dashed"),
            _ => (format!("%{i} {}", label::title(node)), ""),
        };
        let (id, label) = (quoted(&format!("{path}n{i}")), quoted(&format!("{title}\n{}", types.join(", "))));
        let own = format!("{id} [label={label}{style}];");
        if regions.is_empty() {
            line(s, indent, &own);
            continue;
        }
        line(s, indent, &format!("subgraph {} {{", quoted(&format!("cluster_{path}n{i}"))));
        line(s, indent + 1, &own);
        for (key, region) in &regions {
            let inner = format!("{path}n{i}.{key}");
            line(s, indent + 1, &format!("subgraph {} {{", quoted(&format!("cluster_{inner}"))));
            line(s, indent + 2, &format!("label={};", quoted(key)));
            body(s, region, &format!("{inner}/"), indent + 2);
            line(s, indent + 1, "}");
        }
        line(s, indent, "}");
    }
    for (i, node) in graph.nodes().iter().enumerate() {
        for id in &node.ins {
            let (from, to) = (format!("{path}n{}", id.node), format!("{path}n{i}"));
            line(s, indent, &format!("{} -> {};", quoted(&from), quoted(&to)));
        }
    }
    for (k, id) in graph.outputs().iter().enumerate() {
        let (from, to) = (quoted(&format!("{path}n{}", id.node)), quoted(&format!("{path}out{k}")));
        line(s, indent, &format!("{to} [label=\"output {k}\", style=rounded, color=green];"));
        line(s, indent, &format!("{from} -> {to};"));
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
