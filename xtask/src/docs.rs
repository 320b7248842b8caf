//! `cargo xtask docs`: builds the book in `docs/` into `target/book`.
//!
//! Reads the chapters that `docs/SUMMARY.md` lists and writes a page for each, with one stylesheet. Pictures
//! are drawn by `gradus explain --svg`, and the op reference is printed by an example of `gradus-ir`; neither
//! is kept in the repository.

mod page;
mod pictures;
mod summary;

use crate::heading::heading;
use crate::workspace::{Workspace, cargo, output};
use pictures::Pictures;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use summary::{Chapter, Entry};

const STYLE: &str = include_str!("docs/book.css");

/// The line of `docs/ops.md` that the op reference replaces.
const OPS: &str = "{{#ops}}";

/// Builds the book. Fails if a chapter is missing, a program cannot be drawn, or a link leads nowhere.
pub(crate) fn run(workspace: &Workspace) -> Result<(), String> {
    let docs = workspace.root.join("docs");
    let title = summary::title(&read(&docs.join("book.toml"))?)?;
    let entries = summary::parse(&read(&docs.join("SUMMARY.md"))?)?;
    let chapters: Vec<&Chapter> = entries.iter().filter_map(Entry::chapter).collect();
    heading(format_args!("op reference"));
    build(workspace, &["--example", "op_reference"])?;
    let program = program_path(workspace, "examples/op_reference");
    let reference = output(&mut Command::new(program))?;
    let reference = String::from_utf8(reference).map_err(|error| format!("op reference: {error}"))?;
    heading(format_args!("pictures"));
    build(workspace, &["--bin", "gradus"])?;

    // The book is written to another folder and renamed, so that a failed run keeps the last book.
    let (book, aside) = (workspace.target.join("book"), workspace.target.join("book.part"));
    let _ = std::fs::remove_dir_all(&aside);
    let pictures = Pictures::new(&workspace.root, program_path(workspace, "gradus"), &aside)?;
    let files: BTreeSet<&str> = chapters.iter().map(|c| c.file.as_str()).collect();
    let mut pages = BTreeMap::new();
    for chapter in &chapters {
        let text = read(&docs.join(&chapter.file))?.replace(OPS, &reference);
        let page = page::render(&chapter.file, &text, &files, &pictures)
            .map_err(|error| format!("docs/{}: {error}", chapter.file))?;
        pages.insert(chapter.file.as_str(), page);
    }
    check_links(&pages)?;
    for (position, chapter) in chapters.iter().enumerate() {
        let neighbours = (position.checked_sub(1).map(|p| chapters[p]), chapters.get(position + 1).copied());
        let html = page::document(&title, &entries, chapter, neighbours, &pages[chapter.file.as_str()]);
        write(&aside.join(summary::address(&chapter.file)), &html)?;
    }
    write(&aside.join("book.css"), STYLE)?;
    if let Some(first) = chapters.first() {
        write(&aside.join("index.html"), &page::redirect(&summary::address(&first.file)))?;
    }
    let _ = std::fs::remove_dir_all(&book);
    std::fs::rename(&aside, &book).map_err(|error| format!("{}: {error}", book.display()))?;
    heading(format_args!("{} pages in {}", chapters.len(), book.display()));
    Ok(())
}

/// Builds a target with the features of the complete workspace, as the tests do, so that nothing is built
/// twice.
fn build(workspace: &Workspace, target: &[&str]) -> Result<(), String> {
    let workspace_wide = ["build", "--quiet", "--workspace", "--exclude", "gradus-bench"];
    let mut command = cargo();
    command.args(workspace_wide).args(target).env("CARGO_TARGET_DIR", &workspace.target);
    output(command.current_dir(&workspace.root)).map(drop)
}

/// Returns the path of a program that `build` has built.
fn program_path(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Checks that every link to a chapter names an existing chapter, and its fragment a heading of that chapter.
fn check_links(pages: &BTreeMap<&str, page::Page>) -> Result<(), String> {
    for (file, page) in pages {
        for (target, fragment) in &page.links {
            let known = pages.get(target.as_str()).is_some_and(|page| {
                fragment.is_empty() || page.headings.iter().any(|heading| heading.id == *fragment)
            });
            if !known {
                return Err(format!("docs/{file}: no heading `#{fragment}` in docs/{target}"));
            }
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
