//! Atomic file writes: a file is written to a temporary name, then renamed.

use gradus_ir::{Error, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Makes an error about a file.
pub fn failed(path: &Path, why: impl ToString) -> Error {
    Error::file(path.display().to_string(), why.to_string())
}

/// Writes a file atomically. At any time, also after a crash, the path holds either its old content or all of
/// the new content.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<()> {
    let all = |file: &mut dyn Write| {
        parts.iter().try_for_each(|part| file.write_all(part)).map_err(|e| failed(path, e))
    };
    write_with(path, all)
}

/// As [`write()`], with a function that writes the content in parts.
pub fn write_with(path: &Path, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let Some(name) = path.file_name() else { return Err(failed(path, "is not a file name")) };
    // The temporary file is in the same folder, because renaming does not cross file systems. Its name
    // contains the process number, so that two processes do not collide.
    let temporary = path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
    let cannot = |e: std::io::Error| failed(path, format!("cannot be written: {e}"));
    let write = || {
        let mut file = BufWriter::new(File::create(&temporary).map_err(cannot)?);
        content(&mut file)?;
        // Syncs the content before renaming: otherwise a crash of the machine could leave a name without
        // content.
        file.into_inner().map_err(|e| cannot(e.into_error()))?.sync_all().map_err(cannot)?;
        fs::rename(&temporary, path).and_then(|()| sync_folder(path)).map_err(cannot)
    };
    write().inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Removes temporary files of processes that ended before renaming them. The caller must know that no other
/// process writes this file.
pub fn clear(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let begins = format!(".{}.", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let own = entry.file_name();
        let own = own.to_string_lossy();
        if own.starts_with(&begins) && own.ends_with(".part") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}
