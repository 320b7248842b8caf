//! The derivative of a program is a program: trace a function, print its gradient and run it.

use gradus::ir::{reference, transform};
use gradus::{Result, Tensor, trace_named};

fn loss(x: &Tensor, w: &Tensor) -> Tensor {
    (x.matmul(w).tanh() - 1.0).square().sum(())
}

fn main() -> Result<()> {
    let x = Tensor::from([[0.8f64, 0.2, 0.5], [0.1, 0.6, 0.4]]);
    let w = Tensor::from([[0.3f64], [-0.2], [0.5]]);

    // Any function over tensors is also a graph, and its gradient is another graph.
    let program = trace_named(&[("x", &x), ("w", &w)], |v| loss(&v[0], &v[1]))?;
    let gradient = transform::vjp(&program, &[1])?;
    println!("the program\n{program}\nits gradient for the second input\n{gradient}");

    // The gradient is an ordinary program: it runs ...
    let seed = Tensor::from(1.0f64);
    let inputs = [&x, &w, &seed].map(|t| t.to_literal()).into_iter().collect::<Result<Vec<_>>>()?;
    let from_graph = reference::evaluate(&gradient, &inputs)?;

    // ... and agrees with the gradients of eager tensors.
    let w = w.requires_grad_();
    loss(&x, &w).backward()?;
    let eager = w.grad().map_or(Ok(vec![]), |g| g.to_vec::<f64>())?;
    println!("from the graph {:?}\nfrom backward  {eager:?}", from_graph[0].f());
    assert!(from_graph[0].f().iter().zip(&eager).all(|(a, b)| (a - b).abs() < 1e-12));

    // It can be differentiated again.
    let second = transform::vjp(&gradient, &[1])?;
    println!("the second derivative has {} operations", second.nodes().len() - second.inputs().len());
    Ok(())
}
