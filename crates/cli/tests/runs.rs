//! Tests the safeguards of `gradus train`: the lock on the output folder, the check of settings on
//! `--resume`, the end of a run whose loss diverges. Also tests that no verb blocks on a named pipe.

use crate::common::{Folder, Outcome, gradus, output, root};
use gradus::nn::checkpoint;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A configuration of the model of names, small enough for a test.
fn named(steps: u64, out: &str) -> String {
    let data = root().join("examples/data/names.txt").display().to_string();
    format!(
        "model = \"names\"\ndata = {data:?}\nsteps = {steps}\nbatch = 32\nout = {out:?}\nseed = 7\n\
         checkpoint_every = 10\nlog_every = 10\n\n[optimizer]\nname = \"adam\"\nrate = 5e-3\n\n[sizes]\nwidth = 16\n"
    )
}

fn fails(outcome: &Outcome, with: &[&str]) {
    assert_eq!(outcome.code, 1, "{}{}", outcome.out, outcome.err);
    for part in with {
        assert!(outcome.err.contains(part), "{part:?} is not in: {}", outcome.err);
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The second run in a folder fails at once, names folder and process, and leaves the first alone; the lock
/// of a killed run does not block the next.
#[test]
fn a_second_run_in_a_folder_is_refused() {
    let folder = Folder::new("runs-lock");
    let config = folder.file("run.toml", &named(1_000_000, "run"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_gradus"));
    let mut child = command.args(["train", &config]).stdout(Stdio::null()).spawn().unwrap();
    let log = folder.0.join("run/log.jsonl");
    let length = || std::fs::metadata(&log).map_or(0, |m| m.len());
    until("no step was taken", || length() > 0);
    let place = folder.0.join("run").display().to_string();
    let process = format!("process {}", child.id());
    for more in [&[][..], &["--resume"], &["--resume", "--force"]] {
        let begun = Instant::now();
        let outcome = gradus(&[&["train", &config], more].concat());
        fails(&outcome, &[&place, "is in use by the run of", &process, "choose another folder"]);
        assert!(outcome.out.is_empty() && begun.elapsed() < Duration::from_secs(20), "{}", outcome.out);
    }
    // The first run continues, and the second has written nothing into its log.
    let before = length();
    until("the first run does not continue", || length() > before);
    until("no checkpoint", || folder.0.join("run/checkpoint.safetensors").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let steps: Vec<u64> = folder.read("run/log.jsonl").lines().filter_map(step_of).collect();
    assert!(steps.windows(2).all(|two| two[0] < two[1]), "{steps:?}");
    let less = folder.file("less.toml", &named(1, "run"));
    assert!(output("", &["train", &less, "--resume"]).contains("all 1 steps were already done"));
}

fn step_of(line: &str) -> Option<u64> {
    serde_json::from_str::<serde_json::Value>(line).ok()?["step"].as_u64()
}

/// Tests the lock with two runs in one process: it belongs to an open file, and ends with the run.
#[test]
fn the_lock_ends_with_the_run() {
    let folder = Folder::new("runs-again");
    let config = folder.file("run.toml", &named(5, "run"));
    output("", &["train", &config]);
    let more = folder.file("more.toml", &named(8, "run"));
    assert!(output("", &["train", &more, "--resume"]).contains("8 steps done"));
}

/// `--resume` refuses a changed setting that affects the result and prints both values. It accepts other
/// changed settings. `--force` accepts all of them.
#[test]
fn a_resumed_run_has_the_settings_of_its_checkpoint() {
    let folder = Folder::new("runs-settings");
    output("", &["train", &folder.file("first.toml", &named(10, "run"))]);
    let with = |changes: &[(&str, &str)], more: &[&str]| {
        let text = changes.iter().fold(named(20, "run"), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let config = folder.file("second.toml", &text);
        gradus(&[&["train", &config, "--resume"], more].concat())
    };
    let other = "was written by a run with other settings";
    fails(&with(&[("seed = 7", "seed = 8")], &[]), &[other, "`seed` was 7 and is 8", "--force"]);
    fails(&with(&[("rate = 5e-3", "rate = 1e-2")], &[]), &["`optimizer.rate` was 0.005 and is 0.01"]);
    fails(&with(&[("batch = 32", "batch = 16")], &[]), &["`batch` was 32 and is 16"]);
    fails(
        &with(&[("rate = 5e-3", "clip_norm = 1")], &[]),
        &["`optimizer.clip_norm` was not set and is 1.0", "`optimizer.rate` was 0.005 and is 0.001"],
    );
    fails(
        &with(&[("[sizes]", "[schedule]\nname = \"cosine\"\n[sizes]")], &[]),
        &[
            "`schedule.name` was \"constant\" and is \"cosine\"",
            // A cosine is stretched over all steps, so their number is a setting, too.
            "`steps` was not set and is 20",
        ],
    );
    let short = std::fs::read_to_string(root().join("examples/data/names.txt")).unwrap();
    folder.file("names.txt", &short[..short.len() / 2]);
    let path = root().join("examples/data/names.txt").display().to_string();
    fails(&with(&[(&format!("{path:?}"), "\"names.txt\"")], &[]), &["`data` was ", " bytes with checksum "]);
    // Weights that do not fit are refused even with `--force`.
    fails(&with(&[("width = 16", "width = 8")], &["--force"]), &["its `model` is {"]);
    // Accepts the same text in another folder, explicit default values, and other settings that concern only
    // files.
    folder.file("names.txt", &short);
    let same = [
        (&*format!("{path:?}"), "\"names.txt\""),
        ("rate = 5e-3", "rate = 0.005\neps = 1e-8\namsgrad = false"),
        ("steps = 20", "steps = 15\naccumulate = 1"),
        ("log_every = 10", "log_every = 3"),
        ("checkpoint_every = 10\n", ""),
        ("[sizes]", "[validation]\nevery = 5\n[schedule]\nname = \"constant\"\n[sizes]\ncontext = 3"),
    ];
    let outcome = with(&same, &[]);
    assert!(outcome.code == 0 && outcome.out.contains("15 steps done"), "{}", outcome.err);
    let outcome = with(&[("seed = 7", "seed = 8"), ("rate = 5e-3", "rate = 1e-2")], &["--force"]);
    assert!(outcome.code == 0 && outcome.out.contains("20 steps done"), "{}", outcome.err);
    // After that, the new settings are those of the run.
    let config = folder.file("third.toml", &named(25, "run"));
    fails(&gradus(&["train", &config, "--resume"]), &["`optimizer.rate` was 0.01 and is 0.005"]);
    let outcome = gradus(&["train", &config, "--force"]);
    assert!(outcome.code == 2 && outcome.err.contains("--resume"), "{}", outcome.err);
}

/// The inputs and the text of a program are settings, by their content.
#[test]
fn a_resumed_program_is_the_same_program() {
    let folder = Folder::new("runs-program");
    folder.file("x.csv", "1\n2\n3\n");
    folder.file("p.eq", "Loss = (X[n,f] W[f] - 2) ** 2\n");
    let text = |steps: u64, file: &str| {
        format!(
            "model = \"program\"\nsteps = {steps}\nout = \"run\"\n[optimizer]\nname = \"sgd\"\nrate = 0.01\n\
             [program]\nfile = {file:?}\nloss = \"Loss\"\ninputs = {{ X = \"x.csv\" }}\nparameters = {{ W = 0.5 }}\n"
        )
    };
    output("", &["train", &folder.file("c.toml", &text(3, "p.eq"))]);
    folder.file("q.eq", "Loss = (X[n,f] W[f] - 2) ** 2\n");
    output("", &["train", &folder.file("c.toml", &text(4, "q.eq")), "--resume"]);
    folder.file("p.eq", "Loss = (X[n,f] W[f] - 3) ** 2\n");
    let resumed = || gradus(&["train", &folder.file("c.toml", &text(5, "p.eq")), "--resume"]);
    fails(&resumed(), &["`program.file` was 30 bytes with checksum "]);
    folder.file("p.eq", "Loss = (X[n,f] W[f] - 2) ** 2\n");
    folder.file("x.csv", "1\n2\n4\n");
    fails(&resumed(), &["`program.inputs.X` was 6 bytes with checksum "]);
    folder.file("x.csv", "1\n2\n3\n");
    assert_eq!(resumed().code, 0);
}

/// Trains on the loss `x⁴`, whose step is `x ← x − rate · 4 x³`. At a rate this large the loss overflows.
fn diverging(folder: &Folder, every: u64, f64: bool) -> Outcome {
    folder.file("p.eq", "Loss = W[i] W[i] W[i] W[i]\n");
    let config = format!(
        "model = \"program\"\nsteps = 50\nout = \"run\"\ncheckpoint_every = {every}\nlog_every = 1\n[optimizer]\n\
         name = \"sgd\"\nrate = 1.0\n[program]\nfile = \"p.eq\"\nloss = \"Loss\"\nf64 = {f64}\n\
         parameters = {{ W = {{ fill = 1.0, shape = [1] }} }}\n"
    );
    gradus(&["train", &folder.file("c.toml", &config)])
}

/// Computes this recurrence directly; returns the loss of each step and the weight after it.
fn followed() -> Vec<(f64, f64)> {
    let mut w = 1.0f64;
    let mut all = Vec::new();
    for _ in 0..20 {
        let loss = w.powi(4);
        w -= 4.0 * w.powi(3);
        all.push((loss, w));
    }
    all
}

/// A loss beyond 1e20, or one that is not finite, ends the run: step, value, advice, exit code 1. The
/// checkpoint is the last from which a step gave a finite loss, even if the run wrote another one just
/// before.
#[test]
fn a_run_that_diverges_ends_and_keeps_the_last_good_checkpoint() {
    let right = followed();
    let bad = right.iter().position(|(loss, _)| loss.is_nan() || loss.abs() > 1e20).unwrap() as u64 + 1;
    assert!(bad > 3 && right[bad as usize - 1].0.is_finite());
    // If every step writes a checkpoint, the last one leads to the bad loss, and the one before it is
    // restored.
    for (every, kept) in [(1, bad - 2), (2, (bad - 2) / 2 * 2)] {
        let folder = Folder::new(&format!("runs-diverging-{every}"));
        let outcome = diverging(&folder, every, true);
        let value = format!("step {bad}: the loss is {:e};", right[bad as usize - 1].0);
        fails(&outcome, &[&value, "try a lower rate", "the last good checkpoint is kept"]);
        let path = folder.0.join("run/checkpoint.safetensors");
        let file = checkpoint::safetensors::Reader::open(&path).unwrap();
        assert_eq!(file.note("batches"), Some(&*kept.to_string()));
        let w = file.tensor("model.W").unwrap().to_vec::<f64>().unwrap()[0];
        let (expected, next) = (right[kept as usize - 1].1, right[kept as usize].0);
        assert!(
            (w - expected).abs() <= 1e-12 * expected.abs() && next.abs() <= 1e20,
            "{w} is not {expected}"
        );
        let names: Vec<_> =
            std::fs::read_dir(folder.0.join("run")).unwrap().map(|f| f.unwrap().file_name()).collect();
        assert!(!names.iter().any(|n| n.to_string_lossy().contains("before")), "{names:?}");
        assert!(folder.read("run/log.jsonl").lines().count() as u64 == bad - 1);
    }
    // If no checkpoint was written before the loss diverged, none is kept.
    let folder = Folder::new("runs-diverging-0");
    fails(&diverging(&folder, 0, false), &["no good checkpoint was written"]);
    assert!(!folder.0.join("run/checkpoint.safetensors").exists());
}

/// Tests that a loss that is infinite or not a number ends the run at its first step.
#[test]
fn a_loss_that_is_not_finite_ends_the_run() {
    for (loss, shown) in [("1 / W[i]", "inf"), ("-1 / W[i]", "-inf"), ("W[i] / W[i]", "NaN")] {
        let folder = Folder::new("runs-not-finite");
        folder.file("p.eq", &format!("Loss = {loss}\n"));
        let config = "model = \"program\"\nsteps = 3\nout = \"run\"\n[optimizer]\nname = \"sgd\"\nrate = 0.1\n\
            [program]\nfile = \"p.eq\"\nloss = \"Loss\"\nparameters = { W = { fill = 0.0, shape = [1] } }\n";
        let outcome = gradus(&["train", &folder.file("c.toml", config)]);
        fails(&outcome, &[&format!("step 1: the loss is {shown};"), "no good checkpoint was written"]);
    }
}

/// Tests that if the last update overflows, no checkpoint is written, although all losses were finite.
#[test]
fn weights_that_are_not_finite_are_not_saved() {
    let folder = Folder::new("runs-infinite");
    folder.file("p.eq", "Loss = sqrt(W[i])\n");
    let config = "model = \"program\"\nsteps = 1\nout = \"run\"\n[optimizer]\nname = \"sgd\"\nrate = 0.1\n[program]\n\
        file = \"p.eq\"\nloss = \"Loss\"\nparameters = { W = { fill = 0.0, shape = [1] } }\n";
    let outcome = gradus(&["train", &folder.file("c.toml", config)]);
    fails(&outcome, &["step 1: the update makes `W` not finite", "no good checkpoint was written"]);
    assert!(!folder.0.join("run/checkpoint.safetensors").exists());
}

/// Every verb that reads a file, with a named pipe to which nothing is written in place of the file.
#[cfg(unix)]
#[test]
fn named_pipes_are_refused_and_not_waited_for() {
    let folder = Folder::new("runs-pipe");
    let pipe = |name: &str| {
        let path = folder.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path.display().to_string()
    };
    let program = folder.file("p.eq", "Y[i] = X[i] + 1\n");
    let [eq, toml, txt] = ["f.eq", "f.toml", "f.txt"].map(pipe);
    let said = "is a named pipe, which cannot be read";
    for verb in ["run", "grad", "check", "explain", "fmt", "repl"] {
        fails(&gradus(&[verb, &eq]), &[&eq, said]);
    }
    fails(&gradus(&["query", &eq, "Y(1)"]), &[&eq, said]);
    fails(&gradus(&["fmt", "--check", &eq]), &[&eq, said]);
    fails(&gradus(&["train", &toml]), &[&toml, said]);
    for ending in ["npy", "npz", "json", "csv", "tsv", "safetensors", "txt"] {
        let data = pipe(&format!("x.{ending}"));
        fails(&gradus(&["run", &program, "--input", &format!("X={data}")]), &[&data, said]);
    }
    folder.file("import.eq", "import \"f.eq\"\nY = 1\n");
    folder.file("named.eq", "X[i] = \"x.json\"\nY[i] = X[i] + 1\n");
    folder.file("vocabulary.eq", "X[i] = \"y.txt\"\nY[i] = X[i] + 1\n");
    folder.file("y.txt", "a b a\n");
    pipe("y.vocab.json");
    for name in ["import.eq", "named.eq", "vocabulary.eq"] {
        let outcome = gradus(&["run", &folder.0.join(name).display().to_string()]);
        assert!(outcome.code != 0 && outcome.err.contains(said), "{name}: {}", outcome.err);
    }
    let told = crate::common::gradus_with(":load f.eq\n", &["repl", &program]);
    assert!((told.out + &told.err).contains(said));
    for model in ["names", "gpt"] {
        let config = format!("model = {model:?}\nsteps = 1\nout = \"run\"\ndata = \"f.txt\"\n");
        fails(&gradus(&["train", &folder.file("c.toml", &config)]), &[&txt, said]);
    }
    // A checkpoint, the log of a run, and the file of its lock.
    let checkpoint = pipe("one/checkpoint.safetensors");
    fails(&gradus(&["sample", &checkpoint]), &[&checkpoint, said]);
    fails(&gradus(&["sample", &folder.0.join("one").display().to_string()]), &[&checkpoint, said]);
    let config = folder.file("c.toml", &named(2, "one"));
    fails(&gradus(&["train", &config, "--resume"]), &[&checkpoint, said]);
    pipe("two/log.jsonl");
    output("", &["train", &folder.file("c.toml", &named(2, "two"))]);
    pipe("three/.lock");
    fails(&gradus(&["train", &folder.file("c.toml", &named(2, "three"))]), &["is not a regular file"]);
    // A pipe that a shell passes as a file descriptor has a writer, so it is read.
    let mut command = Command::new(env!("CARGO_BIN_EXE_gradus"));
    let mut child =
        command.args(["run", "/dev/stdin"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"Y = 1 + 2\n").unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success() && String::from_utf8_lossy(&done.stdout).contains('3'));
}
