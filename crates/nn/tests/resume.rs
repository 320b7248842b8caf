//! Tests that runs which are stopped or killed at any time, and resumed, end with the same weights, bit for
//! bit.

use crate::common::Folder;
use gradus_ir::Result;
use gradus_nn::checkpoint::{read, safetensors::write};
use gradus_nn::data::{Loader, Tensors};
use gradus_nn::optim::AdamW;
use gradus_nn::{
    BatchNorm, Config, Dropout, Ended, Forward, Linear, Module, Optimizer, Schedule, Sequential,
    compile_training, train,
};
use gradus_tensor::{Generator, Reduction, Tensor, mse_loss};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const BATCHES: u64 = 400;

/// Trains with everything that a checkpoint must hold: parameters, statistics, optimizer state, averages,
/// sums of gradients, a generator, a schedule's step, a loader's position.
fn run(
    path: &Path,
    batches: u64,
    every: u64,
    pause: Duration,
    mut each: impl FnMut(u64, f32) -> bool,
) -> Result<Ended> {
    let g = Generator::new(5);
    let (x, y) = (g.randn([52, 6]), g.randn([52, 2]));
    let hidden = Sequential::new().then(Linear::new(6, 16, &g)).then(BatchNorm::new(16)).then(Tensor::tanh);
    let model = hidden.then(Dropout::new(0.3, &g)).then(Linear::new(16, 2, &g));
    let optimizer = Optimizer::new(model.parameters(), AdamW::default()).average(0.9);
    let optimizer = optimizer.schedule(Schedule::warm_up(0.1, 20, Schedule::cosine(BATCHES / 3, 0.0)));
    let mut loader = Loader::new(Tensors::new(vec![x, y])?, 7)?.shuffle(8).keep_last();
    let first = loader.next_batch()?;
    loader.seek(Default::default());
    let loss = |m: &Sequential, b: &[Tensor]| mse_loss(&m.forward(&b[0]), &b[1], Reduction::Mean);
    let fields: Vec<&Tensor> = first.iter().collect();
    let mut step = compile_training(&model, loss, optimizer, &fields)?.accumulate(3);
    let config =
        Config { batches, checkpoint: Some(path.to_path_buf()), every, resume: true, ..Config::default() };
    let stop = AtomicBool::new(false);
    train(&config, &mut step, &mut loader, &stop, |progress| {
        std::thread::sleep(pause);
        let go_on = each(progress.batch, progress.outcome.loss.item::<f32>()?);
        stop.store(!go_on, Ordering::Relaxed);
        Ok(())
    })
}

/// Returns all tensors of a checkpoint as bytes, by name.
fn content(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = read(path).unwrap().into_iter().map(|(n, t)| (n, t.to_bytes().unwrap())).collect();
    all.sort();
    all
}

fn whole(folder: &Folder) -> (Vec<(String, Vec<u8>)>, Vec<f32>) {
    let mut losses = Vec::new();
    let path = folder.file("whole");
    let ended = run(&path, BATCHES, 0, Duration::ZERO, |_, loss| {
        losses.push(loss);
        true
    });
    assert_eq!((ended.unwrap(), losses.len() as u64), (Ended::Done, BATCHES));
    (content(&path), losses)
}

#[test]
fn a_stopped_run_goes_on_with_the_same_losses() {
    let folder = Folder::new("stopped");
    let (right, losses) = whole(&folder);
    let names: Vec<&str> = right.iter().map(|(n, _)| n.as_str()).collect();
    for name in ["model.0.weight", "model.1.running_var", "generator.3.generator", "generator", "sum.0"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert!(names.contains(&"optimizer.0.weight.exp_avg") && names.contains(&"average.0.weight"));
    let path = folder.file("parts");
    let (mut seen, mut stops) = (Vec::new(), 0);
    loop {
        let until = seen.len() as u64 + 1 + (seen.len() as u64 * 7) % 41;
        let ended = run(&path, BATCHES, 0, Duration::ZERO, |batch, loss| {
            seen.push(loss);
            assert_eq!(seen.len() as u64, batch);
            batch < until
        });
        match ended.unwrap() {
            Ended::Done => break,
            Ended::Stopped => stops += 1,
        }
    }
    // A checkpoint of another model is rejected, and nothing changes.
    let other = folder.file("other");
    std::fs::copy(folder.file("whole"), &other).unwrap();
    let tensors: Vec<_> = read(&other).unwrap().into_iter().filter(|(n, _)| n != "model.0.bias").collect();
    write(&other, &tensors, &[("steps".into(), "1".into()), ("seen".into(), "0".into())].into()).unwrap();
    let e = run(&other, BATCHES, 0, Duration::ZERO, |_, _| true).unwrap_err().to_string();
    assert!(e.contains("has no tensor `model.0.bias`"), "{e}");
    write(&other, &tensors, &Default::default()).unwrap();
    let e = run(&other, BATCHES, 0, Duration::ZERO, |_, _| true).unwrap_err().to_string();
    assert!(e.contains("the note `steps` is ``, which is not a count"), "{e}");
    assert!(stops > 5, "{stops}");
    assert_eq!(seen, losses);
    assert!(content(&path) == right);
}

const FOLDER: &str = "GRADUS_TEST_RESUME";

/// Not a separate test: `a_killed_run_ends_the_same` starts and kills a process that runs this function.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let path = Path::new(&folder).join("killed");
    run(&path, BATCHES, 1, Duration::from_millis(3), |_, _| true).unwrap();
}

#[test]
fn a_killed_run_ends_the_same() {
    let folder = Folder::new("killed");
    let (right, _) = whole(&folder);
    let path = folder.file("killed");
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "resume::child"])
            .env(FOLDER, &folder.0)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let (mut kills, mut random) = (0, 12345u64);
    let mut finished = false;
    while kills < 20 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut child = start();
        // The process is killed at a random time after its first write, so that every run makes progress.
        let before = std::fs::metadata(&path).and_then(|m| m.modified()).ok();
        let began = || std::fs::metadata(&path).and_then(|m| m.modified()).ok() != before;
        while child.try_wait().unwrap().is_none() && !began() {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros((random >> 33) % 20_000));
        finished = child.try_wait().unwrap().is_some();
        if finished {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        // At any time there is a complete checkpoint.
        assert!(content(&path).len() == right.len());
    }
    assert!(kills == 20 && !finished, "the run ended after {kills} kills");
    assert!(start().wait().unwrap().success());
    assert!(content(&path) == right);
    // Temporary files of killed writers are removed.
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
