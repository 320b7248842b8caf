//! Small decoders of each architecture: logits against NumPy or `transformers` in `float64`, caches, files,
//! and weights that do not fit.

use crate::common::{Folder, Tiny};
use gradus_ir::DType;
use gradus_models::LanguageModel;
use gradus_models::config::Config;
use gradus_models::convert;
use gradus_models::decoder::Decoder;
use gradus_models::engine::{Engine, Finish, Options, WhenFull};
use gradus_models::weights::Weights;
use gradus_nn::file::gguf::Format;
use gradus_nn::file::safetensors;
use gradus_nn::{Module, Sampling};
use gradus_tensor::{Device, Generator, SampleOptions, Tensor, compile, sample_tokens_at};
use std::sync::Arc;

const ALL: [&str; 9] = ["llama", "mistral", "qwen2", "qwen3", "gpt2", "gemma2", "gemma3", "mixtral", "yarn"];

fn batch(ids: &[i64]) -> Tensor {
    Tensor::from_slice(ids, [1, ids.len()])
}

fn close(found: &[f32], right: &[f32], within: f32, what: &str) {
    assert_eq!(found.len(), right.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(right).enumerate() {
        assert!((a - b).abs() <= within, "{what}: {a} is not {b} at {i}");
    }
}

#[test]
fn logits_are_those_of_others_with_and_without_a_cache() {
    for name in ALL {
        let (tiny, folder) = (Tiny::read(name), Folder::new(&format!("logits-{name}")));
        let model = Arc::new(tiny.decoder(&folder.0));
        let rows = model.logits(&batch(&tiny.ids)).reshape([tiny.ids.len(), 272]).to_vec2::<f32>().unwrap();
        for (i, (found, right)) in rows.iter().zip(&tiny.logits).enumerate() {
            close(found, right, 2e-5, &format!("{name}, position {i}"));
        }
        // Computes the tokens at once with padding, then one by one.
        let mut engine = Engine::new(model);
        let first = 11;
        for n in [first].into_iter().chain(first + 1..=tiny.ids.len()) {
            let found = engine.logits_after(&tiny.ids[..n]).unwrap();
            close(&found, &tiny.logits[n - 1], 2e-5, &format!("{name}, {n} tokens cached"));
        }
        assert_eq!(engine.plans(), 2, "one for the prompt, one for single tokens");
    }
}

#[test]
fn a_common_beginning_is_not_computed_again_and_changes_nothing() {
    let (tiny, folder) = (Tiny::read("llama"), Folder::new("prefix"));
    let mut engine = Engine::new(Arc::new(tiny.decoder(&folder.0)));
    let fresh = |ids: &[i64]| Engine::new(engine.shared()).logits_after(ids).unwrap();
    let mut other = tiny.ids[..20].to_vec();
    other[15] = (other[15] + 1) % 272;
    let (a, b) = (fresh(&tiny.ids[..20]), fresh(&other));
    assert_ne!(a, b);
    for (ids, right) in
        [(&tiny.ids[..20], &a), (&other[..], &b), (&tiny.ids[..20], &a), (&tiny.ids[..20], &a)]
    {
        close(&engine.logits_after(ids).unwrap(), right, 1e-5, "after another text");
        assert_eq!(engine.cached_tokens(), ids);
    }
    assert!(engine.logits_after(&[]).is_err());
    assert!(engine.logits_after(&[272]).is_err());
    assert!(engine.logits_after(&[-1]).is_err());
    assert!(engine.logits_after(&[1; 65]).unwrap_err().to_string().contains("1 to 64"));
}

#[test]
fn a_full_context_stops_or_forgets() {
    let (tiny, folder) = (Tiny::read("qwen2"), Folder::new("full"));
    let mut engine = Engine::new(Arc::new(tiny.decoder(&folder.0)));
    let mut run = |when_full| {
        let options = Options { tokens: 100, when_full, ..Options::default() };
        let mut tokens = Vec::new();
        let finish = engine.generate(&tiny.ids, &options, |t| {
            tokens.push(t);
            Ok(true)
        });
        (finish.unwrap(), tokens)
    };
    let (finish, stopped) = run(WhenFull::Stop);
    // The last token is chosen when all 64 positions are in use.
    assert_eq!((finish, stopped.len()), (Finish::Full, 64 - tiny.ids.len() + 1));
    let (finish, forgot) = run(WhenFull::Forget { keep: 4 });
    assert_eq!((finish, forgot.len()), (Finish::Length, 100));
    assert_eq!(forgot[..stopped.len() - 1], stopped[..stopped.len() - 1]);
    // The continuation equals that of the first four tokens and the later half of the others.
    let mut text = [&tiny.ids[..], &forgot[..64 - tiny.ids.len()]].concat();
    text.drain(4..34);
    let logits = Engine::new(engine.shared()).logits_after(&text).unwrap();
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
    assert_eq!(forgot[64 - tiny.ids.len()], best as i64);
}

#[test]
fn caches_grow_with_the_text() {
    let (mut tiny, folder) = (Tiny::read("llama"), Folder::new("grow"));
    tiny.config["max_position_embeddings"] = 600.into();
    let model = Arc::new(tiny.decoder(&folder.0));
    let long: Vec<i64> = (0..600).map(|i| (i * 37 + i / 11) % 272).collect();
    let all = model.logits(&batch(&long)).reshape([600, 272]).to_vec2::<f32>().unwrap();
    let mut engine = Engine::new(model);
    for n in [250, 256, 257, 300, 513, 600] {
        close(&engine.logits_after(&long[..n]).unwrap(), &all[n - 1], 5e-5, &format!("{n} tokens"));
    }
}

#[test]
fn seeds_and_stop_strings_decide_what_is_said() {
    let (tiny, folder) = (Tiny::read("mistral"), Folder::new("seeds"));
    tiny.write(&folder.0);
    let mut model = LanguageModel::load(&folder.0, Device::CPU).unwrap();
    let mut say = |seed, temperature, stop: &[&str]| {
        let sampling = Sampling { temperature, ..Sampling::default() };
        let options = Options { tokens: 30, seed, sampling, ..Options::default() };
        let stop: Vec<String> = stop.iter().map(|s| s.to_string()).collect();
        let mut heard = String::new();
        let done = model.generate("hello world", &options, &stop, |piece| {
            heard.push_str(piece);
            true
        });
        let done = done.unwrap();
        assert_eq!(done.text, heard);
        done
    };
    let (a, b, c) = (say(1, 1.0, &[]), say(1, 1.0, &[]), say(2, 1.0, &[]));
    assert_eq!(a.text, b.text);
    assert_ne!(a.text, c.text);
    let middle: String = a.text.chars().skip(4).take(3).collect();
    let stopped = say(1, 1.0, &[&middle, "never there"]);
    assert_eq!(stopped.finish, Finish::Stop);
    assert_eq!(stopped.text, a.text[..a.text.find(&middle).unwrap()]);
}

#[test]
fn weights_that_do_not_fit_are_listed_together() {
    let (mut tiny, folder) = (Tiny::read("qwen2"), Folder::new("unfit"));
    tiny.weights.retain(|(name, _)| name != "model.norm.weight");
    let bias = tiny.weights.iter_mut().find(|(n, _)| n == "model.layers.1.self_attn.k_proj.bias").unwrap();
    bias.1 = Tensor::zeros([7]);
    tiny.weights.push(("model.extra".into(), Tensor::zeros([1])));
    tiny.write(&folder.0);
    let e = LanguageModel::load(&folder.0, Device::CPU).err().unwrap().to_string();
    for part in [
        "missing: model.norm.weight [16]",
        "misshapen: model.layers.1.self_attn.k_proj.bias is [7], not [8]",
        "unknown: model.extra",
    ] {
        assert!(e.contains(part), "{e}");
    }
}

#[test]
fn configurations_that_make_no_sense_are_refused() {
    let good = Tiny::read("llama").config;
    let refused = |key: &str, value: serde_json::Value, why: &str| {
        let mut config = good.clone();
        config[key] = value;
        let e = Config::from_json(&config).unwrap_err().to_string();
        assert!(e.contains(key) && e.contains(why), "{e}");
    };
    refused("model_type", "mamba".into(), "supported are llama");
    refused("num_hidden_layers", 0.into(), "must be an integer from 1");
    refused("num_hidden_layers", (1u64 << 40).into(), "must be an integer from 1");
    refused("num_key_value_heads", 3.into(), "does not divide 4 heads");
    refused("head_dim", 7.into(), "pairs of features");
    refused("rope_theta", (-1.0).into(), "must be a positive number");
    refused("rope_theta", "10000".into(), "must be a positive number");
    refused("rope_scaling", serde_json::json!({ "rope_type": "dynamic" }), "is not supported");
    refused("rope_scaling", serde_json::json!({ "rope_type": "yarn" }), "must be a positive number");
    refused("hidden_act", "quick_gelu".into(), "is not supported; supported are silu");
    refused("layer_types", serde_json::json!(["full_attention"]), "entries for");
    refused("rope_scaling", serde_json::json!({ "rope_type": "linear" }), "must be a positive number");
    let llama3 = |low: f64, high: f64| {
        serde_json::json!({ "rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 64,
                            "low_freq_factor": low, "high_freq_factor": high })
    };
    for (low, high) in [(2.0, 2.0), (4.0, 1.0)] {
        refused("rope_scaling", llama3(low, high), &format!("must be greater than `low_freq_factor`, {low}"));
    }
    // Values of another type are not ignored.
    refused("sliding_window", 4096.0.into(), "must be an integer of at least 1, and is 4096.0");
    refused("sliding_window", 0.into(), "must be an integer of at least 1, and is 0");
    refused("tie_word_embeddings", "true".into(), "must be true or false, and is \"true\"");
    refused("mlp_bias", 1.into(), "must be true or false, and is 1");
    refused("layer_types", "full_attention".into(), "must be a list");
    refused("rope_scaling", "linear".into(), "must be a table");
    refused("rope_scaling", serde_json::json!({ "rope_type": 3 }), "rope_type` 3 must be a name");
    refused("eos_token_id", "</s>".into(), "must be a token or a list of tokens");
}

#[test]
fn shards_are_one_model() {
    let (tiny, folder) = (Tiny::read("llama"), Folder::new("shards"));
    tiny.write(&folder.0);
    std::fs::remove_file(folder.0.join("model.safetensors")).unwrap();
    let (a, b) = tiny.weights.split_at(tiny.weights.len() / 2);
    let mut map = serde_json::Map::new();
    for (file, part) in [("model-1.safetensors", a), ("model-2.safetensors", b)] {
        safetensors::write(folder.0.join(file), part, &Default::default()).unwrap();
        part.iter().for_each(|(name, _)| drop(map.insert(name.clone(), file.into())));
    }
    let index = folder.0.join("model.safetensors.index.json");
    std::fs::write(&index, serde_json::json!({ "weight_map": map }).to_string()).unwrap();
    let weights = Weights::of_folder(&folder.0).unwrap();
    let model = Decoder::new(Config::from_json(&tiny.config).unwrap(), &weights).unwrap();
    let found = model.logits(&batch(&tiny.ids)).reshape([-1]).to_vec::<f32>().unwrap();
    close(&found, &tiny.logits.concat(), 2e-5, "shards");
    std::fs::write(&index, r#"{"weight_map": {"a": "../outside.safetensors"}}"#).unwrap();
    let e = Weights::of_folder(&folder.0).err().unwrap().to_string();
    assert!(e.contains("not a file of this folder"), "{e}");
}

#[test]
fn conversion_there_and_back_keeps_every_logit() {
    for name in ["llama", "mistral", "qwen2", "qwen3", "gpt2", "gemma2", "gemma3", "mixtral"] {
        let (tiny, folder) = (Tiny::read(name), Folder::new(&format!("convert-{name}")));
        tiny.write(&folder.0);
        let (file, back) = (folder.0.join("model.gguf"), folder.0.join("back"));
        convert::to_gguf(&folder.0, &file).unwrap();
        convert::to_folder(&file, &back, DType::F32).unwrap();
        for path in [&file, &back] {
            let mut model = LanguageModel::load(path, Device::CPU).unwrap();
            let n = tiny.ids.len();
            let found = model.engine.logits_after(&tiny.ids).unwrap();
            close(&found, &tiny.logits[n - 1], 2e-5, &format!("{name} from {}", path.display()));
            assert_eq!(model.tokenizer.encode("hello world the").unwrap(), [261, 266, 34, 118, 258]);
            assert_eq!(model.template.as_ref().unwrap().eos_token, "<|end|>");
            assert_eq!(model.engine.model().config.end, [0]);
        }
        let (a, b) = (Weights::of_folder(&folder.0).unwrap(), Weights::of_folder(&back).unwrap());
        for name in a.names() {
            let [a, b] = [&a, &b].map(|w| w.tensor(&name).unwrap());
            match name.ends_with("norm.weight") {
                // GGUF files have one plus the weights of Gemma's norms.
                true => close(&a.to_vec::<f32>().unwrap(), &b.to_vec::<f32>().unwrap(), 2e-7, &name),
                false => assert_eq!(a.to_bytes().unwrap(), b.to_bytes().unwrap(), "{name}"),
            }
        }
    }
}

#[test]
fn large_models_are_converted_to_shards() {
    let (tiny, folder) = (Tiny::read("mixtral"), Folder::new("to-shards"));
    tiny.write(&folder.0);
    let (file, back) = (folder.0.join("model.gguf"), folder.0.join("back"));
    convert::to_gguf(&folder.0, &file).unwrap();
    convert::to_folder(&file, &back, DType::F32).unwrap();
    let all = Weights::of_folder(&back).unwrap();
    let largest = all.names().iter().map(|n| 4 * all.shape(n).unwrap().numel() as u64).max().unwrap();
    // Writes over the folder with a single file of weights.
    convert::to_shards(&file, &back, DType::F32, largest as usize).unwrap();
    let index = std::fs::read(back.join("model.safetensors.index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap();
    let map = index["weight_map"].as_object().unwrap();
    let shards: std::collections::BTreeSet<&str> = map.values().map(|v| v.as_str().unwrap()).collect();
    assert!(shards.len() > 2 && !back.join("model.safetensors").exists(), "{shards:?}");
    let count = shards.len();
    for (i, shard) in shards.iter().enumerate() {
        assert_eq!(*shard, format!("model-{:05}-of-{count:05}.safetensors", i + 1));
        let reader = safetensors::Reader::open(back.join(shard)).unwrap();
        let bytes: u64 =
            reader.names().iter().map(|n| 4 * reader.aval(n).unwrap().shape.numel() as u64).sum();
        assert!(bytes <= largest, "{shard}: {bytes}");
        assert!(reader.names().iter().all(|n| map[n] == *shard));
    }
    let total: usize = all.names().iter().map(|n| 4 * all.shape(n).unwrap().numel()).sum();
    assert_eq!(index["metadata"]["total_size"], total);
    let sharded = Weights::of_folder(&back).unwrap();
    assert_eq!(sharded.names(), all.names());
    for name in all.names() {
        let [a, b] = [&all, &sharded].map(|w| w.tensor(&name).unwrap().to_bytes().unwrap());
        assert_eq!(a, b, "{name}");
    }
    let generation = std::fs::read(back.join("generation_config.json")).unwrap();
    let generation: serde_json::Value = serde_json::from_slice(&generation).unwrap();
    assert_eq!(generation["eos_token_id"], serde_json::json!([0]));
    let mut model = LanguageModel::load(&back, Device::CPU).unwrap();
    close(&model.engine.logits_after(&tiny.ids).unwrap(), &tiny.logits[tiny.ids.len() - 1], 2e-5, "shards");
}

#[test]
fn random_weights_train() {
    let tiny = Tiny::read("qwen3");
    let config = Config::from_json(&tiny.config).unwrap();
    let model = Decoder::new(config, &Weights::Random(gradus_tensor::Generator::new(3))).unwrap();
    assert_eq!(model.parameters().len(), tiny.weights.len());
    model.logits(&batch(&tiny.ids)).logsumexp(-1, false).mean(()).backward().unwrap();
    let (name, p) = &model.parameters()[1];
    assert!(p.grad().unwrap().square().sum(()).item::<f32>().unwrap() > 0.0, "{name}");
}

#[test]
fn quantised_files_are_near_the_original_and_report_how_near() {
    for (name, format, most) in
        [("gpt2", Format::Q8_0, 0.01), ("mixtral", Format::Q8_0, 0.01), ("gpt2", Format::Q5_1, 0.06)]
    {
        let (tiny, folder) = (Tiny::read(name), Folder::new(&format!("quantise-{name}-{}", format.name())));
        tiny.write(&folder.0);
        let (plain, file) = (folder.0.join("plain.gguf"), folder.0.join("small.gguf"));
        let report = convert::quantize(&folder.0, &file, format).unwrap();
        convert::to_gguf(&folder.0, &plain).unwrap();
        let other = convert::quantize(&plain, &folder.0.join("again.gguf"), format).unwrap();
        assert_eq!(report, other, "{name}");
        assert!(report.kept > 0 && report.tensors > 8, "{name}: {report:?}");
        assert!(report.relative > most / 10.0 && report.relative < most, "{name}: {report:?}");
        let mut model = LanguageModel::load(&file, Device::CPU).unwrap();
        let found = model.engine.logits_after(&tiny.ids).unwrap();
        let right = &tiny.logits[tiny.ids.len() - 1];
        close(&found, right, 60.0 * most as f32, name);
        // The quantised weights in memory equal those of the file.
        let mut same = LanguageModel::load_f32(&file, Device::CPU).unwrap();
        close(&same.engine.logits_after(&tiny.ids).unwrap(), &found, 1e-4, name);
    }
    let folder = Folder::new("quantise-refused");
    let e = convert::quantize(&folder.0, &folder.0.join("x.gguf"), Format::F16).unwrap_err().to_string();
    assert!(e.contains("not a quantised format"), "{e}");
}

#[test]
fn a_limited_context_is_that_of_all_texts() {
    let (tiny, folder) = (Tiny::read("llama"), Folder::new("context"));
    tiny.write(&folder.0);
    let model = LanguageModel::load(&folder.0, Device::CPU).unwrap();
    let mut model = model.limit_context(12).unwrap();
    assert_eq!(model.engine.model().config.context, 12);
    close(&model.engine.logits_after(&tiny.ids[..12]).unwrap(), &tiny.logits[11], 2e-5, "12 tokens");
    let e = model.engine.logits_after(&tiny.ids[..13]).unwrap_err().to_string();
    assert!(e.contains("from 1 to 12"), "{e}");
    let shared = model.engine.shared();
    assert!(model.limit_context(5).is_err());
    drop(shared);
}

/// Tokens that a model generates by full passes and sampling in graphs, from a prompt and a random number for
/// each.
fn sampled(model: &Decoder, prompt: &Tensor, draws: &Tensor, options: &SampleOptions) -> Tensor {
    let mut ids = prompt.clone();
    for i in 0..draws.dim(0) {
        let time = ids.dim(1);
        let logits = model.logits(&ids).narrow(1, time - 1, 1).reshape([1, 272]);
        let next = sample_tokens_at(&logits, options, &draws.narrow(0, i, 1));
        ids = Tensor::cat(&[&ids, &next.reshape([1, 1])], 1);
    }
    ids
}

#[test]
fn a_compiled_generation_loop_gives_the_tokens_of_the_eager_one() {
    for name in ["llama", "gemma3", "mixtral"] {
        let (tiny, folder) = (Tiny::read(name), Folder::new(&format!("loop-{name}")));
        let model = tiny.decoder(&folder.0);
        let prompt = batch(&tiny.ids[..5]);
        let draws = Generator::new(4).rand([6]);
        for options in [
            SampleOptions { temperature: 0.0, ..SampleOptions::default() },
            SampleOptions { temperature: 0.9, top_k: Some(20), top_p: 0.9, min_p: 0.01 },
        ] {
            let eager = gradus_tensor::no_grad(|| sampled(&model, &prompt, &draws, &options));
            let plan = compile(&[&prompt, &draws], |x| sampled(&model, &x[0], &x[1], &options)).unwrap();
            let found = plan.run(&[&prompt, &draws]).unwrap().remove(0);
            assert_eq!(found.to_vec2::<i64>().unwrap(), eager.to_vec2::<i64>().unwrap(), "{name}");
            if options.temperature == 0.0 {
                // The tokens of the engine, with its cache.
                let mut tokens = Vec::new();
                let mut engine = Engine::new(Arc::new(tiny.decoder(&folder.0)));
                let wanted = Options { tokens: 6, ..Options::default() };
                engine
                    .generate(&tiny.ids[..5], &wanted, |t| {
                        tokens.push(t);
                        Ok(true)
                    })
                    .unwrap();
                assert_eq!(found.to_vec2::<i64>().unwrap()[0][5..], tokens[..], "{name}");
            }
        }
    }
}
