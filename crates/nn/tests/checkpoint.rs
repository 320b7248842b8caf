//! Files of weights and of complete runs: round trips, and errors.

use crate::common::Folder;
use gradus_nn::checkpoint::safetensors::{Notes, Reader, write};
use gradus_nn::checkpoint::{load, load_as, read, save, set_state};
use gradus_nn::file::npz;
use gradus_nn::{BatchNorm, Conv2d, Flatten, Forward, Linear, Module, Sequential, module};
use gradus_tensor::{Generator, Tensor};

struct Two {
    a: Linear,
    b: Linear,
}
module!(Two { a, b });

fn two(seed: u64, width: usize) -> Two {
    let g = Generator::new(seed);
    Two { a: Linear::new(3, width, &g), b: Linear::new(width, 2, &g) }
}

fn weights(m: &impl Module) -> Vec<Vec<f32>> {
    m.state().iter().map(|(_, t)| t.to_vec().unwrap()).collect()
}

#[test]
fn saved_weights_are_loaded() {
    let folder = Folder::new("weights");
    let (a, b) = (two(1, 4), two(2, 4));
    assert_ne!(weights(&a), weights(&b));
    save(folder.file("m.safetensors"), &a).unwrap();
    load(folder.file("m.safetensors"), &b).unwrap();
    assert_eq!(weights(&a), weights(&b));
    let names: Vec<String> =
        read(folder.file("m.safetensors")).unwrap().into_iter().map(|(n, _)| n).collect();
    assert_eq!(names, ["a.bias", "a.weight", "b.bias", "b.weight"]);
    // No other file remains.
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn every_dtype_and_note_is_saved_and_loaded() {
    let folder = Folder::new("dtypes");
    let x = Tensor::from([-1.5f32, 0.0, 2.0]);
    let all: Vec<(String, Tensor)> = gradus_ir::DType::ALL
        .iter()
        .filter(|d| **d != gradus_ir::DType::C128)
        .map(|d| (format!("x.{d}"), x.to_dtype(*d)))
        .chain([("empty".to_string(), Tensor::zeros([0, 3])), ("scalar".to_string(), Tensor::from(7i64))])
        .collect();
    let notes: Notes = [("author".to_string(), "\"me\"".to_string())].into();
    write(folder.file("all"), &all, &notes).unwrap();
    let file = Reader::open(folder.file("all")).unwrap();
    assert_eq!(file.notes().collect::<Vec<_>>(), [("author", "\"me\"")]);
    for (name, t) in &all {
        let back = file.tensor(name).unwrap();
        assert_eq!((back.aval(), back.to_bytes().unwrap()), (t.aval(), t.to_bytes().unwrap()), "{name}");
    }
    // The same contents in any order give the same file.
    let backwards: Vec<(String, Tensor)> = all.iter().rev().cloned().collect();
    write(folder.file("again"), &backwards, &notes).unwrap();
    assert_eq!(std::fs::read(folder.file("again")).unwrap(), std::fs::read(folder.file("all")).unwrap());
    let twice = [&all[..1], &all[..1]].concat();
    assert!(write(folder.file("c"), &twice, &notes).unwrap_err().to_string().contains("occurs twice"));
    let e = write(folder.file("c"), &[("z".to_string(), x.to_dtype(gradus_ir::DType::C128))], &notes);
    assert!(e.unwrap_err().to_string().contains("`z` cannot be written"));
    assert!(!folder.file("c").exists());
}

#[test]
fn damaged_files_are_refused_and_change_nothing() {
    let folder = Folder::new("damage");
    let (a, b) = (two(1, 4), two(2, 4));
    let path = folder.file("m");
    save(&path, &a).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let before = weights(&b);
    let refused = |bytes: &[u8], why: &str| {
        std::fs::write(&path, bytes).unwrap();
        let e = load(&path, &b).unwrap_err().to_string();
        assert!(e.contains(why), "{e} does not say {why}");
        assert_eq!(weights(&b), before);
    };
    // The last tensor of the file is `b.weight`.
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    refused(&flipped, "`b.weight` is damaged");
    refused(&whole[..whole.len() - 1], "is truncated: `b.weight` is incomplete");
    let data = whole.len() - weights(&a).concat().len() * 4;
    refused(&whole[..data], "is truncated: `a.bias` is incomplete");
    refused(&whole[..data - 1], "is truncated, or is not a safetensors file");
    refused(&whole[..5], "is truncated, or is not a safetensors file");
    refused(b"", "is truncated, or is not a safetensors file");
    // Truncated anywhere, or with any bit of the header flipped, loading is an error or changes nothing.
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(load(&path, &b).is_err(), "cut at {cut}");
        assert_eq!(weights(&b), before);
    }
    for at in 0..data {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).unwrap();
        if load(&path, &b).is_ok() {
            assert_eq!(weights(&b), weights(&a), "bit {} of byte {at}", at % 8);
            b.state().iter().zip(&before).for_each(|((_, t), v)| {
                t.data_().set_(&Tensor::from_slice(v, t.shape())).unwrap();
            });
        }
        assert_eq!(weights(&b), before);
    }
}

#[test]
fn files_of_other_models_are_refused() {
    let folder = Folder::new("other");
    let (a, wide) = (two(1, 4), two(2, 5));
    let path = folder.file("m");
    save(&path, &a).unwrap();
    let before = weights(&wide);
    let e = load(&path, &wide).unwrap_err().to_string();
    assert!(e.contains("`a.weight` is f32[4,3], and the model's is f32[5,3]"), "{e}");
    assert_eq!(weights(&wide), before);
    let e = load(&path, &a.a).unwrap_err().to_string();
    assert!(e.contains("has no tensor `weight`"), "{e}");
    let more: Vec<_> = a.state().into_iter().chain([("c".to_string(), Tensor::from([1.0f32]))]).collect();
    write(&path, &more, &Notes::new()).unwrap();
    let e = load(&path, &a).unwrap_err().to_string();
    assert!(e.contains("has a tensor `c`, and the model has none of that name"), "{e}");
    assert!(load(folder.file("absent"), &a).unwrap_err().to_string().contains("absent"));
    assert!(save(folder.file("no/such/folder"), &a).is_err());
}

#[test]
fn names_are_mapped_and_archives_read() {
    let folder = Folder::new("names");
    let (a, b) = (two(1, 4), two(2, 4));
    let path = folder.file("m");
    // With the names of another program, and an additional tensor.
    let theirs: Vec<(String, Tensor)> = a.state().into_iter().map(|(n, t)| (format!("net.{n}"), t)).collect();
    let more: Vec<_> = theirs.iter().cloned().chain([("epoch".to_string(), Tensor::from(3i64))]).collect();
    write(&path, &more, &Notes::new()).unwrap();
    load_as(&path, &b, |own| format!("net.{own}")).unwrap();
    assert_eq!(weights(&a), weights(&b));
    assert!(
        load_as(&path, &b, |own| own.to_string()).unwrap_err().to_string().contains("no tensor `a.weight`")
    );
    let c = two(3, 4);
    npz::write(&path, &a.state()).unwrap();
    set_state(&c, &npz::read(&path).unwrap()).unwrap();
    assert_eq!(weights(&a), weights(&c));
    let before = weights(&b);
    let e = set_state(&b, &a.a.state()).unwrap_err().to_string();
    assert!(e.contains("`a.weight` is missing"), "{e}");
    let wide = two(1, 5).state();
    assert!(
        set_state(&b, &wide).unwrap_err().to_string().contains("`a.weight` of type f32[5,3] does not fit")
    );
    assert!(
        set_state(&b, &[&a.state()[..], &more[4..]].concat()).unwrap_err().to_string().contains("`epoch`")
    );
    assert_eq!(weights(&b), before);
}

/// A state dictionary of PyTorch (`tests/golden/state.py`) loads by its names, and the model computes the
/// same values.
#[test]
fn a_state_dictionary_of_pytorch_loads() {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let g = Generator::new(0);
    let features =
        Sequential::new().then(Conv2d::new(1, 3, 3, &g)).then(BatchNorm::new(3)).then(Tensor::tanh);
    let model = features.then(Flatten).then(Linear::new(12, 2, &g));
    load(golden.join("state.safetensors"), &model).unwrap();
    let json: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/golden/state.json")).unwrap();
    let floats = |key: &str| -> Vec<f32> {
        json[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect()
    };
    model.eval();
    let found = model.forward(&Tensor::from_slice(&floats("x"), [4, 1, 4, 4])).to_vec::<f32>().unwrap();
    assert!(found.iter().zip(floats("y")).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    // In the other direction: our file equals theirs except for the order of the header.
    let folder = Folder::new("theirs");
    save(folder.file("ours"), &model).unwrap();
    let (ours, theirs) =
        (Reader::open(folder.file("ours")).unwrap(), Reader::open(golden.join("state.safetensors")).unwrap());
    for name in theirs.names() {
        assert_eq!(
            ours.tensor(&name).unwrap().to_bytes().unwrap(),
            theirs.tensor(&name).unwrap().to_bytes().unwrap()
        );
    }
    assert_eq!(theirs.note("format"), Some("pt"));
}
