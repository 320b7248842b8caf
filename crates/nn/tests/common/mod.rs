//! A folder of its own for each test.

use std::path::PathBuf;

/// A folder that is removed with this.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// A new one.
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("gradus-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A path in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
