//! Small models that tests write.

use super::Folder;
use gradus::files::safetensors;
use gradus::models::config::Config;
use gradus::models::decoder::Decoder;
use gradus::models::weights::Weights;
use gradus::nn::Module;
use gradus::{Generator, Tensor};
use serde_json::{Value, json as make};

/// Writes a model with random weights and a tokeniser of bytes.
pub(crate) fn model(name: &str) -> (Folder, String) {
    model_with(name, 64)
}

/// Writes such a model for texts of up to `context` tokens.
pub(crate) fn model_with(name: &str, context: usize) -> (Folder, String) {
    model_of_width(name, context, 16)
}

/// Writes such a model with vectors of `width` features.
pub(crate) fn model_of_width(name: &str, context: usize, width: usize) -> (Folder, String) {
    let folder = Folder::new(name);
    let config = make!({
        "model_type": "llama", "hidden_size": width, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 24, "vocab_size": 258, "max_position_embeddings": context,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true, "eos_token_id": 0,
    });
    let decoder =
        Decoder::new(Config::from_json(&config).unwrap(), &Weights::Random(Generator::new(5))).unwrap();
    safetensors::write(folder.0.join("model.safetensors"), &decoder.state(), &Default::default()).unwrap();
    // Tokenisers of bytes write each byte as a visible character.
    let shown = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let visible = |b: u8| match shown(b) {
        true => char::from(b),
        false => char::from_u32(256 + (0..b).filter(|b| !shown(*b)).count() as u32).unwrap(),
    };
    let tokens = ["<|end|>".to_string(), "<|turn|>".to_string()].into_iter();
    let tokens: Vec<String> = tokens.chain((0..=255u8).map(|b| visible(b).to_string())).collect();
    let vocab: serde_json::Map<String, Value> =
        tokens.iter().enumerate().map(|(i, t)| (t.clone(), make!(i))).collect();
    let special = |id: usize| {
        make!({ "id": id, "content": tokens[id], "single_word": false, "lstrip": false,
                                      "rstrip": false, "normalized": false, "special": true })
    };
    let bytes =
        make!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true });
    let tokenizer = make!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [special(0), special(1)],
        "normalizer": null, "pre_tokenizer": bytes, "post_processor": null, "decoder": bytes,
        "model": { "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                   "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
                   "ignore_merges": false, "vocab": vocab, "merges": [] },
    });
    let template = "{% for m in messages %}<|turn|>{{ m.role }}: {{ m.content }}<|end|>{% endfor %}<|turn|>";
    folder.file("config.json", &config.to_string());
    folder.file("tokenizer.json", &tokenizer.to_string());
    folder.file(
        "tokenizer_config.json",
        &make!({ "eos_token": "<|end|>", "chat_template": template }).to_string(),
    );
    let path = folder.0.display().to_string();
    (folder, path)
}

/// Replaces the model in a folder by a sentence encoder with random weights.
pub(crate) fn encoder(folder: &Folder) {
    let config = make!({
        "model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12,
        "vocab_size": 258, "max_position_embeddings": 40, "type_vocab_size": 2, "hidden_act": "gelu",
    });
    folder.file("config.json", &config.to_string());
    folder.file("modules.json", r#"[{"type": "sentence_transformers.models.Normalize"}]"#);
    let g = Generator::new(1);
    let mut weights: Vec<(String, Tensor)> = Vec::new();
    let mut add = |name: String, shape: &[usize]| weights.push((name, g.randn(shape)));
    for (name, rows) in [("word", 258), ("position", 40), ("token_type", 2)] {
        add(format!("embeddings.{name}_embeddings.weight"), &[rows, 8]);
    }
    let at = |name: &str| format!("encoder.layer.0.{name}");
    let layers =
        ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"];
    for name in layers {
        add(at(&format!("{name}.weight")), &[8, 8]);
        add(at(&format!("{name}.bias")), &[8]);
    }
    for (name, outputs, inputs) in [("intermediate", 12, 8), ("output", 8, 12)] {
        add(at(&format!("{name}.dense.weight")), &[outputs, inputs]);
        add(at(&format!("{name}.dense.bias")), &[outputs]);
    }
    for name in ["embeddings.LayerNorm".to_string(), at("attention.output.LayerNorm"), at("output.LayerNorm")]
    {
        add(format!("{name}.weight"), &[8]);
        add(format!("{name}.bias"), &[8]);
    }
    safetensors::write(folder.0.join("model.safetensors"), &weights, &Default::default()).unwrap();
}
