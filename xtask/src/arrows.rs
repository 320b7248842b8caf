//! Rule: a crate depends only on the crates that the table here lists for it. An entry of the table is called
//! an arrow.

use crate::tree::{Tree, Violation};

const RULE: &str = "arrows";

/// The allowed dependencies. A new crate gets an entry, and a new dependency gets a design record.
const ARROWS: &[(&str, &[&str])] = &[
    ("gradus-scalar", &[]),
    ("gradus-ir", &[]),
    ("gradus-mem", &[]),
    ("gradus-draw", &["gradus-ir"]),
    ("gradus-compile", &["gradus-ir"]),
    ("gradus-device", &["gradus-compile", "gradus-ir", "gradus-mem"]),
    ("gradus-linalg", &[]),
    (
        "gradus-cpu",
        &["gradus-compile", "gradus-device", "gradus-ir", "gradus-linalg", "gradus-mem", "gradus-scalar"],
    ),
    ("gradus-gpu", &["gradus-compile", "gradus-ir", "gradus-scalar"]),
    ("gradus-wgpu", &["gradus-compile", "gradus-device", "gradus-gpu", "gradus-ir", "gradus-mem"]),
    ("gradus-cuda", &["gradus-compile", "gradus-device", "gradus-gpu", "gradus-ir", "gradus-mem"]),
    (
        "gradus-tensor",
        &[
            "gradus-ir",
            "gradus-mem",
            "gradus-compile",
            "gradus-device",
            "gradus-cpu",
            "gradus-wgpu",
            "gradus-cuda",
        ],
    ),
    ("gradus-lang", &["gradus-tensor", "gradus-ir"]),
    ("gradus-files", &["gradus-tensor", "gradus-ir", "gradus-mem"]),
    ("gradus-nn", &["gradus-files", "gradus-tensor", "gradus-ir"]),
    ("gradus-models", &["gradus-nn", "gradus-tensor", "gradus-ir"]),
    (
        "gradus-web",
        &[
            "gradus-compile",
            "gradus-cpu",
            "gradus-device",
            "gradus-draw",
            "gradus-files",
            "gradus-gpu",
            "gradus-ir",
            "gradus-lang",
            "gradus-mem",
            "gradus-nn",
            "gradus-tensor",
        ],
    ),
    (
        "gradus-testkit",
        &["gradus-ir", "gradus-mem", "gradus-tensor", "gradus-compile", "gradus-device", "gradus-cpu"],
    ),
    (
        "gradus",
        &[
            "gradus-draw",
            "gradus-ir",
            "gradus-mem",
            "gradus-compile",
            "gradus-cpu",
            "gradus-device",
            "gradus-gpu",
            "gradus-wgpu",
            "gradus-cuda",
            "gradus-tensor",
            "gradus-files",
            "gradus-lang",
            "gradus-nn",
            "gradus-models",
        ],
    ),
    ("gradus-bench", &["gradus", "gradus-compile", "gradus-cpu"]),
    ("gradus-cli", &["gradus"]),
    ("gradus-python", &["gradus"]),
    ("user_primitive", &["gradus"]),
    ("xtask", &[]),
];

/// Crates that tests of any crate may use: the test kit, and the CPU device, with which other devices are
/// compared.
const FOR_TESTS: [&str; 2] = ["gradus-testkit", "gradus-cpu"];

/// Checks that every dependency inside the workspace is in the table.
pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for package in &tree.packages {
        let manifest = tree.file(&package.manifest).map_or("", |file| &file.text);
        let mut report = |line, what| {
            found.push(Violation { path: package.manifest.clone(), line, rule: RULE, what });
        };
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package.name) else {
            report(
                1,
                format!("unknown package {}: add it to the table in xtask/src/arrows.rs", package.name),
            );
            continue;
        };
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            let for_tests = dependency.dev && FOR_TESTS.contains(&name);
            if !allowed.contains(&name) && !for_tests {
                let what = format!(
                    "{} must not depend on {name}: move the code, or justify the dependency in a design record",
                    package.name
                );
                report(line_of(manifest, name), what);
            }
        }
    }
    found
}

/// Returns the line on which a manifest requests a dependency. Versions shared by the workspace are not
/// requests.
fn line_of(manifest: &str, dependency: &str) -> usize {
    let mut shared = false;
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            shared = line.starts_with("[workspace");
        }
        let named = line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
        if named && !shared {
            return index + 1;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Dependency, Package};

    fn tree(name: &str, dependencies: &[(&str, bool)]) -> Tree {
        let manifest = "[workspace.dependencies]\ngradus-nn = {}\n\n\
                        [dependencies]\ngradus-ir.workspace = true\ngradus-nn = {}\n";
        let mut tree = Tree::of(&[("Cargo.toml", manifest)]);
        let dependencies =
            dependencies.iter().map(|&(name, dev)| Dependency { name: name.into(), dev }).collect();
        tree.packages.push(Package {
            name: name.into(),
            manifest: "Cargo.toml".into(),
            dependencies,
            examples: Vec::new(),
        });
        tree
    }

    #[test]
    fn refuses_a_dependency_that_is_not_listed() {
        let tree = tree("gradus-tensor", &[("gradus-ir", false), ("gradus-nn", false)]);
        let what = "Cargo.toml:6: arrows: gradus-tensor must not depend on gradus-nn: \
                    move the code, or justify the dependency in a design record";
        assert_eq!(tree.complaints(check), [what]);
    }

    #[test]
    fn refuses_an_unknown_package() {
        let what =
            "Cargo.toml:1: arrows: unknown package gradus-extra: add it to the table in xtask/src/arrows.rs";
        assert_eq!(tree("gradus-extra", &[]).complaints(check), [what]);
    }

    #[test]
    fn allows_the_testkit_in_tests_alone() {
        assert!(check(&tree("gradus-ir", &[("gradus-testkit", true)])).is_empty());
        assert_eq!(check(&tree("gradus-ir", &[("gradus-testkit", false)])).len(), 1);
    }

    #[test]
    fn allows_listed_dependencies() {
        assert!(check(&tree("gradus-lang", &[("gradus-tensor", false), ("gradus-ir", false)])).is_empty());
    }
}
