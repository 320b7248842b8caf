//! Names of batches, parameters and optimizer state in the graph of a training step.

use gradus_nn::optim::Adam;
use gradus_nn::{Forward, Linear, Module, Optimizer, compile_forward, compile_training, module};
use gradus_tensor::{Generator, Reduction, Tensor, mse_loss, trace};

struct Mlp {
    layers: Vec<Linear>,
}
module!(Mlp { layers });

impl Forward for Mlp {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layers[1].forward(&self.layers[0].forward(x).tanh())
    }
}

fn mlp() -> Mlp {
    let g = Generator::new(1);
    Mlp { layers: vec![Linear::new(3, 4, &g), Linear::new(4, 2, &g)] }
}

fn loss(m: &Mlp, b: &[Tensor]) -> Tensor {
    mse_loss(&m.forward(&b[0]), &b[1], Reduction::Mean)
}

fn names(graph: &gradus_ir::Graph) -> Vec<&str> {
    graph.inputs().iter().map(|(name, _)| name.as_str()).collect()
}

const PATHS: [&str; 4] = ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"];

#[test]
fn the_graph_of_a_step_names_all_inputs() {
    let model = mlp();
    let (x, y) = (Tensor::ones([5, 3]), Tensor::zeros([5, 2]));
    let adam = Optimizer::new(model.parameters(), Adam::default());
    let mut step = compile_training(&model, loss, adam, &[&x, &y]).unwrap().inputs(&["features", "target"]);
    let graph = step.graph(&[&x, &y]).unwrap();
    let found = names(&graph);
    assert_eq!(found[..2], ["features", "target"]);
    for path in PATHS {
        for name in [path.to_string(), format!("{path}.exp_avg"), format!("{path}.exp_avg_sq")] {
            assert_eq!(found.iter().filter(|n| **n == name).count(), 1, "{name} in {found:?}");
        }
    }
    assert!(found.iter().all(|n| !n.starts_with("cell")), "{found:?}");
    // One output is the loss; each parameter and both of its states are written.
    assert_eq!(graph.outputs().len(), 1 + 3 * PATHS.len());
    let types: Vec<String> = graph.output_avals().iter().map(|a| a.to_string()).collect();
    assert_eq!(types.iter().filter(|t| *t == "f32[4,3]").count(), 3);
    // The region of loss and gradients uses the names too.
    let text = graph.to_string();
    assert!(text.contains("features: f32[5,3], target: f32[5,2], layers.0.weight: f32[4,3]"), "{text}");
    assert!(text.matches("layers.1.weight: f32[2,4]").count() >= 2, "{text}");
    // The graph computes the values of the step.
    let before: Vec<_> = step.executable(&[&x, &y]).unwrap().cells().to_vec();
    let values: Vec<_> = [&x, &y].into_iter().chain(&before).map(|t| t.to_literal().unwrap()).collect();
    let expected = gradus_ir::reference::evaluate(&graph, &values).unwrap();
    let outcome = step.run(&[&x, &y]).unwrap();
    assert!((outcome.loss.item::<f32>().unwrap() as f64 - expected[0].f()[0]).abs() < 1e-6);
}

#[test]
fn batches_are_given_by_name() {
    let (x, y) = (Tensor::ones([5, 3]), Tensor::full([5, 2], 0.5));
    let run = |named: bool| {
        let model = mlp();
        let adam = Optimizer::new(model.parameters(), Adam::default());
        let step = compile_training(&model, loss, adam, &[&x, &y]).unwrap();
        let mut step = step.inputs(&["x", "target"]);
        let outcome = match named {
            true => step.run_named(&[("target", &y), ("x", &x)]).unwrap(),
            false => step.run(&[&x, &y]).unwrap(),
        };
        let e = step.run_named(&[("x", &x), ("label", &y)]).unwrap_err().to_string();
        assert!(e.contains("`label`") && e.contains("target"), "{e}");
        let e = step.run_named(&[("x", &x)]).unwrap_err().to_string();
        assert!(e.contains("`target`") && e.contains("missing"), "{e}");
        (outcome.loss.item::<f32>().unwrap(), model.layers[0].weight.to_vec::<f32>().unwrap())
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_step_that_is_not_finite_names_its_batch() {
    let model = mlp();
    let (x, y) = (Tensor::ones([5, 3]), Tensor::zeros([5, 2]));
    let adam = Optimizer::new(model.parameters(), Adam::default());
    let step = compile_training(&model, loss, adam, &[&x, &y]).unwrap();
    let mut step = step.inputs(&["features", "target"]).check_finite();
    let bad = Tensor::full([5, 3], f64::NAN).to_dtype(gradus_ir::DType::F32);
    let e = step.run(&[&bad, &y]).unwrap_err().to_string();
    assert!(e.contains("`features` of the batch"), "{e}");
}

#[test]
fn functions_of_a_model_have_its_paths() {
    let model = mlp();
    let x = Tensor::ones([5, 3]);
    let forward = compile_forward(&model, |m: &Mlp, x: &[Tensor]| m.forward(&x[0])).inputs(&["x"]);
    let graph = forward.graph(&[&x]).unwrap();
    assert_eq!(names(&graph), ["x", PATHS[0], PATHS[1], PATHS[2], PATHS[3]]);
    let other = mlp();
    other.name_cells();
    let traced = trace(&[&x], |x| other.forward(&x[0])).unwrap();
    assert_eq!(names(&traced), names(&graph));
}
