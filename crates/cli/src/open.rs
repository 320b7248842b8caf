//! Programs from files and from standard input, with what they import.

use crate::args::Given;
use crate::{Done, Failure, Terminal};
use gradus::files;
use gradus::lang::{Diagnostic, Faults, Loader, Program, Source, Unsound};
use std::io::Read;
use std::path::{Path, PathBuf};

/// How long a program may be; the parser says the same with a place.
const MOST_BYTES: u64 = 64 << 20;

/// A program and the folder that its files are relative to.
pub(crate) struct Opened {
    pub(crate) program: Program,
    pub(crate) folder: PathBuf,
}

/// Reads imports relative to a folder.
pub(crate) struct Beside<'a>(pub(crate) &'a Path);

impl Loader for Beside<'_> {
    fn load(&self, path: &str) -> Result<String, String> {
        let path = self.0.join(path);
        let failed = |e: gradus::Error| {
            // The message of a failed import names the file already.
            let text = e.to_string();
            text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&text).to_string()
        };
        read(&path).map_err(failed)
    }
}

/// Reads the text of a program, one byte more than is allowed at most: the parser refuses it at the position.
pub(crate) fn read(path: &Path) -> gradus::Result<String> {
    let mut text = String::new();
    let read = files::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map(|_| text).map_err(|e| files::atomic::failed(path, format!("cannot be read: {e}")))
}

/// The text of a program; `-` is standard input.
pub(crate) fn text(file: &Path, terminal: &mut Terminal<'_>) -> Done<Source> {
    let mut text = String::new();
    if file == Path::new("-") {
        let failed = |e: std::io::Error| Failure::Run(format!("standard input: {e}"));
        terminal.input.by_ref().take(MOST_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
        return Ok(Source::new("<stdin>", text));
    }
    Ok(Source::new(file.display().to_string(), read(file)?))
}

/// The folder that the files of a program are relative to.
pub(crate) fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if file != Path::new("-") && !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// A program, checked as far as that goes without sizes; what is doubtful is said.
pub(crate) fn program(file: &Path, terminal: &mut Terminal<'_>) -> Done<Opened> {
    opened(file, terminal, |unsound, _| unsound.faults())
}

/// A program to be run with what it is given: if it is wrong, what is wrong with that is said as well.
pub(crate) fn program_for(
    file: &Path,
    given: &Given,
    only: &[String],
    terminal: &mut Terminal<'_>,
) -> Done<Opened> {
    opened(file, terminal, |unsound, folder| given.faults(unsound, folder, only))
}

fn opened(
    file: &Path,
    terminal: &mut Terminal<'_>,
    faults: impl FnOnce(Box<Unsound>, &Path) -> Faults,
) -> Done<Opened> {
    let source = text(file, terminal)?;
    let folder = folder(file);
    let program = Program::read(source, &Beside(&folder)).map_err(|unsound| faults(unsound, &folder))?;
    warn(&program, &program.warnings, terminal);
    Ok(Opened { program, folder })
}

/// Says what is doubtful about a program, as shortly as what is wrong.
pub(crate) fn warn(program: &Program, warnings: &[Diagnostic], terminal: &mut Terminal<'_>) {
    if !warnings.is_empty() {
        let all = Faults { sources: program.sources.clone(), faults: warnings.to_vec() };
        let _ = writeln!(terminal.err, "{}", all.render(terminal.colour));
    }
}
