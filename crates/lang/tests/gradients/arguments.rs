//! Arguments that are expressions have their axes in the order in which they are written: `f(1 T[i,j])` is
//! `f(T[i,j])` for every left side.

use crate::common::check::{check_with, load, numbers, settings};
use gradus_lang::ast::Name;
use gradus_tensor::Tensor;
use std::collections::BTreeMap;

type Shapes = &'static [(&'static str, &'static [usize])];

/// Left sides that have indices in another order than the argument `@`, and that argument.
const CALLS: &[(&str, &str, Shapes)] = &[
    ("Y[j] = solve(@, V[i])", "A[i,j]", &[("A", &[3, 3]), ("V", &[3])]),
    ("Y[k,i] = matmul(@, B[j,k])", "A[i,j]", &[("A", &[3, 3]), ("B", &[3, 3])]),
    ("Y[j,k] = pinv(@)", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[j,i] = inv(@)", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[j,i] = triu(@)", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[j,i] = softmax(@)", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[j,i] = cumsum(@)", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[j,i] = lnorm(@)", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[j,k] = transpose(@)", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[j,k] = reshape(@, shape=[3, 3])", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[q,v] = attention(Q[q,d], K[k,d], @)", "A[k,v]", &[("A", &[3, 3]), ("K", &[3, 3]), ("Q", &[3, 3])]),
    ("Y[v,q] = attention(@, K[k,d], B[k,v])", "A[q,d]", &[("A", &[3, 3]), ("K", &[3, 3]), ("B", &[3, 3])]),
    ("Y[u,n,o] = conv1d(X[n,c,t], @)", "K[o,c,k]", &[("X", &[2, 3, 4]), ("K", &[3, 3, 3])]),
    ("Y[l,j] = matmul(transpose(@), B[i,l])", "A[i,j]", &[("A", &[3, 3]), ("B", &[3, 3])]),
    ("Y[m,i] = concat(@, B[i,k])", "A[i,j]", &[("A", &[3, 3]), ("B", &[3, 3])]),
    ("Y[j,m] = concat(@, B[i,j], axis=i)", "A[i,j]", &[("A", &[3, 3]), ("B", &[3, 3])]),
    ("Y[j] = norm(@, axis=i)", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[j,k] = B[j,k] solve(@, V[i])", "A[i,j]", &[("A", &[3, 3]), ("B", &[3, 3]), ("V", &[3])]),
    ("Y[j,i] = own(@)", "A[i,j]", &[("A", &[3, 3])]),
    ("Y[j,i] = triu(@)", "X[i,i,j]", &[("X", &[3, 3, 3])]),
];

const OWN: &str = "fn own(a[x,y]) -> b[x,y] { b[x,y] = a[x,y] exp(a[y,x]) + a[x,x] }\n";

fn value(text: &str, shapes: Shapes) -> Tensor {
    let one = |(n, s): &(&str, &[usize])| {
        (Name::from(*n), Tensor::from_slice(&numbers(n, s.iter().product()), s.to_vec()))
    };
    let inputs: BTreeMap<Name, Tensor> =
        shapes.iter().filter(|(n, _)| text.contains(&format!("{n}["))).map(one).collect();
    let found = load(text).run(&inputs, &settings(None), &["Y".into()]);
    found.unwrap_or_else(|f| panic!("{text}\n{f}"))[&Name::from("Y")].clone()
}

#[test]
fn expressions_lie_as_tensors_do() {
    for (call, tensor, shapes) in CALLS {
        let indices = tensor.split_once('[').unwrap().1;
        let plain = format!("{OWN}{}", call.replace('@', tensor));
        let expected = value(&plain, shapes);
        let (left, _) = call.split_once(" = ").unwrap();
        let apart = format!("{}\nT[{indices} = 1 {tensor}", call.replace('@', &format!("T[{indices}")));
        let within = [format!("1 {tensor}"), format!("{tensor} + 0"), format!("-(-{tensor})")];
        for text in within.iter().map(|e| call.replace('@', e)).chain([apart]) {
            let text = format!("{OWN}{text}");
            let found = value(&text, shapes);
            assert_eq!(found.shape(), expected.shape(), "{text}");
            let far = (&found - &expected).abs().max(()).item::<f64>().unwrap();
            assert!(far <= 1e-12 * (1.0 + expected.abs().max(()).item::<f64>().unwrap()), "{text}: {far}");
        }
        check_with(
            &format!("{OWN}{}\nLoss = {left}**3", call.replace('@', &format!("1 {tensor}"))),
            shapes,
            None,
        );
    }
}

/// An index summed in an argument is not one of its axes; the others are in order of first appearance.
#[test]
fn products_lie_as_they_are_written() {
    let shapes: Shapes = &[("A", &[3, 3]), ("B", &[3, 3]), ("V", &[3])];
    for (inside, apart) in [
        ("Y[j] = solve(A[i,k] B[k,j], V[i])", "T[i,j] = A[i,k] B[k,j]\nY[j] = solve(T[i,j], V[i])"),
        ("Y[j,i] = softmax(V[i] A[i,j])", "T[i,j] = V[i] A[i,j]\nY[j,i] = softmax(T[i,j])"),
        ("Y[j,i] = softmax(V[j] A[i,j])", "T[j,i] = V[j] A[i,j]\nY[j,i] = softmax(T[j,i])"),
        (
            "Y[j,i] = cumsum(V[j] > 0.5 ? A[i,j] : 0)",
            "T[i,j] = V[j] > 0.5 ? A[i,j] : 0\nY[j,i] = cumsum(T[i,j])",
        ),
        ("Y[j,i] = cumsum(2 triu(A[i,j]))", "T[i,j] = 2 triu(A[i,j])\nY[j,i] = cumsum(T[i,j])"),
        // The condition has an index that no argument has, `y`.
        (
            "fn f(a[x]) -> o[y] { o[y] = a[y=::-1] a[y] }\nY[j] = cumsum(f(V[k]) > 0.5 ? A[i,j] : 0) V[i]",
            "C[y] = V[y=::-1] V[y]\nT[i,j,y] = C[y] > 0.5 ? A[i,j] : 0\nY[j] = cumsum(T[i,j,y]) V[i]",
        ),
        ("Y[l] = solve(2 transpose(A[i,l]), V[j])", "T[j,l] = 2 A[l,j]\nY[l] = solve(T[j,l], V[j])"),
    ] {
        let far = (&value(inside, shapes) - &value(apart, shapes)).abs().max(()).item::<f64>().unwrap();
        assert!(far <= 1e-12, "{inside}: {far}");
        // The error for its gradient asks for an equation of its own.
        if inside.contains("transpose") {
            continue;
        }
        let (left, _) = inside.lines().last().unwrap().split_once(" = ").unwrap();
        let used = |(n, _): &&(&str, &[usize])| *n == "V" || inside.contains(&format!("{n}["));
        let shapes: Vec<(&str, &[usize])> = shapes.iter().filter(used).copied().collect();
        check_with(&format!("{inside}\nLoss = {left}**3 + V[i] V[i]"), &shapes, None);
    }
}

/// An index that appears twice is one axis, also if a part of the tensor is read.
#[test]
fn diagonals_beside_places() {
    check_with("Loss = C[k,k,-1]**2", &[("C", &[2, 2, 3])], None);
    check_with("Loss = D[l+1,l-1,-1]**2", &[("D", &[3, 3, 2])], None);
    check_with("Y[k] = C[0,k,k] C[k,1,k]\nLoss = Y[k]**2", &[("C", &[3, 3, 3])], None);
    check_with("Y[i,k] = softmax(C[k,i,k])\nLoss = Y[i,k]**2", &[("C", &[3, 4, 3])], None);
}
