//! The trait that generated code needs from an instruction set: vectors, booleans per lane, accumulators.

use super::encode::{Assembler, Form, Mem, Rm};
use super::far::Far;
use super::node::Fold;

/// Number of separate accumulators: element `i` is added to accumulator `i` modulo this on every machine.
pub(super) const APART: usize = 64;

/// The lanes of a vector that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lanes {
    All,
    /// The first lanes, as [`Machine::rest`] has set.
    Rest,
}

/// An operation on booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
    Not,
}

/// An instruction set with vectors. Booleans are mask registers, or vectors whose lanes have all bits set or
/// none.
pub(super) trait Machine {
    /// 32-bit lanes of a vector.
    const LANES: usize;
    /// Vectors per iteration of a loop that folds.
    const FOLDED: usize = APART / Self::LANES;
    /// Number of vector registers.
    const VECTORS: usize;
    /// Mask registers; empty if booleans are vectors.
    const MASKS: std::ops::Range<u8>;
    /// If true, accumulators are in registers, not in memory.
    const HOLDS_FOLDS: bool;
    /// Copies of each constant in the pool.
    const CONSTANTS: usize;
    /// Additional registers that loads and stores of booleans need, and that folding needs.
    const SPARE: (usize, usize);

    /// Returns true if instructions can broadcast an element from there.
    fn spreads(from: Mem) -> bool;
    /// Writes an instruction on all lanes: `to` is the result unless the form says otherwise, `a` the middle
    /// operand.
    fn op(asm: &mut Assembler, form: Form, to: u8, a: u8, b: Rm, imm: Option<u8>);
    /// Sets the existing lanes of partial vectors from `RDX`.
    fn rest(asm: &mut Assembler);
    /// Loads elements; missing lanes are zero.
    fn load(asm: &mut Assembler, to: u8, from: Mem, lanes: Lanes);
    /// Stores elements.
    fn store(asm: &mut Assembler, from: u8, to: Mem, lanes: Lanes);
    /// Loads bytes as booleans: true if not zero.
    fn load_flags(asm: &mut Assembler, to: u8, from: Mem, spare: &[u8], lanes: Lanes);
    /// Stores booleans as bytes.
    fn store_flags(asm: &mut Assembler, from: u8, to: Mem, spare: &[u8], lanes: Lanes);
    /// Compares two operands.
    fn compare(asm: &mut Assembler, to: u8, a: u8, b: Rm, how: u8);
    /// Selects `yes` where a boolean is true, else `no`.
    fn blend(asm: &mut Assembler, to: u8, flags: u8, yes: Rm, no: u8);
    fn logic(asm: &mut Assembler, logic: Logic, to: u8, a: u8, b: u8);
    /// `to = fold(to, x)` in the existing lanes.
    fn fold(asm: &mut Assembler, fold: Fold, to: Rm, x: u8, spare: &[u8], lanes: Lanes);
    /// Combines the accumulators of a loop into the first lane of a register, by halves; `from` is the first of
    /// them. May overwrite all other registers.
    fn join(asm: &mut Assembler, fold: Fold, from: Rm) -> u8;
    /// Tests whether a boolean is true in any lane, for a jump if not zero.
    fn any(asm: &mut Assembler, flags: u8);
    /// Writes a routine that calls the function; see [`Assembler::routine`].
    fn routine(asm: &mut Assembler, far: Far);
}
