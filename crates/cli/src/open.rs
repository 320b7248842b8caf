//! Reads programs and their imports, from files and from standard input.

use crate::args::InputArgs;
use crate::inputs::{Ready, avals};
use crate::{Done, Failure, Terminal};
use gradus::files;
use gradus::lang::{Diagnostic, Faults, Loader, Program, Source, Unsound};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest program, in bytes. The parser has the same limit and reports it with a position.
const MAX_BYTES: u64 = 64 << 20;

/// A program and the folder to which its file names are relative.
pub(crate) struct Opened {
    pub(crate) program: Program,
    pub(crate) folder: PathBuf,
}

/// Reads imports relative to a folder.
pub(crate) struct RelativeLoader<'a>(pub(crate) &'a Path);

impl Loader for RelativeLoader<'_> {
    fn load(&self, path: &str) -> Result<String, String> {
        let path = self.0.join(path);
        let failed = |e: gradus::Error| {
            // The message of a failed import already names the file.
            let text = e.to_string();
            text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&text).to_string()
        };
        read(&path).map_err(failed)
    }
}

/// Reads the text of a program, at most one byte beyond the limit, so that the parser reports the limit with
/// a position.
pub(crate) fn read(path: &Path) -> gradus::Result<String> {
    let mut text = String::new();
    let read = files::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map(|_| text).map_err(|e| files::atomic::failed(path, format!("cannot be read: {e}")))
}

/// Reads the text of a program; `-` is standard input.
pub(crate) fn text(file: &Path, terminal: &mut Terminal<'_>) -> Done<Source> {
    let mut text = String::new();
    if file == Path::new("-") {
        let failed = |e: std::io::Error| Failure::Run(format!("standard input: {e}"));
        terminal.input.by_ref().take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
        return Ok(Source::new("<stdin>", text));
    }
    Ok(Source::new(file.display().to_string(), read(file)?))
}

/// Returns the folder to which the file names of a program are relative.
pub(crate) fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if file != Path::new("-") && !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Reads a program and checks everything that does not depend on sizes. Prints its warnings.
pub(crate) fn program(file: &Path, terminal: &mut Terminal<'_>) -> Done<Opened> {
    opened(file, terminal, |unsound, _| unsound.faults())
}

/// Reads a program to be run with inputs. If it is wrong, faults of the inputs are reported too.
pub(crate) fn program_for(
    file: &Path,
    given: &InputArgs,
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
    let program =
        Program::read(source, &RelativeLoader(&folder)).map_err(|unsound| faults(unsound, &folder))?;
    warn(&program, &program.warnings, terminal);
    Ok(Opened { program, folder })
}

/// Prints the warnings of a program.
pub(crate) fn warn(program: &Program, warnings: &[Diagnostic], terminal: &mut Terminal<'_>) {
    if !warnings.is_empty() {
        let all = Faults { sources: program.sources.clone(), faults: warnings.to_vec() };
        let _ = writeln!(terminal.err, "{}", all.render(terminal.colour));
    }
}

/// Prints a note if nothing gives the number of steps, so that a state takes one.
pub(crate) fn note_single_step(program: &Program, ready: &Ready, terminal: &mut Terminal<'_>) -> Done {
    if let Some(state) = program.single_step(&avals(&ready.inputs), &ready.settings) {
        let what = format!("the number of steps of `{state}` is not given, so it takes one");
        writeln!(terminal.err, "note: {what}; --steps sets the number")?;
    }
    Ok(())
}
