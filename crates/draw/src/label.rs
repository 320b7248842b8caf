//! Makes the texts on boxes: names as in the text of the graph, and attributes and values shortened to a
//! readable length. Takes nodes and values; returns titles, lines and tooltips. `scene.rs` decides their
//! positions.

use gradus_ir::attr::Attr;
use gradus_ir::graph::{Id, Node, attr_text, literal_text};
use gradus_ir::{Graph, Literal, Op};
use std::sync::Arc;

/// Largest number of characters per line on a box, and in a tooltip.
const LINE: usize = 34;
const TIP: usize = 400;

/// Shortens a text to `most` characters, with an ellipsis.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_string(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Shortens a text to a line on a box.
pub(crate) fn line(text: &str) -> String {
    shortened(text, LINE)
}

/// The origin of a node's value.
pub(crate) enum Origin<'a> {
    Input(&'a str),
    Constant(&'a Literal),
    Computed,
}

/// Returns the origin of a node's value.
pub(crate) fn origin<'a>(graph: &'a Graph, node: &'a Node) -> Origin<'a> {
    if let Op::Input(input) = &node.op {
        return Origin::Input(graph.inputs().get(input.index).map_or("?", |(name, _)| name));
    }
    if let Op::Constant(constant) = &node.op {
        return Origin::Constant(&constant.value);
    }
    Origin::Computed
}

/// Returns the name of a value, as in the text of the graph.
pub(crate) fn name(graph: &Graph, id: Id) -> String {
    let node = &graph.nodes()[id.node as usize];
    match origin(graph, node) {
        Origin::Input(name) => name.to_string(),
        _ if node.outs.len() == 1 => format!("%{}", id.node),
        _ => format!("%{}.{}", id.node, id.out),
    }
}

/// Returns the title of a node: the name of its op, or of the region that it calls.
pub(crate) fn title(node: &Node) -> String {
    let called = node.op.def().attrs().into_iter().find_map(|(key, attr)| match attr {
        Attr::Str(name) if key == "name" => Some(name),
        _ => None,
    });
    called.unwrap_or_else(|| node.op.name().to_string())
}

/// Returns the attributes of a node, without graphs and without those that the title contains.
pub(crate) fn attributes(node: &Node) -> String {
    if matches!(node.op, Op::Input(_)) {
        return String::new();
    }
    let shown = |attr: &Attr| match attr {
        Attr::Map(entries) => !entries.is_empty() && attr.graphs().is_empty(),
        Attr::Bool(on) => *on,
        Attr::Graph(_) | Attr::Literal(_) | Attr::Type(_) => false,
        _ => true,
    };
    let attrs = node.op.def().attrs().into_iter().filter(|(key, attr)| *key != "name" && shown(attr));
    let text = |(key, attr): (&str, Attr)| match attr {
        Attr::Bool(_) => key.to_string(),
        // Writes the arguments of a region without the braces of their map.
        Attr::Map(_) => {
            let map = attr_text(&attr, &mut |_| String::new());
            map.trim_start_matches('{').trim_end_matches('}').to_string()
        }
        Attr::Str(text) => format!("{key}={text}"),
        _ => format!("{key}={}", attr_text(&attr, &mut |_| String::new())),
    };
    attrs.map(text).collect::<Vec<_>>().join(" ")
}

/// Returns the value of a constant, shortened.
pub(crate) fn value(literal: &Literal) -> String {
    let n = literal.data().len();
    match literal.splat() {
        Some(x) if n > 1 => format!("all {x}"),
        _ if n > 16 => format!("{n} values"),
        _ => {
            let text = literal_text(literal);
            text.split_once('{').map_or("", |(_, v)| v.trim_end_matches('}')).to_string()
        }
    }
}

/// Returns the graphs nested in a node, with the names of their attributes.
pub(crate) fn regions(node: &Node) -> Vec<(String, Arc<Graph>)> {
    fn add(key: &str, attr: Attr, found: &mut Vec<(String, Arc<Graph>)>) {
        match attr {
            Attr::Graph(graph) => found.push((key.to_string(), graph)),
            Attr::Map(entries) => entries.into_iter().for_each(|(key, attr)| add(&key, attr, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    node.op.def().attrs().into_iter().for_each(|(key, attr)| add(key, attr, &mut found));
    found
}

/// Returns the text of a node as in the text of the graph, for its tooltip.
pub(crate) fn tip(graph: &Graph, index: usize) -> String {
    let node = &graph.nodes()[index];
    let types: Vec<String> = node.outs.iter().map(|a| a.to_string()).collect();
    let ins: Vec<String> = node.ins.iter().map(|id| name(graph, *id)).collect();
    let text = match origin(graph, node) {
        Origin::Input(name) => format!("input {name}"),
        Origin::Constant(literal) => format!("%{index} = constant {}", value(literal)),
        Origin::Computed => format!("%{index} = {}({}) {}", node.op.name(), ins.join(", "), attributes(node)),
    };
    format!("{} : {}", shortened(text.trim_end(), TIP), shortened(&types.join(", "), TIP))
}
