//! The tests of drawings: one program, because linking many takes longer than running them.

mod drawing;
mod order;
