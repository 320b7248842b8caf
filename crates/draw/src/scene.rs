//! Represents a drawing before it is written as text: boxes with their texts, nested graphs, wires and
//! positions. Takes a graph and its gradients; returns a [`Level`] of positioned boxes and wires. `layout.rs`
//! computes the positions on each level, and `svg.rs` writes the text.

use crate::gradients::Gradients;
use crate::label::{self, Origin};
use crate::layout::{self, Wire};
use gradus_ir::Graph;
use gradus_ir::graph::{Id, Node};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Width of a character in titles, and in lines. The font has a fixed width.
pub(crate) const TITLE: f64 = 8.0;
pub(crate) const TEXT: f64 = 6.8;
/// Height of the title and of a line, and the margin around them.
pub(crate) const TITLE_HEIGHT: f64 = 18.0;
pub(crate) const LINE_HEIGHT: f64 = 14.0;
pub(crate) const MARGIN: f64 = 9.0;
/// Margin around a nested graph, and between a box and its gradient.
pub(crate) const FRAME: f64 = 14.0;
const GRADIENT_GAP: f64 = 30.0;
/// Largest number of nodes in a drawing, and largest depth of nested graphs. Nested graphs are drawn to the
/// largest depth at which neither limit is exceeded.
const BUDGET: usize = 3000;
const MAX_DEPTH: usize = 32;

/// The kind of a box.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Input,
    Constant,
    Op,
    Region,
    Output,
    Gradient,
}

/// A box, the graphs in it and the gradients next to it.
pub(crate) struct Cell {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) title: String,
    /// Its number in the order of evaluation, from 1 on, if numbers are shown.
    pub(crate) order: Option<usize>,
    /// A word to the right of the title.
    pub(crate) tag: String,
    pub(crate) lines: Vec<String>,
    pub(crate) tip: String,
    /// Its position on its level. The position of a gradient is relative to the box of its value.
    pub(crate) corner: (f64, f64),
    pub(crate) size: (f64, f64),
    pub(crate) panels: Vec<Panel>,
    pub(crate) gradients: Vec<Cell>,
    /// Horizontal positions of operands and results, from the left side of the box.
    ins: Vec<f64>,
    outs: Vec<f64>,
}

/// A graph inside a box.
pub(crate) struct Panel {
    pub(crate) key: String,
    /// The corner of its frame in the box, and the frame's size.
    pub(crate) corner: (f64, f64),
    pub(crate) size: (f64, f64),
    pub(crate) level: Rc<Level>,
}

/// A drawn wire.
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) gradient: bool,
    pub(crate) tip: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Returns the text that shows a number before a title.
pub(crate) fn order_text(order: usize) -> String {
    format!("({order}) ")
}

/// The boxes and wires of one graph.
pub(crate) struct Level {
    pub(crate) cells: Vec<Cell>,
    pub(crate) lines: Vec<Line>,
    pub(crate) size: (f64, f64),
}

/// Builds the drawing of a graph, with gradients if given, and with the order of evaluation if `order` is
/// true.
pub(crate) fn scene(graph: &Graph, gradients: Option<&Gradients>, order: bool) -> Level {
    let fits = |depth: &usize| count(graph, *depth, BUDGET) <= BUDGET;
    let depth = (1..=MAX_DEPTH).take_while(fits).last().unwrap_or(0);
    Drawer { known: HashMap::new(), order }.level(graph, depth, gradients)
}

/// Counts the nodes of a graph, and of nested graphs down to a depth. Stops when the count exceeds `most`.
fn count(graph: &Graph, depth: usize, most: usize) -> usize {
    let mut total = graph.nodes().len();
    for (_, inner) in graph.nodes().iter().filter(|_| depth > 0).flat_map(label::regions) {
        if total > most {
            break;
        }
        total += count(&inner, depth - 1, most - total);
    }
    total
}

/// Lays out graphs. Caches nested graphs, because equal graphs have equal drawings.
struct Drawer {
    known: HashMap<(Arc<Graph>, usize), Rc<Level>>,
    order: bool,
}

impl Drawer {
    fn level(&mut self, graph: &Graph, depth: usize, gradients: Option<&Gradients>) -> Level {
        // Nodes are stored in the order in which they are evaluated.
        let mut count = 0;
        let mut cells: Vec<Cell> = Vec::new();
        for (i, node) in graph.nodes().iter().enumerate() {
            count += usize::from(matches!(label::origin(graph, node), Origin::Computed));
            cells.push(self.node(graph, i, depth, count));
        }
        cells.extend((0..graph.outputs().len()).map(|k| output(graph, k)));
        if let Some(gradients) = gradients {
            add_gradients(graph, gradients, self.order.then_some(count), &mut cells);
        }
        let (wires, mut lines) = wires(graph, gradients, &cells);
        let sizes: Vec<(f64, f64)> = cells.iter().map(Cell::full_size).collect();
        let placed = layout::place(&sizes, &wires);
        for ((cell, size), corner) in cells.iter_mut().zip(&sizes).zip(&placed.corners) {
            cell.corner = (corner.0, corner.1 + (size.1 - cell.size.1) / 2.0);
        }
        for (line, mut points) in lines.iter_mut().zip(placed.wire_points) {
            // Wires of gradients point upwards.
            if line.gradient {
                points.reverse();
            }
            line.points = points;
        }
        Level { cells, lines, size: placed.size }
    }

    fn inner(&mut self, graph: Arc<Graph>, depth: usize) -> Rc<Level> {
        if let Some(level) = self.known.get(&(graph.clone(), depth)) {
            return level.clone();
        }
        let level = Rc::new(self.level(&graph, depth, None));
        self.known.insert((graph, depth), level.clone());
        level
    }

    /// Makes the box of a node. A node that is computed gets the number `order`.
    fn node(&mut self, graph: &Graph, index: usize, depth: usize, order: usize) -> Cell {
        let node = &graph.nodes()[index];
        let regions = label::regions(node);
        let (kind, title, tag) = match label::origin(graph, node) {
            Origin::Input(name) => (Kind::Input, name.to_string(), String::new()),
            Origin::Constant(literal) => (Kind::Constant, label::value(literal), format!("%{index}")),
            _ if regions.is_empty() => (Kind::Op, label::title(node), format!("%{index}")),
            _ if label::title(node) == node.op.name() => {
                (Kind::Region, label::title(node), format!("%{index}"))
            }
            _ => (Kind::Region, label::title(node), format!("{} %{index}", node.op.name())),
        };
        let mut lines = vec![label::line(&label::attributes(node))];
        lines.retain(|line| !line.is_empty());
        if kind == Kind::Region && depth == 0 {
            let inside: usize = regions.iter().map(|(_, g)| g.nodes().len()).sum();
            lines.push(format!("{inside} nodes inside"));
        }
        lines.extend(types(node));
        let mut cell = Cell::new(format!("n{index}"), kind, &title, tag, lines);
        if self.order && matches!(kind, Kind::Op | Kind::Region) {
            cell.number(order);
        }
        cell.tip = label::tip(graph, index);
        if depth > 0 {
            for (key, region) in &regions {
                let level = self.inner(region.clone(), depth - 1);
                cell.panels.push(Panel { key: key.clone(), corner: (0.0, 0.0), size: (0.0, 0.0), level });
            }
            cell.frame();
        }
        // Connects the operands of a loop to its body. The condition is drawn next to the body.
        let body = regions.iter().position(|(key, _)| key == "body").unwrap_or(0);
        cell.ports(node, body, regions.get(body).map(|(_, g)| &**g));
        cell
    }
}

fn types(node: &Node) -> Vec<String> {
    let one = |(k, aval): (usize, &gradus_ir::Aval)| match node.outs.len() {
        1 => aval.to_string(),
        _ => format!(".{k} {aval}"),
    };
    node.outs.iter().enumerate().map(one).map(|t| label::line(&t)).collect()
}

fn output(graph: &Graph, k: usize) -> Cell {
    let id = graph.outputs()[k];
    let lines = vec![label::line(&graph.aval(id).to_string())];
    let mut cell = Cell::new(format!("out{k}"), Kind::Output, &format!("output {k}"), String::new(), lines);
    cell.tip = format!("output {k} is {} : {}", label::name(graph, id), graph.aval(id));
    cell.ins = vec![cell.size.0 / 2.0];
    cell
}

/// Adds the gradients of a graph's values next to the values. If `after` is given, numbers them from
/// `after + 1` on.
fn add_gradients(graph: &Graph, gradients: &Gradients, after: Option<usize>, cells: &mut [Cell]) {
    // The backward pass visits the nodes from the last to the first; a gradient is complete when its node is
    // visited.
    let mut left: usize = (graph.nodes().iter().enumerate())
        .flat_map(|(i, n)| (0..n.outs.len()).map(move |out| Id { node: i as u32, out: out as u32 }))
        .filter(|id| gradients.has(*id))
        .count();
    for (i, (cell, node)) in cells.iter_mut().zip(graph.nodes()).enumerate() {
        let mut x = cell.size.0;
        for (out, aval) in node.outs.iter().enumerate() {
            let id = Id { node: i as u32, out: out as u32 };
            if !gradients.has(id) {
                continue;
            }
            let (short, long) = gradients.expressions(id);
            let name = gradients.name(id);
            let lines = vec![label::line(&short), label::line(&aval.to_string())];
            let mut g = Cell::new(format!("n{i}.d{out}"), Kind::Gradient, &name, String::new(), lines);
            g.tip = format!("{name} = {} : {aval}", label::shortened(&long, 600));
            if let Some(after) = after {
                g.number(after + left);
            }
            left -= 1;
            x += GRADIENT_GAP;
            g.corner = (x, (cell.size.1 - g.size.1) / 2.0);
            g.outs = vec![g.size.0 / 2.0];
            x += g.size.0;
            cell.gradients.push(g);
        }
    }
}

/// Returns the wires of a level, and their tooltips.
fn wires(graph: &Graph, gradients: Option<&Gradients>, cells: &[Cell]) -> (Vec<Wire>, Vec<Line>) {
    let (mut wires, mut lines) = (Vec::new(), Vec::new());
    let mut operand = |id: &Id, to: usize, k: usize, tip: String| {
        let (from, cell, target) = (id.node as usize, &cells[id.node as usize], &cells[to]);
        let start = (port(&cell.outs, id.out), cell.top_margin() + cell.size.1);
        wires.push(Wire { from, to, start, end: (port(&target.ins, k as u32), target.top_margin()) });
        lines.push(Line { id: format!("{}.in{k}", target.id), gradient: false, tip, points: Vec::new() });
    };
    for (i, node) in graph.nodes().iter().enumerate() {
        for (k, id) in node.ins.iter().enumerate() {
            let (name, aval) = (label::name(graph, *id), graph.aval(*id));
            operand(id, i, k, format!("{name} : {aval}\noperand {k} of {} %{i}", label::title(node)));
        }
    }
    for (k, id) in graph.outputs().iter().enumerate() {
        let tip = format!("{} : {}\nis output {k}", label::name(graph, *id), graph.aval(*id));
        operand(id, graph.nodes().len() + k, 0, tip);
    }
    for flow in gradients.map_or(&[][..], |g| &g.flows) {
        let source = graph.nodes()[flow.node].ins[flow.operand];
        let result = Id { node: flow.node as u32, out: flow.result as u32 };
        let box_of = |id: Id| {
            let wanted = format!("n{}.d{}", id.node, id.out);
            cells[id.node as usize].gradients.iter().find(|g| g.id == wanted)
        };
        let (Some(gradients), Some(upper), Some(lower)) = (gradients, box_of(source), box_of(result)) else {
            continue;
        };
        let (from, to) = (source.node as usize, flow.node);
        // Positions of gradients are relative to the box of their value.
        let (above, below) =
            (cells[from].top_margin() + upper.corner.1, cells[to].top_margin() + lower.corner.1);
        let start = (upper.corner.0 + upper.size.0 / 2.0, above + upper.size.1);
        wires.push(Wire { from, to, start, end: (lower.corner.0 + lower.size.0 / 2.0, below) });
        let id = format!("n{to}.in{}.d{}", flow.operand, flow.result);
        let tip = format!("{} is part of {}", gradients.name(result), gradients.name(source));
        lines.push(Line { id, gradient: true, tip, points: Vec::new() });
    }
    (wires, lines)
}

fn port(ports: &[f64], k: u32) -> f64 {
    ports.get(k as usize).copied().unwrap_or(0.0)
}

impl Cell {
    pub(crate) fn new(id: String, kind: Kind, title: &str, tag: String, lines: Vec<String>) -> Cell {
        let title = label::line(title);
        let wide = |s: &str, width: f64| s.chars().count() as f64 * width;
        let gap = if tag.is_empty() { 0.0 } else { 12.0 };
        let head = wide(&title, TITLE) + gap + wide(&tag, TEXT);
        let width = lines.iter().map(|l| wide(l, TEXT)).fold(head, f64::max);
        let height = TITLE_HEIGHT + LINE_HEIGHT * lines.len() as f64;
        Cell {
            id,
            kind,
            title,
            order: None,
            tag,
            lines,
            tip: String::new(),
            corner: (0.0, 0.0),
            size: ((width + 2.0 * MARGIN).max(48.0).ceil(), height + 1.4 * MARGIN),
            panels: Vec::new(),
            gradients: Vec::new(),
            ins: Vec::new(),
            outs: Vec::new(),
        }
    }

    /// Puts a number before the title, and widens the box. Must be called before graphs and ports are added.
    fn number(&mut self, order: usize) {
        let gap = if self.tag.is_empty() { 0.0 } else { 12.0 };
        let title = (order_text(order).chars().count() + self.title.chars().count()) as f64 * TITLE;
        let head = title + gap + self.tag.chars().count() as f64 * TEXT;
        self.size.0 = self.size.0.max((head + 2.0 * MARGIN).ceil());
        self.order = Some(order);
    }

    /// Enlarges the box so that it contains its graphs, which are placed next to each other below the text.
    fn frame(&mut self) {
        if self.panels.is_empty() {
            return;
        }
        let head = self.size.1;
        let (mut x, mut height) = (FRAME, 0.0_f64);
        for panel in &mut self.panels {
            let level = panel.level.size;
            let words = panel.key.chars().count() as f64 * TEXT;
            panel.corner = (x, head);
            panel.size = (level.0.max(words) + 2.0 * FRAME, level.1 + 2.0 * FRAME + LINE_HEIGHT);
            x += panel.size.0 + FRAME;
            height = height.max(panel.size.1);
        }
        self.panels.iter_mut().for_each(|panel| panel.size.1 = height);
        self.size = (self.size.0.max(x), head + height + FRAME);
    }

    /// Sets the positions of operands and results: above the inputs and below the outputs of the nested graph
    /// if their numbers are equal, otherwise evenly.
    fn ports(&mut self, node: &Node, at: usize, body: Option<&Graph>) {
        let evenly = |n: usize| -> Vec<f64> {
            (0..n).map(|k| self.size.0 * (k + 1) as f64 / (n + 1) as f64).collect()
        };
        let (mut ins, mut outs) = (evenly(node.ins.len()), evenly(node.outs.len()));
        if let (Some(panel), Some(body)) = (self.panels.get(at), body) {
            let column = |cell: usize| {
                let cell = &panel.level.cells[cell];
                panel.corner.0 + panel.inset() + cell.corner.0 + cell.size.0 / 2.0
            };
            let inputs: Vec<f64> = body.inputs().iter().map(|(_, id)| column(id.node as usize)).collect();
            let outputs: Vec<f64> =
                (0..body.outputs().len()).map(|k| column(body.nodes().len() + k)).collect();
            if inputs.len() == ins.len() && are_separated(&inputs) {
                ins = inputs;
            }
            if outputs.len() == outs.len() && are_separated(&outputs) {
                outs = outputs;
            }
        }
        (self.ins, self.outs) = (ins, outs);
    }

    /// Returns the size of the box together with the gradients next to it.
    fn full_size(&self) -> (f64, f64) {
        let right = self.gradients.last().map_or(self.size.0, |g| g.corner.0 + g.size.0);
        (right, self.gradients.iter().map(|g| g.size.1).fold(self.size.1, f64::max))
    }

    /// Returns the space above the box, which is centred next to its gradients if these are taller.
    fn top_margin(&self) -> f64 {
        (self.full_size().1 - self.size.1) / 2.0
    }
}

impl Panel {
    /// Returns the offset of the graph in its frame. The graph is centred if the text made the frame wider.
    pub(crate) fn inset(&self) -> f64 {
        (self.size.0 - self.level.size.0) / 2.0
    }
}

/// Returns true if no two columns are close to each other.
fn are_separated(columns: &[f64]) -> bool {
    let mut sorted = columns.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[1] - pair[0] > 12.0)
}
