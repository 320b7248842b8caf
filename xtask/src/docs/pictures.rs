//! Pictures of the book: programs of equations, drawn by `gradus explain --svg`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the book's folder of pictures.
pub(crate) const FOLDER: &str = "pictures";

/// Draws programs into the book.
pub(crate) struct Pictures {
    root: PathBuf,
    command: PathBuf,
    folder: PathBuf,
}

/// Options of a picture of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Show {
    /// If true, draws the program together with its gradient equations.
    pub(crate) gradient: bool,
    /// If true, draws the operations of the graph instead of the equations.
    pub(crate) ops: bool,
    /// If true, numbers the operations in the order of evaluation.
    pub(crate) order: bool,
}

impl Show {
    /// Reads the words after `picture`.
    pub(crate) fn of(words: &[&str]) -> Show {
        let order = words.contains(&"order");
        Show { gradient: words.contains(&"gradient"), ops: order || words.contains(&"ops"), order }
    }
}

impl Pictures {
    /// Draws with `command`, the program `gradus`, into a folder of the book.
    pub(crate) fn new(root: &Path, command: PathBuf, book: &Path) -> Result<Self, String> {
        let folder = book.join(FOLDER);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { root: root.to_owned(), command, folder })
    }

    /// Draws a program of the repository; returns the path of the picture from the book's root.
    pub(crate) fn of_file(&self, file: &str, show: Show) -> Result<String, String> {
        let path = self.root.join(file);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let part = if show.gradient { "-gradient" } else { "" };
        let name = format!("{stem}{part}{}.svg", if show.ops { "-ops" } else { "" });
        // Paths in a program are relative to its folder.
        self.draw(&text, path.parent().unwrap_or(&self.root), &name, show)?;
        Ok(format!("{FOLDER}/{name}"))
    }

    /// Draws the program that is picture `number` of a page; returns the path of the picture from the book's
    /// root.
    pub(crate) fn of_text(
        &self,
        page: &str,
        number: usize,
        text: &str,
        show: Show,
    ) -> Result<String, String> {
        let name = format!("{}-{number}.svg", page.trim_end_matches(".md").replace('/', "-"));
        self.draw(text, &self.root, &name, show)?;
        Ok(format!("{FOLDER}/{name}"))
    }

    fn draw(&self, text: &str, folder: &Path, name: &str, show: Show) -> Result<(), String> {
        let text = match show.gradient {
            true => self.gradus(text, folder, &["grad", "-"])?,
            false => text.to_owned(),
        };
        let path = self.folder.join(name).display().to_string();
        let mut arguments = vec!["explain", "-", "--svg", &path];
        if show.ops {
            arguments.push("--ops");
        }
        if show.order {
            arguments.push("--order");
        }
        self.gradus(&text, folder, &arguments).map(drop)
    }

    /// Runs the command with a program on standard input.
    fn gradus(&self, program: &str, folder: &Path, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.command);
        command.args(arguments).current_dir(folder);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.command.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(program.as_bytes()).map_err(|error| format!("gradus: {error}"))?;
        }
        let done = child.wait_with_output().map_err(|error| format!("gradus: {error}"))?;
        match done.status.success() {
            true => String::from_utf8(done.stdout).map_err(|error| format!("gradus: {error}")),
            false => {
                Err(format!("gradus {}: {}", arguments[0], String::from_utf8_lossy(&done.stderr).trim()))
            }
        }
    }
}
