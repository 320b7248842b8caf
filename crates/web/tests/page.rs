//! Tests requests with a simulated page, which keeps bytes in a table and answers callbacks in Rust.

use gradus_web::{Page, call, set_page};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

#[derive(Default)]
struct Shared {
    bytes: HashMap<usize, Vec<u8>>,
    last: usize,
    posts: Vec<Value>,
}

fn shared() -> MutexGuard<'static, Shared> {
    static SHARED: OnceLock<Mutex<Shared>> = OnceLock::new();
    SHARED.get_or_init(Mutex::default).lock().unwrap()
}

/// A page whose function 1 is the loss of a linear layer: the mean squared error with the weight [`WEIGHT`].
struct Fake;

thread_local! {
    static WEIGHT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

impl Page for Fake {
    fn post(&self, commands: &str) {
        let all: Vec<Value> = serde_json::from_str(commands).unwrap();
        shared().posts.extend(all);
    }

    fn write(&self, buffer: u32, offset: usize, bytes: &[u8]) {
        shared().posts.push(json!({"c": "write", "to": [buffer, offset], "bytes": bytes.len()}));
    }

    fn callback(&self, function: u32, request: &str) -> String {
        assert_eq!(function, 1);
        let request: Value = serde_json::from_str(request).unwrap();
        let (x, y) = (request["args"][0]["id"].clone(), request["args"][1]["id"].clone());
        let found = op("linear", json!([{"t": x}, {"t": WEIGHT.get()}]));
        let loss = op("mseLoss", json!([{"t": found[0]["id"]}, {"t": y}]));
        json!({"ok": [loss[0]["id"]]}).to_string()
    }

    fn take(&self, at: usize, bytes: usize) -> Vec<u8> {
        let found = shared().bytes.remove(&at).unwrap_or_default();
        assert_eq!(found.len(), bytes);
        found
    }

    fn give(&self, bytes: Vec<u8>) -> usize {
        let mut all = shared();
        all.last += 1;
        let at = all.last;
        all.bytes.insert(at, bytes);
        at
    }
}

fn ask(request: Value) -> Result<Value, String> {
    set_page(Box::new(Fake));
    let answer: Value = serde_json::from_str(&call(&request.to_string())).unwrap();
    match answer["error"]["message"].as_str() {
        Some(message) => Err(format!("{}: {message}", answer["error"]["kind"].as_str().unwrap())),
        None => Ok(answer["ok"].clone()),
    }
}

fn op(name: &str, args: Value) -> Value {
    ask(json!({"do": "op", "name": name, "args": args})).unwrap()
}

fn tensor(values: &[f32], shape: &[usize], device: &str) -> Value {
    set_page(Box::new(Fake));
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let data = json!({"bytes": bytes.len(), "at": Fake.give(bytes)});
    ask(json!({"do": "tensor", "shape": shape, "dtype": "f32", "data": data, "device": device})).unwrap()
}

fn values(id: &Value) -> Vec<f32> {
    let found = ask(json!({"do": "locate", "id": id})).unwrap();
    let at = found["data"]["at"].as_u64().unwrap() as usize;
    let bytes = shared().bytes.remove(&at).unwrap();
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Runs steps of gradient descent on a weight; returns the answers of all steps.
fn descend(device: &str, steps: usize) -> (Vec<Value>, Value) {
    let weight = ask(json!({"do": "cell", "id": tensor(&[0.0, 0.0], &[1, 2], device)["id"]})).unwrap();
    WEIGHT.set(weight["id"].as_u64().unwrap());
    let inputs = json!([{"shape": [3, 2], "dtype": "f32"}, {"shape": [3, 1], "dtype": "f32"}]);
    let optimizer = json!({"kind": "sgd", "rate": 0.1});
    let parameters = json!([{"name": "w", "id": weight["id"]}]);
    let request = json!({"do": "train", "function": 1, "parameters": parameters, "inputs": inputs, "optimizer": optimizer});
    let step = ask(request).unwrap()["step"].clone();
    let (x, y) =
        (tensor(&[1., 0., 0., 1., 1., 1.], &[3, 2], device), tensor(&[2., -1., 1.], &[3, 1], device));
    let batch = json!([x["id"], y["id"]]);
    let run = |_| ask(json!({"do": "step", "step": step, "batch": batch})).unwrap();
    ((0..steps).map(run).collect(), weight)
}

#[test]
fn descent_steps_match_the_formula() {
    let (answers, weight) = descend("cpu", 2);
    // Computes the same steps in `f64`. The gradient is 2/3 xᵀ(xw - y).
    let (x, y) = ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [2.0, -1.0, 1.0]);
    let (mut w, mut losses) = ([0.0f64, 0.0], Vec::new());
    for _ in 0..2 {
        let off: Vec<f64> = (0..3).map(|i| x[i][0] * w[0] + x[i][1] * w[1] - y[i]).collect();
        losses.push(off.iter().map(|d| d * d).sum::<f64>() / 3.0);
        for j in 0..2 {
            w[j] -= 0.1 * (0..3).map(|i| 2.0 / 3.0 * off[i] * x[i][j]).sum::<f64>();
        }
    }
    for (answer, loss) in answers.iter().zip(losses) {
        assert!((f64::from(values(&answer["loss"]["id"])[0]) - loss).abs() < 1e-6);
    }
    for (found, expected) in values(&weight["id"]).iter().zip(w) {
        assert!((f64::from(*found) - expected).abs() < 1e-6);
    }
}

#[test]
fn the_gpu_gets_commands_in_order_and_its_memory_back() {
    ask(json!({"do": "open", "software": true, "limits": {}})).unwrap();
    let (answers, _) = descend("webgpu", 2);
    let posts = shared().posts.clone();
    let of = |kind: &str| posts.iter().filter(|p| p["c"] == kind).cloned().collect::<Vec<_>>();
    let (loads, runs) = (of("load"), of("run"));
    let last = runs.last().unwrap();
    let plan = loads.iter().find(|l| l["program"] == last["program"]).unwrap();
    let plan = &plan["plan"];
    assert_eq!(last["slots"].as_array().unwrap().len(), plan["buffers"].as_array().unwrap().len());
    assert_eq!(plan["version"], 1);
    // Freed memory is reused, so after many further steps no buffer has been added or has grown.
    let before = of("buffer").len();
    let (later, _) = descend("webgpu", 50);
    let all = shared().posts.clone();
    assert_eq!(all.iter().filter(|p| p["c"] == "buffer").count(), before);
    assert_eq!(all.iter().filter(|p| p["c"] == "grow").count(), 0);
    let free =
        json!({"do": "free", "ids": later.iter().map(|a| a["loss"]["id"].clone()).collect::<Vec<_>>()});
    assert_eq!(ask(free).unwrap(), Value::Null);
    assert!(
        ask(json!({"do": "to", "id": answers[0]["loss"]["id"], "device": "cpu"}))
            .unwrap_err()
            .contains("await")
    );
    let location = ask(json!({"do": "locate", "id": answers[1]["loss"]["id"]})).unwrap();
    assert_eq!((location["bytes"].as_u64(), location["buffer"][0].as_u64()), (Some(4), Some(0)));
}

#[test]
fn errors_are_returned() {
    let a = tensor(&[1.0, 2.0], &[2], "cpu");
    let b = tensor(&[1.0, 2.0, 3.0], &[3], "cpu");
    let error =
        ask(json!({"do": "op", "name": "add", "args": [{"t": a["id"]}, {"t": b["id"]}]})).unwrap_err();
    assert!(error.starts_with("shape: add: extents [2] and [3] do not broadcast"), "{error}");
    assert!(!error.contains(".rs"), "{error}");
    for (request, part) in [
        (json!({"do": "op", "name": "ad", "args": []}), "`ad` does not exist"),
        (json!({"do": "locate", "id": 4_000_000}), "does not exist, or was freed"),
        (json!({"do": "dance"}), "`dance` is not known"),
        (json!({"do": "program.check"}), "must be a string"),
        (
            json!({"do": "train", "optimizer": {"kind": "best", "rate": 1}}),
            "sgd, adam, adamw, rmsprop or lion",
        ),
    ] {
        let error = ask(request.clone()).unwrap_err();
        assert!(error.contains(part), "{request}: {error}");
    }
    assert!(call("{").contains("the request"));
}

#[test]
fn programs_are_checked_run_and_differentiated() {
    let source = "Y[i] = relu(X[i])\nLoss = Y[i] Y[i]\n";
    let x = tensor(&[1.0, -2.0, 3.0], &[3], "cpu");
    let inputs = json!([{"name": "X", "id": x["id"]}]);
    let found = ask(json!({"do": "program.run", "source": source, "inputs": inputs})).unwrap();
    assert_eq!(values(&found[0]["tensor"]["id"]), [10.0]);
    let gradient =
        ask(json!({"do": "program.gradient", "source": source, "of": "Loss", "wrt": ["X"]})).unwrap();
    assert!(gradient.as_str().unwrap().contains("Grad_X[i] = Grad_Y[i] relu_grad(X[i])"), "{gradient}");
    let faulty = ask(json!({"do": "program.check", "source": "Y[i] = X[i\n"})).unwrap();
    let fault = &faulty["diagnostics"][0];
    assert_eq!(
        (fault["severity"].as_str(), fault["line"].as_u64(), fault["column"].as_u64()),
        (Some("error"), Some(1), Some(11))
    );
    assert!(faulty["text"].as_str().unwrap().contains("1 | Y[i] = X[i"));
}

#[test]
fn tensors_go_to_a_file_and_back() {
    let x = tensor(&[1.5, -2.5], &[1, 2], "cpu");
    let file = ask(json!({"do": "save", "tensors": [{"name": "w", "id": x["id"]}]})).unwrap();
    let back = ask(json!({"do": "load", "data": file})).unwrap();
    assert_eq!((back[0]["name"].as_str(), &back[0]["tensor"]["shape"]), (Some("w"), &json!([1, 2])));
    assert_eq!(values(&back[0]["tensor"]["id"]), [1.5, -2.5]);
    let junk = json!({"bytes": 9, "at": Fake.give(vec![7; 9])});
    assert!(ask(json!({"do": "load", "data": junk})).unwrap_err().contains("safetensors"));
}
