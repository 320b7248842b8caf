//! Caches the driver's compiled kernels on disk if wgpu supports it (Vulkan), so that a new process need not compile them
//! again. There is one file per adapter, with a checksum. It is written under another name and then renamed, so that readers
//! see only complete files.
//!
//! The folder is the value of `GRADUS_CACHE` if that is set, otherwise `gradus` in the user's cache folder. An empty
//! `GRADUS_CACHE` disables the cache.

use crate::context::{guarded, lock};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;

/// The first bytes of a file, with the version of its format.
const MAGIC: &[u8; 8] = b"GRADWPC1";
/// Bytes before the driver's data: magic and checksum.
const HEAD: usize = 12;
/// Largest file, in bytes. A larger cache is not stored, and the next process starts a new one.
const LARGEST: usize = 64 << 20;

/// The cache of an open device.
pub(crate) struct DiskCache {
    cache: wgpu::PipelineCache,
    path: PathBuf,
    /// If true, kernels were added since the file was written. The lock also serialises writers.
    changed: Mutex<bool>,
}

impl DiskCache {
    /// Opens the cache of an adapter. Returns `None` if the adapter does not support one or there is no folder for it.
    pub(crate) fn open(
        device: &wgpu::Device,
        info: &wgpu::AdapterInfo,
        folder: Option<&Path>,
    ) -> Option<DiskCache> {
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let path = folder?.join(format!("{}.bin", wgpu::util::pipeline_cache_key(info)?));
        let data = fs::read(&path).ok().and_then(unpack);
        let descriptor = wgpu::PipelineCacheDescriptor { label: None, data: data.as_deref(), fallback: true };
        // SAFETY: the data must come from `PipelineCache::get_data`. `unpack` accepts only files with a valid checksum,
        // and only `save` writes such files. wgpu ignores data of other adapters and driver versions.
        let cache = guarded(device, || unsafe { device.create_pipeline_cache(&descriptor) }).ok()?;
        Some(DiskCache { cache, path, changed: Mutex::new(false) })
    }

    /// Returns the wgpu cache with which pipelines are created.
    pub(crate) fn cache(&self) -> &wgpu::PipelineCache {
        &self.cache
    }

    /// Records that a kernel was compiled.
    pub(crate) fn note(&self) {
        *lock(&self.changed) = true;
    }

    /// Writes the file if kernels were added. Errors are ignored: without the file, kernels are compiled again.
    pub(crate) fn save(&self) {
        let mut changed = lock(&self.changed);
        if !std::mem::take(&mut *changed) {
            return;
        }
        let Some(data) = self.cache.get_data().filter(|data| data.len() <= LARGEST) else { return };
        let aside = self.path.with_extension(format!("{}.tmp", process::id()));
        let written = self.path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&aside, pack(&data)));
        if written.and_then(|()| fs::rename(&aside, &self.path)).is_err() {
            let _ = fs::remove_file(&aside);
        }
    }
}

/// Returns the folder of the cache, if there is one.
pub(crate) fn folder() -> Option<PathBuf> {
    if let Some(own) = env::var_os("GRADUS_CACHE") {
        return (!own.is_empty()).then(|| PathBuf::from(own));
    }
    let variable = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let user = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    user.map(|folder| folder.join("gradus"))
}

fn pack(data: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(HEAD + data.len());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&crc32fast::hash(data).to_le_bytes());
    file.extend_from_slice(data);
    file
}

fn unpack(file: Vec<u8>) -> Option<Vec<u8>> {
    let data = file.get(HEAD..).filter(|data| data.len() <= LARGEST)?;
    let sum = crc32fast::hash(data).to_le_bytes();
    (file[..8] == *MAGIC && file[8..HEAD] == sum).then(|| data.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_ignored() {
        let data: Vec<u8> = (0..1000).map(|i| i as u8).collect();
        let file = pack(&data);
        assert_eq!(unpack(file.clone()), Some(data));
        for at in [0, 8, 11, HEAD, 500, file.len() - 1] {
            let mut other = file.clone();
            other[at] ^= 1;
            assert_eq!(unpack(other), None, "byte {at}");
        }
        for len in [0, 7, HEAD, file.len() - 1] {
            assert_eq!(unpack(file[..len].to_vec()), None, "{len} bytes");
        }
    }
}
