//! The book's equations and commands: every block of `docs/` is run, and its output is compared with the
//! page.
//!
//! A block `eq`, `toml` or `json` with a file name is written to the page's folder. A block `eq` without one
//! is run, and states its values (`# expect Name = value`) or is followed by a block `output`. Lines of a
//! block `sh` that begin with `gradus` are run in that folder, unless the block says `norun`. In an `output`
//! block `…` stands for anything within a line, and for any lines where it is alone. A block
//! `rust,ignore FILE` must appear in that file. `GRADUS_BLESS=1` writes outputs that differ into the pages;
//! review them afterwards.

use crate::common::{Folder, root};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A fenced block of a page.
struct Block {
    language: String,
    words: Vec<String>,
    text: String,
    /// The range of its lines in the page.
    lines: std::ops::Range<usize>,
}

impl Block {
    fn file(&self) -> Option<&str> {
        self.words.iter().map(String::as_str).find(|word| word.contains('.'))
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut open): (Vec<Block>, Option<Block>) = (Vec::new(), None);
    for (i, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                let mut words = info.split([' ', ',']).filter(|w| !w.is_empty()).map(str::to_string);
                let language = words.next().unwrap_or_default();
                open = Some(Block {
                    language,
                    words: words.collect(),
                    text: String::new(),
                    lines: i + 1..i + 1,
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take().map(|b| Block { lines: b.lines.start..i, ..b })),
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block does not end");
    blocks
}

/// All pages of the book, relative to `docs/`.
fn pages() -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let links = text.lines().filter_map(|l| l.split_once("](")).map(|(_, rest)| rest.trim_end_matches(')'));
    links.map(str::to_string).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// The words of a shell command, without quotes and comments.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut any) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.push(c),
            ('\'' | '"', None) => (quote, any) = (Some(c), true),
            ('#', None) if word.is_empty() && !any => break,
            (' ', None) => {
                if any || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            (c, None) => word.push(c),
        }
    }
    assert!(quote.is_none(), "{line}: a quote is not closed");
    words.extend((any || !word.is_empty()).then_some(word));
    words
}

/// Runs a line, commands joined by `|`; returns the output of the last one.
fn run(line: &str, folder: &Path) -> String {
    let all = words(line);
    let mut input = Vec::new();
    for command in all.split(|word| word == "|") {
        assert_eq!(command[0], "gradus", "{line}");
        let mut child = Command::new(env!("CARGO_BIN_EXE_gradus"))
            .args(&command[1..])
            .current_dir(folder)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&input).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{line}\n{}", String::from_utf8_lossy(&done.stderr));
        input = done.stdout;
    }
    String::from_utf8(input).unwrap()
}

/// Returns true if a text equals the text on a page, in which `…` matches anything.
fn agrees(shown: &str, found: &str) -> bool {
    fn line(shown: &str, found: &str) -> bool {
        let Some((first, rest)) = shown.split_once('…') else { return shown == found };
        let Some(mut left) = found.strip_prefix(first) else { return false };
        let mut parts: Vec<&str> = rest.split('…').collect();
        let last = parts.pop().unwrap_or("");
        for part in parts {
            match left.find(part) {
                Some(at) => left = &left[at + part.len()..],
                None => return false,
            }
        }
        left.ends_with(last)
    }
    fn lines(shown: &[&str], found: &[&str]) -> bool {
        match (shown.split_first(), found.split_first()) {
            (None, None) => true,
            (Some((&"…", rest)), _) => (0..=found.len()).any(|n| lines(rest, &found[n..])),
            (Some((s, shown)), Some((f, found))) => line(s, f) && lines(shown, found),
            _ => false,
        }
    }
    let trimmed = |text: &str| text.lines().map(|l| l.trim_end().to_string()).collect::<Vec<_>>();
    let (shown, found) = (trimmed(shown), trimmed(found));
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    lines(&shown, &found.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Lines of a page, and the text that replaces them.
type Change = (std::ops::Range<usize>, String);

/// Runs the blocks of a page in order; returns the number of blocks run, and outputs that differ.
fn run_page(page: &str, text: &str) -> (usize, Vec<Change>) {
    let folder = Folder::new(&format!("guide-{}", page.replace(['/', '.'], "-")));
    for part in ["equations", "train", "data"] {
        copy(&root().join("examples").join(part), &folder.0.join("examples").join(part));
    }
    let blocks = blocks(text);
    let (mut ran, mut changes) = (0, Vec::new());
    for (i, block) in blocks.iter().enumerate() {
        let shown = blocks.get(i + 1).filter(|next| next.language == "output");
        let place = format!("docs/{page}:{}", block.lines.start);
        if let (Some(name), "eq" | "toml" | "json" | "csv" | "tsv") = (block.file(), block.language.as_str())
        {
            folder.file(name, &block.text);
        }
        if let Some(source) = block.words.iter().find(|word| block.language == "rust" && word.contains('/')) {
            let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let whole = flat(&fs::read_to_string(root().join(source)).unwrap());
            assert!(whole.contains(&flat(&block.text)), "{place} is not in {source}");
            ran += 1;
        }
        let found = match block.language.as_str() {
            "eq" if block.file().is_none() => {
                let own = crate::common::stated(&place, &block.text, &folder.0);
                assert!(own > 0 || shown.is_some() || block.has("picture"), "{place} states nothing");
                folder.file("block.eq", &block.text);
                run("gradus run block.eq", &folder.0)
            }
            "sh" if !block.has("norun") => {
                let lines = block.text.lines().filter(|l| l.starts_with("gradus "));
                lines.map(|line| run(line, &folder.0)).collect()
            }
            "sh" => {
                for line in block.text.lines().filter(|l| l.starts_with("gradus ")) {
                    run(&format!("gradus {} --help", words(line)[1]), &folder.0);
                }
                continue;
            }
            _ => continue,
        };
        ran += 1;
        if let Some(shown) = shown.filter(|shown| !agrees(&shown.text, &found)) {
            changes.push((shown.lines.clone(), found));
        }
    }
    (ran, changes)
}

#[test]
fn the_book_as_written() {
    let bless = std::env::var_os("GRADUS_BLESS").is_some();
    let mut ran = 0;
    for page in pages().iter().filter(|page| *page != "language.md") {
        let path: PathBuf = root().join("docs").join(page);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("docs/{page}: {e}"));
        let (own, changes) = run_page(page, &text);
        ran += own;
        if bless {
            let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
            for (range, found) in changes.into_iter().rev() {
                lines.splice(range, found.lines().map(|l| l.trim_end().to_string()));
            }
            fs::write(&path, lines.join("\n") + "\n").unwrap();
        } else if let Some((range, found)) = changes.first() {
            let shown: Vec<&str> = text.lines().skip(range.start).take(range.len()).collect();
            panic!("docs/{page}:{}\nshown:\n{}\nfound:\n{found}", range.start, shown.join("\n"));
        }
    }
    assert!(ran >= 25, "{ran} blocks");
}

/// The picture and the gradient in README.md equal the output of the command.
#[test]
fn the_readme_as_written() {
    let folder = Folder::new("guide-picture");
    copy(&root().join("examples/equations"), &folder.0);
    run("gradus explain layer.eq --svg graph.svg --ops", &folder.0);
    assert_eq!(folder.read("graph.svg"), fs::read_to_string(root().join("docs/graph.svg")).unwrap());
    let gradient = run("gradus grad layer.eq --wrt W --merged --gradients-only", &folder.0);
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(!gradient.is_empty() && readme.contains(&gradient), "README.md lacks\n{gradient}");
}

#[test]
fn dots_stand_for_anything() {
    assert!(agrees("a … b\n", "a xx b\n") && !agrees("a … b\n", "a xx c\n"));
    assert!(agrees("a\n…\nd\n", "a\nb\nc\nd\n") && !agrees("a\n…\nd\n", "b\nd\n"));
    assert!(agrees("x …/… y\n", "x 1/2 y\n") && !agrees("x …/… y\n", "x 12 y\n"));
    assert!(!agrees("a\n", "a\nb\n"));
    assert_eq!(
        words("gradus run a.eq --set 'X=[1, 2]' # why"),
        ["gradus", "run", "a.eq", "--set", "X=[1, 2]"]
    );
}
