//! What generated code needs of a machine: vectors, truth values per lane, and what a loop folds.

use super::encode::{Assembler, Form, Mem, Rm};
use super::far::Far;
use super::node::Fold;

/// Elements that loops over slices fold apart: element `i` goes to place `i` modulo this, whatever the machine.
pub(super) const APART: usize = 64;

/// Which lanes are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lanes {
    All,
    /// The first, as [`Machine::rest`] found.
    Rest,
}

/// An operation on truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
    Not,
}

/// A processor with vectors. Truth values have registers of their own or are vectors, all bits of a lane set or none.
pub(super) trait Machine {
    /// Numbers of 32 bits in a vector.
    const LANES: usize;
    /// Vectors of a round through a loop that folds.
    const FOLDED: usize = APART / Self::LANES;
    /// Registers for vectors.
    const VECTORS: usize;
    /// Registers for truth values; where there are none, they are vectors.
    const MASKS: std::ops::Range<u8>;
    /// Whether what a loop folds is in registers, not in memory.
    const HOLDS_FOLDS: bool;
    /// How often constants stand behind the code.
    const CONSTANTS: usize;
    /// Registers that reading and writing truth values need besides, and folding.
    const SPARE: (usize, usize);

    /// Whether instructions can read one number there for all lanes.
    fn spreads(from: Mem) -> bool;
    /// An instruction on all lanes: `to` is the result unless the form says otherwise, `a` the operand between.
    fn op(asm: &mut Assembler, form: Form, to: u8, a: u8, b: Rm, imm: Option<u8>);
    /// From here on, `RDX` says which lanes are the rest.
    fn rest(asm: &mut Assembler);
    /// Reads elements; lanes that are not there are zero.
    fn load(asm: &mut Assembler, to: u8, from: Mem, lanes: Lanes);
    /// Writes elements.
    fn store(asm: &mut Assembler, from: u8, to: Mem, lanes: Lanes);
    /// Reads bytes as truth values: those that are not zero.
    fn load_flags(asm: &mut Assembler, to: u8, from: Mem, spare: &[u8], lanes: Lanes);
    /// Writes truth values as bytes.
    fn store_flags(asm: &mut Assembler, from: u8, to: Mem, spare: &[u8], lanes: Lanes);
    /// Whether something holds of two operands.
    fn compare(asm: &mut Assembler, to: u8, a: u8, b: Rm, how: u8);
    /// One operand where a truth value holds, else the other.
    fn blend(asm: &mut Assembler, to: u8, flags: u8, yes: Rm, no: u8);
    fn logic(asm: &mut Assembler, logic: Logic, to: u8, a: u8, b: u8);
    /// `to = fold(to, x)` in the lanes that are there.
    fn fold(asm: &mut Assembler, fold: Fold, to: Rm, x: u8, spare: &[u8], lanes: Lanes);
    /// All that a loop folded into the first lane of a register, by halves; `from` is the first vector of it. Other
    /// registers are free.
    fn join(asm: &mut Assembler, fold: Fold, from: Rm) -> u8;
    /// Whether a truth value holds of any lane, for a jump if not zero.
    fn any(asm: &mut Assembler, flags: u8);
    /// A routine that calls the function, as [`Assembler::routine`] says.
    fn routine(asm: &mut Assembler, far: Far);
}
