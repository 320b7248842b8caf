//! Fine-tuning: losses and adapters against PyTorch in `float64`, packed rows, accumulation, files, quantised
//! weights.

use crate::common::{Folder, Tiny, golden};
use gradus_ir::DType;
use gradus_models::LanguageModel;
use gradus_models::chat::Message;
use gradus_models::convert;
use gradus_models::engine::Options;
use gradus_models::tune::{
    Data, Example, Lora, Row, Tuning, attach, detach, load_adapter, merge, objective, pack, read_data, save,
    save_adapter, token_loss,
};
use gradus_nn::Module;
use gradus_nn::file::gguf::{Content, Entry, Format, Reader, write};
use gradus_nn::file::{npz, safetensors};
use gradus_tensor::{Device, Generator, Tensor};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The numbers of a golden file, by name.
struct Golden(BTreeMap<String, Tensor>);

impl Golden {
    fn read() -> Golden {
        Golden(npz::read(golden("tune.npz")).unwrap().into_iter().collect())
    }

    fn get(&self, name: &str) -> Tensor {
        self.0.get(name).unwrap_or_else(|| panic!("no {name}")).clone()
    }

    fn list(&self, name: &str) -> Vec<f64> {
        self.get(name).to_vec().unwrap()
    }
}

fn close(found: &[f64], right: &[f64], within: f64, what: &str) {
    assert_eq!(found.len(), right.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(right).enumerate() {
        assert!((a - b).abs() <= within * (1.0 + b.abs()), "{what}: {a} is not {b} at {i}");
    }
}

fn numbers(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).to_vec::<f64>().unwrap()
}

/// Compares a loss and the gradients of its operands with PyTorch's.
fn compare(g: &Golden, name: &str, count: usize, loss: impl Fn(&[Tensor]) -> Tensor) {
    let operands: Vec<Tensor> = (0..count).map(|i| g.get(&format!("{name}.{i}")).requires_grad_()).collect();
    let found = loss(&operands);
    assert_eq!(found.dtype(), DType::F64);
    close(&numbers(&found), &g.list(&format!("{name}.loss")), 1e-12, name);
    (found * g.get(&format!("{name}.weights"))).sum(()).backward().unwrap();
    for (i, x) in operands.iter().enumerate() {
        let right = g.list(&format!("{name}.grad{i}"));
        close(&numbers(&x.grad().unwrap()), &right, 1e-11, &format!("{name}, gradient {i}"));
    }
}

#[test]
fn losses_and_gradients_are_those_of_pytorch() {
    let g = Golden::read();
    let targets = g.get("tokens.targets");
    compare(&g, "tokens", 1, |x| objective::token_log_probabilities(&x[0], &targets));
    compare(&g, "dpo", 4, |x| objective::dpo((&x[0], &x[1]), (&x[2], &x[3]), 0.3, 0.0));
    compare(&g, "dpo_smooth", 4, |x| objective::dpo((&x[0], &x[1]), (&x[2], &x[3]), 0.3, 0.1));
    compare(&g, "pairwise", 2, |x| objective::pairwise(&x[0], &x[1]));
    compare(&g, "policy", 3, |x| objective::clipped_policy(&x[0], &x[1], &x[2], (0.2, 0.3)));
    compare(&g, "value", 3, |x| objective::clipped_value(&x[0], &x[1], &x[2], 0.4));
    compare(&g, "kl", 2, |x| objective::kl_estimate(&x[0], &x[1]));
}

#[test]
fn advantages_are_those_of_their_definitions() {
    let g = Golden::read();
    let rewards = g.list("group.rewards");
    close(&objective::group_advantages(&rewards, 4, true), &g.list("group.scaled"), 1e-12, "scaled");
    close(&objective::group_advantages(&rewards, 4, false), &g.list("group.plain"), 1e-12, "plain");
    assert_eq!(objective::group_advantages(&[2.0, 2.0], 2, true), [0.0, 0.0]);
    let (rewards, values) = (g.list("gae.rewards"), g.list("gae.values"));
    let (advantages, returns) = objective::generalised_advantages(&rewards, &values, 0.97, 0.9);
    close(&advantages, &g.list("gae.advantages"), 1e-12, "advantages");
    let sums: Vec<f64> = advantages.iter().zip(&values).map(|(a, v)| a + v).collect();
    close(&returns, &sums, 1e-15, "returns");
}

/// The small Llama, loaded from a folder.
fn tiny(name: &str) -> (Folder, LanguageModel) {
    let folder = Folder::new(name);
    Tiny::read("llama").write(&folder.0);
    let model = LanguageModel::load(&folder.0, Device::CPU).unwrap();
    (folder, model)
}

fn logits(model: &LanguageModel, ids: &[i64]) -> Vec<f64> {
    numbers(&model.engine.model().logits(&Tensor::from_slice(ids, [1, ids.len()])).detach())
}

fn examples(g: &Golden) -> Vec<Example> {
    let given: Vec<i64> = g.get("lora.given").to_vec().unwrap();
    let text = |i: usize| g.get(&format!("lora.text{i}")).to_vec::<i64>().unwrap();
    given.iter().enumerate().map(|(i, n)| Example { tokens: text(i), given: *n as usize }).collect()
}

/// The mean loss of rows, and the gradients of an adapter by name.
fn loss_and_gradients(model: &LanguageModel, rows: &[Row]) -> (f64, BTreeMap<String, Vec<f64>>) {
    let decoder = model.engine.model();
    let total: f64 = rows.iter().map(Row::total).sum();
    let shape = [rows.len(), rows[0].ids.len()];
    let list = |of: fn(&Row) -> &Vec<i64>| {
        let all: Vec<i64> = rows.iter().flat_map(|r| of(r).clone()).collect();
        Tensor::from_slice(&all, shape)
    };
    let weights: Vec<f32> = rows.iter().flat_map(|r| &r.weights).map(|w| w / total as f32).collect();
    let batch = [
        list(|r| &r.ids),
        list(|r| &r.targets),
        list(|r| &r.segments),
        list(|r| &r.positions),
        Tensor::from_slice(&weights, shape),
    ];
    let parameters = decoder.parameters();
    parameters.iter().for_each(|(_, p)| p.zero_grad());
    let loss = token_loss(decoder, &batch);
    loss.backward().unwrap();
    let own = parameters.into_iter().filter(|(name, _)| name.contains(".lora_"));
    let grads = own.map(|(name, p)| (name, numbers(&p.grad().unwrap()))).collect();
    (loss.item::<f32>().unwrap().into(), grads)
}

#[test]
fn an_adapter_has_the_logits_and_gradients_of_pytorch_packed_or_not() {
    let g = Golden::read();
    let (folder, mut model) = tiny("adapter");
    let ids: Vec<i64> = g.get("lora.ids").to_vec().unwrap();
    let plain = logits(&model, &ids);
    load_adapter(model.engine.model(), &golden("adapter")).unwrap();
    close(&logits(&model, &ids), &g.list("lora.logits"), 3e-5, "logits");
    // Three texts in one row, then one text per row.
    for (several, count) in [(true, 1), (false, 3)] {
        let rows = pack(&examples(&g), 20, several).unwrap();
        assert_eq!(rows.len(), count);
        let (loss, grads) = loss_and_gradients(&model, &rows);
        close(&[loss], &g.list("lora.loss"), 1e-6, "loss");
        assert_eq!(grads.len(), 12);
        for (name, found) in grads {
            close(&found, &g.list(&format!("lora.grad.{name}")), 2e-5, &name);
        }
    }
    // Decoding with a cache, and merged weights, give the same logits.
    model.renew();
    let after = model.engine.logits_after(&ids).unwrap();
    let right = g.list("lora.logits");
    let after: Vec<f64> = after.into_iter().map(f64::from).collect();
    close(&after, &right[right.len() - 272..], 3e-5, "cached");
    // Saved, detached and loaded again.
    save_adapter(model.engine.model(), &folder.0.join("saved"), Some("tiny")).unwrap();
    let [a, b] = [golden("adapter"), folder.0.join("saved")]
        .map(|f| safetensors::Reader::open(f.join("adapter_model.safetensors")).unwrap());
    assert_eq!(a.names(), b.names());
    for name in a.names() {
        assert_eq!(numbers(&a.tensor(&name).unwrap()), numbers(&b.tensor(&name).unwrap()), "{name}");
    }
    detach(model.engine.model()).unwrap();
    assert_eq!(logits(&model, &ids), plain);
    load_adapter(model.engine.model(), &folder.0.join("saved")).unwrap();
    merge(model.engine.model()).unwrap();
    assert!(model.engine.model().lora_slots().iter().all(|(_, slot)| slot.get().is_none()));
    close(&logits(&model, &ids), &right, 3e-5, "merged");
    // A merged model is saved as a folder that loads.
    save(model.engine.model(), &folder.0, &folder.0.join("merged")).unwrap();
    let again = LanguageModel::load(folder.0.join("merged"), Device::CPU).unwrap();
    assert_eq!(logits(&again, &ids), logits(&model, &ids));
}

#[test]
fn a_new_adapter_changes_nothing() {
    let (_folder, model) = tiny("new");
    let ids: Vec<i64> = (0..20).map(|i| i * 13 % 272).collect();
    let before = logits(&model, &ids);
    attach(model.engine.model(), &Lora::default(), 3).unwrap();
    assert_eq!(logits(&model, &ids), before);
    let names: Vec<String> = model.engine.model().parameters().into_iter().map(|(n, _)| n).collect();
    assert_eq!(names.iter().filter(|n| n.contains(".lora_")).count(), 2 * 7 * 2);
    assert!(names.contains(&"model.layers.1.mlp.down_proj.lora_B.weight".to_string()));
    merge(model.engine.model()).unwrap();
    assert_eq!(logits(&model, &ids), before);
}

/// Trains a model on texts of different lengths. Returns the losses and the trained parameters.
fn trained(name: &str, tuning: &Tuning) -> (Vec<f64>, Vec<(String, Vec<f64>)>) {
    let (_folder, mut model) = tiny(name);
    let text = |n: i64| Example { tokens: (0..n).map(|i| (i * i * 5 + n) % 272).collect(), given: 2 };
    let examples: Vec<Example> = (5..13).map(text).collect();
    let mut losses = Vec::new();
    let each = |p: &gradus_models::tune::Progress<'_>| {
        losses.push(p.loss);
        Ok(true)
    };
    model.tune(&examples, tuning, each).unwrap();
    let parameters = model.engine.model().parameters();
    let own = parameters.into_iter().filter(|(_, p)| p.requires_grad());
    (losses, own.map(|(name, p)| (name, numbers(&p.detach()))).collect())
}

#[test]
fn accumulated_batches_are_one_large_batch() {
    // Accumulation changes the order of sums, so gradients, losses and most weights differ by rounding only.
    let base = Tuning { steps: 3, length: Some(16), pack: false, rate: 1e-3, seed: 4, ..Tuning::default() };
    for lora in [None, Some(Lora { rank: 2, ..Lora::default() })] {
        let large = Tuning { lora: lora.clone(), batch: 4, accumulate: 1, ..base.clone() };
        let parts = Tuning { lora, batch: 1, accumulate: 4, ..base.clone() };
        let ((losses, a), (others, b)) = (trained("large", &large), trained("parts", &parts));
        close(&losses, &others, 1e-5, "losses");
        assert!(losses[2] < losses[0] || losses[0] != losses[1]);
        assert_eq!(a.len(), b.len());
        for ((name, x), (_, y)) in a.iter().zip(&b) {
            // Adam divides by the magnitude of a gradient, so rounding can flip the sign of updates whose gradients are near
            // 0. Three steps move a weight by at most 0.003.
            let far = x.iter().zip(y).filter(|(x, y)| (*x - *y).abs() > 1e-5).count();
            assert!(far * 50 <= x.len(), "{name}: {far} of {} differ", x.len());
        }
    }
}

#[test]
fn full_tuning_trains_all_weights_and_adapters_only_adapters() {
    let base = Tuning { steps: 2, length: Some(16), ..Tuning::default() };
    let (_, all) = trained("all", &Tuning { lora: None, ..base.clone() });
    assert_eq!(all.len(), 21);
    let lora = Lora { rank: 2, alpha: 4.0, targets: vec!["q_proj".into(), "layers.1.mlp.up_proj".into()] };
    let (_, own) = trained("own", &Tuning { lora: Some(lora), ..base });
    let names: Vec<&str> = own.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(names.contains(&"model.layers.1.mlp.up_proj.lora_A.weight"), "{names:?}");
    assert!(own.iter().all(|(_, x)| x.iter().any(|x| *x != 0.0)), "an adapter was not trained");
}

#[test]
fn rows_hold_several_texts_and_learn_what_follows_the_given() {
    let text = |tokens: &[i64], given| Example { tokens: tokens.to_vec(), given };
    let rows =
        pack(&[text(&[5, 6, 7, 8], 2), text(&[9, 10, 11, 12, 13], 1), text(&[1, 2], 1)], 5, true).unwrap();
    assert_eq!(rows.len(), 2);
    let right = Row {
        ids: vec![5, 6, 7, 1, 0],
        targets: vec![6, 7, 8, 2, 0],
        segments: vec![1, 1, 1, 2, 0],
        positions: vec![0, 1, 2, 0, 0],
        weights: vec![0.0, 1.0, 1.0, 1.0, 0.0],
    };
    assert_eq!(rows[0], right);
    assert_eq!((rows[1].total(), &rows[1].segments[..]), (4.0, &[1, 1, 1, 1, 0][..]));
    let long = pack(&[text(&[1, 2, 3, 4], 1)], 2, true).unwrap_err().to_string();
    assert!(long.contains("example 1 takes 3 positions of a row of 2"), "{long}");
    let short = pack(&[text(&[1, 2], 1), text(&[1], 1)], 2, true).unwrap_err().to_string();
    assert!(
        short.contains("example 2 has 1 tokens; it needs one of context and at least one to learn"),
        "{short}"
    );
}

/// A GGUF file of the small Llama with wider matrices, quantised as Q8_0.
fn quantized(folder: &Path) -> PathBuf {
    use gradus_models::config::Config;
    use gradus_models::decoder::Decoder;
    use gradus_models::weights::Weights;
    let mut tiny = Tiny::read("llama");
    for (key, n) in [("hidden_size", 64), ("intermediate_size", 96), ("head_dim", 16)] {
        tiny.config[key] = n.into();
    }
    let config = Config::from_json(&tiny.config).unwrap();
    tiny.weights = Decoder::new(config, &Weights::Random(Generator::new(5))).unwrap().parameters();
    tiny.write(folder);
    let (plain, file) = (folder.join("plain.gguf"), folder.join("model.gguf"));
    convert::to_gguf(folder, &plain).unwrap();
    let reader = Reader::open(&plain).unwrap();
    let block = |x: &[f32]| {
        let d = x.iter().fold(0f32, |most, x| most.max(x.abs())) / 127.0;
        let half = Tensor::from(d).to_dtype(DType::F16).to_bytes().unwrap();
        half.into_iter().chain(x.iter().map(|x| (x / d).round() as i8 as u8)).collect::<Vec<u8>>()
    };
    let bytes: Vec<Vec<u8>> = reader
        .tensors()
        .iter()
        .map(|t| {
            reader.tensor(&t.name).unwrap().to_vec::<f32>().unwrap().chunks(32).flat_map(block).collect()
        })
        .collect();
    let entries: Vec<Entry<'_>> = reader
        .tensors()
        .iter()
        .zip(&bytes)
        .map(|(t, bytes)| Entry {
            name: t.name.clone(),
            content: match t.shape.len() {
                2 => Content::Bytes(Format::Q8_0, t.shape.clone(), bytes),
                _ => Content::Tensor(reader.tensor(&t.name).unwrap()),
            },
        })
        .collect();
    write(&file, reader.metadata(), &entries).unwrap();
    file
}

#[test]
fn quantised_weights_stay_and_their_adapters_learn() {
    let folder = Folder::new("qlora");
    let file = quantized(&folder.0);
    let mut packed = LanguageModel::load(&file, Device::CPU).unwrap();
    let mut plain = LanguageModel::load_f32(&file, Device::CPU).unwrap();
    assert!(packed.engine.model().model.layers[0].self_attn.q_proj.weight.is_quantized());
    let full = packed.tune(
        &[packed.text_example("hello").unwrap()],
        &Tuning { lora: None, ..Tuning::default() },
        |_| Ok(true),
    );
    assert!(full.unwrap_err().to_string().contains("has quantised weights, which cannot be trained"));
    let texts = ["hello world", "the world", "hell or world"];
    let examples: Vec<Example> = texts.iter().map(|t| plain.text_example(t).unwrap()).collect();
    let tuning = Tuning { steps: 30, rate: 1e-2, ..Tuning::default() };
    let mut losses = [Vec::new(), Vec::new()];
    for (model, losses) in [&mut packed, &mut plain].into_iter().zip(&mut losses) {
        model
            .tune(&examples, &tuning, |p| {
                losses.push(p.loss);
                Ok(true)
            })
            .unwrap();
    }
    // Equal weights, quantised or not, give the same first losses; then both models learn the texts.
    close(&losses[0][..3], &losses[1][..3], 1e-4, "losses");
    assert!(losses[0][0] > 4.0 && losses[0][29] < 0.7, "{:?}", losses[0]);
    let said = packed.generate("the", &Options { tokens: 8, ..Options::default() }, &[], |_| true).unwrap();
    assert_eq!(said.text, " world");
    let refused = merge(packed.engine.model()).unwrap_err().to_string();
    assert!(refused.contains("is quantised and cannot take an adapter"), "{refused}");
    // An adapter that was trained on quantised weights fits the same weights as numbers.
    save_adapter(packed.engine.model(), &folder.0.join("adapter"), None).unwrap();
    detach(plain.engine.model()).unwrap();
    load_adapter(plain.engine.model(), &folder.0.join("adapter")).unwrap();
    merge(plain.engine.model()).unwrap();
    let ids: Vec<i64> = plain.tokenizer.encode("hello world").unwrap();
    close(&logits(&plain, &ids), &logits(&packed, &ids), 1e-4, "merged");
    save(plain.engine.model(), &file, &folder.0.join("merged")).unwrap();
    let again = LanguageModel::load(folder.0.join("merged"), Device::CPU).unwrap();
    assert_eq!(logits(&again, &ids), logits(&plain, &ids));
}

#[test]
fn data_is_read_and_wrong_lines_are_named() {
    let (folder, model) = tiny("data");
    let read = |text: &str| {
        let path = folder.0.join("data.jsonl");
        std::fs::write(&path, text).unwrap();
        read_data(&path, &model)
    };
    let end = 0;
    let tokens = |text: &str| model.tokenizer.encode(text).unwrap();
    let Data::Examples(found) =
        read("{\"text\": \"the\"}\n\n{\"prompt\": \"2+2=\", \"completion\": \"4\"}\n").unwrap()
    else {
        panic!("pairs")
    };
    assert_eq!(found[0], Example { tokens: [tokens("the"), vec![end]].concat(), given: 1 });
    let joined = [tokens("2+2="), tokens("4"), vec![end]].concat();
    assert_eq!(found[1], Example { tokens: joined, given: 4 });
    let Data::Pairs(found) = read("{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": \"cd\"}\n").unwrap()
    else {
        panic!("examples")
    };
    assert_eq!((found[0].chosen.learned(), found[0].rejected.learned()), (2, 3));
    // The template ends a message with <|end|>; only the answer is learned.
    let messages = [Message::new("user", "hello"), Message::new("assistant", "the world")];
    let line = "{\"messages\": [{\"role\": \"user\", \"content\": \"hello\"}, {\"role\": \"assistant\", \"content\": \"the world\"}]}";
    let Data::Examples(chat) = read(line).unwrap() else { panic!("pairs") };
    assert_eq!(chat[0], model.chat_example(&messages).unwrap());
    let learned = model.tokenizer.decode(&chat[0].tokens[chat[0].given..]).unwrap();
    assert_eq!((learned.trim(), chat[0].tokens.last()), ("the world", Some(&end)));
    for (text, why) in [
        ("", "has no lines"),
        ("{\"text\": \"a\"}\n{", "line 2: is not JSON"),
        ("[1]", "line 1: the line is not an object"),
        ("{\"texts\": 1}", "line 1: the line must have `text`"),
        ("{\"text\": 1}", "line 1: `text` is not a text"),
        ("{\"prompt\": \"a\"}", "line 1: `completion` is missing"),
        ("{\"prompt\": \"a\", \"chosen\": \"b\"}", "line 1: `rejected` is missing"),
        ("{\"messages\": []}", "line 1: `messages` must be a list"),
        (
            "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}",
            "must end with a message of the role `assistant`",
        ),
        (
            "{\"text\": \"a\"}\n{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": \"c\"}",
            "line 2: is of another kind",
        ),
    ] {
        let found = read(text).unwrap_err().to_string();
        assert!(found.contains(why), "{found}");
    }
}

#[test]
fn wrong_options_and_files_are_refused_with_their_cause() {
    let (folder, mut model) = tiny("refused");
    let example = model.text_example("the world").unwrap();
    let mut fails = |examples: &[Example], tuning: Tuning, why: &str| {
        let found = model.tune(examples, &tuning, |_| Ok(true)).unwrap_err().to_string();
        assert!(found.contains(why), "{found}");
    };
    let own = std::slice::from_ref(&example);
    let some = Tuning::default;
    fails(&[], some(), "no examples");
    fails(own, Tuning { steps: 0, ..some() }, "`steps` 0 must be at least 1");
    fails(own, Tuning { rate: f64::NAN, ..some() }, "`rate` NaN must be positive");
    fails(own, Tuning { length: Some(65), ..some() }, "must be from 1 to 64, the context");
    fails(own, Tuning { length: Some(1), ..some() }, "takes 3 positions of a row of 1");
    let lora = |rank: usize, target: &str| Some(Lora { rank, alpha: 1.0, targets: vec![target.into()] });
    fails(own, Tuning { lora: lora(0, "q_proj"), ..some() }, "rank 0 must be from 1");
    fails(
        own,
        Tuning { lora: lora(2, "query"), ..some() },
        "`query` is not a projection of the model; it has down_proj, ",
    );
    fails(&[Example { tokens: vec![1, 900], given: 1 }], some(), "example 1 has token 900");
    fails(&[Example { tokens: vec![1, 2], given: 2 }], some(), "2 are context");
    fails(&[Example { tokens: vec![1; 66], given: 1 }], some(), "is longer than the model's context of 64");
    let config = |edit: &str| {
        let text = std::fs::read_to_string(golden("adapter/adapter_config.json")).unwrap();
        let at = folder.0.join("bad");
        std::fs::create_dir_all(&at).unwrap();
        std::fs::copy(golden("adapter/adapter_model.safetensors"), at.join("adapter_model.safetensors"))
            .unwrap();
        let (from, to) = edit.split_once('>').unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(at.join("adapter_config.json"), text.replace(from, to)).unwrap();
        load_adapter(model.engine.model(), &at).unwrap_err().to_string()
    };
    for (edit, why) in [
        ("\"LORA\">\"IA3\"", "has the `peft_type` \"IA3\""),
        ("\"r\": 3>\"r\": 4", "of shape [3,24], not [4, 24]"),
        ("\"r\": 3>\"r\": 0", "has the rank 0"),
        ("\"use_dora\": false>\"use_dora\": true", "sets `use_dora` to true"),
        ("\"lora_alpha\": 7.5>\"lora_alpha\": -1", "has the `lora_alpha` -1"),
    ] {
        let found = config(edit);
        assert!(found.contains(why), "{found}");
    }
    assert!(model.engine.model().lora_slots().iter().all(|(_, slot)| slot.get().is_none()));
    let nothing = save_adapter(model.engine.model(), &folder.0.join("none"), None).unwrap_err().to_string();
    assert!(nothing.contains("has no adapter to save"), "{nothing}");
    attach(model.engine.model(), &Lora::default(), 0).unwrap();
    let full = model.tune(own, &Tuning { lora: None, ..some() }, |_| Ok(true)).unwrap_err().to_string();
    assert!(full.contains("merge or detach it"), "{full}");
    let merged = save(model.engine.model(), &folder.0, &folder.0.join("x")).unwrap_err().to_string();
    assert!(merged.contains("merge it or save it alone"), "{merged}");
}
