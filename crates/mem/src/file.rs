//! Maps files into memory: pages are loaded when they are read, and shared with all processes that read the file.

use crate::storage::Storage;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

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

    /// A part of the file as a storage that is read in place; the map stays open as long as the storage. `None` if the part
    /// is outside of the file or does not start at a multiple of 16 bytes.
    pub fn storage(self: &Arc<FileMap>, part: Range<usize>) -> Option<Storage> {
        let bytes = self.get(part)?;
        let owner: Box<dyn Send + Sync> = Box::new(self.clone());
        // SAFETY: the bytes are inside of the map, which `owner` keeps open, and nothing in this process writes to them. For
        // writes of other processes see the type's documentation.
        unsafe { Storage::foreign(NonNull::from(bytes).cast(), bytes.len(), owner) }
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
        let map = Arc::new(FileMap::open(&path).expect("mapped"));
        let part = map.storage(0..6).expect("aligned");
        drop(map);
        assert_eq!(part.host::<u8>(), Some(&b"twelve"[..]));
        assert!(!part.is_unique());
        let map = Arc::new(FileMap::open(&path).expect("mapped"));
        assert!(map.storage(7..12).is_none(), "not aligned");
        assert!(map.storage(0..13).is_none(), "beyond the end");
        drop((part, map));
        std::fs::write(&path, b"").expect("written");
        assert!(FileMap::open(&path).expect("an empty file").is_empty());
        std::fs::remove_file(&path).expect("removed");
        assert!(FileMap::open(&path).is_err());
    }
}
