//! The CPU device: runs plans on the processor's vector units and threads.
//!
//! [`Executable`] is a compiled graph. It uses [`vector`] loops, [`gemm`] matrix products and a thread
//! [`pool`]. Fused kernels run as generated code, or in a tile interpreter if the code generator does not
//! support them.

#![deny(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

mod ahead;
mod arena;
mod cached;
mod device;
mod elements;
mod executable;
pub mod feature;
pub mod gemm;
mod grouped;
mod interrupt;
#[cfg(all(target_arch = "x86_64", unix))]
mod jit;
#[cfg(not(all(target_arch = "x86_64", unix)))]
#[path = "jit/absent.rs"]
mod jit;
mod literal;
mod map;
mod nested;
pub mod pool;
mod product;
mod profile;
mod quantized;
mod rolled;
mod routine;
mod tile;
pub mod vector;
mod wide;

pub use device::Cpu;
pub use executable::{Executable, evaluate, evaluate_on};
pub use feature::Isa;
pub use gradus_compile::{InputLayout, Layout, Plan, amount};
pub use gradus_device::{Argument, Done};
pub use interrupt::ask_to_stop;
pub use map::{map_in_place, map1, map2, map2_by, map2_scalar};
pub use pool::Pool;
pub use profile::PROFILE;
