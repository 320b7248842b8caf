//! Compares the settings of a resumed run with those of the run that wrote its checkpoint. Takes the values
//! that `Keys` recorded; returns metadata for new checkpoints, or an error that lists all differences.

use super::keys::Recorded;
use crate::{Done, Failure};
use gradus::nn::checkpoint::safetensors::{Notes, Reader};
use std::path::Path;

/// The key of a checkpoint's metadata whose value is the settings, as a JSON object.
const NOTE: &str = "settings";

/// Settings that a resumed run may change, because they affect neither weights nor rates.
const FREE: &[&str] = &["out", "checkpoint_every", "log_every", "validation.every"];

/// Schedules whose rates depend on the number of steps.
const STEP_DEPENDENT: &[&str] = &["\"linear\"", "\"cosine\"", "\"one_cycle\""];

/// Removes settings that do not affect the results of a run.
fn without_free(mut all: Recorded) -> Recorded {
    all.retain(|key, _| !FREE.contains(&key.as_str()));
    if all.get("schedule.name").is_none_or(|name| !STEP_DEPENDENT.contains(&name.as_str())) {
        all.remove("steps");
    }
    all
}

/// Returns the note with the settings, for checkpoints of this run.
pub(crate) fn remarks(recorded: &Recorded) -> Notes {
    let all = serde_json::json!(without_free(recorded.clone()));
    [(NOTE.to_string(), all.to_string())].into()
}

/// Returns an error if the run that wrote the checkpoint had other settings. Accepts checkpoints without
/// settings. Also accepts checkpoints whose metadata differ from `notes`: they cannot be loaded, and the
/// training loop refuses them even with `--force`.
pub(crate) fn check(checkpoint: &Path, notes: &Notes, recorded: &Recorded) -> Done {
    let file = Reader::open(checkpoint)?;
    if notes.iter().any(|(key, own)| file.note(key) != Some(own)) {
        return Ok(());
    }
    let before = file.note(NOTE).and_then(|text| serde_json::from_str::<Recorded>(text).ok());
    let Some(before) = before.map(without_free) else { return Ok(()) };
    let now = without_free(recorded.clone());
    let keys: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let shown = |all: &Recorded, key| all.get(key).cloned().unwrap_or_else(|| "not set".to_string());
    let differ = keys.into_iter().filter(|key| before.get(*key) != now.get(*key));
    let differ: Vec<String> = differ
        .map(|key| format!("`{key}` was {} and is {}", shown(&before, key), shown(&now, key)))
        .collect();
    if differ.is_empty() {
        return Ok(());
    }
    let why = "was written by a run with other settings";
    let advice = "change them back, or continue with the new settings with --force";
    Err(Failure::Run(format!("{} {why}: {}; {advice}", checkpoint.display(), differ.join("; "))))
}
