//! Maps files into memory: pages are loaded when they are read, and shared with all processes that read the file.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// The bytes of a file, read-only.
///
/// If another process writes the file while it is mapped, the bytes seen here change. Files that are replaced as a
/// whole (written under another name and renamed, as checkpoints are) keep the content they had when they were
/// opened.
pub struct FileMap {
    /// `None` for an empty file, which cannot be mapped.
    map: Option<memmap2::Mmap>,
}

impl FileMap {
    /// Maps a file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<FileMap> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(FileMap { map: None });
        }
        // SAFETY: the map is read-only, and every bit pattern is a valid byte. The caller guarantees that no process
        // shortens the file while it is mapped, as the type's documentation says.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(FileMap { map: Some(map) })
    }
}

impl Deref for FileMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn holds_the_bytes_of_the_file() {
        let path = std::env::temp_dir().join(format!("gradus-map-{}", std::process::id()));
        std::fs::write(&path, b"twelve bytes").expect("written");
        assert_eq!(&*FileMap::open(&path).expect("mapped"), b"twelve bytes");
        std::fs::write(&path, b"").expect("written");
        assert!(FileMap::open(&path).expect("an empty file").is_empty());
        std::fs::remove_file(&path).expect("removed");
        assert!(FileMap::open(&path).is_err());
    }
}
