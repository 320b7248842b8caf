//! The tests of the CPU device: one program, because linking many takes longer than running them.

mod checked;
mod executable;
mod gemm;
mod linalg;
mod loops;
mod random;
mod routine;
mod slices;
mod vector;
mod vector_loops;
