//! `gradus train` and `gradus sample`.

use crate::common::{Folder, Outcome, gradus, output, root};
use gradus::models::names::{self, Bengio};
use gradus::nn::checkpoint;
use gradus::nn::data::Dataset;
use serde_json::Value;
use std::path::Path;

/// A configuration of the model of names, small enough for a test.
fn named(steps: u64, out: &str) -> String {
    let data = root().join("examples/data/names.txt").display().to_string();
    format!(
        "model = \"names\"\ndata = {data:?}\nsteps = {steps}\nbatch = 32\nout = {out:?}\nseed = 7\n\
         checkpoint_every = 25\nlog_every = 10\n\n[optimizer]\nname = \"adam\"\nrate = 5e-3\n\n\
         [schedule]\nname = \"multistep\"\nat = [40]\ngamma = 0.5\n\n[sizes]\nwidth = 32\n"
    )
}

fn lines(folder: &Folder, out: &str) -> Vec<Value> {
    folder.read(&format!("{out}/log.jsonl")).lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// Returns the weights and the optimiser's state of a run, without the default generator. That belongs to the
/// process, and other tests seed it at the same time.
fn weights(path: &Path) -> Vec<(String, Vec<f64>)> {
    let own = checkpoint::read(path).unwrap().into_iter().filter(|(name, _)| name != "generator");
    own.map(|(name, t)| (name, t.to_dtype(gradus::DType::F64).to_vec::<f64>().unwrap())).collect()
}

fn fails(outcome: &Outcome, with: &str) {
    assert_eq!(outcome.code, 1, "{}", outcome.out);
    assert!(outcome.err.contains(with), "{}", outcome.err);
}

#[test]
fn a_model_trains_resumes_and_samples() {
    let folder = Folder::new("train-names");
    let whole = folder.file("whole.toml", &named(80, "whole"));
    let text = output("", &["train", &whole]);
    assert!(text.contains("step 80/80  loss "), "{text}");
    assert!(text.contains("80 steps done: ") && text.contains(" │"), "{text}");
    let log = lines(&folder, "whole");
    let steps: Vec<u64> = log.iter().map(|r| r["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [1, 10, 20, 30, 40, 50, 60, 70, 80]);
    let loss = |i: usize| log[i]["loss"].as_f64().unwrap();
    assert!(loss(0) > 3.0 && loss(8) < 2.8, "{} {}", loss(0), loss(8));
    assert_eq!((log[3]["rate"].as_f64(), log[4]["rate"].as_f64()), (Some(5e-3), Some(2.5e-3)));
    assert!(folder.read("whole/loss.svg").contains("<polyline"));
    // The run in two parts gives bit-identical weights, and its log has every step once.
    folder.file("parts.toml", &named(80, "parts"));
    let first = folder.file("first.toml", &named(80, "parts").replace("steps = 80", "steps = 45"));
    output("", &["train", &first]);
    let before = folder.read("parts/log.jsonl");
    let parts = folder.0.join("parts.toml").display().to_string();
    fails(&gradus(&["train", &parts]), "already exists; continue from it with --resume");
    let text = output("", &["train", &parts, "--resume"]);
    assert!(text.starts_with("step 50/80  loss "), "{text}");
    let file = |out: &str| folder.0.join(out).join("checkpoint.safetensors");
    let (one, two) = (weights(&file("whole")), weights(&file("parts")));
    assert_eq!(one.len(), two.len());
    let other: Vec<&str> = one.iter().zip(&two).filter(|(a, b)| a != b).map(|(a, _)| a.0.as_str()).collect();
    assert!(other.is_empty(), "{other:?}");
    assert!(folder.read("parts/log.jsonl").starts_with(&before));
    let steps: Vec<u64> = lines(&folder, "parts").iter().map(|r| r["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [1, 10, 20, 30, 40, 45, 50, 60, 70, 80]);
    assert!(output("", &["train", &parts, "--resume"]).contains("all 80 steps were already done"));
    let other = folder.file("other.toml", &named(90, "parts").replace("width = 32", "width = 16"));
    fails(&gradus(&["train", &other, "--resume"]), "its `model` is {");
    // Events have the values of the log.
    let log = lines(&folder, "parts");
    let events = events(&std::fs::read(folder.0.join("parts/events.out.tfevents.gradus")).unwrap());
    assert_eq!(events.len(), log.len());
    for ((step, loss), r) in events.iter().zip(&log) {
        assert_eq!((*step, *loss), (r["step"].as_u64().unwrap(), r["loss"].as_f64().unwrap() as f32));
    }
    let out = folder.0.join("whole").display().to_string();
    let sample = |seed: &str| output("", &["sample", &out, "--count", "3", "--seed", seed]);
    assert_eq!(sample("1"), sample("1"));
    assert_ne!(sample("1"), sample("2"));
    assert_eq!(sample("1").lines().count(), 3);
    assert!(sample("1").chars().all(|c| c.is_ascii_lowercase() || c == '\n'));
    let file = file("whole").display().to_string();
    let likeliest = output("", &["sample", &file, "--count", "2", "--temperature", "0"]);
    let both: Vec<&str> = likeliest.lines().collect();
    assert_eq!(both[0], both[1]);
}

/// Steps and losses of an event file; its frames must be right.
fn events(mut bytes: &[u8]) -> Vec<(u64, f32)> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let event = &bytes[12..12 + length];
        bytes = &bytes[16 + length..];
        let (mut step, mut at, mut loss) = (0u64, 10, None);
        assert_eq!((event[0], event[9]), (0x09, 0x10));
        for shift in (0..).step_by(7) {
            step |= u64::from(event[at] & 0x7f) << shift;
            at += 1;
            if event[at - 1] & 0x80 == 0 {
                break;
            }
        }
        if let Some(tag) = event.windows(4).position(|w| w == b"loss") {
            assert_eq!(event[tag + 4], 0x15);
            loss = Some(f32::from_le_bytes(event[tag + 5..tag + 9].try_into().unwrap()));
        }
        match loss {
            Some(loss) => out.push((step, loss)),
            None => assert!(out.is_empty() && event.ends_with(b"brain.Event:2")),
        }
    }
    out
}

#[test]
fn a_gpt_trains_and_samples_beyond_its_context() {
    let folder = Folder::new("train-gpt");
    folder.file("text.txt", &"to be or not to be, that is the question. ".repeat(20));
    let config = folder.file(
        "gpt.toml",
        "model = \"gpt\"\ndata = \"text.txt\"\nsteps = 40\nbatch = 8\nout = \"run\"\n[optimizer]\nrate = 1e-2\nclip_norm = 1.0\n\
         [schedule]\nname = \"cosine\"\nwarm_up = 5\n[validation]\nevery = 20\npart = 0.2\n\
         [sizes]\ncontext = 8\nwidth = 16\nheads = 2\nlayers = 1\n",
    );
    output("", &["train", &config]);
    let log = lines(&folder, "run");
    let loss = |r: &Value| r["loss"].as_f64().unwrap();
    // The held-out end of the text resembles the training text, so its loss is similar.
    let held_out: Vec<f64> = log.iter().filter_map(|r| r["validation"].as_f64()).collect();
    assert_eq!(held_out.len(), 2);
    assert!(held_out[1] < held_out[0] && (held_out[1] - loss(&log[log.len() - 1])).abs() < 0.5, "{log:?}");
    assert!(loss(&log[log.len() - 1]) < 0.6 * loss(&log[0]), "{log:?}");
    let out = folder.0.join("run").display().to_string();
    let text = output("", &["sample", &out, "--count", "1", "--length", "30"]);
    assert_eq!(text.trim_end_matches('\n').chars().count(), 30, "{text}");
    assert!(
        text.trim_end_matches('\n').chars().all(|c| "to be or not to be, that is the question. ".contains(c))
    );
}

/// Logistic regression on eight points of a line. Their classes are those of [`logistic`].
const PROGRAM: &str = "Z[n] = X[n,f] W[f] + b\n\
    Loss = (log(1 + exp(Z[n])) - T[n] Z[n]) / 8\n";

fn logistic(folder: &Folder, more: &str) -> String {
    folder.file("p.eq", PROGRAM);
    folder.file("x.csv", "-4\n-3\n-2\n-1\n1\n2\n3\n4\n");
    folder.file("t.json", "[0, 0, 0, 1, 0, 1, 1, 1]");
    let head = "model = \"program\"\nsteps = 300\nout = \"run\"\n";
    folder.file("p.toml", &format!("{head}{more}"))
}

const PARTS: &str = "[optimizer]\nname = \"sgd\"\nrate = 0.5\n[program]\nfile = \"p.eq\"\nloss = \"Loss\"\nf64 = true\n\
    inputs = { X = \"x.csv\", T = \"t.json\" }\nparameters = { W = { normal = 0.1 }, b = 0.5 }\n";

#[test]
fn a_program_is_trained_to_its_least_loss() {
    let folder = Folder::new("train-program");
    output("", &["train", &logistic(&folder, PARTS)]);
    let log = lines(&folder, "run");
    // By symmetry b is 0; Newton's method in one variable gives the rest.
    let xs = [-4.0f64, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0];
    let ts = [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0];
    let mut w = 0.0f64;
    for _ in 0..50 {
        let p = |x: f64| 1.0 / (1.0 + (-w * x).exp());
        let slope: f64 = xs.iter().zip(&ts).map(|(x, t)| (p(*x) - t) * x).sum();
        let bend: f64 = xs.iter().map(|x| p(*x) * (1.0 - p(*x)) * x * x).sum();
        w -= slope / bend;
    }
    let least: f64 = xs.iter().zip(&ts).map(|(x, t)| ((1.0 + (w * x).exp()).ln() - t * w * x) / 8.0).sum();
    let last = log[log.len() - 1]["loss"].as_f64().unwrap();
    assert!((last - least).abs() < 1e-9, "{last} is not {least}");
    let found = checkpoint::read(folder.0.join("run/checkpoint.safetensors")).unwrap();
    let value = |name: &str| found.iter().find(|(n, _)| n == name).unwrap().1.to_vec::<f64>().unwrap()[0];
    assert!((value("model.W") - w).abs() < 1e-4 && value("model.b").abs() < 1e-4);
    let out = folder.0.join("run").display().to_string();
    fails(&gradus(&["sample", &out]), "is not a checkpoint of a language model (names or gpt)");
}

#[test]
fn wrong_configurations_say_what_would_fit() {
    let folder = Folder::new("train-wrong");
    let program = |from: &str, to: &str| {
        assert!(PARTS.contains(from));
        gradus(&["train", &logistic(&folder, &PARTS.replace(from, to))])
    };
    fails(
        &program("\"sgd\"", "\"sgdd\""),
        "`optimizer.name` is \"sgdd\", not one of adamw, adam, sgd, rmsprop",
    );
    fails(&program("rate = 0.5", "rate = \"fast\""), "`optimizer.rate` is \"fast\", not a number");
    fails(
        &program("rate = 0.5", "betas = [1, 2]"),
        "`optimizer.betas` is not a key of this table; its keys are name, rate, momentum",
    );
    fails(&program("f64 = true", "f64 = 1"), "`program.f64` is 1, not true or false");
    fails(&program("{ normal = 0.1 }", "{ }"), "`program.parameters.W` has no initial value; set `normal`");
    fails(
        &program("b = 0.5", "c = 0.5"),
        "`program.parameters.c` is not an input of the program; its inputs are X, W, b, T",
    );
    fails(&program("loss = \"Loss\"", "loss = \"Los\""), "did you mean `Loss`?");
    fails(&program("T = \"t.json\"", "T = \"u.json\""), "u.json");
    fails(
        &program("f64 = true", "batched = [\"X\"]"),
        "`batch` is missing; it must be the number of examples per batch",
    );
    fails(
        &program("f64 = true", "batched = [\"Q\"]"),
        "`program.batched` contains `Q`; it must list inputs with data that are not trained",
    );
    let config = |text: &str| gradus(&["train", &folder.file("c.toml", text)]);
    fails(&config("steps = 0"), "`steps` is 0, not an integer of 1 or more");
    fails(&config("steps = 5"), "`out` is missing; it must be the folder");
    fails(&config("steps = 5\nout = \"o\""), "`model` is missing; it must be one of names, gpt, program");
    fails(
        &config("steps = 5\nout = \"o\"\nmodel = \"bert\""),
        "`model` is \"bert\", not one of names, gpt, program",
    );
    fails(
        &config("steps = 5\nout = \"o\"\nmodel = \"gpt\""),
        "`data` is missing; it must be the path of a text file",
    );
    fails(&config("steps = "), "c.toml: ");
    folder.file("n.txt", "anna\nJim\n");
    let text = "steps = 5\nout = \"o\"\nmodel = \"names\"\ndata = \"n.txt\"";
    fails(&config(text), "the name \"Jim\" contains 'J'; names must consist of the letters a to z");
    assert!(!folder.0.join("o").exists() && !folder.0.join("run").exists());
}

#[test]
fn batches_take_examples() {
    let folder = Folder::new("train-batched");
    let parts = PARTS
        .replace("[optimizer]", "batch = 4\n[optimizer]")
        .replace("f64 = true", "batched = [\"X\", \"T\"]");
    output("", &["train", &logistic(&folder, &parts.replace("rate = 0.5", "rate = 0.05"))]);
    let log = lines(&folder, "run");
    let mean = |r: &[Value]| r.iter().map(|r| r["loss"].as_f64().unwrap()).sum::<f64>() / r.len() as f64;
    // Each step uses half of the examples; a loss over all of them would start at twice the value.
    assert!(mean(&log[..5]) < 0.5 && mean(&log[80..]) < mean(&log[..5]), "{log:?}");
}

/// Ctrl-C ends the command after the current batch, with a checkpoint of that batch.
#[cfg(unix)]
#[test]
fn an_interrupt_leaves_a_checkpoint() {
    let folder = Folder::new("train-interrupt");
    let config = folder.file("run.toml", &named(1_000_000, "run").replace("checkpoint_every = 25", ""));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gradus"));
    let child = command.args(["train", &config]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let begun = std::time::Instant::now();
    let log = folder.0.join("run/log.jsonl");
    while std::fs::metadata(&log).map_or(0, |m| m.len()) == 0 {
        assert!(begun.elapsed().as_secs() < 60, "no step was taken");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let done = child.wait_with_output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success() && text.contains("--resume continues from there"), "{text}");
    let step = text.split("stopped after step ").nth(1).and_then(|t| t.split(' ').next()).unwrap();
    let file = folder.0.join("run/checkpoint.safetensors");
    let file = checkpoint::safetensors::Reader::open(file).unwrap();
    assert_eq!(file.note("batches"), Some(step));
}

/// The model of names of a checkpoint, with the tensors under a prefix.
fn loaded(folder: &Folder, out: &str, prefix: &str) -> Bengio {
    let sizes = names::Sizes { width: 32, ..names::Sizes::default() };
    let model = Bengio::new(sizes, &gradus::Generator::new(0)).unwrap();
    let path = folder.0.join(out).join("checkpoint.safetensors");
    checkpoint::load_as(path, &model, |own| format!("{prefix}.{own}")).unwrap();
    model
}

/// Tests averages, held-out names and updates after two batches each, in one run and in parts that end
/// between updates.
#[test]
fn held_out_names_are_read_with_averaged_weights() {
    let folder = Folder::new("train-held-out");
    let more = |out: &str| {
        named(80, out)
            .replace("seed = 7\n", "seed = 7\naccumulate = 2\n")
            .replace("rate = 5e-3\n", "rate = 5e-3\naverage = 0.95\n")
            .replace("[sizes]", "[validation]\nevery = 35\n[sizes]")
    };
    let text = output("", &["train", &folder.file("whole.toml", &more("whole"))]);
    assert!(text.contains("step 35/80  loss ") && text.contains("  validation "), "{text}");
    let log = lines(&folder, "whole");
    let held_out = |log: &[Value]| -> Vec<(u64, f64)> {
        let all = log.iter().filter_map(|r| Some((r["step"].as_u64()?, r["validation"].as_f64()?)));
        all.collect()
    };
    let found = held_out(&log);
    assert_eq!(found.iter().map(|f| f.0).collect::<Vec<_>>(), [35, 70, 80]);
    // Computes the last of these losses directly, over all complete batches of the held-out names.
    let names_text = std::fs::read_to_string(root().join("examples/data/names.txt")).unwrap();
    let data = names::examples(&names::split(&names_text).1, 3).unwrap();
    let mean = |model: &Bengio| {
        let batches = data.len() / 32;
        let batch = |i: usize| data.batch(&(32 * i..32 * i + 32).collect::<Vec<_>>()).unwrap();
        let loss = |i| f64::from(names::loss(model, &batch(i)).item::<f32>().unwrap());
        (0..batches).map(loss).sum::<f64>() / batches as f64
    };
    let (averaged, last) = (loaded(&folder, "whole", "average"), loaded(&folder, "whole", "model"));
    assert!((mean(&averaged) - found[2].1).abs() < 1e-6, "{} is not {}", found[2].1, mean(&averaged));
    assert!((mean(&averaged) - mean(&last)).abs() > 1e-3);
    assert!(folder.read("whole/loss.svg").contains("(orange: held out)"));
    // Samples use the averaged weights too.
    let out = folder.0.join("whole").display().to_string();
    let samples = |model: &Bengio| {
        let (sampling, g) = (gradus::nn::Sampling::default(), gradus::Generator::new(3));
        (0..4).map(|_| model.sample(&sampling, &g).unwrap() + "\n").collect::<String>()
    };
    let spoken = output("", &["sample", &out, "--count", "4", "--seed", "3"]);
    assert_eq!(spoken, samples(&averaged));
    assert_ne!(spoken, samples(&last));
    // The same run in parts, the first of which ends between two updates.
    let first = folder.file("first.toml", &more("parts").replace("steps = 80", "steps = 45"));
    output("", &["train", &first]);
    // A run whose optimiser has another kind of state cannot continue it.
    let other = |from: &str, to: &str| {
        let config = folder.file("other.toml", &more("parts").replace(from, to));
        gradus(&["train", &config, "--resume"])
    };
    fails(&other("accumulate = 2", "accumulate = 3"), "its `accumulate` is 2, and that of this run is 3");
    let with = "its `optimizer` is adam with averages, and that of this run is ";
    fails(&other("average = 0.95", ""), &format!("{with}adam"));
    fails(&other("\"adam\"", "\"lion\""), &format!("{with}lion with averages"));
    let rest = folder.file("rest.toml", &more("parts"));
    output("", &["train", &rest, "--resume"]);
    let file = |out: &str| folder.0.join(out).join("checkpoint.safetensors");
    assert_eq!(weights(&file("whole")), weights(&file("parts")));
    assert_eq!(held_out(&lines(&folder, "parts")).last(), found.last());
}

/// Linear rates, updates after two batches, averages and clipping by value, compared with a direct
/// computation.
#[test]
fn a_program_follows_the_configuration_to_the_last_digit() {
    let folder = Folder::new("train-direct");
    let parts = PARTS
        .replace("[optimizer]", "accumulate = 2\n[schedule]\nname = \"piecewise\"\npoints = [[10, 1.0], [20, 0.2], [60, 0.1]]\n[optimizer]\nclip_value = 0.05\naverage = 0.9")
        .replace("{ normal = 0.1 }", "{ fill = 0.25 }");
    let config = logistic(&folder, &parts).clone();
    let text = std::fs::read_to_string(&config).unwrap().replace("steps = 300", "steps = 101\nlog_every = 1");
    std::fs::write(&config, text).unwrap();
    output("", &["train", &config]);
    let xs = [-4.0f64, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0];
    let ts = [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0];
    let factor = |k: f64| match k {
        k if k <= 10.0 => 1.0,
        k if k <= 20.0 => 1.0 - 0.8 * (k - 10.0) / 10.0,
        k => 0.2 - 0.1 * (k - 20.0) / 40.0,
    };
    let (mut p, mut average) = ([0.25f64, 0.5], [0.25f64, 0.5]);
    let log = lines(&folder, "run");
    for k in 0..50 {
        let rate = 0.5 * factor(f64::from(k));
        assert!((log[2 * k as usize]["rate"].as_f64().unwrap() - rate).abs() < 1e-12, "{k}");
        let slope = |x: f64, t: f64| (1.0 / (1.0 + (-p[0] * x - p[1]).exp()) - t) / 8.0;
        let both = xs.iter().zip(&ts).map(|(x, t)| (slope(*x, *t) * x, slope(*x, *t)));
        let (w, b) = both.fold((0.0, 0.0), |a, g| (a.0 + g.0, a.1 + g.1));
        for (i, g) in [w, b].into_iter().enumerate() {
            p[i] -= rate * g.clamp(-0.05, 0.05);
            average[i] = 0.9 * average[i] + 0.1 * p[i];
        }
    }
    let found = weights(&folder.0.join("run/checkpoint.safetensors"));
    let value = |name: &str| found.iter().find(|(n, _)| n == name).unwrap().1[0];
    for (i, name) in ["W", "b"].into_iter().enumerate() {
        for (prefix, right) in [("model", p[i]), ("average", average[i])] {
            let own = value(&format!("{prefix}.{name}"));
            assert!((own - right).abs() < 1e-10, "{prefix}.{name}: {own} is not {right}");
        }
    }
}

#[test]
fn examples_of_a_program_are_held_out() {
    let folder = Folder::new("train-part");
    let parts = PARTS
        .replace("[optimizer]", "batch = 2\n[validation]\nevery = 100\npart = 0.25\n[optimizer]")
        .replace("f64 = true", "f64 = true\nbatched = [\"X\", \"T\"]");
    output("", &["train", &logistic(&folder, &parts)]);
    let log = lines(&folder, "run");
    let found = log[log.len() - 1]["validation"].as_f64().unwrap();
    let weights = weights(&folder.0.join("run/checkpoint.safetensors"));
    let value = |name: &str| weights.iter().find(|(n, _)| n == name).unwrap().1[0];
    let (w, b) = (value("model.W"), value("model.b"));
    // The last two of eight examples, both of class 1.
    let loss = |x: f64| ((1.0 + (w * x + b).exp()).ln() - (w * x + b)) / 8.0;
    let right = loss(3.0) + loss(4.0);
    assert!((found - right).abs() < 1e-12, "{found} is not {right}");
    let with = |from: &str, to: &str| {
        assert!(parts.contains(from));
        let folder = Folder::new("train-part-wrong");
        gradus(&["train", &logistic(&folder, &parts.replace(from, to))])
    };
    fails(&with("part = 0.25", "part = 1.5"), "`validation.part` is 1.5, not a number between 0 and 1");
    fails(&with("part = 0.25", "part = 0.05"), "`validation` holds out 1 examples, but a batch needs 2");
    fails(
        &with("every = 100\n", ""),
        "`validation.every` is missing; it must be the number of batches between validations",
    );
    let whole = PARTS.replace("[optimizer]", "[validation]\nevery = 5\n[optimizer]");
    let outcome = gradus(&["train", &logistic(&Folder::new("train-part-whole"), &whole)]);
    fails(&outcome, "`validation` needs examples to hold out");
    let optimizer = |from: &str, to: &str| with("[optimizer]", &format!("{from}[optimizer]\n{to}"));
    fails(&optimizer("", "average = 1.0\n"), "`optimizer.average` is 1; must be at least 0 and below 1");
    let schedule = |points: &str| optimizer(&format!("[schedule]\nname = \"piecewise\"\n{points}\n"), "");
    fails(&schedule(""), "`schedule.points` is missing; it must be a list of steps and factors");
    fails(&schedule("points = [[5, 1.0], [5, 0.5]]"), "`schedule.points` must have increasing steps");
    fails(&schedule("points = [5, 1.0]"), "`schedule.points` is of type array, not a list of pairs");
}

/// The configurations of `examples/train`, with fewer steps.
#[test]
fn shipped_configurations_train() {
    let folder = Folder::new("train-shipped");
    let from = root().join("examples/train");
    std::fs::create_dir_all(folder.0.join("train")).unwrap();
    for file in std::fs::read_dir(&from).unwrap().map(|f| f.unwrap().path()).filter(|p| p.is_file()) {
        std::fs::copy(&file, folder.0.join("train").join(file.file_name().unwrap())).unwrap();
    }
    let data = root().join("examples/data").display().to_string();
    // The losses that a run of this many steps prints at its end: on the training data and on the validation
    // data.
    let run = |name: &str, steps: &str, fewer: &str| {
        let path = format!("train/{name}.toml");
        let text = folder.read(&path).replace("../data", &data);
        assert!(text.contains(steps), "{text}");
        output("", &["train", &folder.file(&path, &text.replace(steps, fewer))]);
        let log = lines(&folder, &format!("train/{name}"));
        let last = log[log.len() - 1].clone();
        (last["loss"].as_f64().unwrap(), last["validation"].as_f64())
    };
    let (loss, held_out) = run("xor", "steps = 300", "steps = 300");
    assert!(loss < 0.01 && held_out.is_none(), "{loss}");
    let (loss, held_out) = run("names", "steps = 10000", "steps = 600");
    assert!(loss < 3.0 && (2.0..2.5).contains(&held_out.unwrap()), "{loss} {held_out:?}");
    let (loss, held_out) = run("gpt", "steps = 2000", "steps = 10");
    assert!(loss < 4.2 && held_out.unwrap() < 4.5, "{loss} {held_out:?}");
}

/// The configuration in the help runs.
#[test]
fn the_configuration_of_the_help_trains() {
    let folder = Folder::new("train-help");
    let help = output("", &["train", "--help"]);
    let text = help.split("A configuration:\n").nth(1).and_then(|t| t.split("\n\n").next()).unwrap();
    let text = text.replace("steps = 2000", "steps = 3").replace("warm_up = 100", "warm_up = 1");
    std::fs::copy(root().join("examples/data/names.txt"), folder.0.join("names.txt")).unwrap();
    let said = output("", &["train", &folder.file("c.toml", &text)]);
    assert!(said.contains("step 3/3  loss ") && said.contains("  validation "), "{said}");
    assert!(help.lines().all(|l| l.chars().count() <= 80), "{help}");
}
