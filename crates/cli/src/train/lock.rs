//! A lock on the output folder of a run, so that two runs do not mix their logs and checkpoints. The
//! operating system binds the lock to an open file, and releases it when the process ends for any reason.

use crate::{Done, Failure, Terminal};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;

/// The locked file in the folder. It is not deleted after the run, because another run may have opened it.
const NAME: &str = ".lock";

/// A locked folder. Dropping it releases the lock.
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file would not be enough. A process that another thread is starting holds a copy of the
        // file handle until it runs its own program.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Locks a folder. Returns an error at once if another run has locked it.
    pub(crate) fn take(folder: &Path, terminal: &mut Terminal<'_>) -> Done<Lock> {
        let path = folder.join(NAME);
        let failed = |e: std::io::Error| Failure::Run(format!("{}: {e}", path.display()));
        // Opening for reading and writing does not block, even if the file is a named pipe.
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(Failure::Run(format!("{}: is not a regular file", path.display())));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(folder, file)),
            Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => {
                let why = "cannot be locked on this file system; do not start a second run in it";
                let text = terminal.marked("warning", &format!("{} {why}", folder.display()));
                writeln!(terminal.err, "{text}")?;
            }
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        }
        // The message of a second run shows the process id. The text may be from an earlier run, so it does
        // not decide whether the folder is in use.
        let noted = file.set_len(0).and_then(|()| file.rewind());
        noted.and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Lock { file })
    }
}

/// Makes an error that the folder is locked, with the process id if it can be read.
fn in_use(folder: &Path, file: File) -> Failure {
    let mut text = String::new();
    let _ = file.take(32).read_to_string(&mut text);
    let process =
        text.trim().parse::<u32>().map_or("another process".to_string(), |id| format!("process {id}"));
    let advice = "wait until it ends, or choose another folder with `out`";
    Failure::Run(format!("{} is in use by the run of {process}; {advice}", folder.display()))
}
