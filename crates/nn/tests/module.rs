//! Items of modules by name, and operations on all of them.

use gradus_ir::DType;
use gradus_nn::{
    Buffer, Device, Embedding, Forward, Linear, Mode, Module, Part, Sequential, module, summary,
};
use gradus_tensor::{Generator, Tensor};

struct Model {
    embed: Embedding,
    layers: Vec<Linear>,
    seen: Buffer,
    mode: Mode,
    noise: Generator,
    head: Option<Linear>,
    width: usize,
}
module!(Model { embed, layers, seen, mode, noise, head; width });

fn model() -> Model {
    let g = Generator::new(3);
    let layers = vec![Linear::new(4, 4, &g), Linear::new(4, 2, &g).without_bias()];
    let seen = Buffer::new(&Tensor::from([0i64]));
    Model {
        embed: Embedding::new(5, 4, &g),
        layers,
        seen,
        mode: Mode::default(),
        noise: g,
        head: None,
        width: 4,
    }
}

#[test]
fn names_are_dotted_and_follow_the_fields() {
    let m = model();
    let names = |all: Vec<(String, Tensor)>| all.into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    let parameters = ["embed.weight", "layers.0.weight", "layers.0.bias", "layers.1.weight"];
    assert_eq!(names(m.parameters()), parameters);
    assert_eq!(names(m.state())[4], "seen");
    let others: Vec<String> = m.parts().into_iter().skip(4).map(|(n, _)| n).collect();
    assert_eq!(others, ["seen", "mode", "noise"]);
    assert_eq!(m.count(), 20 + 16 + 4 + 8);
    assert_eq!(m.width, 4);
}

#[test]
fn a_function_that_panics_leaves_layers_in_their_modes() {
    let model = model();
    let training = || model.modes().iter().map(Mode::is_training).collect::<Vec<_>>();
    let before = training();
    assert!(before.contains(&true));
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let fails = |m: &Model, _: &[Tensor]| -> Tensor {
            assert!(m.mode.is_training(), "evaluation mode");
            Tensor::zeros([1])
        };
        summary(&model, fails, &[])
    }));
    assert!(failed.is_err(), "the function runs in evaluation mode");
    assert_eq!(training(), before);
}

#[test]
fn a_shared_parameter_has_one_name() {
    let g = Generator::new(0);
    let embed = Embedding::new(5, 4, &g);
    let tied = Linear { weight: embed.weight.clone(), bias: None };
    struct Tied {
        embed: Embedding,
        out: Linear,
    }
    module!(Tied { embed, out });
    let names: Vec<String> = Tied { embed, out: tied }.parameters().into_iter().map(|p| p.0).collect();
    assert_eq!(names, ["embed.weight"]);
}

#[test]
fn modes_freezing_and_conversion_reach_everything() {
    let m = model();
    assert!(m.mode.is_training());
    m.eval();
    assert!(!m.mode.is_training());
    m.layers.freeze(true).unwrap();
    let trained: Vec<bool> = m.parameters().iter().map(|(_, p)| p.requires_grad()).collect();
    assert_eq!(trained, [true, false, false, false]);
    m.freeze(false).unwrap();
    assert!(m.parameters().iter().all(|(_, p)| p.requires_grad()));
    m.to_dtype(DType::F64).unwrap();
    assert!(m.parameters().iter().all(|(_, p)| p.dtype() == DType::F64));
    assert_eq!(m.seen.dtype(), DType::I64);
    assert!(
        m.parts().iter().any(|(_, p)| matches!(p, Part::Generator(g) if g.state().dtype() == DType::U32))
    );
}

#[test]
fn a_device_is_chosen_by_name() {
    let m = model();
    m.to("cpu".parse().unwrap()).unwrap();
    assert_eq!(Device::default().to_string(), "cpu");
    let e = "cuda".parse::<Device>().unwrap_err().to_string();
    assert!(e.contains("device cuda: is not a kind of device here; there are `cpu` and `wgpu`"), "{e}");
}

#[test]
fn functions_are_layers_too() {
    let g = Generator::new(5);
    let (a, b) = (Linear::new(3, 4, &g), Linear::new(4, 2, &g));
    let net = Sequential::new().then(a.clone()).then(Tensor::relu).then(b.clone()).then(|x: &Tensor| x * 2.0);
    let x = g.randn([5, 3]);
    let expected = b.forward(&a.forward(&x).relu()) * 2.0;
    assert_eq!(net.forward(&x).to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
    assert_eq!(net.parameters().len(), 4);
}
