//! Makes tokenisers of the `tokenizers` library from the JSON of a `tokenizer.json`.
//!
//! The tables of BPE models are built here. The library reads them from JSON slowly, and panics at a pair whose text is
//! longer than every token.

use super::refused;
use gradus_ir::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer,
};

/// Makes a tokeniser from all of a `tokenizer.json`.
pub(super) fn tokenizer(bytes: &[u8]) -> Result<Tokenizer> {
    let mut json: Json = serde_json::from_slice(bytes).map_err(refused)?;
    let Some(model) = json.get_mut("model").filter(|m| m["type"] == "BPE") else { return part(json) };
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

/// A pair, as a list of two texts or as one text with a space between them.
fn pair(json: Json) -> Option<(String, String)> {
    match json {
        Json::String(both) => both.split_once(' ').map(|(a, b)| (a.to_string(), b.to_string())),
        both => serde_json::from_value(both).ok(),
    }
}

/// Makes a tokeniser from JSON without the tables of its BPE model, and these tables.
pub(super) fn with_tables(json: Json, vocabulary: Vocab, pairs: Merges) -> Result<Tokenizer> {
    let mut tokenizer = Tokenizer::new(bpe(&json["model"], vocabulary, pairs)?);
    let own = |name: &str| json.get(name).cloned().unwrap_or_default();
    tokenizer.with_normalizer(part::<Option<NormalizerWrapper>>(own("normalizer"))?).map_err(refused)?;
    tokenizer.with_pre_tokenizer(part::<Option<PreTokenizerWrapper>>(own("pre_tokenizer"))?);
    tokenizer.with_post_processor(part::<Option<PostProcessorWrapper>>(own("post_processor"))?);
    tokenizer.with_decoder(part::<Option<DecoderWrapper>>(own("decoder"))?);
    let added: Option<Vec<AddedToken>> = part(own("added_tokens"))?;
    tokenizer.add_tokens(added.unwrap_or_default()).map_err(refused)?;
    Ok(tokenizer)
}

/// Makes a BPE model with the settings of its JSON.
fn bpe(json: &Json, vocabulary: Vocab, pairs: Merges) -> Result<BPE> {
    let text = |name: &str| json[name].as_str().map(str::to_string);
    let prefix = text("continuing_subword_prefix");
    let mut whole = String::new();
    for (a, b) in &pairs {
        let second = prefix.as_deref().map_or(Some(b.as_str()), |prefix| b.strip_prefix(prefix));
        whole.clear();
        whole.push_str(a);
        whole.push_str(second.unwrap_or_default());
        if second.is_none() || !vocabulary.contains_key(&whole) {
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
    model.build().map_err(refused)
}

/// A part of a tokeniser from its JSON.
pub(super) fn part<T: DeserializeOwned>(json: Json) -> Result<T> {
    serde_json::from_value(json).map_err(refused)
}
