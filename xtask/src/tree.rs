//! The tree that the rules of tidy check: the text of every file that git tracks or would add, and the
//! packages.

use crate::tidy::mask;
use crate::workspace::{Package, Workspace, output};
use std::fmt;
use std::process::Command;

/// The repository in memory.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    pub(crate) packages: Vec<Package>,
}

/// One file.
pub(crate) struct File {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    /// Empty if the file is not UTF-8 text.
    pub(crate) text: String,
    /// The text with comments and literals blanked out, line for line; empty unless it is Rust.
    pub(crate) code: String,
}

/// A violated rule, its location, and the required change.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    pub(crate) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.what)
    }
}

impl File {
    pub(crate) fn new(path: &str, text: String) -> Self {
        let code = if path.ends_with(".rs") { mask::code(&text) } else { String::new() };
        Self { path: path.to_owned(), text, code }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Returns true if the file is `folder` with an `.rs` added, or is in the folder `folder`.
    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }

    pub(crate) fn violation(&self, line: usize, rule: &'static str, what: impl Into<String>) -> Violation {
        Violation { path: self.path.clone(), line, rule, what: what.into() }
    }
}

impl Tree {
    /// Reads all files that git tracks, and those it does not ignore, from the working copy.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self, String> {
        let listing = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
        let listing = output(Command::new("git").args(listing).current_dir(&workspace.root))?;
        let listing = String::from_utf8(listing).map_err(|error| format!("git ls-files: {error}"))?;
        let mut paths: Vec<&str> = listing.split_terminator('\0').collect();
        paths.sort_unstable();
        paths.dedup(); // git lists a file in conflict once per side
        let mut files = Vec::new();
        for path in paths {
            let location = workspace.root.join(path);
            if location.is_file() {
                let bytes =
                    std::fs::read(&location).map_err(|error| format!("cannot read {path}: {error}"))?;
                files.push(File::new(path, String::from_utf8(bytes).unwrap_or_default()));
            }
        }
        Ok(Self { files, packages: workspace.packages.clone() })
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

#[cfg(test)]
impl Tree {
    /// Makes a tree of these paths and texts.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new(path, (*text).to_owned())).collect();
        Self { files, packages: Vec::new() }
    }

    /// Returns the messages of a rule about this tree.
    pub(crate) fn complaints(&self, rule: fn(&Tree) -> Vec<Violation>) -> Vec<String> {
        rule(self).iter().map(Violation::to_string).collect()
    }
}
