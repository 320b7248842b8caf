//! The tests of the compiler: one program, because linking many takes longer than running them.

#[path = "common/profile.rs"]
mod device;
mod plans;
mod simplify;
mod stopped;
mod verify;

use gradus_compile as limits; // `device` imports it from its parent, here and in the tests of `lowered`
