//! Tests the cache of compiled kernels on disk, and the measured roofline.

use crate::common::{arguments, as_floats, floats, gpu, load, multiply_add, options, read};
use gradus_compile::Text;
use gradus_device::{Device, Roofline};
use gradus_wgpu::Options;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs a kernel with this folder for the cache, and checks its values. Returns true if the adapter supports a cache.
fn run(folder: &Path) -> bool {
    let Some(gpu) = gpu(&Options { cache: Some(folder.to_path_buf()), ..options() }) else { return false };
    let x = gpu.upload(&floats(&[1.0, 2.0, 3.0])).expect("memory");
    let program = load(&gpu, multiply_add(3, 4.0, false), Text::Special);
    let out = program.run(&mut arguments(&[&x, &x]), None).expect("a run").remove(0);
    assert_eq!(as_floats(&read(&*gpu, &out)), [5.0, 10.0, 15.0]);
    gpu.facts().iter().any(|(name, fact)| name == "features" && fact.contains("pipeline_cache"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or_else(|_| Vec::new(), |all| all.flatten().map(|f| f.path()).collect())
}

#[test]
fn kernels_are_stored_and_damage_is_ignored() {
    let folder = std::env::temp_dir().join(format!("gradus-wgpu-test-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    if !run(&folder) {
        println!("skipped: the adapter has no pipeline cache");
        return;
    }
    // The file is written after the background threads have found no further kernels.
    let start = Instant::now();
    let stored = |all: &[PathBuf]| all.iter().any(|p| p.extension().is_some_and(|e| e == "bin"));
    while !stored(&files(&folder)) {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", files(&folder));
        std::thread::sleep(Duration::from_millis(20));
    }
    let file =
        files(&folder).into_iter().find(|p| p.extension().is_some_and(|e| e == "bin")).expect("a file");
    let whole = fs::read(&file).expect("a file");
    run(&folder);
    let mut damaged = whole.clone();
    damaged.iter_mut().skip(12).for_each(|b| *b = !*b);
    fs::write(&file, &damaged).expect("a file");
    run(&folder);
    fs::write(&file, &whole[..whole.len() / 2]).expect("a file");
    run(&folder);
    // A folder that cannot be created causes no error.
    run(&file.join("inside a file"));
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_roofline_of_a_device_is_measured() {
    let Some(gpu) = gpu(&options()) else { return };
    let roofline = Roofline::measure(&*gpu).expect("a measurement");
    // Rates outside of these bounds would mean that bytes or operations are counted wrongly.
    assert!((1e7..1e14).contains(&roofline.bytes), "{roofline:?}");
    assert!((1e7..1e16).contains(&roofline.flops), "{roofline:?}");
}
