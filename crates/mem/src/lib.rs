//! Handles and pooled storage. This crate holds the unsafe code of memory management, so that the crates that use it
//! can forbid unsafe code.
//!
//! An eager tensor operation takes tens of nanoseconds, about as long as one call of the system allocator. Three
//! parts avoid that call:
//!
//! * [`Handle`]: an `Arc` without weak references, its count and value in one recycled block;
//! * [`Storage`]: shared bytes, aligned to a cache line; small ones are in the same block as their count;
//! * the pool that both allocate from: freed blocks kept per thread by size, without locks.
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

pub use file::{FileMap, copy_of, rearranged};
pub use handle::Handle;
pub use live::live_bytes;
pub use pod::Pod;
pub use pool::{PoolStats, stats, trim};
pub use storage::{HOST, Remote, Storage};
