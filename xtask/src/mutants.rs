//! `cargo xtask mutants`: changes the source in small ways (mutants) and checks that a test fails for each.
//! Takes the part of all mutants to test; prints the counts and the mutants that no test detects.
//! `docs/mutants.md` describes a run.

use crate::heading::heading;
use crate::workspace::{Workspace, cargo, output};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The mutated code: the transforms, the ops with their derivatives, and the compiler.
const FILES: [&str; 3] =
    ["crates/ir/src/transform/*.rs", "crates/ir/src/ops/**/*.rs", "crates/compile/src/**/*.rs"];
/// The second of every 100 mutants is tested: about 50.
const SAMPLE: &str = "1/100";
/// Seconds after which the tests of a mutant count as failed, for instance because a loop does not end.
const TEST_LIMIT: &str = "300";
/// Disables optimisation: the mutated code is compiled far more often than it runs.
const PROFILE: [&str; 3] = [
    "--config=profile.dev.opt-level=0",
    "--config=profile.dev.package.gradus-cpu.opt-level=0",
    "--config=profile.dev.debug=0",
];
/// Options for the tests of the mutated package. Excludes documentation, whose examples are compiled one by
/// one, and a test of speed, which needs optimised code.
const OWN: [&str; 5] = ["--", "--tests", "--", "--skip", "a_thousand_nodes"];
/// Packages and names of the tests that run on mutants which survive the tests of their own package.
const WIDER: [&str; 11] = [
    "--test-package=gradus-testkit,gradus-cpu",
    "--",
    "--test=tests",
    "--",
    "catalog::",
    "cpu::",
    "edges::",
    "text::",
    "executable::",
    "loops::",
    "slices::",
];

/// Tests a sample (`shard`, as in `3/60`) with the tests of the mutated package, and mutants that survive
/// with those of packages that depend on it. Fails if a mutant survives both.
pub(crate) fn run(workspace: &Workspace, shard: Option<&str>) -> Result<(), String> {
    let out = workspace.target.join("mutants");
    let (own, wider) = (out.join("own"), out.join("wider"));
    let shard = format!("--shard={}", shard.unwrap_or(SAMPLE));
    let files = FILES.map(|glob| format!("--file={glob}"));
    let sample = [shard, "--sharding=round-robin".to_owned()];
    check_out(&workspace.root, &out.join("tree"))?;
    mutants(workspace, &own, &[&files[..], &sample].concat(), &OWN)?;
    let survivors = names(&own, "missed")?;
    let mut missed = Vec::new();
    if !survivors.is_empty() {
        mutants(workspace, &wider, &selection(&survivors), &WIDER)?;
        missed = names(&wider, "missed")?;
        missed.retain(|name| survivors.contains(name));
    }
    let count = |kind: &str| names(&own, kind).map(|all| all.len());
    println!("tested: {}", count("caught")? + count("timeout")? + survivors.len());
    println!("  found by the tests of their package: {}", count("caught")?);
    println!("  found because tests do not end: {}", count("timeout")?);
    println!("  found by tests of dependent packages: {}", survivors.len() - missed.len());
    println!("  not found: {}", missed.len());
    println!("do not compile: {}", count("unviable")?);
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("no test fails with these mutants:\n{}", missed.join("\n"))),
    }
}

/// Checks out the last commit of the repository in a folder of its own. Its path is the same in every run, so
/// a run reuses what earlier ones built.
fn check_out(root: &Path, tree: &Path) -> Result<(), String> {
    if !tree.exists() {
        let clone = ["clone", "--quiet", "--shared", "--no-checkout"];
        output(Command::new("git").args(clone).arg(root).arg(tree))?;
    }
    let git = || {
        let mut git = Command::new("git");
        git.current_dir(tree);
        git
    };
    output(git().args(["fetch", "--quiet"]).arg(root).arg("HEAD"))?;
    output(git().args(["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"])).map(|_| ())
}

/// Runs cargo-mutants in the checked-out tree. A mutant that survives is not a failure of the run.
fn mutants(workspace: &Workspace, out: &Path, which: &[String], tests: &[&str]) -> Result<(), String> {
    std::fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let mut command = cargo();
    command.args([
        "mutants",
        "--in-place",
        "--workspace",
        "--cap-lints=true",
        "--no-times",
        "--colors=never",
    ]);
    command.args(PROFILE.map(|option| format!("--cargo-arg={option}")));
    command.arg(format!("--timeout={TEST_LIMIT}")).arg("--output").arg(out);
    command.args(which).args(tests).current_dir(workspace.target.join("mutants/tree"));
    command.env("CARGO_TARGET_DIR", workspace.target.join("mutants/build"));
    heading(format_args!("cargo mutants {} {}", which.join(" "), tests.join(" ")));
    let status = command.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    match status.code() {
        // 0: tests fail for all mutants; 2: some survive; 3: the tests of some do not end.
        Some(0 | 2 | 3) => Ok(()),
        Some(101) => {
            Err("`cargo xtask mutants` needs cargo-mutants; run `cargo install cargo-mutants`".into())
        }
        _ => Err(format!("cargo mutants failed ({status}): see {}", out.join("mutants.out").display())),
    }
}

/// Returns arguments that select these mutants by files and names. cargo-mutants selects mutants that delete
/// a field regardless of their names, so others may run too.
fn selection(names: &[String]) -> Vec<String> {
    let files: BTreeSet<&str> = names.iter().filter_map(|name| name.split(':').next()).collect();
    let files = files.into_iter().map(|file| format!("--file={file}"));
    files.chain(names.iter().map(|name| format!("--re=^{}$", escaped(name)))).collect()
}

/// Returns the names of the mutants with one result, such as `missed`.
fn names(out: &Path, kind: &str) -> Result<Vec<String>, String> {
    let path = out.join(format!("mutants.out/{kind}.txt"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Escapes a text as a regular expression that matches only this text.
fn escaped(text: &str) -> String {
    let special = |c: char| c.is_ascii_punctuation() && !"/_:;<>,='\"!%&@`~".contains(c);
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_alone() {
        let name = "crates/ir/src/ops/sums.rs:98:60: replace == with != in Steps<'a>::linear -> Vec<[u8]>";
        let expected =
            "crates/ir/src/ops/sums\\.rs:98:60: replace == with != in Steps<'a>::linear \\-> Vec<\\[u8\\]>";
        assert_eq!(escaped(name), expected);
        assert_eq!(escaped("a + b * (c | d)^e"), "a \\+ b \\* \\(c \\| d\\)\\^e");
        let names = ["a.rs:1:2: delete ! in f".to_owned(), "a.rs:3:4: delete ! in g".to_owned()];
        assert_eq!(selection(&names)[..2], ["--file=a.rs", "--re=^a\\.rs:1:2: delete ! in f$"]);
    }
}
