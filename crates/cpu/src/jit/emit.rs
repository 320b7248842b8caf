//! Writes the code of passes: loops over vectors, whose values are in registers.
//!
//! The body of a loop is unrolled, so that the processor can overlap the copies. Constants and values of the row are
//! operands in memory that are broadcast. Those that are used most are in the registers that the body does not need.

use super::allocate::Body;
use super::encode::*;
use super::far::Far;
use super::lower::Lowered;
use super::machine::{ACCUMULATORS, Lanes, Machine};
use super::node::{Action, Arg, Fold, Node};
use super::schedule::{RowPass, Step};
use std::collections::HashMap;
use std::marker::PhantomData;

/// Registers for pointers. Further pointers are loaded where they are used.
const POINTERS: [Gpr; 10] = [RBX, RBP, Gpr(8), Gpr(9), Gpr(10), Gpr(11), Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
/// Registers that the code must save, because the calling convention preserves them.
const SAVED: [Gpr; 6] = [RBX, RBP, Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
/// The layout of the table that is passed to the code: words, then accumulators if they are in memory, then slots for
/// values per row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    accesses: usize,
    /// Largest number of vectors per iteration, and number of lanes of a vector.
    pub(super) folded: usize,
    pub(super) lanes: usize,
    /// Number of words for accumulators.
    folds: usize,
    slots: usize,
}

impl Table {
    /// The word with the number of rows.
    pub(super) const ROWS: usize = 0;
    /// Returns the words with the number of elements of a row in complete iterations, and with the remainder, for a loop with
    /// `unroll` vectors per iteration.
    pub(super) fn counts(unroll: usize) -> (usize, usize) {
        (2 * unroll - 1, 2 * unroll)
    }

    /// Returns the word with the address of an access.
    pub(super) fn pointer(self, access: usize) -> usize {
        2 * self.folded + 1 + access
    }

    /// Returns the word with the stride of an access between rows, in bytes.
    pub(super) fn pitch(self, access: usize) -> usize {
        self.pointer(self.accesses + access)
    }

    /// Returns the word at which an accumulator starts.
    fn fold(self, number: usize) -> usize {
        self.pitch(self.accesses) + number * ACCUMULATORS / 2
    }

    /// Returns the number of words of the table.
    pub(super) fn words(self) -> usize {
        self.fold(0) + self.folds + self.slots.div_ceil(2)
    }

    fn at(word: usize) -> Mem {
        Mem::At(RDI, 8 * word as i32)
    }
}

/// Writes the code of a kernel and the layout of its table. Returns `None` if there are too few registers.
pub(super) fn emit<M: Machine>(
    lowered: &Lowered,
    passes: &[RowPass],
    kept: usize,
) -> Option<(Vec<u8>, Table)> {
    let folds = |t: &RowPass| t.elements.iter().filter(|s| matches!(s, Step::Fold(_))).count();
    let folds = if M::HOLDS_FOLDS { 0 } else { passes.iter().map(folds).max().unwrap_or(0) };
    let accesses = lowered.sizes.len() + kept;
    let table =
        Table { accesses, folded: M::FOLDED, lanes: M::LANES, folds: folds * ACCUMULATORS / 2, slots: 0 };
    let mut e = Emitter::<M>::new(lowered, table);
    SAVED.iter().for_each(|r| e.asm.push(*r));
    for (a, r) in POINTERS.iter().enumerate().take(table.accesses) {
        e.asm.load(*r, Table::at(table.pointer(a)));
    }
    let next_row = e.asm.here();
    for pass in passes {
        e.elements(&pass.elements)?;
        let mut body = Body::new(&pass.row, &e, M::VECTORS);
        body.steps(&mut e, &pass.row, 0, Lanes::All);
        body.check()?;
    }
    for a in 0..table.accesses {
        match POINTERS.get(a) {
            Some(r) => e.asm.add(*r, Table::at(table.pitch(a))),
            None => {
                e.asm.load(RSI, Table::at(table.pitch(a)));
                e.asm.add_to(Table::at(table.pointer(a)), RSI);
            }
        }
    }
    e.asm.decrement(Table::at(Table::ROWS));
    let again = e.asm.jump(NOT_ZERO);
    e.asm.set_target(again, next_row);
    SAVED.iter().rev().for_each(|r| e.asm.pop(*r));
    e.asm.ret();
    for far in Far::ALL {
        let routine = e.asm.here();
        let calls: Vec<usize> = e.calls.iter().filter(|c| c.0 == far).map(|c| c.1).collect();
        if !calls.is_empty() {
            M::routine(&mut e.asm, far);
        }
        calls.iter().for_each(|c| e.asm.set_target(*c, routine));
    }
    Some((e.asm.finish(), Table { slots: e.slots.len(), ..table }))
}

pub(super) struct Emitter<'a, M> {
    machine: PhantomData<M>,
    pub(super) lowered: &'a Lowered,
    table: Table,
    pub(super) asm: Assembler,
    /// The slots of row values.
    slots: HashMap<usize, usize>,
    /// Calls of routines, which are written after the code.
    calls: Vec<(Far, usize)>,
}

impl<'a, M: Machine> Emitter<'a, M> {
    fn new(lowered: &'a Lowered, table: Table) -> Self {
        let asm = Assembler::new(M::CONSTANTS);
        Emitter { machine: PhantomData, lowered, table, asm, slots: HashMap::new(), calls: vec![] }
    }

    pub(super) fn node(&self, n: usize) -> &Node {
        &self.lowered.nodes[n]
    }

    pub(super) fn slot(&mut self, node: usize) -> Mem {
        let next = self.slots.len();
        let slot = *self.slots.entry(node).or_insert(next);
        Mem::At(RDI, (8 * (self.table.fold(0) + self.table.folds) + 4 * slot) as i32)
    }

    pub(super) fn pointer(&mut self, access: usize) -> Gpr {
        match POINTERS.get(access) {
            Some(r) => *r,
            None => {
                self.asm.load(RSI, Table::at(self.table.pointer(access)));
                RSI
            }
        }
    }

    /// Returns the address of an access's elements, for one of the vectors of an iteration.
    pub(super) fn elements_at(&mut self, access: usize, copy: usize) -> Mem {
        let size = self.lowered.sizes.get(access).copied().unwrap_or(4);
        Mem::Indexed(self.pointer(access), size.trailing_zeros() as u8, (copy * M::LANES * size) as i32)
    }

    /// Returns the address of a value that no register holds.
    pub(super) fn memory_of(&mut self, arg: Arg) -> Mem {
        match arg {
            Arg::Number(bits) => Mem::Pool(bits),
            Arg::Node(n) => match self.node(n).op {
                Action::Load(access) => Mem::At(self.pointer(access), 0),
                _ => self.slot(n),
            },
        }
    }

    /// Broadcasts a value from memory to all lanes of a register.
    pub(super) fn splat(&mut self, to: u8, arg: Arg) {
        let from = self.memory_of(arg);
        M::op(&mut self.asm, SPLAT, to, 0, Rm::Bytes(from), None);
    }

    /// Calls a function of the vectors `x` and `y` if any lane of the mask is set, which is rare.
    pub(super) fn far(&mut self, far: Far, mask: u8, x: u8, y: u8) {
        M::any(&mut self.asm, mask);
        let none = self.asm.jump(ZERO);
        self.asm.push(RSI);
        self.asm.push(RDX);
        self.asm.number(RSI, 4 * M::LANES as u32 * u32::from(x));
        self.asm.number(RDX, 4 * M::LANES as u32 * u32::from(y));
        let call = self.asm.call();
        self.calls.push((far, call));
        self.asm.pop(RDX);
        self.asm.pop(RSI);
        let here = self.asm.here();
        self.asm.set_target(none, here);
    }

    /// Writes a loop over the elements of a row.
    fn elements(&mut self, steps: &[Step]) -> Option<()> {
        if steps.is_empty() {
            return Some(());
        }
        let folds: Vec<(usize, Fold)> = steps.iter().filter_map(|s| self.fold_of(s)).collect();
        let unroll = match folds.is_empty() {
            true if steps.len() > 24 => 1,
            true => 2,
            false => M::FOLDED,
        };
        // Writes the body once with all constants and row values in memory, to count the registers that it needs.
        let need = {
            let mut trial = Emitter::<M>::new(self.lowered, self.table);
            trial.slots.clone_from(&self.slots);
            let mut body = Body::new(steps, &trial, 64);
            body.folds = folds.iter().map(|f| (f.0, Rm::Reg(0))).collect();
            body.steps(&mut trial, steps, 0, Lanes::All);
            body.check()?;
            body.peak
        };
        let held = if M::HOLDS_FOLDS { M::FOLDED * folds.len() } else { 0 };
        let left = M::VECTORS.checked_sub(need + held)?;
        let table = self.table;
        let accumulator = |fold: usize, copy: usize| match M::HOLDS_FOLDS {
            true => Rm::Reg((M::VECTORS - held + M::FOLDED * fold + copy) as u8),
            false => Rm::Bytes(Mem::At(RDI, (8 * table.fold(fold) + 4 * M::LANES * copy) as i32)),
        };
        for (k, (_, fold)) in folds.iter().enumerate() {
            for copy in 0..M::FOLDED {
                let (start, to) = (Arg::Number(fold.identity()), accumulator(k, copy));
                match to {
                    Rm::Reg(r) => self.splat(r, start),
                    Rm::Bytes(to) | Rm::Splat(to) => {
                        self.splat(0, start);
                        M::store(&mut self.asm, 0, to, Lanes::All);
                    }
                }
            }
        }
        let fixed = self.most_used(steps, left);
        for (k, arg) in fixed.iter().enumerate() {
            self.splat((need + k) as u8, *arg);
        }
        let mut body = Body::new(steps, self, need);
        body.fixed = fixed.iter().enumerate().map(|(k, a)| (*a, (need + k) as u8)).collect();
        let mut copy = |e: &mut Self, copy: usize, lanes: Lanes| {
            let of_fold = |(k, f): (usize, &(usize, Fold))| (f.0, accumulator(k, copy));
            body.folds = folds.iter().enumerate().map(of_fold).collect();
            body.steps(e, steps, copy, lanes);
        };
        let (whole, rest) = Table::counts(unroll);
        self.asm.clear(RAX);
        self.asm.load(RCX, Table::at(whole));
        self.asm.test(RCX);
        let none = self.asm.jump(ZERO);
        let again = self.asm.here();
        (0..unroll).for_each(|c| copy(self, c, Lanes::All));
        self.asm.add_number(RAX, (unroll * M::LANES) as i32);
        self.asm.compare(RAX, RCX);
        let back = self.asm.jump(BELOW);
        self.asm.set_target(back, again);
        let after = self.asm.here();
        self.asm.set_target(none, after);
        self.asm.load(RDX, Table::at(rest));
        self.asm.test(RDX);
        let mut ends = Vec::new();
        for c in 0..unroll {
            ends.push(self.asm.jump(NOT_GREATER));
            M::set_rest(&mut self.asm);
            copy(self, c, Lanes::Rest);
            self.asm.add_number(RDX, -(M::LANES as i32));
        }
        body.check()?;
        let end = self.asm.here();
        ends.iter().for_each(|j| self.asm.set_target(*j, end));
        for (k, (node, fold)) in folds.iter().enumerate() {
            let joined = M::join(&mut self.asm, *fold, accumulator(k, 0));
            let slot = self.slot(*node);
            M::op(&mut self.asm, STORE_ONE, joined, 0, Rm::Bytes(slot), None);
        }
        Some(())
    }

    fn fold_of(&self, step: &Step) -> Option<(usize, Fold)> {
        let Step::Fold(n) = step else { return None };
        let Action::Fold(fold) = self.node(*n).op else { return None };
        Some((*n, fold))
    }

    /// Returns the memory values that steps use most, at most `most` of them.
    fn most_used(&self, steps: &[Step], most: usize) -> Vec<Arg> {
        let computed =
            |n: usize| steps.iter().any(|s| matches!(s, Step::Compute(m) | Step::Recall(m, _) if *m == n));
        let mut uses: Vec<(Arg, usize)> = Vec::new();
        for arg in steps.iter().flat_map(|s| self.uses(s)) {
            match uses.iter_mut().find(|u| u.0 == arg) {
                Some(u) => u.1 += 1,
                None if arg.node().is_some_and(computed) => {}
                None => uses.push((arg, 1)),
            }
        }
        uses.sort_by_key(|u| std::cmp::Reverse(u.1));
        uses.into_iter().take(most).map(|u| u.0).collect()
    }

    /// Returns the values that a step uses.
    pub(super) fn uses(&self, step: &Step) -> Vec<Arg> {
        match step {
            Step::Compute(n) | Step::Fold(n) => self.node(*n).args.clone(),
            Step::Keep(n, _) | Step::Save(n) => vec![Arg::Node(*n)],
            Step::Store(i) => vec![Arg::Node(self.lowered.stores[*i].node)],
            Step::Recall(..) => vec![],
        }
    }
}
