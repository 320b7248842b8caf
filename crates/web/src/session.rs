//! Stores the tensors that the page refers to by number, and answers requests about them.

use crate::device::{self, NAME};
use crate::page::page;
use crate::request::{Fault, Request, number, wrong};
use gradus_files::safetensors;
use gradus_ir::{Aval, Error, Result};
use gradus_mem::Storage;
use gradus_tensor::{Device, Generator, Tensor, outside_traces, value_and_grad, vmap};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;

#[derive(Default)]
struct Session {
    tensors: HashMap<u32, Tensor>,
    last: u32,
    generators: HashMap<Device, Generator>,
    seed: u64,
    /// The storage of the last read. It is kept until the next read, because it may be a temporary copy.
    read: Option<Storage>,
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

/// Keeps a tensor for the page. Returns its number, shape, dtype and device.
pub(crate) fn keep(t: Tensor) -> Result<Value> {
    t.check()?;
    let (shape, dtype, device) = (t.shape().to_vec(), t.dtype().name(), t.device().name());
    let id = SESSION.with_borrow_mut(|s| {
        s.last = s.last.wrapping_add(1);
        s.tensors.insert(s.last, t);
        s.last
    });
    Ok(json!({"id": id, "shape": shape, "dtype": dtype, "device": device}))
}

/// Keeps several tensors.
pub(crate) fn keep_all(all: impl IntoIterator<Item = Tensor>) -> Result<Value> {
    Ok(Value::Array(all.into_iter().map(keep).collect::<Result<Vec<_>>>()?))
}

/// Returns a tensor by its number.
pub(crate) fn tensor(id: u32) -> Result<Tensor> {
    let found = SESSION.with_borrow(|s| s.tensors.get(&id).cloned());
    found.ok_or_else(|| Error::value(format!("tensor {id}"), "does not exist, or was freed"))
}

/// Returns the generator of a device. Its state is on the device, so that compiled steps advance it there.
pub(crate) fn generator(device: Device) -> Result<Generator> {
    let known = SESSION.with_borrow(|s| s.generators.get(&device).cloned());
    if let Some(known) = known {
        return Ok(known);
    }
    let seed = SESSION.with_borrow(|s| s.seed);
    // Its first use may be inside a traced function, where cells cannot move.
    let new = outside_traces(|| {
        let new = Generator::new(seed);
        new.state().move_(device).map(|()| new)
    })?;
    SESSION.with_borrow_mut(|s| s.generators.insert(device, new.clone()));
    Ok(new)
}

/// Returns the device with this name.
pub(crate) fn device_named(name: &Value) -> Result<Device> {
    match name.as_str() {
        None | Some("cpu") => Ok(Device::CPU),
        Some(NAME) => Device::named(NAME),
        Some(_) => Err(wrong("device", name, "`cpu` or `webgpu`")),
    }
}

/// Wraps a function of the page as a function over tensors.
pub(crate) fn function(number: u32) -> impl Fn(&[Tensor]) -> Vec<Tensor> + 'static {
    move |ins| call_page(number, ins).unwrap_or_else(|e| vec![Tensor::failed(e)])
}

fn call_page(number: u32, ins: &[Tensor]) -> Result<Vec<Tensor>> {
    let request = json!({"args": keep_all(ins.iter().cloned())?});
    let answer = page()?.callback(number, &request.to_string());
    let answer: Value =
        serde_json::from_str(&answer).map_err(|e| Error::value("the response of the page", e.to_string()))?;
    if let Some(message) = answer["error"]["message"].as_str() {
        return Err(Error::trace(message));
    }
    let ids = answer["ok"].as_array().ok_or_else(|| wrong("ok", &answer, "a list of tensors"))?;
    ids.iter().map(|id| tensor(crate::request::number(id, "ok")?)).collect()
}

/// Answers the requests that concern single tensors and transforms.
pub(crate) fn answer(verb: &str, request: &Request) -> Result<Value, Fault> {
    Ok(match verb {
        "tensor" => {
            let aval = Aval::new(request.dtype("dtype")?, request.shape("shape")?);
            let t = Tensor::from_bytes(&aval, &request.bytes("data")?);
            keep(t.to(device_named(request.field("device"))?))?
        }
        "free" => {
            let ids = request.list("ids")?.iter().map(|id| number(id, "ids")).collect::<Result<Vec<_>>>()?;
            // Tensors to drop after the table is unlocked, because dropping them posts commands.
            let gone: Vec<_> =
                SESSION.with_borrow_mut(|s| ids.iter().filter_map(|id| s.tensors.remove(id)).collect());
            drop(gone);
            Value::Null
        }
        "count" => json!(SESSION.with_borrow(|s| s.tensors.len())),
        "info" => {
            let t = request.tensor("id")?;
            json!({"id": request.number("id")?, "shape": t.shape().to_vec(), "dtype": t.dtype().name(), "device": t.device().name()})
        }
        "to" => keep(request.tensor("id")?.to(device_named(request.field("device"))?))?,
        "locate" => locate(&request.tensor("id")?)?,
        "cell" => keep(request.tensor("id")?.detach().requires_grad_())?,
        "set" => {
            let (cell, value) = (request.tensor("id")?, request.tensor("value")?);
            cell.data_().set_(&value.to(cell.device()))?;
            Value::Null
        }
        "seed" => {
            let seed = request.field("seed").as_u64();
            let seed = seed.ok_or_else(|| wrong("seed", request.field("seed"), "a non-negative integer"))?;
            SESSION.with_borrow_mut(|s| {
                s.seed = seed;
                s.generators.clear();
            });
            Value::Null
        }
        "grad" => {
            let ins = request.tensors("ins")?;
            let (outs, grads) =
                value_and_grad(&ins.iter().collect::<Vec<_>>(), function(request.number("function")?))?;
            // Only differentiable operands have gradients.
            let mut grads = grads.into_iter();
            let each: Vec<Option<Tensor>> =
                ins.iter().map(|t| t.dtype().is_differentiable().then(|| grads.next()).flatten()).collect();
            let mut chosen = Vec::new();
            for i in request.shape("wrt")? {
                let g = each.get(i).cloned().flatten();
                chosen.push(g.ok_or_else(|| Error::gradient(format!("argument {i} has no gradient")))?);
            }
            json!({"outs": keep_all(outs)?, "grads": keep_all(chosen)?})
        }
        "vmap" => {
            let ins = request.tensors("ins")?;
            let axis = |v: &Value| v.as_i64().map(|a| a as isize);
            let axes: Vec<Option<isize>> = request.list("axes")?.iter().map(axis).collect();
            keep_all(vmap(&ins.iter().collect::<Vec<_>>(), &axes, function(request.number("function")?))?)?
        }
        "save" => {
            let mut named = Vec::new();
            for row in request.list("tensors")? {
                let name = row["name"].as_str().ok_or_else(|| wrong("name", row, "a string"))?;
                named.push((name.to_string(), tensor(number(&row["id"], "id")?)?));
            }
            give(safetensors::to_bytes(&named, &Default::default())?)?
        }
        "load" => {
            let reader = safetensors::Reader::from_bytes("the file", request.bytes("data")?)?;
            let mut all = Vec::new();
            for name in reader.names() {
                all.push(json!({"name": name, "tensor": keep(reader.tensor(&name)?)?}));
            }
            Value::Array(all)
        }
        _ => return Err(Error::value(format!("the request `{verb}`"), "is not known").into()),
    })
}

/// Passes bytes to the page.
pub(crate) fn give(bytes: Vec<u8>) -> Result<Value> {
    Ok(json!({"bytes": bytes.len(), "at": page()?.give(bytes)}))
}

fn locate(t: &Tensor) -> Result<Value> {
    let (shape, dtype) = (t.shape().to_vec(), t.dtype());
    let bytes = t.numel() * dtype.size();
    if t.device().is_cpu() {
        return Ok(json!({"data": give(t.to_bytes()?)?, "shape": shape, "dtype": dtype.name()}));
    }
    let (storage, offset) = t.row_major_storage()?;
    let buffer = device::location_of(&storage, offset)?;
    let before = SESSION.with_borrow_mut(|s| s.read.replace(storage));
    drop(before);
    Ok(json!({"buffer": buffer, "bytes": bytes, "shape": shape, "dtype": dtype.name()}))
}
