//! Tests that drawings are well-formed, complete, free of overlaps, and always the same.

use gradus_draw::{Part, Role, dot, svg, svg_of_parts, svg_with_gradients};
use gradus_ir::attr::Attr;
use gradus_ir::ops::call::Call;
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::switch::Switch;
use gradus_ir::ops::while_loop::While;
use gradus_ir::{Aval, Builder, DType, Graph, Literal, Var};
use roxmltree::{Document, Node};
use std::collections::BTreeSet;
use std::sync::Arc;

fn matrix() -> Aval {
    Aval::new(DType::F64, [3, 3])
}

/// Returns a pseudo-random graph with this number of nodes, all of one type.
fn random(nodes: usize, seed: u64, call: Option<&Arc<Graph>>) -> Graph {
    let b = Builder::new();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut values: Vec<Var<'_>> = (0..3).map(|k| b.input(&format!("x{k}"), matrix())).collect();
    let mut made = 0;
    while made < nodes {
        // Chooses mostly recent values, as in typical programs.
        let near = values.len().min(6);
        let (i, j) = (values.len() - 1 - next(near), next(values.len()));
        let (x, y) = (values[i], values[j]);
        values.push(match (next(7), call) {
            (0, _) => x.tanh(),
            (1, _) => x * y,
            (2, _) => x + y,
            (3, _) => x - y * 0.5,
            (4, Some(body)) => b.apply1(Call::new("region", vec![], body.clone()), &[x, y]),
            (5, _) => x * x,
            _ => x.exp() + made as f64,
        });
        made += 1;
    }
    let mut last = *values.last().unwrap();
    if let Some(body) = call {
        last = b.apply1(Call::new("last", vec![], body.clone()), &[last, values[nodes / 2]]);
    }
    b.finish(&[last.sum(&[0, 1]), values[values.len() / 2]]).unwrap()
}

/// Returns a graph with nested calls.
fn nested(nodes: usize) -> Graph {
    let b = Builder::new();
    let (x, y) = (b.input("x", matrix()), b.input("y", matrix()));
    let inner = Arc::new(b.finish(&[(x * y).exp() + x]).unwrap());
    let b = Builder::new();
    let (x, y) = (b.input("x", matrix()), b.input("y", matrix()));
    let z = b.apply1(Call::new("inner", vec![("axis".into(), Attr::Int(1))], inner), &[y, x.tanh()]);
    let outer = Arc::new(b.finish(&[z - y]).unwrap());
    random(nodes, 5, Some(&outer))
}

#[derive(Clone, Copy, Debug)]
struct Rect {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Rect {
    fn of(node: Node<'_, '_>) -> Rect {
        let get = |key: &str| node.attribute(key).unwrap().parse::<f64>().unwrap();
        let (left, top) = (get("x"), get("y"));
        Rect { left, top, right: left + get("width"), bottom: top + get("height") }
    }
    fn meets(&self, o: &Rect) -> bool {
        self.left < o.right && o.left < self.right && self.top < o.bottom && o.top < self.bottom
    }
    fn holds(&self, o: &Rect) -> bool {
        self.left <= o.left && o.right <= self.right && self.top <= o.top && o.bottom <= self.bottom
    }
}

fn has_class(node: &Node<'_, '_>, class: &str) -> bool {
    node.attribute("class").is_some_and(|c| c.split(' ').any(|c| c == class))
}

/// Returns the ids and frames of the elements of a class.
fn frames(doc: &Document<'_>, class: &str) -> Vec<(String, Rect)> {
    let found = doc.descendants().filter(|n| has_class(n, class) && n.has_attribute("id"));
    let frame = |n: Node<'_, '_>| {
        let rect = n.descendants().find(|n| n.has_tag_name("rect")).unwrap();
        (n.attribute("id").unwrap().to_string(), Rect::of(rect))
    };
    found.map(frame).collect()
}

fn ids(doc: &Document<'_>, class: &str) -> Vec<String> {
    doc.descendants()
        .filter(|n| has_class(n, class))
        .filter_map(|n| n.attribute("id").map(String::from))
        .collect()
}

/// Returns the graphs in a node, with their names.
fn held(node: &gradus_ir::graph::Node) -> Vec<(String, Arc<Graph>)> {
    let mut found = Vec::new();
    for (key, attr) in node.op.def().attrs() {
        match attr {
            Attr::Graph(graph) => found.push((key.to_string(), graph)),
            Attr::Map(entries) => found.extend(entries.into_iter().filter_map(|(key, attr)| match attr {
                Attr::Graph(graph) => Some((key, graph)),
                _ => None,
            })),
            _ => {}
        }
    }
    found
}

/// Collects the ids that a drawing of the graph must have: boxes, wires and panels.
fn expected(graph: &Graph, path: &str, all: &mut [BTreeSet<String>; 3]) {
    for (i, node) in graph.nodes().iter().enumerate() {
        all[0].insert(format!("{path}n{i}"));
        all[1].extend((0..node.ins.len()).map(|k| format!("{path}n{i}.in{k}")));
        for (key, inside) in held(node) {
            all[2].insert(format!("{path}n{i}.{key}"));
            expected(&inside, &format!("{path}n{i}.{key}/"), all);
        }
    }
    for k in 0..graph.outputs().len() {
        all[0].insert(format!("{path}out{k}"));
        all[1].insert(format!("{path}out{k}.in0"));
    }
}

/// Checks that every box, wire and panel occurs once, and that boxes of one level do not overlap. Boxes must be inside of
/// their panel, and panels inside of their box.
fn check(graph: &Graph, text: &str) {
    let doc = Document::parse(text).expect("well-formed");
    let mut all = [const { BTreeSet::new() }; 3];
    expected(graph, "", &mut all);
    for (class, expected) in ["node", "wire", "panel"].iter().zip(&all) {
        let drawn: Vec<String> = ids(&doc, class)
            .into_iter()
            .filter(|id| !id.rsplit('/').next().unwrap().contains(".d"))
            .collect();
        let once: BTreeSet<String> = drawn.iter().cloned().collect();
        assert_eq!(once.len(), drawn.len(), "a {class} is drawn twice");
        assert_eq!(&once, expected, "{class}");
    }
    let boxes = frames(&doc, "node");
    let panels = frames(&doc, "panel");
    let level = |id: &str| id.rsplit_once('/').map_or(String::new(), |(path, _)| path.to_string());
    for (k, (id, a)) in boxes.iter().enumerate() {
        for (other, b) in boxes[k + 1..].iter().filter(|(other, _)| level(other) == level(id)) {
            assert!(!a.meets(b), "{id} {a:?} and {other} {b:?} overlap");
        }
        if !level(id).is_empty() {
            let (_, panel) = panels.iter().find(|(panel, _)| *panel == level(id)).unwrap();
            assert!(panel.holds(a), "{id} {a:?} is not in its panel {panel:?}");
        }
    }
    for (id, panel) in &panels {
        let (_, outer) =
            boxes.iter().find(|(b, _)| Some(b.as_str()) == id.rsplit_once('.').map(|p| p.0)).unwrap();
        assert!(outer.holds(panel), "{id} is not in its box");
    }
    let root = doc.root_element();
    let size = |key: &str| root.attribute(key).unwrap().parse::<f64>().unwrap();
    let page = Rect { left: 0.0, top: 0.0, right: size("width"), bottom: size("height") };
    assert!(boxes.iter().all(|(_, r)| page.holds(r)), "a box is off the page");
    words_fit(&doc);
    wires_avoid_boxes(&doc, &boxes);
}

/// Checks that no text is wider than its box, in a fixed-width font.
fn words_fit(doc: &Document<'_>) {
    for node in doc.descendants().filter(|n| has_class(n, "node")) {
        let rect = Rect::of(node.descendants().find(|n| n.has_tag_name("rect")).unwrap());
        for text in node.descendants().filter(|n| n.has_tag_name("text")) {
            let advance = if has_class(&text, "title") { 7.83 } else { 6.63 };
            let width = text.text().unwrap_or("").chars().count() as f64 * advance;
            let x: f64 = text.attribute("x").unwrap().parse().unwrap();
            let left = match text.attribute("text-anchor") {
                Some("middle") => x - width / 2.0,
                Some("end") => x - width,
                _ => x,
            };
            let y: f64 = text.attribute("y").unwrap().parse().unwrap();
            let inside = left >= rect.left
                && left + width <= rect.right
                && y > rect.top + 9.0
                && y < rect.bottom - 2.0;
            assert!(inside, "{:?} is not inside {rect:?}", text.text());
        }
    }
}

/// Checks points along the curves: no wire may pass through a box, except through boxes that contain the
/// wire.
fn wires_avoid_boxes(doc: &Document<'_>, boxes: &[(String, Rect)]) {
    let level = |id: &str| id.rsplit_once('/').map_or(String::new(), |(path, _)| path.to_string());
    for wire in doc.descendants().filter(|n| has_class(n, "wire") || has_class(n, "flow")) {
        let id = wire.attribute("id").unwrap();
        let path = wire.descendants().find(|n| n.has_tag_name("path")).unwrap();
        for (x, y) in points(path.attribute("d").unwrap()) {
            for (name, r) in boxes.iter().filter(|(name, _)| level(name) == level(id)) {
                let through = x > r.left + 0.2 && x < r.right - 0.2 && y > r.top + 0.2 && y < r.bottom - 0.2;
                assert!(!through, "{id} passes through {name} at {x} {y}");
            }
        }
    }
}

/// Returns points along a path of lines and curves.
fn points(path: &str) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    let spaced = path.replace('L', " L ").replace('C', " C ").replace('M', " M ");
    let mut words = spaced.split_whitespace();
    while let Some(command) = words.next() {
        let mut point =
            || (words.next().unwrap().parse::<f64>().unwrap(), words.next().unwrap().parse::<f64>().unwrap());
        let (a, b) = (point(), all.last().copied());
        match (command, b) {
            ("C", Some(p)) => {
                let (c, d) = (point(), point());
                let at = |t: f64, p: f64, a: f64, c: f64, d: f64| {
                    let s = 1.0 - t;
                    s * s * s * p + 3.0 * s * s * t * a + 3.0 * s * t * t * c + t * t * t * d
                };
                let ts = (1..=20).map(|k| k as f64 / 20.0);
                all.extend(ts.map(|t| (at(t, p.0, a.0, c.0, d.0), at(t, p.1, a.1, c.1, d.1))));
            }
            ("L", Some(p)) => {
                all.extend(
                    (1..=10).map(|k| k as f64 / 10.0).map(|t| (p.0 + t * (a.0 - p.0), p.1 + t * (a.1 - p.1))),
                );
            }
            _ => all.push(a),
        }
    }
    all
}

#[test]
fn small_medium_and_large_graphs_are_drawn_well() {
    for nodes in [0, 1, 4, 25, 90] {
        for seed in 0..4 {
            let graph = random(nodes, seed, None);
            check(&graph, &svg(&graph));
        }
    }
    let large = random(210, 9, None);
    assert!(large.nodes().len() >= 200, "{}", large.nodes().len());
    check(&large, &svg(&large));
}

#[test]
fn graphs_inside_graphs_are_boxes_around_their_nodes() {
    for nodes in [3, 12, 60] {
        let graph = nested(nodes);
        let text = svg(&graph);
        assert!(text.contains("body/n0.in0") || text.contains(".body/n3.body/n"), "no nested graph is drawn");
        check(&graph, &text);
    }
}

/// Returns a scan whose body has a switch, and a loop that ends when a sum is large. Their boxes contain one,
/// two and two graphs.
fn looping() -> Graph {
    let scalar = Aval::scalar(DType::F64);
    let row = Aval::new(DType::F64, [3]);
    let branch = |f: &dyn for<'g> Fn(Var<'g>) -> Var<'g>| {
        let b = Builder::new();
        let x = b.input("x", Aval::new(DType::F64, [3]));
        Arc::new(b.finish(&[f(x)]).unwrap())
    };
    let choice = Switch { branches: vec![branch(&|x| x.tanh()), branch(&|x| (x * x).exp())] };
    let b = Builder::new();
    let [w, h, x] = [b.input("w", matrix()), b.input("h", row.clone()), b.input("x", row.clone())];
    let mixed = w.dot(h, "ij", "j", "i") + x;
    let up = mixed.sum(&[0]).gt(b.constant(Literal::scalar(DType::F64, 0.0)));
    let next = b.apply1(choice, &[up.to(DType::I64), mixed]);
    let body = Arc::new(b.finish(&[next, next.sum(&[0])]).unwrap());
    let scan = Scan { body, shared: 1, carries: 1, length: 4, reverse: false };

    let b = Builder::new();
    let c = b.input("c", row.clone());
    let condition =
        Arc::new(b.finish(&[c.sum(&[0]).lt(b.constant(Literal::scalar(DType::F64, 9.0)))]).unwrap());
    let b = Builder::new();
    let c = b.input("c", row.clone());
    let body = Arc::new(b.finish(&[c * c + 1.0]).unwrap());
    let until = While { condition, body, shared: 0, bound: 5 };

    let b = Builder::new();
    let (w, h) = (b.input("w", matrix()), b.input("h", row));
    let xs = b.input("xs", Aval::new(DType::F64, [4, 3]));
    let scanned = b.apply(scan, &[w, h, xs]);
    let last = b.apply1(until, &[scanned[0]]);
    let loss = last.sum(&[0]) + scanned[1].sum(&[0]);
    assert_eq!(loss.aval(), scalar);
    b.finish(&[loss]).unwrap()
}

#[test]
fn loops_and_choices_are_boxes_around_their_graphs() {
    let graph = looping();
    let text = svg(&graph);
    check(&graph, &text);
    let doc = Document::parse(&text).unwrap();
    let scan = graph.nodes().iter().position(|n| n.op.name() == "scan").unwrap();
    let until = graph.nodes().iter().position(|n| n.op.name() == "while").unwrap();
    let panels: Vec<String> = ids(&doc, "panel");
    let inside = |node: usize| panels.iter().filter(|p| p.starts_with(&format!("n{node}."))).count();
    assert_eq!((inside(scan), inside(until)), (1 + 2, 2), "{panels:?}");
    // The title, then the kind, the length, and the types of the results.
    let words: Vec<&str> = doc
        .descendants()
        .find(|n| n.attribute("id") == Some(&format!("n{scan}")))
        .unwrap()
        .descendants()
        .filter_map(|n| n.text().filter(|_| n.is_text()))
        .collect();
    assert_eq!(
        words.iter().filter(|w| w.contains("scan")).count(),
        2,
        "the title, and the tooltip: {words:?}"
    );
    for part in ["scan", "length=4", ".0 f64[3]", ".1 f64[4]"] {
        assert!(words.iter().any(|w| w.contains(part)), "{part} is not in {words:?}");
    }
    // The wire of a loop's result starts below its body, not below its condition.
    let frames = frames(&doc, "panel");
    let frame = |id: String| frames.iter().find(|(p, _)| *p == id).unwrap().1;
    let (condition, body) = (frame(format!("n{until}.condition")), frame(format!("n{until}.body")));
    assert!(!condition.meets(&body));
    let user = graph.nodes().iter().position(|n| n.ins.iter().any(|id| id.node as usize == until)).unwrap();
    let wire = doc.descendants().find(|n| n.attribute("id") == Some(&format!("n{user}.in0"))).unwrap();
    let path = wire.descendants().find_map(|n| n.attribute("d")).unwrap();
    let (x, _) = points(path)[0];
    assert!(body.left < x && x < body.right, "the wire begins at {x}, the body is {body:?}");
    // The gradient of a loop consists of loops too.
    let gradient = gradus_ir::transform::vjp(&graph, &[0, 1, 2]).unwrap();
    assert!(gradient.nodes().iter().filter(|n| n.op.name() == "scan").count() >= 2);
    check(&gradient, &svg(&gradient));
    check(&graph, &svg_with_gradients(&graph, &[0, 1, 2]).unwrap());
}

/// Tests that in a drawing with many gradients no boxes overlap, and that every flow of a gradient to an
/// operand is a line.
#[test]
fn large_gradients_have_all_their_lines() {
    let graph = random(140, 2, None);
    let text = svg_with_gradients(&graph, &[0, 1, 2]).unwrap();
    check(&graph, &text);
    let doc = Document::parse(&text).unwrap();
    let drawn: BTreeSet<String> = ids(&doc, "gradient").into_iter().collect();
    assert!(drawn.len() > 50, "{} gradients", drawn.len());
    let has = |node: usize| drawn.contains(&format!("n{node}.d0"));
    let mut right = BTreeSet::new();
    for (i, node) in graph.nodes().iter().enumerate().filter(|(i, _)| has(*i)) {
        let from = node.ins.iter().enumerate().filter(|(_, id)| has(id.node as usize));
        right.extend(from.map(|(k, _)| format!("n{i}.in{k}.d0")));
    }
    assert_eq!(ids(&doc, "flow").into_iter().collect::<BTreeSet<_>>(), right);
}

#[test]
fn gradients_are_to_the_right_of_their_values() {
    for graph in [random(20, 3, None), nested(20)] {
        let text = svg_with_gradients(&graph, &[0, 1, 2]).unwrap();
        check(&graph, &text);
        let doc = Document::parse(&text).unwrap();
        let boxes = frames(&doc, "node");
        let gradients = boxes.iter().filter(|(id, _)| id.contains(".d"));
        let mut count = 0;
        for (id, gradient) in gradients {
            let (_, value) = boxes.iter().find(|(b, _)| id.strip_suffix(".d0") == Some(b)).unwrap();
            assert!(gradient.left > value.right && gradient.left - value.right < 60.0, "{id} is far away");
            assert!(gradient.top < value.bottom && value.top < gradient.bottom, "{id} is on another line");
            count += 1;
        }
        assert!(count > 10, "{count} gradients");
        assert_eq!(ids(&doc, "link").len(), count);
    }
}

#[test]
fn gradients_are_those_of_the_rules() {
    let b = Builder::new();
    let (x, w, k) = (b.input("x", matrix()), b.input("w", matrix()), b.input("k", matrix()));
    let y = x * w; // %3
    let z = y.tanh(); // %4
    let graph = b.finish(&[(z + k.floor()).sum(&[0, 1])]).unwrap();
    let text = svg_with_gradients(&graph, &[0, 1]).unwrap();
    let doc = Document::parse(&text).unwrap();
    let words = |id: &str| -> Vec<String> {
        let node = doc.descendants().find(|n| n.attribute("id") == Some(id));
        let node = node.unwrap_or_else(|| panic!("{id} is not drawn"));
        node.descendants()
            .filter(|n| n.has_tag_name("text"))
            .filter_map(|n| n.text().map(String::from))
            .collect()
    };
    assert_eq!(words("n0.d0"), ["∂x", "mul(∂%3, w)", "f64[3,3]"]);
    assert_eq!(words("n1.d0"), ["∂w", "mul(∂%3, x)", "f64[3,3]"]);
    assert_eq!(words("n3.d0")[0], "∂%3");
    assert!(words("n3.d0")[1].starts_with("mul(∂%4, sub("), "{:?}", words("n3.d0"));
    // The gradient of `k` was not requested, and rounding has none.
    assert!(!ids(&doc, "gradient").iter().any(|id| id.starts_with("n2.")));
    let sum = graph.outputs()[0].node;
    assert_eq!(words(&format!("n{sum}.d0"))[1], "g_0");
    let flows: BTreeSet<String> = ids(&doc, "flow").into_iter().collect();
    assert!(flows.contains("n3.in0.d0") && flows.contains("n3.in1.d0"), "{flows:?}");
    assert_eq!(flows.len(), 5, "{flows:?}");
}

#[test]
fn wrong_inputs_are_refused() {
    let b = Builder::new();
    let i = b.input("i", Aval::new(DType::I64, [2]));
    let graph = b.finish(&[i + i]).unwrap();
    let why = svg_with_gradients(&graph, &[0]).unwrap_err().to_string();
    assert!(why.contains("`i`") && why.contains("only float"), "{why}");
    let why = svg_with_gradients(&graph, &[4]).unwrap_err().to_string();
    assert!(why.contains("input number 4"), "{why}");
}

#[test]
fn text_is_escaped() {
    let b = Builder::new();
    let x = b.input("x", matrix());
    let body = Arc::new(b.finish(&[x.exp()]).unwrap());
    let b = Builder::new();
    let x = b.input("x", matrix());
    let name = "</text> & <b> \"q\" 'a' \u{1}";
    let args = vec![("k<&>".to_string(), Attr::Str("<![CDATA[ ]]>".into()))];
    let graph = b.finish(&[b.apply1(Call::new(name, args, body), &[x])]).unwrap();
    let text = svg(&graph);
    check(&graph, &text);
    let doc = Document::parse(&text).unwrap();
    let shown =
        doc.descendants().any(|n| n.is_text() && n.text() == Some("</text> & <b> \"q\" 'a' \u{fffd}"));
    assert!(shown, "the drawing does not contain the name");
    assert!(dot(&graph).contains("</text> & <b> \\\"q\\\" 'a'"));
}

#[test]
fn the_same_graph_gives_the_same_picture() {
    let picture = || {
        let graph = nested(30);
        (svg(&graph), svg_with_gradients(&graph, &[0, 1]).unwrap(), dot(&graph))
    };
    let first = picture();
    for _ in 0..3 {
        // In another thread, hash maps have another order.
        assert_eq!(std::thread::spawn(picture).join().unwrap(), first);
    }
}

#[test]
fn large_nested_graphs_are_not_expanded() {
    let b = Builder::new();
    let x = b.input("x", matrix());
    let mut body = Arc::new(b.finish(&[x.exp() + x]).unwrap());
    // Each level calls the one below twice, so the graph is small but a complete drawing would have a million
    // boxes.
    for k in 0..20 {
        let b = Builder::new();
        let x = b.input("x", matrix());
        let name = format!("level{k}");
        let once = b.apply1(Call::new(name.as_str(), vec![], body.clone()), &[x]);
        let twice = b.apply1(Call::new(name.as_str(), vec![], body), &[once]);
        body = Arc::new(b.finish(&[twice]).unwrap());
    }
    let text = svg(&body);
    let doc = Document::parse(&text).unwrap();
    let boxes = ids(&doc, "node").len();
    assert!((500..6000).contains(&boxes), "{boxes} boxes");
    assert!(text.contains("nodes inside"));
}

#[test]
fn large_flat_graphs_are_drawn_in_plain_rows() {
    let b = Builder::new();
    let x = b.input("x", matrix());
    let last = (0..5000).fold(x, |y, k| if k % 2 == 0 { y.tanh() } else { y + x });
    let graph = b.finish(&[last]).unwrap();
    let text = svg(&graph);
    let doc = Document::parse(&text).unwrap();
    assert_eq!(ids(&doc, "node").len(), 5002);
}

#[test]
fn graphviz_text_names_everything_once() {
    let graph = nested(12);
    let text = dot(&graph);
    let mut all = [const { BTreeSet::new() }; 3];
    expected(&graph, "", &mut all);
    for id in &all[0] {
        assert_eq!(text.matches(&format!("\"{id}\" [label=")).count(), 1, "{id}");
    }
    assert_eq!(text.matches(" -> ").count(), all[1].len());
    for id in &all[2] {
        assert_eq!(text.matches(&format!("subgraph \"cluster_{id}\"")).count(), 1, "{id}");
    }
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn constants_of_any_size_have_a_short_label() {
    let b = Builder::new();
    let many = b.constant(Literal::floats(DType::F64, [100], (0..100).map(f64::from).collect()).unwrap());
    let graph = b.finish(&[many]).unwrap();
    let text = svg(&graph);
    check(&graph, &text);
    assert!(text.contains(">100 values</text>"), "{text}");
}

#[test]
fn parts_are_drawn_below_what_they_need() {
    let part = |role, title: &str, line: &str, needs: &[usize]| Part {
        role,
        title: title.into(),
        note: String::new(),
        lines: vec![line.into()],
        needs: needs.to_vec(),
    };
    // The parts are not in order; one depends on itself, and two depend on each other.
    let parts = [
        part(Role::Output, "Y", "Y = A[i] < B[i] & \"C\"", &[1, 2]),
        part(Role::Inner, "A", "A[i] = A[i] X[i]", &[1, 3]),
        part(Role::Inner, "B", "B[i] = C[i]", &[4]),
        part(Role::Input, "X", "", &[]),
        part(Role::Inner, "C", "C[i] = B[i] X[i]", &[2, 3]),
    ];
    let text = svg_of_parts(&parts);
    assert_eq!(text, svg_of_parts(&parts));
    let doc = Document::parse(&text).unwrap();
    let boxes = frames(&doc, "node");
    assert_eq!(boxes.len(), 5);
    for (i, (_, a)) in boxes.iter().enumerate() {
        assert!(boxes[i + 1..].iter().all(|(_, b)| !a.meets(b)));
    }
    wires_avoid_boxes(&doc, &boxes);
    words_fit(&doc);
    let count = |class: &str| doc.descendants().filter(|n| n.attribute("class") == Some(class)).count();
    assert_eq!((count("wire"), count("flow")), (5, 1), "{text}");
    assert!(doc.descendants().any(|n| n.text() == Some("Y = A[i] < B[i] & \"C\"")));
    assert!(Document::parse(&svg_of_parts(&[])).is_ok());
}
