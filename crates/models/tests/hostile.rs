//! Tests damaged and hostile model files: each is refused or loaded, without a panic, a hang or exhausted
//! memory.

use crate::common::{Folder, Tiny};
use gradus_models::LanguageModel;
use gradus_models::config::Config;
use gradus_models::convert;
use gradus_nn::file::gguf::{Content, Entry, Kind, Reader, Value, write};
use gradus_tensor::Device;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::path::Path;

const ALL: [&str; 4] = ["llama", "mixtral", "gpt2", "gemma2"];

/// A GGUF file of a small model.
fn gguf(name: &str, folder: &Folder) -> std::path::PathBuf {
    Tiny::read(name).write(&folder.0);
    let file = folder.0.join("model.gguf");
    convert::to_gguf(&folder.0, &file).unwrap();
    file
}

/// Loads a model and, if that is possible, asks it for a token.
fn tried(path: &Path) -> bool {
    match LanguageModel::load(path, Device::CPU) {
        Ok(mut model) => {
            let _ = model.engine.logits_after(&[1, 2, 3]);
            let _ = model.tokenizer.encode("hello <|end|>");
            true
        }
        Err(e) => {
            assert!(!e.to_string().is_empty());
            false
        }
    }
}

#[test]
fn wrong_metadata_is_refused() {
    for name in ALL {
        let folder = Folder::new(&format!("lies-{name}"));
        let file = gguf(name, &folder);
        let reader = Reader::open(&file).unwrap();
        let architecture = reader.metadata().text("general.architecture").unwrap().to_string();
        let entries: Vec<Entry<'_>> = reader
            .tensors()
            .iter()
            .map(|t| Entry {
                name: t.name.clone(),
                content: Content::Bytes(t.format, t.shape.clone(), reader.bytes(&t.name).unwrap()),
            })
            .collect();
        let changed = folder.0.join("changed.gguf");
        let ends = [
            "block_count",
            "context_length",
            "embedding_length",
            "feed_forward_length",
            "attention.head_count",
        ];
        for key in ends {
            for n in [0u64, 1, 7, u64::from(u32::MAX), u64::MAX] {
                let mut m = reader.metadata().clone();
                m.set(format!("{architecture}.{key}"), Value::U64(n));
                write(&changed, &m, &entries).unwrap();
                let loaded = tried(&changed);
                // A shorter context is consistent, as are other heads of GPT-2, whose sizes follow from the
                // width.
                let heads = name == "gpt2" && key == "attention.head_count" && n == 1;
                assert!(!loaded || key == "context_length" || heads, "{name}: {key} {n}");
            }
        }
        for (key, value) in [
            ("tokenizer.ggml.tokens", Value::strings(["a", "a"])),
            ("tokenizer.ggml.tokens", Value::U32(3)),
            ("tokenizer.ggml.model", Value::String("other".into())),
            ("general.architecture", Value::String("other".into())),
            ("general.architecture", Value::U32(1)),
            ("tokenizer.ggml.merges", Value::strings(["none"])),
            ("tokenizer.ggml.merges", Value::strings(["a longer-than-every-token-of-this-tokeniser"])),
            ("tokenizer.ggml.merges", Value::Array(Kind::U8, vec![Value::U8(1)])),
        ] {
            let mut m = reader.metadata().clone();
            m.set(key, value.clone());
            write(&changed, &m, &entries).unwrap();
            assert!(!tried(&changed), "{name}: {key} {value:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    /// Bytes of a GGUF file's header changed at random, and files cut short.
    #[test]
    fn damaged_files_do_not_panic(
        which in 0usize..ALL.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = Folder::new(&format!("damaged-{which}"));
        let file = gguf(ALL[which], &folder);
        let mut bytes = std::fs::read(&file).unwrap();
        // The offset of the first tensor; damage before it is damage of the header.
        let header = Reader::open(&file).unwrap().tensors().iter().map(|t| t.offset).min().unwrap();
        for (at, byte) in &changes {
            let at = at.index(header);
            bytes[at] = *byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&file, &bytes).unwrap();
        tried(&file);
    }

    /// Entries of a `config.json` replaced at random.
    #[test]
    fn damaged_configurations_do_not_panic(
        which in 0usize..ALL.len(),
        key in any::<prop::sample::Index>(),
        value in prop_oneof![
            any::<u64>().prop_map(|n| json!(n)),
            any::<i64>().prop_map(|n| json!(n)),
            (0u64..70).prop_map(|n| json!(n)),
            any::<f64>().prop_map(|x| json!(x)),
            Just(Json::Null), Just(json!("x")), Just(json!([])), Just(json!({})), Just(json!([[1]])), Just(json!(true)),
            Just(json!({ "rope_type": "yarn", "factor": 1e308, "original_max_position_embeddings": 1e-300 })),
        ],
    ) {
        let mut config = Tiny::read(ALL[which]).config;
        let keys: Vec<String> = config.as_object().unwrap().keys().cloned().collect();
        config[key.get(&keys).as_str()] = value;
        if let Ok(config) = Config::from_json(&config) {
            prop_assert!(config.attention.len() == config.layers && config.layers <= 4096);
        }
    }
}
