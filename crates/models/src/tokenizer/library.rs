//! Makes tokenisers of the `tokenizers` library from the JSON of a `tokenizer.json`. Clones share the tables
//! of the model.
//!
//! The tables of BPE models are built here. The library reads them from JSON slowly, and panics at a pair
//! whose text is longer than every token.

use super::tokenizer_error;
use gradus_ir::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::{
    AddedToken, DecoderWrapper, Model, ModelWrapper, NormalizerWrapper, PostProcessorWrapper,
    PreTokenizerWrapper, Token, TokenizerImpl,
};

/// A tokeniser of the library.
pub(super) type Inner =
    TokenizerImpl<SharedModel, NormalizerWrapper, PreTokenizerWrapper, PostProcessorWrapper, DecoderWrapper>;

/// A model whose tables, which take most of a tokeniser's memory, are shared by all clones.
#[derive(Clone, Debug)]
pub(super) struct SharedModel(Arc<ModelWrapper>);

impl SharedModel {
    /// Returns true if this is a unigram model.
    pub(super) fn is_unigram(&self) -> bool {
        matches!(*self.0, ModelWrapper::Unigram(_))
    }
}

impl Model for SharedModel {
    type Trainer = TrainerWrapper;

    fn tokenize(&self, sequence: &str) -> tokenizers::Result<Vec<Token>> {
        self.0.tokenize(sequence)
    }
    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.0.token_to_id(token)
    }
    fn id_to_token(&self, id: u32) -> Option<String> {
        self.0.id_to_token(id)
    }
    fn get_vocab(&self) -> HashMap<String, u32> {
        self.0.get_vocab()
    }
    fn get_vocab_size(&self) -> usize {
        self.0.get_vocab_size()
    }
    fn save(&self, folder: &Path, prefix: Option<&str>) -> tokenizers::Result<Vec<PathBuf>> {
        self.0.save(folder, prefix)
    }
    fn get_trainer(&self) -> TrainerWrapper {
        self.0.get_trainer()
    }
}

/// Makes a tokeniser from all of a `tokenizer.json`.
pub(super) fn tokenizer(bytes: &[u8]) -> Result<Inner> {
    let mut json: Json = serde_json::from_slice(bytes).map_err(tokenizer_error)?;
    let Some(model) = json.get_mut("model").filter(|m| m["type"] == "BPE") else {
        return without_tables(json);
    };
    let vocabulary: Option<Vocab> = match model.get_mut("vocab").map(Json::take) {
        Some(Json::Object(all)) => {
            all.into_iter().map(|(t, n)| Some((t, n.as_u64()?.try_into().ok()?))).collect()
        }
        _ => None,
    };
    let vocabulary = vocabulary.ok_or_else(|| wrong("`vocab`", "numbers of tokens"))?;
    let pairs: Option<Merges> = match model.get_mut("merges").map(Json::take) {
        Some(Json::Array(all)) => all.into_iter().map(pair).collect(),
        _ => None,
    };
    with_tables(json, vocabulary, pairs.ok_or_else(|| wrong("`merges`", "pairs"))?)
}

fn wrong(name: &str, what: &str) -> Error {
    Error::value(format!("{name} of the tokeniser"), format!("must be a list of {what}"))
}

/// Parses a pair, as a list of two texts or as one text with a space between them.
fn pair(json: Json) -> Option<(String, String)> {
    match json {
        Json::String(both) => both.split_once(' ').map(|(a, b)| (a.to_string(), b.to_string())),
        both => serde_json::from_value(both).ok(),
    }
}

/// Makes a tokeniser from JSON whose model is not a BPE model.
pub(super) fn without_tables(mut json: Json) -> Result<Inner> {
    let model = part::<ModelWrapper>(json.get_mut("model").map(Json::take).unwrap_or_default())?;
    of_parts(&json, model)
}

/// Makes a tokeniser from JSON without the tables of its BPE model, and these tables.
pub(super) fn with_tables(json: Json, vocabulary: Vocab, pairs: Merges) -> Result<Inner> {
    let model = bpe(&json["model"], vocabulary, pairs)?;
    of_parts(&json, model.into())
}

/// Makes a tokeniser from its model, and from the JSON of the other parts.
fn of_parts(json: &Json, model: ModelWrapper) -> Result<Inner> {
    let mut tokenizer = Inner::new(SharedModel(Arc::new(model)));
    let own = |name: &str| json.get(name).cloned().unwrap_or_default();
    tokenizer
        .with_normalizer(part::<Option<NormalizerWrapper>>(own("normalizer"))?)
        .map_err(tokenizer_error)?;
    tokenizer.with_pre_tokenizer(part::<Option<PreTokenizerWrapper>>(own("pre_tokenizer"))?);
    tokenizer.with_post_processor(part::<Option<PostProcessorWrapper>>(own("post_processor"))?);
    tokenizer.with_decoder(part::<Option<DecoderWrapper>>(own("decoder"))?);
    let added: Option<Vec<AddedToken>> = part(own("added_tokens"))?;
    tokenizer.add_tokens(added.unwrap_or_default()).map_err(tokenizer_error)?;
    Ok(tokenizer)
}

/// Makes a BPE model with the settings of its JSON.
fn bpe(json: &Json, vocabulary: Vocab, pairs: Merges) -> Result<BPE> {
    let text = |name: &str| json[name].as_str().map(str::to_string);
    let prefix = text("continuing_subword_prefix");
    let mut merged = String::new();
    for (a, b) in &pairs {
        let second = prefix.as_deref().map_or(Some(b.as_str()), |prefix| b.strip_prefix(prefix));
        merged.clear();
        merged.push_str(a);
        merged.push_str(second.unwrap_or_default());
        if second.is_none() || !vocabulary.contains_key(&merged) {
            let why = "is merged by the tokeniser, but its text is not a token";
            return Err(Error::value(format!("the pair `{a}` `{b}`"), why));
        }
    }
    let flag = |name: &str| json[name] == true;
    let mut model = BPE::builder().vocab_and_merges(vocabulary, pairs);
    model = model.fuse_unk(flag("fuse_unk")).byte_fallback(flag("byte_fallback"));
    model = model.ignore_merges(flag("ignore_merges"));
    if let Some(unknown) = text("unk_token") {
        model = model.unk_token(unknown);
    }
    if let Some(prefix) = prefix {
        model = model.continuing_subword_prefix(prefix);
    }
    if let Some(suffix) = text("end_of_word_suffix") {
        model = model.end_of_word_suffix(suffix);
    }
    model.build().map_err(tokenizer_error)
}

/// Parses a part of a tokeniser.
fn part<T: DeserializeOwned>(json: Json) -> Result<T> {
    serde_json::from_value(json).map_err(tokenizer_error)
}
