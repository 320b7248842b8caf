//! From graphs to plans: inline, simplify, fuse, plan memory.

#![forbid(unsafe_code)]
