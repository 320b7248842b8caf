//! Converts the tokenisers of GGUF metadata to the form of a `tokenizer.json`.

use super::merges::{Pieces, SPACE, pairs_by_score};
use super::{Scored, library};
use crate::base64;
use gradus_ir::{Error, Result};
use gradus_nn::file::gguf::Metadata;
use serde_json::{Map, Value as Json, json};
use std::collections::{HashMap, HashSet};
use tokenizers::models::bpe::Vocab;

/// Types of tokens in GGUF files. Control tokens are special; user-defined tokens are matched in text first,
/// but are not special.
const NORMAL: i64 = 1;
const UNKNOWN: i64 = 2;
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
const UNUSED: i64 = 5;
const BYTE: i64 = 6;

/// Regular expression by which Llama 3 splits text before merging. Qwen's differs in that digits are single.
const LLAMA3: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

fn key(name: &str) -> String {
    format!("tokenizer.ggml.{name}")
}

fn missing(name: &str) -> Error {
    Error::value(format!("`{}`", key(name)), "is missing from the metadata")
}

/// The vocabulary of a GGUF file's metadata.
struct Vocabulary<'a> {
    m: &'a Metadata,
    /// The kind of tokeniser, such as `gpt2`.
    model: &'a str,
    tokens: Vec<&'a str>,
    types: Vec<i64>,
}

impl<'a> Vocabulary<'a> {
    fn new(m: &'a Metadata) -> Result<Vocabulary<'a>> {
        let model = m.text(&key("model")).ok_or_else(|| missing("model"))?;
        let list = |name: &str| m.get(&key(name)).and_then(|v| v.items());
        let tokens: Option<Vec<&str>> = list("tokens").and_then(|all| all.iter().map(|v| v.text()).collect());
        let tokens = tokens.ok_or_else(|| missing("tokens"))?;
        let types = list("token_type").unwrap_or_default().iter().filter_map(|v| v.integer()).collect();
        Ok(Vocabulary { m, model, tokens, types })
    }

    fn kind(&self, id: usize) -> i64 {
        self.types.get(id).copied().unwrap_or(NORMAL)
    }

    /// Reads the score of each token.
    fn scores(&self) -> Result<Vec<f32>> {
        let list = self.m.get(&key("scores")).and_then(|v| v.items()).ok_or_else(|| missing("scores"))?;
        let scores: Option<Vec<f32>> = list.iter().map(|v| v.number().map(|x| x as f32)).collect();
        match scores.filter(|s| s.len() == self.tokens.len() && !s.iter().any(|x| x.is_nan())) {
            Some(scores) => Ok(scores),
            None => Err(Error::value("`tokenizer.ggml.scores`", "must be a number for each token")),
        }
    }

    /// Returns true if a space is put before every text.
    fn prefix(&self) -> bool {
        self.m.flag(&key("add_space_prefix")).unwrap_or(true)
    }

    fn unknown(&self) -> Option<usize> {
        let own = self.m.integer(&key("unknown_token_id")).and_then(|id| usize::try_from(id).ok());
        own.or_else(|| self.types.iter().position(|t| *t == UNKNOWN)).filter(|id| *id < self.tokens.len())
    }

    /// Returns the token `bos` or `eos`, if it is put around every text; `usual` is the default if the
    /// metadata does not state it.
    fn surrounding_token(&self, name: &str, usual: bool) -> Option<(i64, &'a str)> {
        let wanted = self.m.flag(&key(&format!("add_{name}_token"))).unwrap_or(usual);
        let id = self.m.integer(&key(&format!("{name}_token_id"))).filter(|_| wanted)?;
        Some((id, *self.tokens.get(usize::try_from(id).ok()?)?))
    }

    /// Reads the pieces that text is made of, with their ids and scores.
    fn pieces(&self) -> Result<HashMap<String, (i64, f32)>> {
        let scores = self.scores()?;
        let own = |id: &usize| matches!(self.kind(*id), NORMAL | USER_DEFINED | UNUSED);
        let ids = (0..self.tokens.len()).filter(own);
        Ok(ids.map(|id| (self.tokens[id].to_string(), (id as i64, scores[id]))).collect())
    }

    fn is_scored(&self) -> bool {
        self.model == "llama"
    }

    fn has_bytes(&self) -> bool {
        self.types.contains(&BYTE)
    }
}

/// Reads the pieces and surrounding tokens of a tokeniser with scores; `None` for other kinds.
pub(super) fn scored(m: &Metadata) -> Result<Option<Scored>> {
    let v = Vocabulary::new(m)?;
    if !v.is_scored() {
        return Ok(None);
    }
    let spaced = |text: &str| text.replace(' ', &SPACE.to_string());
    let ids = (0..v.tokens.len()).filter(|id| v.kind(*id) == USER_DEFINED && !v.tokens[*id].is_empty());
    let mut user_defined: Vec<(String, i64)> = ids.map(|id| (spaced(v.tokens[id]), id as i64)).collect();
    user_defined.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    let bytes = (0..=255u8).map(|byte| {
        let name = format!("<0x{byte:02X}>");
        v.tokens.iter().position(|t| *t == name).map(|id| id as i64)
    });
    let bytes: Option<Vec<i64>> = if v.has_bytes() { bytes.collect() } else { None };
    let bytes = bytes.and_then(|b| b.into_boxed_slice().try_into().ok());
    let unknown = v.unknown().unwrap_or(0) as i64;
    let pieces = Pieces { known: v.pieces()?, user_defined, bytes, unknown, prefix: v.prefix() };
    let (first, last) = (v.surrounding_token("bos", true), v.surrounding_token("eos", false));
    Ok(Some(Scored { pieces, first: first.map(|(id, _)| id), last: last.map(|(id, _)| id) }))
}

/// Makes the `tokenizer.json` of a GGUF file's metadata.
pub fn json_of_gguf(m: &Metadata) -> Result<Json> {
    let v = Vocabulary::new(m)?;
    let mut json = v.json()?;
    if let Some(pairs) = v.pairs()? {
        let scored = || -> Result<Vec<_>> { Ok(pairs_by_score(&v.pieces()?)) };
        json["model"]["vocab"] = v.numbers::<Map<String, Json>, Json>()?.into();
        json["model"]["merges"] = if v.is_scored() { json!(scored()?) } else { json!(pairs) };
    }
    Ok(json)
}

/// Makes the tokeniser of a GGUF file's metadata. Scored pieces have no table of pairs: [`Pieces`] encodes
/// them.
pub(super) fn inner(m: &Metadata) -> Result<library::Inner> {
    let v = Vocabulary::new(m)?;
    let json = v.json()?;
    match v.pairs()? {
        Some(pairs) => {
            let pairs = pairs.into_iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
            library::with_tables(json, v.numbers::<Vocab, u32>()?, pairs)
        }
        None => library::without_tables(json),
    }
}

impl<'a> Vocabulary<'a> {
    /// Makes the `tokenizer.json` without the tables of a BPE model.
    fn json(&self) -> Result<Json> {
        match self.model {
            "gpt2" => self.byte_level(),
            "llama" => self.by_scores(),
            "t5" => self.unigram(),
            other => {
                let why = "is not supported; supported are gpt2, llama and t5";
                Err(Error::value(format!("a tokeniser of the kind `{other}`"), why))
            }
        }
    }

    /// Reads the pairs of a byte-level model, in the order in which they are merged; none for scored pieces,
    /// and `None` for models without pairs.
    fn pairs(&self) -> Result<Option<Vec<(&'a str, &'a str)>>> {
        match self.model {
            "gpt2" => {}
            "llama" => return Ok(Some(Vec::new())),
            _ => return Ok(None),
        }
        let list = self.m.get(&key("merges")).and_then(|v| v.items()).ok_or_else(|| missing("merges"))?;
        let pairs: Option<Vec<_>> = list.iter().map(|v| v.text()?.split_once(' ')).collect();
        pairs
            .map(Some)
            .ok_or_else(|| Error::value("`tokenizer.ggml.merges`", "has an entry that is not a pair"))
    }

    /// Tokens that are matched in text before all others: special and user-defined ones.
    fn added(&self) -> Vec<Json> {
        let added = |(id, text): (usize, &&str)| {
            let special = matches!(self.kind(id), CONTROL | UNKNOWN);
            let added = special || self.kind(id) == USER_DEFINED;
            added.then(|| {
                json!({ "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
                        "normalized": false, "special": special })
            })
        };
        self.tokens.iter().enumerate().filter_map(added).collect()
    }

    /// Returns the tokens with their numbers.
    fn numbers<T: FromIterator<(String, N)>, N: From<u32>>(&self) -> Result<T> {
        let different: HashSet<&str> = self.tokens.iter().copied().collect();
        match different.len() == self.tokens.len() {
            true => Ok((0u32..).zip(&self.tokens).map(|(i, t)| (t.to_string(), N::from(i))).collect()),
            false => Err(Error::value("`tokenizer.ggml.tokens`", "has a token twice")),
        }
    }

    /// Makes a decoder that replaces the space character, joins byte tokens to characters, and strips the
    /// space before a text.
    fn decoder(&self, prefix: bool) -> Json {
        let mut steps = vec![
            json!({ "type": "Replace", "pattern": { "String": SPACE.to_string() }, "content": " " }),
            json!({ "type": "ByteFallback" }),
            json!({ "type": "Fuse" }),
        ];
        if prefix {
            steps.push(json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 }));
        }
        json!({ "type": "Sequence", "decoders": steps })
    }

    /// Makes a SentencePiece BPE model: pieces with scores.
    fn by_scores(&self) -> Result<Json> {
        let space = SPACE.to_string();
        let mut steps = Vec::new();
        if self.prefix() {
            steps.push(json!({ "type": "Prepend", "prepend": space }));
        }
        steps.push(json!({ "type": "Replace", "pattern": { "String": " " }, "content": space }));
        Ok(json!({
            "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": self.added(),
            "normalizer": { "type": "Sequence", "normalizers": steps },
            "pre_tokenizer": null,
            "post_processor": self.surrounding_token("bos", true).map(|(id, text)| prefix_processor(id, text)),
            "decoder": self.decoder(self.prefix()),
            "model": {
                "type": "BPE", "dropout": null, "unk_token": self.unknown().map(|id| self.tokens[id]),
                "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": true,
                "byte_fallback": self.has_bytes(), "ignore_merges": false,
            },
        }))
    }

    /// Makes a SentencePiece unigram model: a text is split into the pieces whose scores have the largest
    /// sum.
    fn unigram(&self) -> Result<Json> {
        let scores = self.scores()?;
        let vocabulary: Vec<Json> = self.tokens.iter().zip(scores).map(|(t, s)| json!([t, s])).collect();
        let map = self.m.get(&key("precompiled_charsmap")).and_then(|v| v.items()).unwrap_or_default();
        let map: Vec<u8> = map.iter().filter_map(|v| v.integer()).map(|n| n as u8).collect();
        let mut steps = Vec::new();
        if !map.is_empty() {
            steps.push(json!({ "type": "Precompiled", "precompiled_charsmap": base64::encode(&map) }));
        }
        if self.m.flag(&key("remove_extra_whitespaces")) == Some(true) {
            steps.push(json!({ "type": "Strip", "strip_left": true, "strip_right": true }));
            steps.push(json!({ "type": "Replace", "pattern": { "Regex": " {2,}" }, "content": " " }));
        }
        let scheme = if self.prefix() { "always" } else { "never" };
        let meta = json!({ "type": "Metaspace", "replacement": SPACE.to_string(), "prepend_scheme": scheme,
                           "split": false });
        let ends = (self.surrounding_token("bos", false), self.surrounding_token("eos", false));
        Ok(json!({
            "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": self.added(),
            "normalizer": (!steps.is_empty()).then(|| json!({ "type": "Sequence", "normalizers": steps })),
            "pre_tokenizer": meta,
            "post_processor": surrounding_processor(ends.0, ends.1),
            "decoder": if self.has_bytes() { self.decoder(self.prefix()) } else { meta.clone() },
            "model": { "type": "Unigram", "unk_id": self.unknown(), "vocab": vocabulary,
                       "byte_fallback": self.has_bytes() },
        }))
    }

    /// Makes a byte-level BPE model, as that of GPT-2.
    fn byte_level(&self) -> Result<Json> {
        let pre = self.m.text(&key("pre")).unwrap_or("gpt-2");
        let (cut, ignore_merges) = pre_tokenizer(pre)?;
        let first = self.surrounding_token("bos", false);
        Ok(json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": self.added(),
            "normalizer": null,
            "pre_tokenizer": cut,
            "post_processor": first.map(|(id, text)| prefix_processor(id, text)),
            "decoder": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true },
            "model": {
                "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
                "ignore_merges": ignore_merges,
            },
        }))
    }
}

/// Returns the pre-tokeniser with this GGUF name, and whether a piece that is in the vocabulary becomes a
/// token without merges.
fn pre_tokenizer(name: &str) -> Result<(Json, bool)> {
    let bytes = |regex: bool| json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex });
    let digits = json!({ "type": "Digits", "individual_digits": true });
    let split = |regex: &str| json!({ "type": "Split", "pattern": { "Regex": regex }, "behavior": "Isolated", "invert": false });
    let sequence = |parts: Vec<Json>| json!({ "type": "Sequence", "pretokenizers": parts });
    match name {
        "gpt-2" | "default" => Ok((bytes(true), false)),
        "smollm" | "starcoder" => Ok((sequence(vec![digits, bytes(true)]), false)),
        "llama-bpe" | "llama3" => Ok((sequence(vec![split(LLAMA3), bytes(false)]), true)),
        "qwen2" => Ok((sequence(vec![split(&LLAMA3.replace("{1,3}", "")), bytes(false)]), false)),
        other => {
            let why = "is not supported; supported are gpt-2, smollm, starcoder, llama-bpe and qwen2";
            Err(Error::value(format!("the pre-tokeniser `{other}`"), why))
        }
    }
}

/// Returns the GGUF name of a pre-tokeniser, if it has one.
pub(crate) fn pre_tokenizer_name(json: &Json) -> Option<&'static str> {
    let known = ["gpt-2", "smollm", "llama-bpe", "qwen2"];
    known.into_iter().find(|name| pre_tokenizer(name).is_ok_and(|(own, _)| own == *json))
}

/// Makes a post-processor that puts a token before every text.
fn prefix_processor(id: i64, text: &str) -> Json {
    surrounding_processor(Some((id, text)), None)
}

/// Makes a post-processor that puts tokens before and after every text; null without tokens.
fn surrounding_processor(first: Option<(i64, &str)>, last: Option<(i64, &str)>) -> Json {
    let special =
        |t: Option<(i64, &str)>| t.map(|(_, text)| json!({ "SpecialToken": { "id": text, "type_id": 0 } }));
    let sequence = |name: &str| json!({ "Sequence": { "id": name, "type_id": 0 } });
    let around = |middle: Vec<Json>| -> Vec<Json> {
        special(first).into_iter().chain(middle).chain(special(last)).collect()
    };
    let each =
        |(id, text): (i64, &str)| (text.to_string(), json!({ "id": text, "ids": [id], "tokens": [text] }));
    let tokens: Map<String, Json> = first.into_iter().chain(last).map(each).collect();
    if tokens.is_empty() {
        return Json::Null;
    }
    json!({
        "type": "TemplateProcessing",
        "single": around(vec![sequence("A")]),
        "pair": around(vec![sequence("A"), sequence("B")]),
        "special_tokens": tokens,
    })
}
