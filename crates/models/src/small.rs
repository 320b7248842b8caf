//! Writes small untrained models: a folder with a Llama of random weights and one token for each character.
//!
//! The folder loads like that of any other model. It is used in examples and tests of tuning, where real
//! weights are too large.

use crate::config::Config;
use crate::decoder::Decoder;
use crate::weights::Weights;
use gradus_ir::{Error, Result};
use gradus_nn::Module;
use gradus_nn::file::{atomic, safetensors};
use gradus_tensor::Generator;
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// Options of a small model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Small {
    /// The characters of texts; each is a token. Other characters become the token `<unknown>`.
    pub alphabet: String,
    /// Width of the residual stream.
    pub width: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Number of attention heads; `width / heads` must be an even integer.
    pub heads: usize,
    /// Largest number of tokens of a text.
    pub context: usize,
    /// Seed of the random weights.
    pub seed: u64,
}

impl Default for Small {
    fn default() -> Small {
        Small { alphabet: String::new(), width: 64, layers: 2, heads: 4, context: 64, seed: 0 }
    }
}

/// Special tokens; their ids precede those of the characters.
const SPECIAL: [&str; 2] = ["<end>", "<unknown>"];

/// Writes a model with random weights into a folder: `config.json`, `tokenizer.json` and `model.safetensors`.
pub fn create(folder: &Path, small: &Small) -> Result<()> {
    let mut characters: Vec<char> = small.alphabet.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    if characters.is_empty() {
        return Err(Error::value(
            "an empty alphabet",
            "cannot encode any text; list the characters of the texts",
        ));
    }
    let config = json!({
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "torch_dtype": "float32", "hidden_act": "silu",
        "hidden_size": small.width, "num_hidden_layers": small.layers, "num_attention_heads": small.heads,
        "intermediate_size": small.width * 3, "vocab_size": SPECIAL.len() + characters.len(),
        "max_position_embeddings": small.context, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "tie_word_embeddings": true, "eos_token_id": 0,
    });
    let weights = Weights::Random(Generator::new(small.seed));
    let model = Decoder::new(Config::from_json(&config)?, &weights)?;
    std::fs::create_dir_all(folder).map_err(|e| atomic::failed(folder, e))?;
    safetensors::write(folder.join("model.safetensors"), &model.state(), &Default::default())?;
    let put =
        |name: &str, json: &Json| atomic::write(&folder.join(name), &[format!("{json:#}\n").as_bytes()]);
    put("tokenizer.json", &tokenizer(&characters))?;
    // Written last: a folder that has a configuration is complete.
    put("config.json", &config)
}

/// Makes the `tokenizer.json` of a tokeniser with one token for each character.
fn tokenizer(characters: &[char]) -> Json {
    let tokens = SPECIAL.iter().map(|s| s.to_string()).chain(characters.iter().map(|c| c.to_string()));
    let vocabulary: Map<String, Json> = tokens.enumerate().map(|(i, token)| (token, json!(i))).collect();
    let special = |(id, text): (usize, &&str)| {
        json!({ "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true })
    };
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": SPECIAL.iter().enumerate().map(special).collect::<Vec<_>>(),
        "normalizer": null,
        "pre_tokenizer": { "type": "Split", "pattern": { "Regex": "(?s)." }, "behavior": "Isolated", "invert": false },
        "post_processor": null,
        "decoder": { "type": "Fuse" },
        "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": SPECIAL[1] },
    })
}
