//! Writes a graph as Graphviz text.

use crate::label::{self, Origin};
use gradus_ir::Graph;
use std::fmt::Write;

/// Writes a graph as Graphviz text. Nested graphs are clusters, with their op as the first node.
pub fn dot(graph: &Graph) -> String {
    let mut s = String::from("digraph gradus {\n  node [shape=box, fontname=monospace];\n");
    write_graph(&mut s, graph, "", 1);
    s.push_str("}\n");
    s
}

fn write_line(s: &mut String, indent: usize, text: &str) {
    let _ = writeln!(s, "{}{text}", "  ".repeat(indent));
}

fn write_graph(s: &mut String, graph: &Graph, path: &str, indent: usize) {
    for (i, node) in graph.nodes().iter().enumerate() {
        let types: Vec<String> = node.outs.iter().map(|a| a.to_string()).collect();
        let regions = label::regions(node);
        let (title, style) = match label::origin(graph, node) {
            Origin::Input(name) => (name.to_string(), ", style=rounded, color=blue"),
            Origin::Constant(literal) => (label::line(&label::value(literal)), ", style=dashed"),
            Origin::Computed => (format!("%{i} {}", label::title(node)), ""),
        };
        let (id, label) = (quoted(&format!("{path}n{i}")), quoted(&format!("{title}\n{}", types.join(", "))));
        let own = format!("{id} [label={label}{style}];");
        if regions.is_empty() {
            write_line(s, indent, &own);
            continue;
        }
        write_line(s, indent, &format!("subgraph {} {{", quoted(&format!("cluster_{path}n{i}"))));
        write_line(s, indent + 1, &own);
        for (key, region) in &regions {
            let inner = format!("{path}n{i}.{key}");
            write_line(s, indent + 1, &format!("subgraph {} {{", quoted(&format!("cluster_{inner}"))));
            write_line(s, indent + 2, &format!("label={};", quoted(key)));
            write_graph(s, region, &format!("{inner}/"), indent + 2);
            write_line(s, indent + 1, "}");
        }
        write_line(s, indent, "}");
    }
    for (i, node) in graph.nodes().iter().enumerate() {
        for id in &node.ins {
            let (from, to) = (format!("{path}n{}", id.node), format!("{path}n{i}"));
            write_line(s, indent, &format!("{} -> {};", quoted(&from), quoted(&to)));
        }
    }
    for (k, id) in graph.outputs().iter().enumerate() {
        let (from, to) = (quoted(&format!("{path}n{}", id.node)), quoted(&format!("{path}out{k}")));
        write_line(s, indent, &format!("{to} [label=\"output {k}\", style=rounded, color=green];"));
        write_line(s, indent, &format!("{from} -> {to};"));
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
