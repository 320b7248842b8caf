//! Tests that invalid graphs and text are errors: nothing here may panic, abort or run forever.

use gradus_ir::graph::{Id, Origin, parse};
use gradus_ir::ops::pointwise::table;
use gradus_ir::ops::window::Fold;
use gradus_ir::transform::vmap;
use gradus_ir::{Aval, Builder, DType, Error, Kind, Literal, reference};

fn refuses(text: &str, says: &str) {
    let e = parse(text).map(|_| ()).expect_err("the text is wrong").to_string();
    assert!(e.contains(says), "{e}");
}

#[test]
fn invalid_text_is_an_error_with_the_reason() {
    let with = |node: &str| format!("gradus graph 1\ngraph (x: f64[2]) {{\n  {node}\n  return %1\n}}\n");
    refuses(&with("%1 = frob(x) : f64[2]"), "there is no op `frob`");
    refuses(&with("%1 = sum(x) axes=[-1] : f64[]"), "`sum` cannot be made from these attributes");
    refuses(&with("%1 = sum(x) : f64[]"), "`sum` cannot be made from these attributes");
    refuses(&with("%1 = exp(x) axes=[1] : f64[2]"), "`exp` has no attribute `axes`");
    refuses(&with("%1 = exp(x) : f64[3]"), "is written as");
    refuses("gradus graph 2\n", "format version 2; this build reads version 1");
}

/// Tests which operations an error names after the call is added for which the failing op was recorded.
#[test]
fn an_error_names_the_call_for_which_its_op_was_recorded() {
    let (outer, inner) = (Aval::new(DType::F32, [2]), Aval::new(DType::F32, [4]));
    let location = std::panic::Location::caller();
    let origin = Origin::new("softmax", vec![outer.clone()], location, None);
    let error = || Error::value("the operand", "is too large");
    for (error, message) in [
        (error(), "softmax: the operand is too large (operands f32[2])"),
        (
            error().in_op("exp", std::slice::from_ref(&inner)),
            "softmax: exp: the operand is too large (operands f32[2])",
        ),
        (
            error().in_op("softmax", std::slice::from_ref(&inner)),
            "softmax: the operand is too large (operands f32[4])",
        ),
    ] {
        let found = error.of(&origin);
        assert_eq!((found.message().as_str(), found.location()), (message, Some(location)));
    }
}

#[test]
fn deeply_nested_regions_are_refused() {
    let mut text =
        "gradus graph 1\nregion @0 (x: f64[]) {\n  %1 = exp(x) : f64[]\n  return %1\n}\n".to_string();
    for k in 1..3000 {
        let call = format!("%1 = call(x) name=\"f\" args={{}} body=@{} : f64[]", k - 1);
        text += &format!("region @{k} (x: f64[]) {{\n  {call}\n  return %1\n}}\n");
    }
    refuses(&text, "nested more than 64 deep");
}

#[test]
fn values_of_another_graph_are_refused() {
    let b = Builder::new();
    let foreign = Id { node: 7, out: 0 };
    assert!(
        b.try_apply_ids((&table::exp).into(), vec![foreign])
            .unwrap_err()
            .to_string()
            .contains("belongs to another graph")
    );
    assert!(b.finish_ids(&[foreign]).unwrap_err().to_string().contains("belongs to another graph"));
    let x = b.input("x", Aval::scalar(DType::F64));
    let g = b.finish(&[x]).unwrap();
    assert!(g.with_outputs(&[4]).unwrap_err().to_string().contains("output 4 is not in the graph"));
}

#[test]
fn a_graph_too_large_for_memory_is_refused_when_it_is_run() {
    let b = Builder::new();
    let big = b.iota(DType::I64, [1 << 45], 0);
    let g = b.finish(&[big]).unwrap();
    let e = reference::evaluate(&g, &[]).unwrap_err();
    assert!(matches!(e.kind(), Kind::Memory { bytes } if *bytes == 1 << 48), "{e}");
    assert_eq!(e.op(), Some("iota"));
}

#[test]
fn index_errors_report_the_index_and_the_valid_range() {
    let b = Builder::new();
    let (x, i) = (b.input("x", Aval::new(DType::F64, [2])), b.input("i", Aval::new(DType::I64, [1])));
    let g = b.finish(&[x.take(i, 0)]).unwrap();
    let at = |k: i64| {
        let ins = [Literal::floats(DType::F64, [2], vec![1.0, 2.0]), Literal::ints(DType::I64, [1], vec![k])];
        reference::evaluate(&g, &ins.map(|l| l.unwrap())).map(|outs| outs[0].f().to_vec())
    };
    assert_eq!(at(1).unwrap(), [2.0]);
    assert!(
        at(-1).unwrap_err().to_string().contains("index -1 is out of range for extent 2; valid are 0..=1")
    );
}

#[test]
fn index_errors_in_a_batch_report_the_original_index() {
    // A batch merges its extents into one of 4 × 3 elements: the error names the original index and extent.
    let b = Builder::new();
    let (x, at) = (b.input("x", Aval::new(DType::F64, [3])), b.input("at", Aval::new(DType::I64, [2])));
    let graph = b.finish(&[x.take(at, 0)]).unwrap();
    let batched = vmap(&graph, &[Some(0), Some(0)], 4).unwrap();
    for wrong in [3, 7, -1, -5, 1 << 29] {
        let xs = Literal::floats(DType::F64, [4, 3], vec![1.0; 12]).unwrap();
        let at = Literal::ints(DType::I64, [4, 2], vec![0, 1, 2, wrong, 0, 1, 2, 0]).unwrap();
        let error = reference::evaluate(&batched, &[xs, at]).expect_err("an index out of range");
        let named = matches!(error.kind(), Kind::Index { index, extent: 3, .. } if *index == wrong);
        assert!(named, "{wrong}: {error}");
    }
}

#[test]
fn windows_with_too_few_axes_are_refused() {
    let fold = Fold { size: vec![2], stride: vec![1], dilation: vec![1], extent: [4].as_slice().into() };
    let b = Builder::new();
    for (aval, says) in [
        (Aval::new(DType::F64, [3]), "must be numbers with at least 2·1 axes"),
        (Aval::new(DType::Bool, [3, 2]), "must be numbers with at least 2·1 axes"),
        (Aval::new(DType::F64, [3, 3]), "must be f64[3,2]"),
    ] {
        let e =
            b.try_apply(fold.clone(), &[b.input("x", aval.clone())]).expect_err("the operand does not fit");
        assert!(e.to_string().contains(says), "{aval}: {e}");
    }
    let windows = b.input("x", Aval::new(DType::F64, [3, 2]));
    assert_eq!(b.try_apply(fold, &[windows]).unwrap()[0].aval(), Aval::new(DType::F64, [4]));
}
