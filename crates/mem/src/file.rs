//! Maps files into memory: pages are loaded when they are read, and shared with all processes that read the file.

use crate::pool::ALIGN;
use crate::storage::Storage;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

/// Identifies a rearranged copy of a part of a file: the address of the part, and the `kind` of [`rearranged`].
type Key = (usize, [usize; 3]);

/// A mapped file, with its rearranged copies.
struct MappedFile {
    map: memmap2::Mmap,
    /// Rearranged copies, made once. `None` if one could not be made.
    copies: Mutex<BTreeMap<Key, Arc<OnceLock<Option<Storage>>>>>,
    arena: Mutex<Arena>,
}

/// Memory for the copies of a file. They follow each other in one map, so that small ones share large pages. A copy is read
/// from beginning to end; with small pages each 4 KiB would cost a search of the page tables.
#[derive(Default)]
struct Arena {
    /// Made for the first copy. It takes no memory before it is written.
    map: Option<Arc<memmap2::MmapRaw>>,
    used: usize,
}

impl Arena {
    /// Takes zeroed memory for a copy. `total` is the size of the file. Returns `None` if the system has no memory, or if
    /// copies take more than the file and a sixteenth.
    fn take(&mut self, bytes: usize, total: usize) -> Option<(Arc<memmap2::MmapRaw>, NonNull<u8>)> {
        if self.map.is_none() {
            let map = memmap2::MmapMut::map_anon(total + total / 16 + ALIGN).ok()?;
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            self.map = Some(Arc::new(map.into()));
        }
        let map = self.map.as_ref()?;
        let end = self.used.checked_add(bytes)?;
        let start = NonNull::new(map.as_mut_ptr().wrapping_add(self.used)).filter(|_| end <= map.len())?;
        self.used = end.next_multiple_of(ALIGN);
        Some((map.clone(), start))
    }
}

/// Mapped files by the address of their first byte.
static MAPS: RwLock<BTreeMap<usize, Weak<MappedFile>>> = RwLock::new(BTreeMap::new());

/// The bytes of a file, read-only.
///
/// If another process writes the file while it is mapped, the bytes seen here change. No process may shorten the file while
/// it is mapped: reading a missing page ends this process. A file that is replaced by renaming another file, as checkpoints
/// are, keeps the content that it had when it was opened.
pub struct FileMap {
    /// `None` for an empty file, which cannot be mapped.
    open: Option<Arc<MappedFile>>,
}

impl FileMap {
    /// Maps a file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<FileMap> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(FileMap { open: None });
        }
        // SAFETY: the map is read-only, and every bit pattern is a valid byte. The caller guarantees that no process
        // shortens the file while it is mapped, as the type's documentation says.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        let first = map.as_ptr().addr();
        let open = Arc::new(MappedFile { map, copies: Mutex::default(), arena: Mutex::default() });
        MAPS.write().unwrap_or_else(PoisonError::into_inner).insert(first, Arc::downgrade(&open));
        Ok(FileMap { open: Some(open) })
    }

    /// Returns a part of the file as a storage that is read in place; the map stays open as long as the
    /// storage. Returns `None` if the part is outside of the file or does not start at a multiple of 16
    /// bytes.
    pub fn storage(self: &Arc<FileMap>, part: Range<usize>) -> Option<Storage> {
        let bytes = self.get(part)?;
        let owner: Box<dyn Send + Sync> = Box::new(self.clone());
        // SAFETY: the bytes are inside of the map, which `owner` keeps open, and nothing in this process writes to them. For
        // writes of other processes see the type's documentation.
        unsafe { Storage::foreign(NonNull::from(bytes).cast(), bytes.len(), owner) }
    }

    /// Returns all pages to the system, which reads them again when they are used. Call it after reading parts of the file that
    /// will not be read again.
    pub fn release(&self) {
        if let Some(open) = &self.open {
            open.release(0, open.map.len());
        }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // The memory is unmapped after this: no other map has its address yet.
        MAPS.write().unwrap_or_else(PoisonError::into_inner).remove(&self.map.as_ptr().addr());
    }
}

/// Returns a copy of a part of a mapped file in another arrangement, of the same size. At the first call with
/// this part and `kind`, `write` fills the copy, which is zeroed and aligned to 64 bytes. Then the pages of
/// the part are returned to the system, which reads them again if they are used. The copy is kept until the
/// file is closed. Returns `None` if the part is not in a mapped file, or if there is no memory.
pub fn rearranged(part: *const [u8], kind: [usize; 3], write: impl FnOnce(NonNull<u8>)) -> Option<Storage> {
    let start = part.addr();
    let nearest = nearest(start)?;
    let at = start - nearest.map.as_ptr().addr();
    if at.checked_add(part.len())? > nearest.map.len() {
        return None;
    }
    let copy = {
        let mut copies = nearest.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.entry((start, kind)).or_default().clone()
    };
    let make = || {
        let mut arena = nearest.arena.lock().unwrap_or_else(PoisonError::into_inner);
        let (owner, to) = arena.take(part.len(), nearest.map.len())?;
        drop(arena);
        write(to);
        nearest.release(at, part.len());
        // SAFETY: the memory is in the map that `owner` keeps, it is initialised, and `Arena::take` gives it to no other copy.
        unsafe { Storage::foreign(to, part.len(), Box::new(owner)) }
    };
    copy.get_or_init(make).clone()
}

/// Returns the address of the copy that [`rearranged`] has made of the part of a file that begins at `part`, if there is
/// one. If there are copies of several kinds, returns that of the smallest kind that could be made.
pub fn copy_of(part: *const u8) -> Option<*const u8> {
    let nearest = nearest(part.addr())?;
    let copies = nearest.copies.lock().unwrap_or_else(PoisonError::into_inner);
    let mut of_part = copies.range((part.addr(), [0; 3])..=(part.addr(), [usize::MAX; 3]));
    of_part.find_map(|(_, copy)| Some(copy.get()?.as_ref()?.as_ptr().cast_const()))
}

/// Returns the mapped file with the largest start that is not after this address.
fn nearest(start: usize) -> Option<Arc<MappedFile>> {
    let maps = MAPS.read().unwrap_or_else(PoisonError::into_inner);
    maps.range(..=start).next_back()?.1.upgrade()
}

impl MappedFile {
    /// Returns pages to the system.
    fn release(&self, at: usize, length: usize) {
        #[cfg(unix)]
        // SAFETY: the map is of a file and read-only, so pages have the same bytes when they are read again.
        let _ = unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, at, length) };
        #[cfg(not(unix))]
        let _ = (at, length);
    }
}

impl Deref for FileMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.open.as_ref().map_or(&[], |open| &open.map)
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
        // SAFETY: `rearranged` gives memory for the bytes of the part.
        let reversed = |to: NonNull<u8>| unsafe { to.cast::<[u8; 2]>().write([b'e', b'w']) };
        let copies = || rearranged(&raw const map[1..3], [1; 3], reversed);
        let copy = copies().expect("made");
        assert_eq!(copy.host::<u8>(), Some(&b"ew"[..]));
        let other = rearranged(&raw const map[1..3], [2; 3], |_| ()).expect("made");
        assert_eq!(other.host::<u8>(), Some(&[0, 0][..]));
        assert_eq!((copy.as_ptr().addr() % ALIGN, other.as_ptr().addr() - copy.as_ptr().addr()), (0, ALIGN));
        let third = rearranged(&raw const map[1..3], [0; 3], |_| ());
        assert!(third.is_none(), "copies may not be larger than the file in total");
        // The copy of the smallest kind could not be made.
        assert_eq!(copy_of(&raw const map[1]), Some(copy.as_ptr().cast_const()));
        assert_eq!(copy_of(&raw const map[3]), None);
        assert!(copies().is_some_and(|other| other.ptr_eq(&copy)), "made once");
        map.release();
        assert_eq!(&map[..6], b"twelve", "the file is read again");
        let none = rearranged(&raw const b"elsewhere"[..], [0; 3], |_| ());
        assert!(none.is_none(), "not in a file");
        drop((part, map));
        assert!(MAPS.read().expect("a lock").values().all(|open| open.upgrade().is_some()), "forgotten");
        std::fs::write(&path, b"").expect("written");
        assert!(FileMap::open(&path).expect("an empty file").is_empty());
        std::fs::remove_file(&path).expect("removed");
        assert!(FileMap::open(&path).is_err());
    }
}
