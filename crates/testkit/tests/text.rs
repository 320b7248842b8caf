//! Tests graph text: printed graphs parse to the same graph, and invalid text is an error, never a panic.

use gradus_ir::attr::Attr;
use gradus_ir::graph::{Builder, parse};
use gradus_ir::ops::call::Call;
use gradus_ir::{Aval, DType, Graph, Literal, ops};
use gradus_testkit::catalog::graph_of;
use gradus_testkit::checks;
use gradus_testkit::random::Random;
use std::sync::Arc;

fn scalar() -> Aval {
    Aval::scalar(DType::F64)
}

fn square() -> Arc<Graph> {
    let b = Builder::new();
    let x = b.input("x", scalar());
    Arc::new(b.finish(&[x * x]).unwrap())
}

fn calling(call: Call) -> Graph {
    graph_of(&call.into(), &[Literal::scalar(DType::F64, 3.0)]).unwrap()
}

#[test]
fn odd_names_and_arguments_survive_printing_and_parsing() {
    let odd = ["plain", "", "two words", "\r\n\t\"quoted\"\\", "naïve ∂", "\u{7}\u{0}\u{301}", "a=b, c}"];
    for name in odd {
        let args = vec![
            (name.to_string(), Attr::Str(name.into())),
            ("number".into(), Attr::Float(f64::NEG_INFINITY.to_bits())),
            ("whole".into(), Attr::Float(2f64.to_bits())),
            ("int".into(), Attr::Int(i64::MIN)),
            ("ints".into(), Attr::Ints(vec![])),
            ("dtype".into(), Attr::DType(DType::BF16)),
            ("type".into(), Attr::Type(Aval::new(DType::F32, [0, 2]))),
            ("literal".into(), Attr::Literal(Literal::scalar(DType::C64, -0.0))),
            ("nested".into(), Attr::Map(vec![(name.to_string(), Attr::Bool(true))])),
        ];
        let graph = calling(Call::new(name, args, square()));
        let x = [Literal::scalar(DType::F64, 3.0)];
        if let Err(f) = checks::all(&graph, &x, true) {
            panic!("{name:?}: {f}");
        }
        // The hash is of the text; the attributes themselves must be equal too.
        assert_eq!(parse(&graph.to_string()).unwrap().nodes()[1].op, graph.nodes()[1].op);
    }
}

/// A graph may be an argument of a region, at any depth.
#[test]
fn graphs_among_arguments_survive_printing_and_parsing() {
    let with = |g: Arc<Graph>| {
        let deep = Attr::Map(vec![("inner".into(), Attr::Graph(g))]);
        calling(Call::new("f", vec![("args".into(), deep)], square()))
    };
    let graph = with(square());
    if let Err(f) = checks::all(&graph, &[Literal::scalar(DType::F64, 3.0)], true) {
        panic!("{f}");
    }
    let b = Builder::new();
    let x = b.input("x", scalar());
    let other = Arc::new(b.finish(&[x + x]).unwrap());
    assert_ne!(with(other).canonical_hash(), graph.canonical_hash());
}

#[test]
fn inputs_may_follow_other_nodes() {
    let b = Builder::new();
    let two = b.constant(Literal::scalar(DType::F64, 2.0));
    let x = b.input("x", scalar());
    let y = x * two;
    let z = b.input("z", scalar());
    let graph = b.finish(&[y - z]).unwrap();
    let ins = [1.0, 2.0].map(|v| Literal::scalar(DType::F64, v));
    if let Err(f) = checks::all(&graph, &ins, true) {
        panic!("{f}");
    }
}

#[test]
fn the_hash_ignores_node_order_but_not_outputs_and_names() {
    let build = |order: bool, name: &str, swap: bool| {
        let b = Builder::new();
        let (x, y) = (b.input(name, scalar()), b.input("y", scalar()));
        let dead = x * x * y;
        assert_eq!(dead.rank(), 0);
        let (p, q) = if order {
            let p = x.exp();
            (p, y.log())
        } else {
            let q = y.log();
            (x.exp(), q)
        };
        b.finish(&if swap { [q, p] } else { [p, q] }).unwrap().canonical_hash()
    };
    assert_eq!(build(true, "x", false), build(false, "x", false));
    assert_ne!(build(true, "x", false), build(true, "x", true));
    assert_ne!(build(true, "x", false), build(true, "u", false));
}

/// The hash keys caches and files, so it must be the same on every machine and in every build.
#[test]
fn the_hash_of_a_known_graph_is_known() {
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F64, [2]));
    let c = b.constant(Literal::floats(DType::F64, [2], vec![1.5, -0.0]).unwrap());
    let graph = b.finish(&[(x * c).sum(&[0])]).unwrap();
    assert_eq!(format!("{:032x}", graph.canonical_hash()), "c173736bff4a69667258a3fd64484ad1");
}

#[test]
fn a_region_without_results_is_refused() {
    let b = Builder::new();
    b.input("x", scalar());
    let body = Arc::new(b.finish(&[]).unwrap());
    let call = Call::new("nothing", vec![], body);
    let message = graph_of(&call.into(), &[Literal::scalar(DType::F64, 1.0)]).unwrap_err().to_string();
    assert!(message.contains("results"), "{message}");
}

/// The text of every sample with a character inserted, removed or swapped, or cut off, is an error or a valid
/// graph.
#[test]
fn broken_text_is_an_error() {
    let mut random = Random::new(1);
    let (mut read, mut refused) = (0, 0);
    for sample in ops::samples().cases {
        let text = graph_of(&sample.op, &sample.ins).unwrap().to_string();
        let chars: Vec<char> = text.chars().collect();
        for _ in 0..60 {
            let mut broken = chars.clone();
            let (i, j) = (random.below(chars.len()), random.below(chars.len()));
            match random.below(4) {
                0 => broken.truncate(i),
                1 => broken.insert(i, chars[j]),
                2 => drop(broken.remove(i)),
                _ => broken.swap(i, j),
            }
            match parse(&broken.into_iter().collect::<String>()) {
                Ok(graph) => {
                    graph.verify().unwrap();
                    read += 1;
                }
                Err(e) => {
                    assert!(e.to_string().contains("line"), "{e}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > read && read > 0, "{read} read, {refused} refused");
}
