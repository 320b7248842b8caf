//! Sizes that other terms, a single number for all axes, or the left side determine.

use gradus_ir::DType;
use gradus_lang::ast::Name;
use gradus_lang::{Program, Settings, Source};
use std::collections::BTreeMap;

/// Returns the shape and the elements of `Y`.
fn found(text: &str) -> (Vec<usize>, Vec<f64>) {
    let settings = Settings { float: DType::F64, ..Settings::default() };
    let program = Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{text}\n{f}"));
    let found = program.run(&BTreeMap::new(), &settings, &["Y".into()]);
    let y = found.unwrap_or_else(|f| panic!("{text}\n{f}"))[&Name::from("Y")].clone();
    (y.shape().to_vec(), y.to_vec::<f64>().unwrap())
}

fn gives(text: &str, shape: &[usize], numbers: &[f64]) {
    let (found_shape, found) = found(text);
    assert_eq!(found_shape, shape, "{text}");
    // Values of iterations are approximate.
    let near = found.len() == numbers.len() && found.iter().zip(numbers).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(near, "{text}\n{found:?} beside {numbers:?}");
}

/// Each term of a sum is an equation of its own, but all have the sizes of the name.
#[test]
fn terms_of_an_index_only() {
    gives("A[i] = const([1, 2, 3])\nY[i] = A[i] + even(i)", &[3], &[2.0, 2.0, 4.0]);
    gives("A[i] = const([1, 2, 3])\nY[i] = even(i) - A[i]\nY[k] = 10 index(k)", &[3], &[0.0, 8.0, 18.0]);
    gives("A[i,j] = const([[1, 2]])\nY[j,i] = 2 A[i,j] + index(j) size(i)", &[2, 1], &[2.0, 5.0]);
    gives("B[i] = const([1, 2])\nY[i] = 0.5 Y[i] + index(i) + B[i]", &[2], &[2.0, 6.0]);
    let state = "axis t = 3\nH[i,*0] = const([1, 2])\nH[i,*t+1] = H[i,*t] + index(i)\nY[i] = H[i,*-1]";
    gives(state, &[2], &[1.0, 5.0]);
    let more = "axis t = 3\nV[i] = const([1, 2])\nH[i,*0] = V[i]\nH[i,*t+1] = H[i,*t] + 1\nY[i] = H[i,*-1]";
    gives(more, &[2], &[4.0, 5.0]);
}

/// A primed index has the size of the index without primes if nothing else determines it.
#[test]
fn primed_indices() {
    let two = "axis i = 3\nV[i'] = const([1, 2])\n";
    gives(&format!("{two}Y[i'] = V[i'] + index(i')"), &[2], &[1.0, 3.0]);
    gives(&format!("{two}Y[i'] = size(i') + V[i']"), &[2], &[3.0, 4.0]);
    gives("axis i = 3\nY[i'] = index(i')", &[3], &[0.0, 1.0, 2.0]);
}

/// A setting that is one number applies to all axes of an image.
#[test]
fn numbers_for_all_axes() {
    let tall = [0.0, 0.0, 7.0, 0.0, 0.0, 7.0, 1.0, 1.0, 2.0];
    gives("X[i,j] = const([[0, 7], [1, 2]])\nY[u,v] = interpolate(X[i,j], size=3)", &[3, 3], &tall);
    let image = "X[n,c,i,j] = const([[[[0, 7], [1, 2]]]])\n";
    gives(&format!("{image}Y[n,c,u,v] = interpolate(X[n,c,i,j], size=3)"), &[1, 1, 3, 3], &tall);
    gives(&format!("{image}Y[n,c,u] = unfold(X[n,c,i,j], kernel=1)"), &[1, 1, 4], &[0.0, 7.0, 1.0, 2.0]);
    let folded = "X[n,c,i] = const([[[1, 2, 3, 4]]])\nY[n,o,u,v] = fold(X[n,c,i], size=2, kernel=1)";
    gives(folded, &[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    gives(
        "X[n,c,i] = const([[[1, 3]]])\nY[n,c,u] = interpolate(X[n,c,i], size=4)",
        &[1, 1, 4],
        &[1.0, 1.0, 3.0, 3.0],
    );
}

/// A reduced axis of size 1 takes its name from the left side.
#[test]
fn kept_axes_under_new_names() {
    let x = "X[i,j] = const([[0, 7, 2], [1, 2, 3]])\n";
    gives(&format!("{x}Y[i,k] = mean(X[i,j], axis=j, keepdims=true)"), &[2, 1], &[3.0, 2.0]);
    gives(&format!("{x}Y[k,j] = sum(X[i,j], axis=i, keepdims=true)"), &[1, 3], &[1.0, 9.0, 5.0]);
    gives(&format!("{x}Y[k,l] = sum(X[i,j], keepdims=true)"), &[1, 1], &[15.0]);
    gives(&format!("{x}Y[i,j] = 2 max(X[i,j], axis=j, keepdims=true)"), &[2, 1], &[14.0, 6.0]);
}
