//! `gradus tune`: adapters, complete models, preferences, and arguments that are refused.

use crate::common::{Folder, gradus, output};
use std::fs;

fn data(folder: &Folder) -> String {
    let line = |(a, b): (usize, usize)| {
        let sum = a + b;
        format!("{{\"prompt\": \"{a}+{b}=\", \"completion\": \"{sum}\"}}\n")
    };
    let lines: String = (1..4).flat_map(|a| (1..4).map(move |b| (a, b))).map(line).collect();
    folder.file("sums.jsonl", &lines)
}

#[test]
fn a_model_is_tuned_in_full_then_by_an_adapter_and_generates() {
    let folder = Folder::new("tune");
    let at = |name: &str| folder.0.join(name).display().to_string();
    let sums = data(&folder);
    let new = ["--new", "0123456789+=", "--every", "20"];
    let full = ["--full", "--steps", "60", "--rate", "0.003"];
    let text = output("", &[&["tune", &at("small"), &sums, "--out", &at("full")][..], &new, &full].concat());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(
        lines[0].starts_with("step 1 of 60: loss ") && lines[3].starts_with("step 60 of 60: loss 0.0"),
        "{text}"
    );
    assert_eq!(lines[4], format!("wrote {}", at("full")));
    let say =
        |more: &[&str]| output("", &[&["generate", &at("full"), "2+3=", "--tokens", "3"], more].concat());
    assert_eq!(say(&[]), "5\n");
    // An adapter that writes sums with a leading zero. The model itself does not change.
    let zeros = fs::read_to_string(&sums).unwrap().replace("\"completion\": \"", "\"completion\": \"0");
    let zeros = folder.file("zeros.jsonl", &zeros);
    let lora = ["--rank", "4", "--targets", "q_proj,v_proj,down_proj", "--steps", "60", "--rate", "0.02"];
    let text = output("", &[&["tune", &at("full"), &zeros, "--out", &at("adapter")][..], &lora].concat());
    assert!(text.ends_with(&format!("wrote {}\n", at("adapter"))), "{text}");
    assert!(!folder.0.join("adapter/model.safetensors").exists());
    assert_eq!(say(&["--adapter", &at("adapter")]), "05\n");
    assert_eq!(say(&[]), "5\n");
    // Merged into the weights, the adapter gives a complete model.
    let merge = ["--merge", "--adapter", &at("adapter"), "--steps", "1", "--rate", "0.000001"];
    output("", &[&["tune", &at("full"), &zeros, "--out", &at("merged")][..], &merge].concat());
    assert_eq!(output("", &["generate", &at("merged"), "2+3=", "--tokens", "3"]), "05\n");
    // Trains on preferences.
    let pairs = "{\"prompt\": \"2+3=\", \"chosen\": \"05\", \"rejected\": \"5\"}\n";
    let pairs = folder.file("pairs.jsonl", pairs);
    let text =
        output("", &["tune", &at("full"), &pairs, "--out", &at("dpo"), "--steps", "30", "--rate", "0.01"]);
    assert!(text.starts_with("step 1 of 30: loss 0.6931, 5 tokens\n"), "{text}");
    assert_eq!(say(&["--adapter", &at("dpo")]), "05\n");
}

#[test]
fn wrong_input_is_refused_with_its_cause() {
    let folder = Folder::new("tune-wrong");
    let at = |name: &str| folder.0.join(name).display().to_string();
    let sums = data(&folder);
    let (small, out) = (at("small"), at("out"));
    let fails = |args: &[&str], code: u8, why: &str| {
        let outcome = gradus(args);
        assert_eq!(outcome.code, code, "{}", outcome.err);
        assert!(outcome.err.contains(why), "{}", outcome.err);
    };
    fails(&["tune", &small, &sums, "--out", &out], 1, "cannot be read");
    fails(&["tune", &small, &sums, "--out", &small, "--new", "01"], 2, "name another folder to write");
    fails(&["tune", &small, &sums], 2, "--out");
    fails(&["tune", &small, &sums, "--out", &out, "--new", ""], 1, "an empty alphabet");
    fails(&["tune", &small, &at("none.jsonl"), "--out", &out, "--new", "0123456789+="], 1, "none.jsonl");
    let bad = folder.file("bad.jsonl", "{\"text\": \"1\"}\n{\"prompt\": \"1\"}\n");
    fails(&["tune", &small, &bad, "--out", &out, "--new", "0123456789+="], 1, "bad.jsonl: line 2");
    assert!(!folder.0.join("small").exists(), "a model is not kept if its data cannot be read");
    let new = ["--new", "0123456789+="];
    let zero = ["tune", &small, &sums, "--out", &out, "--steps", "0"];
    fails(&[&zero[..], &new].concat(), 1, "`steps` 0 must be at least 1");
    assert!(folder.0.join("small/config.json").exists());
    fails(&["tune", &small, &bad, "--out", &out], 1, "bad.jsonl: line 2: `completion` is missing");
    fails(&["tune", &small, &sums, "--out", &out, "--rank", "0"], 1, "rank 0 must be from 1");
    fails(&["tune", &small, &sums, "--out", &out, "--targets", "query"], 1, "`query` is not a projection");
    fails(&["tune", &small, &sums, "--out", &out, "--steps", "0"], 1, "`steps` 0 must be at least 1");
    fails(&["tune", &small, &sums, "--out", &out, "--full", "--merge"], 2, "cannot be used with");
    fails(&["tune", &small, &sums, "--out", &out, "--adapter", &at("nowhere")], 1, "adapter_config.json");
    fails(&["generate", &small, "1", "--adapter", &at("nowhere")], 1, "adapter_config.json");
    assert!(!folder.0.join("out").exists());
}
