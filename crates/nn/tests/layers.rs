//! Layers compared with PyTorch's (`tests/golden/layers.json`): names and layouts of their state, values,
//! gradients.

use gradus_ir::DType;
use gradus_nn::{
    AdaptiveAvgPool, AvgPool, BatchNorm, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d,
    ConvTranspose3d, Dropout, Embedding, Flatten, Forward, GroupNorm, Gru, LayerNorm, Linear, Lstm, MaxPool,
    Module, MultiHeadAttention, Recurrent, ReluUnit, RmsNorm, Rnn, Sequential, TransformerBlock,
    compile_forward, compile_training,
};
use gradus_nn::{Optimizer, optim::Sgd};
use gradus_tensor::func::conv::{ConvOptions, ConvTransposeOptions};
use gradus_tensor::{Generator, Tensor, value_and_grad_of};
use serde_json::Value;

fn tensor(v: &Value) -> Tensor {
    let data: Vec<f64> = v["data"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    let shape: Vec<usize> =
        v["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    Tensor::from_slice(&data, &shape[..])
}

#[track_caller]
fn assert_close(what: &str, found: &Tensor, right: &Tensor) {
    assert_eq!(found.shape(), right.shape(), "{what}");
    let (found, right) = (found.to_vec::<f64>().unwrap(), right.to_vec::<f64>().unwrap());
    for (x, y) in found.iter().zip(&right) {
        assert!((x - y).abs() <= 1e-10 * y.abs().max(1.0), "{what}: {x} is not {y}");
    }
}

/// Checks one case eagerly and as one traced function.
fn check(case: &Value, layer: &dyn Module, forward: &dyn Fn(&[Tensor]) -> Tensor) {
    let name = case["name"].as_str().unwrap();
    layer.to_dtype(DType::F64).unwrap();
    layer.train(case["training"].as_bool().unwrap());
    let named: Vec<(&String, Tensor)> =
        case["state"].as_object().unwrap().iter().map(|(k, v)| (k, tensor(v))).collect();
    let own: Vec<(String, Tensor)> =
        layer.state().into_iter().filter(|(_, t)| t.dtype() == DType::F64).collect();
    let load = || {
        assert_eq!(own.len(), named.len(), "{name}: {own:?}");
        for (key, value) in &named {
            let cell = own.iter().find(|(n, _)| n == *key).unwrap_or_else(|| panic!("{name} has no {key}"));
            cell.1.data_().set_(value).unwrap();
        }
    };
    let inputs: Vec<Tensor> = case["inputs"].as_array().unwrap().iter().map(tensor).collect();
    let (right, cotangent) = (tensor(&case["output"]), tensor(&case["cotangent"]));
    let after = |what: &str| {
        for (key, value) in case["after"].as_object().unwrap() {
            let cell = own.iter().find(|(n, _)| n == key).unwrap();
            assert_close(&format!("{name}, {what}: {key}"), &cell.1, &tensor(value));
        }
    };
    // Eagerly.
    load();
    let leaves: Vec<Tensor> = inputs.iter().map(|x| x.requires_grad_()).collect();
    let y = forward(&leaves);
    assert_close(name, &y.detach(), &right);
    y.backward_with(&cotangent).unwrap();
    for (x, g) in leaves.iter().zip(case["grads"].as_array().unwrap()) {
        assert_close(&format!("{name}: gradient of an input"), &x.grad().unwrap(), &tensor(g));
    }
    for (key, g) in case["state_grads"].as_object().unwrap() {
        let p = &own.iter().find(|(n, _)| n == key).unwrap().1;
        assert_close(&format!("{name}: gradient of {key}"), &p.grad().unwrap(), &tensor(g));
        p.zero_grad();
    }
    after("eagerly");
    // Traced, as training does.
    load();
    let parameters = layer.parameters();
    let cells: Vec<&Tensor> = parameters.iter().map(|(_, p)| p).collect();
    let (outs, grads) = value_and_grad_of(&cells, || {
        let y = forward(&inputs);
        [(&y * &cotangent).sum(()), y]
    })
    .unwrap();
    assert_close(&format!("{name}, traced"), &outs[1], &right);
    for ((key, _), g) in parameters.iter().zip(&grads) {
        assert_close(&format!("{name}: traced gradient of {key}"), g, &tensor(&case["state_grads"][key]));
    }
    after("traced");
}

/// Checks a layer of one operand.
fn unary(case: &Value, layer: impl Forward) {
    check(case, &layer, &|x| layer.forward(&x[0]));
}

#[test]
fn every_layer_agrees_with_pytorch() {
    let all: Value = serde_json::from_str(include_str!("../../../tests/golden/layers.json")).unwrap();
    let g = &Generator::new(0);
    let mut kinds = std::collections::BTreeSet::new();
    for case in all["cases"].as_array().unwrap() {
        let (name, args) = (case["name"].as_str().unwrap(), &case["args"]);
        kinds.insert(name);
        let bias = args["bias"] != false;
        let layers = args["layers"].as_u64().unwrap_or(1) as usize;
        let hidden = if layers == 1 || name == "lstm_states" { 4 } else { 2 };
        let both = args["both"] == true;
        macro_rules! recurrent {
            ($kind:ident) => {
                if both {
                    $kind::bidirectional(3, hidden, layers, g)
                } else {
                    $kind::new(3, hidden, layers, g)
                }
            };
        }
        match name {
            "linear" if bias => unary(case, Linear::new(3, 4, g)),
            "linear" => unary(case, Linear::new(3, 4, g).without_bias()),
            "embedding" => {
                let (layer, ids) = (Embedding::new(5, 3, g), Tensor::from([[0i64, 4], [2, 2]]));
                check(case, &layer, &|_| layer.forward(&ids));
            }
            "conv1d" => unary(case, Conv1d::new(2, 3, 3, g)),
            "conv2d" => {
                let options =
                    ConvOptions { stride: 2.into(), padding: 1.into(), groups: 2, ..Default::default() };
                unary(case, Conv2d::with(4, 6, [3, 2], options, g));
            }
            "conv3d" => {
                let options = ConvOptions { dilation: 2.into(), ..Default::default() };
                unary(case, Conv3d::with(2, 2, 2, options, g).without_bias());
            }
            "conv_transpose1d" => unary(case, ConvTranspose1d::new(2, 3, 3, g)),
            "conv_transpose2d" => {
                let options = ConvTransposeOptions {
                    stride: 2.into(),
                    padding: 1.into(),
                    output_padding: 1.into(),
                    groups: 2,
                    ..Default::default()
                };
                unary(case, ConvTranspose2d::with(4, 6, 3, options, g));
            }
            "conv_transpose3d" => unary(case, ConvTranspose3d::new(2, 2, 2, g).without_bias()),
            "batch_norm" => {
                let momentum = args["momentum"].as_f64().unwrap_or(0.1);
                let layer = BatchNorm { momentum, ..BatchNorm::new(3) };
                let counted = layer.num_batches_tracked.clone();
                unary(case, layer);
                let training = case["training"].as_bool().unwrap();
                assert_eq!(counted.item::<i64>().unwrap(), if training { 2 } else { 0 });
            }
            "layer_norm" if bias => unary(case, LayerNorm::new([2, 4])),
            "layer_norm" => unary(case, LayerNorm::new([4]).without_bias()),
            "rms_norm" => unary(case, RmsNorm { eps: args["eps"].as_f64(), ..RmsNorm::new([4]) }),
            "group_norm" => unary(case, GroupNorm::new(2, 4)),
            "rnn" => unary(case, recurrent!(Rnn)),
            "gru" => unary(case, recurrent!(Gru)),
            "lstm" => unary(case, recurrent!(Lstm)),
            "lstm_states" => {
                let layer = Lstm::new(3, hidden, layers, g);
                check(case, &layer, &|x| {
                    let states = layer.run(&x[0], Some(&x[1..])).unwrap().1;
                    Tensor::cat(&[&states[0].reshape([-1]), &states[1].reshape([-1])], 0)
                });
            }
            "attention" => {
                let layer =
                    MultiHeadAttention { causal: args["causal"] == true, ..MultiHeadAttention::new(6, 3, g) };
                unary(case, layer);
            }
            "cross_attention" => {
                let layer = MultiHeadAttention::new(6, 3, g);
                check(case, &layer, &|x| layer.forward_to(&x[0], &x[1]));
            }
            "rnn_relu" => unary(case, Recurrent::<ReluUnit>::new(3, 4, 2, g)),
            "transformer" => {
                let norm_first = args["norm_first"] == true;
                unary(case, TransformerBlock { norm_first, ..TransformerBlock::new(6, 3, 8, 0.0, g) });
            }
            "sequential" => {
                let convolution = Sequential::new().then(Conv2d::new(1, 2, 3, g)).then(Tensor::relu);
                let pooled = convolution.then(MaxPool::new(&[2, 2])).then(AvgPool::new(&[1, 1]));
                let flat = pooled.then(AdaptiveAvgPool::new(&[2, 2])).then(Flatten);
                unary(case, flat.then(Linear::new(8, 3, g)));
            }
            _ => panic!("no layer for {name}"),
        }
    }
    assert_eq!(kinds.len(), 21, "{kinds:?}");
}

/// Processing tokens in parts with a cache equals processing all at once.
#[test]
fn a_cache_holds_the_earlier_tokens() {
    let g = Generator::new(4);
    for kv_heads in [4, 2, 1] {
        let attention = MultiHeadAttention::grouped(8, 4, kv_heads, &g).causal();
        let block = TransformerBlock { self_attn: attention, ..TransformerBlock::new(8, 4, 16, 0.0, &g) };
        block.to_dtype(DType::F64).unwrap();
        let x = g.randn([2, 6, 8]).to_dtype(DType::F64);
        let whole = block.forward(&x);
        let cache = block.self_attn.cache(2, 6);
        let next = compile_forward(&block, |b, x| b.forward_cached(&x[0], &cache));
        for rounds in 0..2 {
            let mut parts = vec![next.run(&[&x.narrow(1, 0, 2)]).unwrap().remove(0)];
            for t in 2..6 {
                parts.push(next.run(&[&x.narrow(1, t, 1)]).unwrap().remove(0));
            }
            let parts = Tensor::cat(&parts.iter().collect::<Vec<_>>(), 1);
            assert_close(&format!("{kv_heads} heads, round {rounds}"), &parts, &whole.detach());
            // A seventh position exceeds the capacity.
            assert!(next.run(&[&x.narrow(1, 0, 1)]).is_err());
            assert_eq!(cache.position.item::<i64>().unwrap(), 6);
            cache.clear().unwrap();
        }
    }
}

/// Attention with shared heads of keys equals attention with repeated heads.
#[test]
fn grouped_heads_equal_repeated_heads() {
    let g = Generator::new(6);
    let grouped = MultiHeadAttention::grouped(8, 4, 2, &g).causal();
    let (w, b) = (&*grouped.in_proj_weight, g.randn([16]));
    grouped.in_proj_bias.as_ref().unwrap().data_().set_(&b).unwrap();
    let repeated = |t: &Tensor| {
        let part = |from: usize| {
            t.narrow(0, from, 4).unflatten(0, [2, 2]).repeat_interleave(2, Some(0)).flatten(0, 1)
        };
        Tensor::cat(&[&t.narrow(0, 0, 8), &part(8), &part(12)], 0)
    };
    let full = MultiHeadAttention {
        out_proj: grouped.out_proj.clone(),
        ..MultiHeadAttention::new(8, 4, &g).causal()
    };
    full.in_proj_weight.data_().set_(&repeated(&w.detach())).unwrap();
    full.in_proj_bias.as_ref().unwrap().data_().set_(&repeated(&b)).unwrap();
    grouped.to_dtype(DType::F64).unwrap();
    full.to_dtype(DType::F64).unwrap();
    let x = g.randn([2, 5, 8]).to_dtype(DType::F64);
    assert_close("grouped", &grouped.forward(&x).detach(), &full.forward(&x).detach());
}

#[test]
fn dropout_draws_anew_inside_a_compiled_step() {
    let g = Generator::new(9);
    let dropout = Dropout::new(0.25, &g);
    let x = Tensor::ones([1000]);
    let sgd = Optimizer::new(dropout.parameters(), Sgd::default());
    let mut step =
        compile_training(&dropout, |d, x| [x[0].sum(()) * 0.0, d.forward(&x[0])], sgd, &[&x]).unwrap();
    let mut draw = || step.run(&[&x]).unwrap().outputs[0].to_vec::<f32>().unwrap();
    let (a, b) = (draw(), draw());
    assert_ne!(a, b);
    for drawn in [&a, &b] {
        assert!(drawn.iter().all(|v| *v == 0.0 || (v - 4.0 / 3.0).abs() < 1e-6));
        let dropped = drawn.iter().filter(|v| **v == 0.0).count();
        assert!((190..310).contains(&dropped), "{dropped}");
    }
    // The same seed draws the same eagerly; evaluation mode draws nothing.
    g.seed(9);
    assert_eq!(dropout.forward(&x).to_vec::<f32>().unwrap(), a);
    dropout.eval();
    assert_eq!(dropout.forward(&x).to_vec::<f32>().unwrap(), x.to_vec::<f32>().unwrap());
    assert_eq!(step.compilations(), 1);
}

#[test]
fn errors_for_wrong_inputs_state_the_expected_shape() {
    let g = Generator::new(0);
    let e =
        MultiHeadAttention::new(6, 3, &g).forward(&Tensor::zeros([2, 6])).check().unwrap_err().to_string();
    assert!(e.contains("an input of shape [2,6] must be [batch, time, 6]"), "{e}");
    let e = Lstm::new(3, 4, 1, &g).run(&Tensor::zeros([2, 3]), None).unwrap_err().to_string();
    assert!(e.contains("must be [time, batch, inputs]"), "{e}");
    assert!(Linear::new(3, 4, &g).forward(&Tensor::zeros([2, 5])).error().is_some());
}

/// Two layers equal one layer, dropout, and another layer. Nothing is dropped after the last layer, or in
/// evaluation.
#[test]
fn recurrent_layers_have_dropout_between_them() {
    let x = Generator::new(1).randn([5, 2, 3]).to_dtype(DType::F64);
    let lstm = Lstm::new(3, 4, 2, &Generator::new(2)).dropout(0.4, &Generator::new(9));
    lstm.to_dtype(DType::F64).unwrap();
    let single = |layer: usize, inputs: usize| {
        let own = Lstm::new(inputs, 4, 1, &Generator::new(0));
        own.to_dtype(DType::F64).unwrap();
        let end = format!("_l{layer}");
        let state: Vec<(String, Tensor)> =
            lstm.state().into_iter().filter(|(n, _)| n.ends_with(&end)).collect();
        let state: Vec<_> = state.into_iter().map(|(n, t)| (n.replace(&end, "_l0"), t.detach())).collect();
        gradus_nn::checkpoint::set_state(&own, &state).unwrap();
        own
    };
    let (first, second) = (single(0, 3), single(1, 4));
    let expected =
        |training: bool, g: &Generator| second.forward(&first.forward(&x).dropout(0.4, training, g));
    let (one, two) = (Generator::new(9), Generator::new(9));
    let found = lstm.forward(&x).detach();
    assert_close("training", &found, &expected(true, &one).detach());
    assert!((found - expected(false, &one)).abs().max(()).item::<f64>().unwrap() > 1e-3);
    // The next call draws new numbers, and a compiled call draws the same numbers as an eager call.
    expected(true, &two);
    let jitted = gradus_tensor::jit(|x: &[Tensor]| lstm.forward(&x[0]));
    assert_close("compiled", &jitted.call(&[&x]).unwrap()[0], &expected(true, &two).detach());
    lstm.eval();
    assert_close("not training", &lstm.forward(&x).detach(), &expected(false, &one).detach());
}

/// Dropout is applied where PyTorch applies it: attention weights, attention result, hidden layer, network
/// result.
#[test]
fn a_block_drops_in_four_places() {
    let x = Generator::new(1).randn([2, 6, 8]).to_dtype(DType::F64);
    let mut block = TransformerBlock::new(8, 2, 16, 0.3, &Generator::new(2));
    block.to_dtype(DType::F64).unwrap();
    for norm_first in [true, false] {
        block.norm_first = norm_first;
        let expected = |g: &Generator| {
            let drop = |x: Tensor| x.dropout(0.3, true, g);
            let attend = |x: &Tensor| {
                let m = &block.self_attn;
                let all = gradus_tensor::func::linear(x, &m.in_proj_weight, m.in_proj_bias.as_deref());
                let heads: Vec<Tensor> =
                    all.chunk(3, -1).iter().map(|t| t.reshape([2, 6, 2, 4]).transpose(1, 2)).collect();
                let options = gradus_tensor::AttentionOptions {
                    causal: true,
                    dropout: 0.3,
                    generator: Some(g.clone()),
                    ..Default::default()
                };
                let o =
                    gradus_tensor::scaled_dot_product_attention(&heads[0], &heads[1], &heads[2], &options);
                m.out_proj.forward(&o.transpose(1, 2).flatten(2, 3))
            };
            let network = |x: &Tensor| block.linear2.forward(&drop(block.linear1.forward(x).gelu()));
            if norm_first {
                let x = &x + drop(attend(&block.norm1.forward(&x)));
                &x + drop(network(&block.norm2.forward(&x)))
            } else {
                let x = block.norm1.forward(&(&x + drop(attend(&x))));
                block.norm2.forward(&(&x + drop(network(&x))))
            }
        };
        let g = Generator::new(0);
        g.state().set_(&block.dropout.generator.state().detach()).unwrap();
        assert_close("training", &block.forward(&x).detach(), &expected(&g).detach());
        block.eval();
        let (one, two) = (block.forward(&x).detach(), block.forward(&x).detach());
        assert_close("not training", &one, &two);
        block.train(true);
    }
    // Attention weights are dropped in training only: over many draws the mean equals that without dropout.
    let attention = MultiHeadAttention::new(8, 2, &Generator::new(3)).dropout(0.5, &Generator::new(4));
    attention.to_dtype(DType::F64).unwrap();
    let draws = 4000;
    let many = attention.forward(&x.narrow(0, 0, 1).expand([draws, 6, 8])).detach();
    attention.eval();
    let right = attention.forward(&x.narrow(0, 0, 1)).detach().squeeze(0);
    let (mean, deviation) = (many.mean(0), many.var(0, 1.0).sqrt() / (draws as f64).sqrt());
    let worst = ((mean - right).abs() / deviation).max(()).item::<f64>().unwrap();
    assert!(worst < 4.5, "{worst} deviations from the mean");
}

/// An error names the line that called the outermost layer, also if an inner layer causes it.
#[test]
fn errors_name_the_line_that_calls_the_layer() {
    let g = Generator::new(0);
    let x = Tensor::zeros([2, 3, 7]);
    let has_line = |line: u32, t: Tensor| {
        let location = t.error().unwrap().location().unwrap();
        assert!(location.file().ends_with("tests/layers.rs"), "{location}");
        assert_eq!(location.line(), line, "{location}");
    };
    has_line(line!(), Lstm::new(8, 4, 2, &g).forward(&x));
    has_line(line!(), Lstm::new(7, 4, 2, &g).dropout(1.5, &g).forward(&x));
    has_line(line!(), MultiHeadAttention::new(8, 2, &g).forward(&x));
    has_line(line!(), MultiHeadAttention::grouped(8, 4, 3, &g).forward(&Tensor::zeros([2, 3, 8])));
    has_line(line!(), TransformerBlock::new(8, 2, 16, 0.1, &g).forward(&x));
    has_line(line!(), Sequential::new().then(Lstm::new(7, 4, 1, &g)).then(Linear::new(5, 1, &g)).forward(&x));
    // An earlier failure keeps its own location.
    let (line, bad) = (line!(), &x + &Tensor::zeros([2, 3, 5]));
    has_line(line, TransformerBlock::new(8, 2, 16, 0.1, &g).forward(&bad));
    let m = Linear::new(7, 1, &g);
    let sgd = Optimizer::new(m.parameters(), Sgd::default());
    let line = line!() + 1;
    let e = compile_training(&m, |m: &Linear, b: &[Tensor]| m.forward(&b[0]), sgd, &[&x]).err().unwrap();
    assert_eq!(
        (e.location().unwrap().line(), e.to_string().contains("this one is f32[2,3,1]")),
        (line, true)
    );
}
