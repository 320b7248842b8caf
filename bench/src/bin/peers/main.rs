//! Runs the workloads of the comparison with other systems. As a worker, answers one JSON object per line.
//!
//! `{"cmd":"hello"}` returns its name; `prep` builds a workload and returns its check value; `run` times
//! repetitions; `drop` frees a workload and `quit` ends the worker. `--device NAME`, at any position, selects
//! the device. See `bench/README.md`.

mod inputs;
mod models;
mod workloads;

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::process::Command;
use std::time::{Duration, Instant};
use workloads::Workload;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|a| a == "--device") {
        let name = arguments.get(at + 1).ok_or("--device NAME")?;
        gradus::Device::named(name)?.set_default();
    }
    match arguments.get(1).map(String::as_str) {
        None | Some("--worker" | "--device") => {}
        Some("--growth") => return growth(),
        Some("--cold") => return cold(),
        Some(name) => return once(name),
    }
    let mut live: HashMap<String, Workload> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let ask: Value = serde_json::from_str(&line?)?;
        let name = ask["workload"].as_str().unwrap_or_default().to_string();
        let answer = match ask["cmd"].as_str() {
            Some("hello") => Ok(json!({
                "ok": true, "name": "gradus", "version": env!("CARGO_PKG_VERSION"), "workloads": workloads::NAMES,
            })),
            Some("prep") => prepare(&name, &mut live),
            Some("run") => run(&ask, live.get_mut(&name)),
            Some("drop") => {
                live.remove(&name);
                Ok(json!({ "ok": true }))
            }
            Some("quit") => {
                println!("{}", json!({ "ok": true }));
                return Ok(());
            }
            _ => Err("unknown command".into()),
        };
        let answer = answer.unwrap_or_else(|e| json!({ "ok": false, "error": e.to_string() }));
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// Runs one workload from the command line, for profiling; prints its check value and median time.
fn once(name: &str) -> Result<(), Failure> {
    let mut live = HashMap::new();
    let prepared = prepare(name, &mut live)?;
    if std::env::args().any(|a| a == "--explain") {
        let explain = live.get(name).and_then(|w| w.explain.as_ref()).ok_or("it has no plan")?;
        // After warm-up, because the first runs have cold caches.
        let settled = Instant::now() + Duration::from_millis(300);
        let mut text = explain()?;
        while Instant::now() < settled {
            text = explain()?;
        }
        println!("{text}");
    }
    let ask = json!({ "min_ms": 1000.0, "min_reps": 5, "warm": 2 });
    let timed = run(&ask, live.get_mut(name))?;
    println!("{name}: check {}, first {} ms, {}", prepared["check"], prepared["first_ms"], timed);
    Ok(())
}

/// Measures compilation and steps of the GPT for several depths and batches, as times and as ratios to the
/// smallest size. The smallest is measured again next to each, because the speed of the machine varies.
fn growth() -> Result<(), Failure> {
    println!(
        "| layers | batch | compile, ms | of proportional | step, ms | of proportional |\n|---|---|---|---|---|---|"
    );
    for (layers, batch) in [(4, 16), (8, 16), (16, 16), (32, 16), (4, 32), (4, 64), (4, 128)] {
        let sizes = [(4, 16), (layers, batch)];
        let mut best = [(f64::INFINITY, f64::INFINITY); 2];
        for _ in 0..3 {
            for ((layers, batch), best) in sizes.into_iter().zip(&mut best) {
                let (built, step) = compile_and_step_times(layers, batch)?;
                *best = (best.0.min(built), best.1.min(step));
            }
        }
        let [(build0, step0), (built, step)] = best;
        let times = f64::from(layers * batch) / 64.0;
        // The time to compile should grow with the layers only, because a graph has equally many nodes for any batch.
        let (more, work) = (built / build0 / f64::from(layers) * 4.0, step / step0 / times);
        println!("| {layers} | {batch} | {built:.0} | {more:.2} | {step:.1} | {work:.2} |");
    }
    Ok(())
}

/// Measures the time to compile a GPT and the shortest time of one step, in a new process with empty caches.
fn compile_and_step_times(layers: i32, batch: i32) -> Result<(f64, f64), Failure> {
    let name = format!("W5.{layers}x{batch}");
    let output = Command::new(std::env::current_exe()?).args(["--cold", &name]).output()?;
    let times: Value = serde_json::from_slice(&output.stdout)?;
    let time = |key: &str| times[key].as_f64().ok_or_else(|| format!("{name} has no time"));
    Ok((time("build")?, time("step")?))
}

fn cold() -> Result<(), Failure> {
    let name = std::env::args().nth(2).ok_or("--cold WORKLOAD")?;
    let mut live = HashMap::new();
    let built = prepare(&name, &mut live)?["build_ms"].clone();
    let ask = json!({ "min_ms": 300.0, "min_reps": 3, "warm": 1 });
    println!("{}", json!({ "build": built, "step": run(&ask, live.get_mut(&name))?["min"] }));
    Ok(())
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

fn prepare(name: &str, live: &mut HashMap<String, Workload>) -> Result<Value, Failure> {
    let start = Instant::now();
    let mut workload = workloads::build(name)?;
    let built = ms(start.elapsed());
    let start = Instant::now();
    (workload.repeat)()?;
    let first = ms(start.elapsed());
    let check = (workload.check)()?;
    live.insert(name.to_string(), workload);
    Ok(json!({ "ok": true, "build_ms": built, "first_ms": first, "check": check }))
}

fn run(ask: &Value, workload: Option<&mut Workload>) -> Result<Value, Failure> {
    let workload = workload.ok_or("prepare it first")?;
    let number = |key: &str, default: f64| ask[key].as_f64().unwrap_or(default);
    (workload.reset)()?;
    let start = Instant::now();
    let mut warmed = 0.0;
    while warmed < number("warm", 2.0) || ms(start.elapsed()) < number("warm_ms", 15.0) {
        (workload.repeat)()?;
        warmed += 1.0;
    }
    let mut times = Vec::new();
    let start = Instant::now();
    let enough = |times: &[f64]| {
        let n = times.len() as f64;
        n >= number("max_reps", 2000.0)
            || (n >= number("min_reps", 2.0) && ms(start.elapsed()) >= number("min_ms", 60.0))
    };
    while !enough(&times) {
        let one = Instant::now();
        (workload.repeat)()?;
        times.push(ms(one.elapsed()) / workload.inner as f64);
    }
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    let median = if times.len() % 2 == 1 { times[middle] } else { (times[middle - 1] + times[middle]) / 2.0 };
    Ok(json!({ "ok": true, "ms": median, "min": times[0], "reps": times.len() }))
}
