//! The workspace as cargo describes it: its folders, packages, internal dependencies and examples.

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The workspace as `cargo metadata` describes it.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// The target folder.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Path of its Cargo.toml, relative to the root.
    pub(crate) manifest: String,
    /// Its dependencies inside the workspace, not those from a registry.
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) examples: Vec<String>,
}

/// One dependency of one member on another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// If true, only tests and examples of the dependent package need it.
    pub(crate) dev: bool,
}

/// Returns a command for the cargo that runs this task, so that every step uses the same toolchain.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a command and returns its standard output; standard error becomes the error.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("cannot start {program}: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

impl Workspace {
    /// Queries cargo.
    pub(crate) fn load() -> Result<Self, String> {
        let json = output(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
        let json = serde_json::from_slice(&json).map_err(|error| format!("cargo metadata: {error}"))?;
        Self::parse(&json)
    }

    fn parse(json: &Value) -> Result<Self, String> {
        let root = text(json, "workspace_root")?;
        let packages =
            list(json, "packages")?.iter().map(|json| package(json, &root)).collect::<Result<_, _>>()?;
        Ok(Self { root: root.into(), target: text(json, "target_directory")?.into(), packages })
    }
}

fn package(json: &Value, root: &str) -> Result<Package, String> {
    let manifest = text(json, "manifest_path")?;
    let manifest = manifest.strip_prefix(root).unwrap_or(&manifest).replace('\\', "/");
    let mut dependencies = Vec::new();
    for dependency in list(json, "dependencies")?.iter().filter(|json| json["path"].is_string()) {
        dependencies.push(Dependency { name: text(dependency, "name")?, dev: dependency["kind"] == "dev" });
    }
    let mut examples = Vec::new();
    for target in list(json, "targets")? {
        if list(target, "kind")?.iter().any(|kind| kind == "example") {
            examples.push(text(target, "name")?);
        }
    }
    let manifest = manifest.trim_start_matches('/').to_owned();
    Ok(Package { name: text(json, "name")?, manifest, dependencies, examples })
}

fn text(json: &Value, key: &str) -> Result<String, String> {
    json[key].as_str().map(str::to_owned).ok_or_else(|| format!("cargo metadata: `{key}` is not a string"))
}

fn list<'a>(json: &'a Value, key: &str) -> Result<&'a [Value], String> {
    json[key].as_array().map(Vec::as_slice).ok_or_else(|| format!("cargo metadata: `{key}` is not a list"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_the_metadata_of_cargo() {
        let workspace = Workspace::parse(&json!({
            "workspace_root": "/w",
            "target_directory": "/w/target",
            "packages": [{
                "name": "gradus",
                "manifest_path": "/w/crates/a/Cargo.toml",
                "dependencies": [
                    { "name": "half", "kind": null },
                    { "name": "gradus-ir", "kind": null, "path": "/w/crates/ir" },
                    { "name": "gradus-testkit", "kind": "dev", "path": "/w/crates/testkit" },
                ],
                "targets": [{ "name": "gradus", "kind": ["lib"] }, { "name": "first", "kind": ["example"] }],
            }],
        }))
        .unwrap();
        let dependency = |name: &str, dev| Dependency { name: name.into(), dev };
        assert_eq!(workspace.root, PathBuf::from("/w"));
        assert_eq!(workspace.target, PathBuf::from("/w/target"));
        assert_eq!(
            workspace.packages,
            [Package {
                name: "gradus".into(),
                manifest: "crates/a/Cargo.toml".into(),
                dependencies: vec![dependency("gradus-ir", false), dependency("gradus-testkit", true)],
                examples: vec!["first".into()],
            }]
        );
    }

    #[test]
    fn says_what_is_missing() {
        let error = Workspace::parse(&json!({ "workspace_root": "/w" })).err();
        assert_eq!(error.as_deref(), Some("cargo metadata: `packages` is not a list"));
    }
}
