//! Tests the numbers on boxes, which are the order of evaluation and of the backward pass.

use gradus_draw::{Options, svg, svg_with, svg_with_gradients};
use gradus_ir::ops::call::Call;
use gradus_ir::{Aval, Builder, DType, Graph};
use roxmltree::Document;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the graph of `c = a b`, `d = e + f`, `g = c d`.
fn product() -> Graph {
    let b = Builder::new();
    let [x, y, z, w] = ["a", "b", "e", "f"].map(|name| b.input(name, Aval::new(DType::F64, [2])));
    b.finish(&[(x * y) * (z + w)]).unwrap()
}

/// Returns the number of each box, by its id.
fn numbers(text: &str) -> BTreeMap<String, usize> {
    let doc = Document::parse(text).unwrap();
    let boxes = doc.descendants().filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("node ")));
    let number = |n: roxmltree::Node<'_, '_>| {
        let span = n.descendants().find(|t| t.attribute("class") == Some("order"))?;
        let digits = span.text()?.trim().strip_prefix('(')?.strip_suffix(')')?.parse().ok()?;
        Some((n.attribute("id")?.to_string(), digits))
    };
    boxes.filter_map(number).collect()
}

/// Returns the title of each numbered box without its number.
fn titles(text: &str) -> BTreeMap<usize, String> {
    let doc = Document::parse(text).unwrap();
    let spans = doc.descendants().filter(|n| n.attribute("class") == Some("order"));
    let pair = |span: roxmltree::Node<'_, '_>| {
        let digits = span.text().unwrap().trim().trim_matches(['(', ')']).parse().unwrap();
        (digits, span.next_sibling().and_then(|n| n.text()).unwrap_or_default().to_string())
    };
    spans.map(pair).collect()
}

/// Tests that forward nodes have the numbers 1 to 3, and gradients 4 to 10, from the output back to the
/// inputs.
#[test]
fn numbers_follow_the_forward_and_then_the_backward_pass() {
    let graph = product();
    let forward = svg_with(&graph, &Options { wrt: None, order: true }).unwrap();
    assert_eq!(titles(&forward).into_values().collect::<Vec<_>>(), ["mul", "add", "mul"]);
    assert!(forward.contains("order of evaluation"));
    let both = svg_with(&graph, &Options { wrt: Some(&[0, 1, 2, 3]), order: true }).unwrap();
    let titles: Vec<String> = titles(&both).into_values().collect();
    let right = ["mul", "add", "mul", "∂%6", "∂%5", "∂%4", "∂f", "∂e", "∂b", "∂a"];
    assert_eq!(titles, right);
    let found = numbers(&both);
    let mut all: Vec<usize> = found.values().copied().collect();
    all.sort_unstable();
    assert_eq!(all, (1..=10).collect::<Vec<_>>());
    // A node comes after its operands, and a gradient after those of all nodes that read its value.
    for (i, node) in graph.nodes().iter().enumerate() {
        for id in &node.ins {
            let value = |name: String| found.get(&name).copied();
            let (own, operand) = (value(format!("n{i}")), value(format!("n{}", id.node)));
            assert!(operand < own, "%{i} after %{}", id.node);
            let back = |n: usize| value(format!("n{n}.d0")).unwrap();
            assert!(back(i) < back(id.node as usize), "gradient of %{} after that of %{i}", id.node);
        }
    }
}

/// Tests that with gradients of some inputs, only values on the path to them have numbered gradients, and
/// that without the option no box has a number.
#[test]
fn only_what_is_computed_has_a_number() {
    let graph = product();
    let some = numbers(&svg_with(&graph, &Options { wrt: Some(&[1]), order: true }).unwrap());
    let back: Vec<&str> = some.keys().filter(|id| id.contains(".d")).map(String::as_str).collect();
    assert_eq!(back, ["n1.d0", "n4.d0", "n6.d0"]);
    assert_eq!((some["n6.d0"], some["n4.d0"], some["n1.d0"]), (4, 5, 6));
    for plain in [svg(&graph), svg_with_gradients(&graph, &[0]).unwrap()] {
        assert!(numbers(&plain).is_empty() && !plain.contains("order of evaluation"));
    }
    assert_eq!(svg(&graph), svg_with(&graph, &Options::default()).unwrap());
}

/// Tests that nested graphs are numbered separately, and that every number fits into its box.
#[test]
fn graphs_inside_have_numbers_of_their_own() {
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F64, [2]));
    let body = Arc::new(b.finish(&[x.exp() + x]).unwrap());
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F64, [2]));
    let inner = b.apply1(Call::new("inner", vec![], body), &[x.tanh()]);
    let graph = b.finish(&[inner * x]).unwrap();
    let text = svg_with(&graph, &Options { wrt: None, order: true }).unwrap();
    let found = numbers(&text);
    let inside: Vec<usize> = found.iter().filter(|(id, _)| id.contains('/')).map(|(_, n)| *n).collect();
    assert_eq!(inside, [1, 2]);
    let outside: Vec<usize> = found.iter().filter(|(id, _)| !id.contains('/')).map(|(_, n)| *n).collect();
    assert_eq!(outside, [1, 2, 3]);
    let doc = Document::parse(&text).unwrap();
    for span in doc.descendants().filter(|n| n.attribute("class") == Some("order")) {
        let title = span.parent().unwrap();
        let frame = title.parent().unwrap().children().find(|n| n.has_tag_name("rect")).unwrap();
        let width: f64 = frame.attribute("width").unwrap().parse().unwrap();
        let words: String = title.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect();
        assert!(words.chars().count() as f64 * 8.0 < width, "{words} in {width}");
    }
}
