//! From turns to code: loops over vectors, and registers for the values in them.
//!
//! A loop's body is laid out some times, one after the other: the processor looks far enough ahead to overlap them.
//! Numbers and values of the row are operands in memory, one for all lanes; those used most get registers that the body
//! leaves.

use super::allocate::Body;
use super::encode::*;
use super::far::Far;
use super::lower::Lowered;
use super::node::{Action, Arg, Fold, Node};
use super::schedule::{Step, Turn};
use std::collections::HashMap;

/// Lanes of a vector.
pub(super) const LANES: usize = 16;
/// Vectors of a round through a loop that folds: element `i` goes to lane `i` modulo 64, as in the loops over slices.
pub(super) const FOLDED: usize = 4;
/// Registers with pointers; further pointers are read when they are needed.
const POINTERS: [Gpr; 10] = [RBX, RBP, Gpr(8), Gpr(9), Gpr(10), Gpr(11), Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
/// Those that the caller wants back.
const SAVED: [Gpr; 6] = [RBX, RBP, Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
const VECTORS: usize = 32;
/// The mask of the lanes that are there.
const REST: u8 = 1;

/// What the code is handed: words, then slots of values per row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) accesses: usize,
}

impl Table {
    /// How many rows there are.
    pub(super) const ROWS: usize = 0;
    /// Elements of a row in whole rounds, and beyond, for loops of one to [`FOLDED`] vectors a round.
    pub(super) fn counts(unroll: usize) -> (usize, usize) {
        (2 * unroll - 1, 2 * unroll)
    }

    const FIRST: usize = 2 * FOLDED + 1;

    pub(super) fn pointer(self, access: usize) -> usize {
        Table::FIRST + access
    }

    /// Bytes from one row to the next.
    pub(super) fn pitch(self, access: usize) -> usize {
        Table::FIRST + self.accesses + access
    }

    fn slots(self) -> usize {
        Table::FIRST + 2 * self.accesses
    }

    /// Words, with so many slots.
    pub(super) fn words(self, slots: usize) -> usize {
        self.slots() + slots.div_ceil(2)
    }

    fn at(word: usize) -> Mem {
        Mem::At(RDI, 8 * word as i32)
    }
}

/// The code of a kernel, and how many slots its table has; nothing if registers do not last.
pub(super) fn emit(lowered: &Lowered, turns: &[Turn], kept: usize) -> Option<(Vec<u8>, usize)> {
    let table = Table { accesses: lowered.accesses.len() + kept };
    let mut e = Emitter { lowered, table, asm: Assembler::default(), slots: HashMap::new(), calls: vec![] };
    SAVED.iter().for_each(|r| e.asm.push(*r));
    for (a, r) in POINTERS.iter().enumerate().take(table.accesses) {
        e.asm.load(*r, Table::at(table.pointer(a)));
    }
    let next_row = e.asm.here();
    for turn in turns {
        e.elements(&turn.elements)?;
        let mut body = Body::new(&turn.row, &e, VECTORS);
        body.steps(&mut e, &turn.row, 0, ALL);
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
    e.asm.aim(again, next_row);
    SAVED.iter().rev().for_each(|r| e.asm.pop(*r));
    e.asm.leave();
    for far in Far::ALL {
        let routine = e.asm.here();
        let calls: Vec<usize> = e.calls.iter().filter(|c| c.0 == far).map(|c| c.1).collect();
        if !calls.is_empty() {
            e.asm.routine(far.address());
        }
        calls.iter().for_each(|c| e.asm.aim(*c, routine));
    }
    Some((e.asm.finish(), e.slots.len()))
}

pub(super) struct Emitter<'a> {
    pub(super) lowered: &'a Lowered,
    table: Table,
    pub(super) asm: Assembler,
    /// Where values of the row are.
    slots: HashMap<usize, usize>,
    /// Calls of routines that follow the code.
    calls: Vec<(Far, usize)>,
}

impl Emitter<'_> {
    pub(super) fn node(&self, n: usize) -> &Node {
        &self.lowered.nodes[n]
    }

    pub(super) fn slot(&mut self, node: usize) -> Mem {
        let next = self.slots.len();
        let slot = *self.slots.entry(node).or_insert(next);
        Mem::At(RDI, (8 * self.table.slots() + 4 * slot) as i32)
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

    /// Elements of an access, for one of the vectors of a round.
    pub(super) fn elements_at(&mut self, access: usize, copy: usize) -> Mem {
        let size = self.lowered.accesses.get(access).map_or(4, |a| a.1);
        Mem::Indexed(self.pointer(access), size.trailing_zeros() as u8, (copy * LANES * size) as i32)
    }

    /// Where a value is that no register of the body holds.
    pub(super) fn place(&mut self, arg: Arg) -> Mem {
        match arg {
            Arg::Number(bits) => Mem::Pool(bits),
            Arg::Node(n) => match self.node(n).op {
                Action::Load(access) => Mem::At(self.pointer(access), 0),
                _ => self.slot(n),
            },
        }
    }

    /// A value in memory, in all lanes of a register.
    pub(super) fn splat(&mut self, to: u8, arg: Arg) {
        let from = self.place(arg);
        self.asm.vector(SPLAT, to, 0, Rm::Whole(from), None, ALL);
    }

    /// Calls a function of the vectors `x` and `y` if any lane of the mask is set: hardly ever.
    pub(super) fn far(&mut self, far: Far, mask: u8, x: u8, y: u8) {
        self.asm.any(mask);
        let none = self.asm.jump(ZERO);
        self.asm.push(RSI);
        self.asm.push(RDX);
        self.asm.number(RSI, 64 * u32::from(x));
        self.asm.number(RDX, 64 * u32::from(y));
        let call = self.asm.call();
        self.calls.push((far, call));
        self.asm.pop(RDX);
        self.asm.pop(RSI);
        let here = self.asm.here();
        self.asm.aim(none, here);
    }

    /// A loop over the elements of a row.
    fn elements(&mut self, steps: &[Step]) -> Option<()> {
        if steps.is_empty() {
            return Some(());
        }
        let folds: Vec<(usize, Fold)> = steps.iter().filter_map(|s| self.fold_of(s)).collect();
        let unroll = match folds.is_empty() {
            true if steps.len() > 24 => 1,
            true => 2,
            false => FOLDED,
        };
        // How many registers the body needs while everything else is in memory.
        let need = {
            let mut trial =
                Emitter { asm: Assembler::default(), slots: self.slots.clone(), calls: vec![], ..*self };
            let mut body = Body::new(steps, &trial, 64);
            body.folds = folds.iter().map(|f| (f.0, 0)).collect();
            body.steps(&mut trial, steps, 0, ALL);
            body.check()?;
            body.most
        };
        let left = VECTORS.checked_sub(need + FOLDED * folds.len())?;
        let first_fold = VECTORS - FOLDED * folds.len();
        for (k, (_, fold)) in folds.iter().enumerate() {
            for copy in 0..FOLDED {
                let to = (first_fold + FOLDED * k + copy) as u8;
                self.asm.vector(SPLAT, to, 0, Rm::Whole(Mem::Pool(fold.identity())), None, ALL);
            }
        }
        let fixed = self.most_used(steps, left);
        for (k, arg) in fixed.iter().enumerate() {
            self.splat((need + k) as u8, *arg);
        }
        let mut body = Body::new(steps, self, need);
        body.fixed = fixed.iter().enumerate().map(|(k, a)| (*a, (need + k) as u8)).collect();
        let mut copy = |e: &mut Self, copy: usize, lanes: Lanes| {
            let of_fold = |(k, f): (usize, &(usize, Fold))| (f.0, (first_fold + FOLDED * k + copy) as u8);
            body.folds = folds.iter().enumerate().map(of_fold).collect();
            body.steps(e, steps, copy, lanes);
        };
        let (whole, rest) = Table::counts(unroll);
        self.asm.clear(RAX);
        self.asm.load(RCX, Table::at(whole));
        self.asm.test(RCX);
        let none = self.asm.jump(ZERO);
        let again = self.asm.here();
        (0..unroll).for_each(|c| copy(self, c, ALL));
        self.asm.add_number(RAX, (unroll * LANES) as i32);
        self.asm.compare(RAX, RCX);
        let back = self.asm.jump(BELOW);
        self.asm.aim(back, again);
        let after = self.asm.here();
        self.asm.aim(none, after);
        self.asm.load(RDX, Table::at(rest));
        self.asm.test(RDX);
        let mut ends = Vec::new();
        for c in 0..unroll {
            ends.push(self.asm.jump(NOT_GREATER));
            self.asm.mask_of_rest();
            copy(self, c, Lanes { mask: REST, zero: true });
            self.asm.add_number(RDX, -(LANES as i32));
        }
        body.check()?;
        let end = self.asm.here();
        ends.iter().for_each(|j| self.asm.aim(*j, end));
        for (k, (node, fold)) in folds.iter().enumerate() {
            self.join(*fold, (first_fold + FOLDED * k) as u8);
            let slot = self.slot(*node);
            self.asm.vector(STORE_ONE, (first_fold + FOLDED * k) as u8, 0, Rm::Whole(slot), None, ALL);
        }
        Some(())
    }

    fn fold_of(&self, step: &Step) -> Option<(usize, Fold)> {
        let Step::Fold(n) = step else { return None };
        let Action::Fold(fold) = self.node(*n).op else { return None };
        Some((*n, fold))
    }

    /// The values in memory that steps use most, so many at most.
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

    /// The values that a step uses.
    pub(super) fn uses(&self, step: &Step) -> Vec<Arg> {
        match step {
            Step::Compute(n) | Step::Fold(n) => self.node(*n).args.clone(),
            Step::Keep(n, _) | Step::Save(n) => vec![Arg::Node(*n)],
            Step::Store(i) => vec![Arg::Node(self.lowered.stores[*i].node)],
            Step::Recall(..) => vec![],
        }
    }

    /// `to = fold(to, x)`; masks 2 and 3 are free.
    pub(super) fn fold(&mut self, fold: Fold, to: u8, x: u8, lanes: Lanes) {
        let kept = Lanes { zero: false, ..lanes };
        let form = match fold {
            Fold::Sum => return self.asm.vector(ADD, to, to, Rm::Reg(x), None, kept),
            Fold::Max => MAX,
            Fold::Min => MIN,
        };
        self.asm.vector(form, to, x, Rm::Reg(to), None, kept);
        self.asm.vector(COMPARE, NAN, x, Rm::Reg(x), Some(3), kept);
        self.asm.vector(COPY, to, 0, Rm::Reg(x), None, Lanes { mask: NAN, zero: false });
    }

    /// All lanes of the registers of a fold into the first, by halves. Other registers are free.
    fn join(&mut self, fold: Fold, first: u8) {
        for (a, b) in [(0, 2), (1, 3), (0, 1)] {
            self.fold(fold, first + a, first + b, ALL);
        }
        for (form, swap) in
            [(SHUFFLE_QUARTERS, 0x4e), (SHUFFLE_QUARTERS, 0xb1), (SHUFFLE, 0x4e), (SHUFFLE, 0xb1)]
        {
            self.asm.vector(form, first + 1, first, Rm::Reg(first), Some(swap), ALL);
            self.fold(fold, first, first + 1, ALL);
        }
    }
}

/// The mask that folds use.
const NAN: u8 = 2;

impl Fold {
    fn identity(self) -> u32 {
        match self {
            // This alone leaves a sum of negative zeros what it is.
            Fold::Sum => (-0.0f32).to_bits(),
            Fold::Max => f32::NEG_INFINITY.to_bits(),
            Fold::Min => f32::INFINITY.to_bits(),
        }
    }
}
