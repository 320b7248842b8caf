//! Handles and pooled storage: the one home of unsafe memory tricks, so that every crate above can
//! forbid them.
//!
//! An eager tensor operation is worth tens of nanoseconds, about what the system allocator charges
//! for one block. Three pieces keep memory out of the way:
//!
//! * [`Handle`]: an `Arc` without weak references, its count and value in one recycled block;
//! * [`Storage`]: shared bytes, aligned to a cache line, the count of small ones in the same block;
//! * the pool behind both: freed blocks kept per thread by size, so no lock is ever taken.
//!
//! ```
//! use gradus_mem::{Handle, Storage};
//!
//! let mut data = Storage::from_slice(&[1.0f32, 2.0]).expect("eight bytes");
//! data.get_mut_slice::<f32>().expect("not shared yet")[0] = 5.0;
//! let shared = Handle::new((data, "name"));
//! assert_eq!(shared.clone().0.host::<f32>(), Some(&[5.0, 2.0][..]));
//! ```

#![deny(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

mod file;
mod handle;
mod live;
mod pod;
mod pool;
mod storage;

pub use file::FileMap;
pub use handle::Handle;
pub use live::live_bytes;
pub use pod::Pod;
pub use pool::{PoolStats, stats, trim};
pub use storage::{HOST, Remote, Storage};
