//! The trait `Machine`: the operations of an instruction set that the code generator needs.

use super::encode::{Assembler, Form, Mem, Rm};
use super::far::Far;
use super::node::Fold;

/// Number of separate accumulators. On every machine, element `i` is added to accumulator `i` modulo this number, so that sums
/// have the same bits.
pub(super) const ACCUMULATORS: usize = 64;

/// The lanes of a vector that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lanes {
    All,
    /// The first lanes. Their number is that set by [`Machine::set_rest`].
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
    /// Number of 32-bit lanes of a vector.
    const LANES: usize;
    /// Number of vectors per iteration of a loop that folds.
    const FOLDED: usize = ACCUMULATORS / Self::LANES;
    /// Number of vector registers.
    const VECTORS: usize;
    /// The mask registers; empty if booleans are vectors.
    const MASKS: std::ops::Range<u8>;
    /// If true, accumulators are in registers, not in memory.
    const HOLDS_FOLDS: bool;
    /// Number of copies of each constant in the pool.
    const CONSTANTS: usize;
    /// Numbers of spare registers that the methods need: for loads and stores of booleans, and for folding.
    const SPARE: (usize, usize);

    /// Returns true if instructions can broadcast an element from this memory operand.
    fn can_broadcast(from: Mem) -> bool;
    /// Writes an instruction on all lanes. `to` is the result unless the form defines it differently; `a` is the middle
    /// operand.
    fn op(asm: &mut Assembler, form: Form, to: u8, a: u8, b: Rm, imm: Option<u8>);
    /// Writes code that sets the number of existing lanes of partial vectors to the number in `RDX`.
    fn set_rest(asm: &mut Assembler);
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
    /// Computes `to = fold(to, x)` in the existing lanes.
    fn fold(asm: &mut Assembler, fold: Fold, to: Rm, x: u8, spare: &[u8], lanes: Lanes);
    /// Combines the accumulators of a loop into the first lane of a register: the upper half into the lower half, until
    /// one is left. `from` is the first accumulator. May overwrite all other registers.
    fn join(asm: &mut Assembler, fold: Fold, from: Rm) -> u8;
    /// Sets the processor's flags so that a jump if not zero is taken if a boolean is true in any lane.
    fn any(asm: &mut Assembler, flags: u8);
    /// Writes a routine that calls the function; see [`Assembler::routine`].
    fn routine(asm: &mut Assembler, far: Far);
}
