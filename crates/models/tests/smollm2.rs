//! Compares tokens, logits and texts of SmolLM2-135M-Instruct, from its GGUF file, with those of other
//! programs.

use crate::common::{SMOLLM2, golden, real};
use gradus_models::LanguageModel;
use gradus_models::chat::Message;
use gradus_models::engine::{Engine, Finish, Options};
use gradus_models::network::Network;
use gradus_nn::file::npz;
use gradus_tensor::{Device, Tensor, jit};
use std::sync::{Mutex, OnceLock};

/// Returns the model, which is loaded once because it is large.
fn model() -> Option<&'static Mutex<LanguageModel>> {
    static MODEL: OnceLock<Option<Mutex<LanguageModel>>> = OnceLock::new();
    let load = || Some(Mutex::new(LanguageModel::load(real(SMOLLM2)?, Device::CPU).unwrap()));
    MODEL.get_or_init(load).as_ref()
}

fn expected(name: &str) -> Tensor {
    let all = npz::read(golden("smollm2.npz")).unwrap();
    all.into_iter().find(|(n, _)| n == name).unwrap().1
}

#[test]
fn texts_have_the_tokens_of_the_python_package() {
    let Some(model) = model() else { return };
    let model = model.lock().unwrap();
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(golden("smollm2.json")).unwrap()).unwrap();
    let ids =
        |v: &serde_json::Value| v.as_array().unwrap().iter().map(|i| i.as_i64().unwrap()).collect::<Vec<_>>();
    for (text, tokens) in json["plain"].as_object().unwrap() {
        assert_eq!(model.tokenizer.encode(text).unwrap(), ids(tokens), "{text:?}");
        assert_eq!(&model.tokenizer.decode(&ids(tokens)).unwrap(), text);
    }
    let template = model.template.as_ref().unwrap();
    let messages = [Message::new("user", "Hi")];
    assert_eq!(template.render(&messages).unwrap(), json["chat"]["text"].as_str().unwrap());
    assert_eq!(template.encode(&messages, &model.tokenizer).unwrap(), ids(&json["chat"]["tokens"]));
}

#[test]
fn greedy_text_and_logits_are_those_of_numpy() {
    let Some(model) = model() else { return };
    let mut model = model.lock().unwrap();
    let options = Options { tokens: 1, ..Options::default() };
    let done = model.generate("The capital of France is", &options, &[], |_| true).unwrap();
    assert_eq!((done.text.as_str(), done.prompt, done.finish), (" Paris", 5, Finish::Length));
    let (ids, some) = (expected("ids").to_vec::<i64>().unwrap(), expected("some"));
    let right = expected("logits");
    let decoder = model.engine.shared();
    let all = decoder.logits(&Tensor::from_slice(&ids, [1, ids.len()])).reshape([ids.len(), 49152]);
    let far = (all.index_select(1, &some).to_dtype(gradus_ir::DType::F64) - &right).abs().max(());
    assert!(far.item::<f64>().unwrap() < 1e-3, "{far}");
    let cached = Tensor::from(Engine::new(decoder).logits_after(&ids).unwrap());
    let last = right.narrow(0, ids.len() - 1, 1).reshape([-1]);
    let far = (cached.index_select(0, &some).to_dtype(gradus_ir::DType::F64) - last).abs().max(());
    assert!(far.item::<f64>().unwrap() < 1e-3, "{far}");
}

#[test]
fn quantized_weights_have_the_logits_of_their_values() {
    let Some(model) = model() else { return };
    let packed = model.lock().unwrap().engine.shared();
    assert!(matches!(&packed.model.layers[3].mlp, Network::Dense(m) if m.up_proj.weight.is_quantized()));
    let plain = LanguageModel::load_f32(real(SMOLLM2).unwrap(), Device::CPU).unwrap().engine.shared();
    let text = expected("texts").narrow(0, 0, 1).to_dtype(gradus_ir::DType::I64).to_vec::<i64>().unwrap();
    let [mut packed, mut plain] = [packed, plain].map(Engine::new);
    // Computes a long piece, then single tokens.
    for n in [150, 151, 152] {
        let [a, b] = [&mut packed, &mut plain].map(|e| e.logits_after(&text[..n]).unwrap());
        let far = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-3, "{n} tokens: {far}");
    }
}

#[test]
fn the_likeliest_tokens_are_those_of_pytorch() {
    let Some(model) = model() else { return };
    let decoder = model.lock().unwrap().engine.shared();
    // Every text with `GRADUS_KIT=full`.
    let n = if std::env::var("GRADUS_KIT").is_ok_and(|v| v == "full") { 100 } else { 4 };
    let (texts, best, sure) = (expected("texts"), expected("argmax"), expected("sure"));
    let f = jit(|x: &[Tensor]| decoder.logits(&x[0]).argmax(-1));
    for i in 0..n {
        let row = |t: &Tensor| t.narrow(0, i, 1);
        let found = f.call(&[&row(&texts).to_dtype(gradus_ir::DType::I64)]).unwrap().remove(0);
        let found = found.to_vec::<i64>().unwrap();
        let right = row(&best).to_vec::<i32>().unwrap();
        let sure = row(&sure).to_vec::<bool>().unwrap();
        let wrong: Vec<usize> = (0..200).filter(|j| sure[*j] && found[*j] != i64::from(right[*j])).collect();
        assert!(wrong.is_empty(), "text {i}: {wrong:?}");
    }
}

#[test]
fn a_conversation_continues_from_its_cache() {
    let Some(model) = model() else { return };
    let mut model = model.lock().unwrap();
    let options = Options { tokens: 12, ..Options::default() };
    let mut messages = vec![Message::new("user", "What is the capital of France?")];
    let first = model.chat(&messages, &options, &[], |_| true).unwrap();
    assert!(first.text.contains("Paris"), "{}", first.text);
    messages.extend([Message::new("assistant", first.text), Message::new("user", "And of Italy?")]);
    let second = model.chat(&messages, &options, &[], |_| true).unwrap();
    // The answer is the same without the cache of the first answer.
    model.engine = Engine::new(model.engine.shared());
    let fresh = model.chat(&messages, &options, &[], |_| true).unwrap();
    assert_eq!(second.text, fresh.text);
}
