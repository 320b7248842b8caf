//! Low-rank adapters of a model's projections: attaching, merging, saving and loading.
//!
//! An adapter is a folder with `adapter_config.json` and `adapter_model.safetensors`, in the layout of the
//! Python package `peft`.

use crate::language::read_json;
use gradus_ir::{DType, Error, Result};
use gradus_nn::file::{atomic, safetensors};
use gradus_nn::{LoraSlot, LowRank, Module, Param};
use gradus_tensor::{Device, Generator, Tensor};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Options of a new adapter: its rank, its scale and the projections that get it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lora {
    /// Rank of the two matrices.
    pub rank: usize,
    /// The product of the two matrices is multiplied by `alpha / rank`.
    pub alpha: f64,
    /// Names of projections, or ends of names, such as `q_proj`.
    pub targets: Vec<String>,
}

impl Default for Lora {
    fn default() -> Lora {
        let targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
        Lora { rank: 8, alpha: 16.0, targets: targets.map(String::from).to_vec() }
    }
}

/// Largest rank accepted.
const MAX_RANK: usize = 1 << 16;

const CONFIG: &str = "adapter_config.json";
const TENSORS: &str = "adapter_model.safetensors";

/// Prefix of names in the files of `peft`.
const PREFIX: &str = "base_model.model.";

impl Lora {
    pub(crate) fn check(&self) -> Result<()> {
        if !(1..=MAX_RANK).contains(&self.rank) {
            return Err(Error::value(format!("rank {}", self.rank), format!("must be from 1 to {MAX_RANK}")));
        }
        if !(self.alpha.is_finite() && self.alpha > 0.0) {
            return Err(Error::value(format!("alpha {}", self.alpha), "must be positive and finite"));
        }
        Ok(())
    }

    fn covers(&self, name: &str) -> bool {
        let fits = |t: &String| name == t || name.strip_suffix(t.as_str()).is_some_and(|s| s.ends_with('.'));
        self.targets.iter().any(fits)
    }
}

/// Returns true if a parameter is part of an adapter.
pub(crate) fn is_adapter(name: &str) -> bool {
    name.ends_with(".lora_A.weight") || name.ends_with(".lora_B.weight")
}

/// Finds the slots of the projections that the targets name. Fails if a target names none.
fn slots_of(model: &impl Module, lora: &Lora) -> Result<Vec<(String, LoraSlot)>> {
    let all = model.lora_slots();
    let named = |target: &String| {
        let one = Lora { targets: vec![target.clone()], ..lora.clone() };
        all.iter().any(|(name, _)| one.covers(name))
    };
    if let Some(target) = lora.targets.iter().find(|t| !named(t)) {
        let known: BTreeSet<&str> = all.iter().filter_map(|(name, _)| name.rsplit('.').next()).collect();
        let known: Vec<&str> = known.into_iter().collect();
        let why = format!("is not a projection of the model; it has {}", known.join(", "));
        return Err(Error::value(format!("target `{target}`"), why));
    }
    if lora.targets.is_empty() {
        return Err(Error::value("an adapter without targets", "changes nothing; name projections"));
    }
    Ok(all.into_iter().filter(|(name, _)| lora.covers(name)).collect())
}

/// Attaches new adapters, which change no result until they are trained. Existing adapters of the targets are
/// replaced.
pub fn attach(model: &impl Module, lora: &Lora, seed: u64) -> Result<()> {
    lora.check()?;
    let (g, device) = (Generator::new(seed), model.device());
    for (_, slot) in slots_of(model, lora)? {
        let new = LowRank::new(slot.inputs(), slot.outputs(), lora.rank, lora.alpha / lora.rank as f64, &g);
        [&new.a, &new.b].iter().try_for_each(|p| p.move_(device))?;
        slot.set(Some(new))?;
    }
    Ok(())
}

/// Removes all adapters.
pub fn detach(model: &impl Module) -> Result<()> {
    model.lora_slots().iter().try_for_each(|(_, slot)| slot.set(None))
}

/// Adds all adapters to the weights, and removes them. Fails for quantised weights: the model must be loaded
/// as `f32`.
pub fn merge(model: &impl Module) -> Result<()> {
    let parameters: BTreeMap<String, Tensor> = model.parameters().into_iter().collect();
    let mut merged = Vec::new();
    for (name, slot) in model.lora_slots() {
        let Some(lora) = slot.get() else { continue };
        let Some(weight) = parameters.get(&format!("{name}.weight")) else {
            let why = "is quantised and cannot take an adapter; load the model as f32 to merge";
            return Err(Error::value(format!("`{name}`"), why));
        };
        let weight = weight.data_();
        let sum = (&weight + lora.matrix().detach().to_dtype(weight.dtype())).detach();
        merged.push((weight, sum.check()?.clone(), slot));
    }
    for (weight, sum, slot) in merged {
        weight.set_(&sum)?;
        slot.set(None)?;
    }
    Ok(())
}

/// Saves the adapters of a model in a folder: `adapter_config.json` and `adapter_model.safetensors`, which
/// `peft` reads too. `base` names the base model.
pub fn save_adapter(model: &impl Module, folder: &Path, base: Option<&str>) -> Result<()> {
    let slots = model.lora_slots().into_iter().filter_map(|(name, slot)| Some((name, slot.get()?)));
    let slots: Vec<(String, LowRank)> = slots.collect();
    let Some((_, first)) = slots.first() else {
        return Err(Error::value("the model", "has no adapter to save"));
    };
    let (rank, scale) = (first.rank(), first.scale);
    if let Some((name, _)) = slots.iter().find(|(_, l)| l.rank() != rank || l.scale != scale) {
        let why = "has another rank or scale than the others; an adapter's file has one of each";
        return Err(Error::value(format!("`{name}`"), why));
    }
    let mut tensors = Vec::new();
    for (name, lora) in &slots {
        for (kind, t) in [("A", &lora.a), ("B", &lora.b)] {
            let value = t.data_().detach().to(Device::CPU).to_dtype(DType::F32);
            tensors.push((format!("{PREFIX}{name}.lora_{kind}.weight"), value.check()?.clone()));
        }
    }
    let targets: BTreeSet<&str> = slots.iter().filter_map(|(name, _)| name.rsplit('.').next()).collect();
    let config = json!({
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base, "inference_mode": true,
        "r": rank, "lora_alpha": scale * rank as f64, "lora_dropout": 0.0, "target_modules": targets, "bias": "none",
        "fan_in_fan_out": false, "init_lora_weights": true, "modules_to_save": null, "use_rslora": false,
        "use_dora": false, "rank_pattern": {}, "alpha_pattern": {},
    });
    std::fs::create_dir_all(folder).map_err(|e| atomic::failed(folder, e))?;
    let notes = [("format".to_string(), "pt".to_string())].into();
    safetensors::write(folder.join(TENSORS), &tensors, &notes)?;
    // Written last: a folder that has a configuration is complete.
    atomic::write(&folder.join(CONFIG), &[format!("{config:#}\n").as_bytes()])
}

/// Reads the rank and the scale from an adapter's configuration. Fails if a setting is not supported.
fn settings(path: &Path) -> Result<(usize, f64)> {
    let json = read_json(path)?;
    let failed = |why: String| atomic::failed(path, why);
    if json["peft_type"] != "LORA" {
        return Err(failed(format!("has the `peft_type` {}; only \"LORA\" is supported", json["peft_type"])));
    }
    let unset = |v: &Json| match v {
        Json::Null | Json::Bool(false) => true,
        Json::String(s) => s == "none",
        Json::Object(o) => o.is_empty(),
        Json::Array(a) => a.is_empty(),
        _ => false,
    };
    let keys = ["use_dora", "bias", "modules_to_save", "rank_pattern", "alpha_pattern", "fan_in_fan_out"];
    if let Some(key) = keys.iter().find(|key| !unset(&json[**key])) {
        return Err(failed(format!("sets `{key}` to {}, which is not supported", json[*key])));
    }
    let rank = json["r"].as_u64().filter(|r| (1..=MAX_RANK as u64).contains(r));
    let rank =
        rank.ok_or_else(|| failed(format!("has the rank {}, not one from 1 to {MAX_RANK}", json["r"])))?;
    let alpha = json["lora_alpha"].as_f64().filter(|a| a.is_finite() && *a > 0.0);
    let alpha = alpha.ok_or_else(|| {
        failed(format!("has the `lora_alpha` {}; it must be a positive number", json["lora_alpha"]))
    })?;
    let divisor = if json["use_rslora"] == true { (rank as f64).sqrt() } else { rank as f64 };
    Ok((rank as usize, alpha / divisor))
}

/// Loads an adapter from a folder into a model, in place of all existing adapters. If a tensor does not fit a
/// projection, this fails and the model is unchanged.
pub fn load_adapter(model: &impl Module, folder: &Path) -> Result<()> {
    let (rank, scale) = settings(&folder.join(CONFIG))?;
    let file = safetensors::Reader::open(folder.join(TENSORS))?;
    let slots: BTreeMap<String, LoraSlot> = model.lora_slots().into_iter().collect();
    let device = model.device();
    let mut found: BTreeMap<String, [Option<Tensor>; 2]> = BTreeMap::new();
    for name in file.names() {
        let own = name.strip_prefix(PREFIX).unwrap_or(&name);
        let parts = [".lora_A.weight", ".lora_B.weight"].map(|end| own.strip_suffix(end));
        let Some((kind, layer)) = parts.iter().enumerate().find_map(|(i, layer)| Some((i, (*layer)?))) else {
            return Err(file.failed(format!("has tensor `{name}`, which is not part of an adapter")));
        };
        let Some(slot) = slots.get(layer) else {
            return Err(
                file.failed(format!("has tensor `{name}`, but the model has no projection `{layer}`"))
            );
        };
        let shape = file.aval(&name)?.shape;
        let fits = if kind == 0 { [rank, slot.inputs()] } else { [slot.outputs(), rank] };
        if shape[..] != fits {
            return Err(file.failed(format!("has tensor `{name}` of shape {shape}, not {fits:?}")));
        }
        let value = file.tensor(&name)?.to_dtype(DType::F32).to(device);
        found.entry(layer.to_string()).or_default()[kind] = Some(value.check()?.clone());
    }
    let mut ready = Vec::new();
    for (layer, pair) in found {
        let [Some(a), Some(b)] = pair else {
            return Err(file.failed(format!("has only one of the two matrices of `{layer}`")));
        };
        ready.push((layer, LowRank { a: Param::new(&a), b: Param::new(&b), scale }));
    }
    if ready.is_empty() {
        return Err(file.failed("has no tensors"));
    }
    detach(model)?;
    for (layer, lora) in ready {
        if let Some(slot) = slots.get(&layer) {
            slot.set(Some(lora))?;
        }
    }
    Ok(())
}
