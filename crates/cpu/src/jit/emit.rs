//! From turns to code: loops over vectors, and registers for the values in them.
//!
//! A loop's body is laid out some times, one after the other: the processor looks far enough ahead to overlap them.
//! Numbers and values of the row are operands in memory, one for all lanes; those used most get registers that the body
//! leaves.

use super::encode::*;
use super::lower::Lowered;
use super::node::{Arg, Fold, Node, Op};
use super::schedule::{Step, Turn};
use std::collections::HashMap;

/// Lanes of a vector.
pub(super) const LANES: usize = 16;
/// Vectors of a round through a loop that folds: element `i` goes to lane `i` modulo 64, as in the loops over slices.
const FOLDED: usize = 4;
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
    let mut e = Emitter { lowered, table, asm: Assembler::default(), slots: HashMap::new() };
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
    Some((e.asm.finish(), e.slots.len()))
}

struct Emitter<'a> {
    lowered: &'a Lowered,
    table: Table,
    asm: Assembler,
    /// Where values of the row are.
    slots: HashMap<usize, usize>,
}

impl Emitter<'_> {
    fn node(&self, n: usize) -> &Node {
        &self.lowered.nodes[n]
    }

    fn slot(&mut self, node: usize) -> Mem {
        let next = self.slots.len();
        let slot = *self.slots.entry(node).or_insert(next);
        Mem::At(RDI, (8 * self.table.slots() + 4 * slot) as i32)
    }

    fn pointer(&mut self, access: usize) -> Gpr {
        match POINTERS.get(access) {
            Some(r) => *r,
            None => {
                self.asm.load(RSI, Table::at(self.table.pointer(access)));
                RSI
            }
        }
    }

    /// Elements of an access, for one of the vectors of a round.
    fn elements_at(&mut self, access: usize, copy: usize) -> Mem {
        let size = self.lowered.accesses.get(access).map_or(4, |a| a.1);
        Mem::Indexed(self.pointer(access), size.trailing_zeros() as u8, (copy * LANES * size) as i32)
    }

    /// Where a value is that no register of the body holds.
    fn place(&mut self, arg: Arg) -> Mem {
        match arg {
            Arg::Number(bits) => Mem::Pool(bits),
            Arg::Node(n) => match self.node(n).op {
                Op::Load(access) => Mem::At(self.pointer(access), 0),
                _ => self.slot(n),
            },
        }
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
            let mut trial = Emitter { asm: Assembler::default(), slots: self.slots.clone(), ..*self };
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
            let from = self.place(*arg);
            self.asm.vector(SPLAT, (need + k) as u8, 0, Rm::Whole(from), None, ALL);
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
        let Op::Fold(fold) = self.node(*n).op else { return None };
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
    fn uses(&self, step: &Step) -> Vec<Arg> {
        match step {
            Step::Compute(n) | Step::Fold(n) => self.node(*n).args.clone(),
            Step::Keep(n, _) | Step::Save(n) => vec![Arg::Node(*n)],
            Step::Store(i) => vec![Arg::Node(self.lowered.stores[*i].node)],
            Step::Recall(..) => vec![],
        }
    }

    /// `to = fold(to, x)`; masks 2 and 3 are free.
    fn fold(&mut self, fold: Fold, to: u8, x: u8, lanes: Lanes) {
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
/// Masks of values.
const MASKS: std::ops::Range<u8> = 3..8;

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

/// Registers of a body.
struct Body {
    /// The last step that uses each node.
    last: HashMap<usize, usize>,
    /// Registers of nodes, vectors or masks.
    of: HashMap<usize, u8>,
    /// Values from memory that have one.
    fixed: Vec<(Arg, u8)>,
    /// The register that each fold goes to.
    folds: Vec<(usize, u8)>,
    free: u64,
    free_masks: u8,
    /// Most registers used at once.
    most: usize,
    limit: usize,
    failed: bool,
    now: usize,
    lanes: Lanes,
    copy: usize,
    /// The node whose register the result takes over.
    taken: Option<usize>,
    /// Registers to give back after the step.
    spent: Vec<u8>,
}

impl Body {
    fn new(steps: &[Step], e: &Emitter<'_>, limit: usize) -> Body {
        let mut last = HashMap::new();
        for (i, step) in steps.iter().enumerate() {
            e.uses(step).iter().filter_map(Arg::node).for_each(|n| {
                last.insert(n, i);
            });
        }
        Body {
            last,
            of: HashMap::new(),
            fixed: vec![],
            folds: vec![],
            free: if limit == 64 { u64::MAX } else { (1 << limit) - 1 },
            free_masks: MASKS.fold(0, |all, k| all | 1 << k),
            most: 0,
            limit,
            failed: false,
            now: 0,
            lanes: ALL,
            copy: 0,
            taken: None,
            spent: vec![],
        }
    }

    fn check(&self) -> Option<()> {
        (!self.failed).then_some(())
    }

    fn fresh(&mut self) -> u8 {
        if self.free == 0 {
            self.failed = true;
            return 0;
        }
        let r = self.free.trailing_zeros() as u8;
        self.free &= !(1 << r);
        self.most = self.most.max(r as usize + 1);
        self.failed |= r as usize >= self.limit;
        r
    }

    fn fresh_mask(&mut self) -> u8 {
        if self.free_masks == 0 {
            self.failed = true;
            return MASKS.start;
        }
        let k = self.free_masks.trailing_zeros() as u8;
        self.free_masks &= !(1 << k);
        k
    }

    fn steps(&mut self, e: &mut Emitter<'_>, steps: &[Step], copy: usize, lanes: Lanes) {
        (self.copy, self.lanes) = (copy, lanes);
        for (now, step) in steps.iter().enumerate() {
            self.now = now;
            self.step(e, step);
            for r in std::mem::take(&mut self.spent) {
                self.free |= 1 << r;
            }
        }
        // What nothing uses ends with the body.
        for (n, r) in std::mem::take(&mut self.of) {
            self.give_back(e, n, r);
        }
    }

    fn give_back(&mut self, e: &Emitter<'_>, node: usize, r: u8) {
        match e.node(node).is_mask() {
            true => self.free_masks |= 1 << r,
            false => self.free |= 1 << r,
        }
    }

    /// Ends what a step uses last, so that its result may take the place.
    fn end(&mut self, e: &Emitter<'_>, step: &Step) {
        for n in e.uses(step).iter().filter_map(Arg::node) {
            if self.last.get(&n) == Some(&self.now)
                && let Some(r) = self.of.remove(&n)
            {
                if self.taken.take_if(|taken| *taken == n).is_none() {
                    self.give_back(e, n, r);
                }
            }
        }
        for r in std::mem::take(&mut self.spent) {
            self.free |= 1 << r;
        }
    }

    fn held(&self, arg: Arg) -> Option<u8> {
        let fixed = || self.fixed.iter().find(|f| f.0 == arg).map(|f| f.1);
        arg.node().and_then(|n| self.of.get(&n).copied()).or_else(fixed)
    }

    /// An operand in a register.
    fn reg(&mut self, e: &mut Emitter<'_>, arg: Arg) -> u8 {
        self.held(arg).unwrap_or_else(|| {
            let r = self.fresh();
            let from = e.place(arg);
            e.asm.vector(SPLAT, r, 0, Rm::Whole(from), None, ALL);
            self.spent.push(r);
            r
        })
    }

    /// An operand in a register or in memory.
    fn rm(&mut self, e: &mut Emitter<'_>, arg: Arg) -> Rm {
        match self.held(arg) {
            Some(r) => Rm::Reg(r),
            None => Rm::Splat(e.place(arg)),
        }
    }

    fn mask(&self, arg: Arg) -> u8 {
        self.held(arg).unwrap_or(MASKS.start)
    }

    /// An operand in a register that the result may overwrite.
    fn owned(&mut self, e: &mut Emitter<'_>, arg: Arg) -> u8 {
        if let Some(n) = arg.node().filter(|n| self.last.get(n) == Some(&self.now))
            && let Some(r) = self.of.get(&n)
        {
            self.taken = Some(n);
            return *r;
        }
        let held = self.held(arg);
        let r = self.fresh();
        match held {
            Some(from) => e.asm.vector(COPY, r, 0, Rm::Reg(from), None, ALL),
            None => {
                let from = e.place(arg);
                e.asm.vector(SPLAT, r, 0, Rm::Whole(from), None, ALL);
            }
        }
        r
    }

    fn step(&mut self, e: &mut Emitter<'_>, step: &Step) {
        match *step {
            Step::Compute(n) => self.compute(e, step, n),
            Step::Keep(n, buffer) => {
                let from = self.reg(e, Arg::Node(n));
                let to = e.elements_at(e.lowered.accesses.len() + buffer, self.copy);
                e.asm.vector(STORE, from, 0, Rm::Whole(to), None, self.written());
                self.end(e, step);
            }
            Step::Recall(n, buffer) => {
                let to = self.fresh();
                let from = e.elements_at(e.lowered.accesses.len() + buffer, self.copy);
                e.asm.vector(LOAD, to, 0, Rm::Whole(from), None, self.lanes);
                self.of.insert(n, to);
            }
            Step::Fold(n) => {
                let x = self.reg(e, e.node(n).args[0]);
                let to = self.folds.iter().find(|f| f.0 == n).map_or(0, |f| f.1);
                if let Op::Fold(fold) = e.node(n).op {
                    e.fold(fold, to, x, self.lanes);
                }
                self.end(e, step);
            }
            Step::Store(i) => self.store(e, step, i),
            Step::Save(n) => {
                let from = self.reg(e, Arg::Node(n));
                let to = e.slot(n);
                e.asm.vector(STORE_ONE, from, 0, Rm::Whole(to), None, ALL);
                self.end(e, step);
            }
        }
    }

    /// Lanes that are written to memory.
    fn written(&self) -> Lanes {
        Lanes { zero: false, ..self.lanes }
    }

    fn store(&mut self, e: &mut Emitter<'_>, step: &Step, i: usize) {
        let store = e.lowered.stores[i];
        let value = Arg::Node(store.node);
        if e.node(store.node).is_mask() {
            let (mask, bytes) = (self.mask(value), self.fresh());
            e.asm.vector(SPLAT, bytes, 0, Rm::Whole(Mem::Pool(1)), None, Lanes { mask, zero: true });
            let to = e.elements_at(store.access, self.copy);
            e.asm.vector(NARROW, bytes, 0, Rm::Whole(to), None, self.written());
            self.free |= 1 << bytes;
        } else {
            let from = self.reg(e, value);
            if store.row {
                let to = Mem::At(e.pointer(store.access), 0);
                e.asm.vector(STORE_ONE, from, 0, Rm::Whole(to), None, ALL);
            } else {
                let to = e.elements_at(store.access, self.copy);
                e.asm.vector(STORE, from, 0, Rm::Whole(to), None, self.written());
            }
        }
        self.end(e, step);
    }

    fn compute(&mut self, e: &mut Emitter<'_>, step: &Step, n: usize) {
        let Node { op, args, .. } = e.node(n).clone();
        let to = match op {
            Op::Load(access) => {
                let to = self.fresh();
                let from = e.elements_at(access, self.copy);
                e.asm.vector(LOAD, to, 0, Rm::Whole(from), None, self.lanes);
                to
            }
            Op::LoadMask(access) => {
                let (bytes, to) = (self.fresh(), self.fresh_mask());
                let from = e.elements_at(access, self.copy);
                e.asm.vector(WIDEN, bytes, 0, Rm::Whole(from), None, self.lanes);
                e.asm.vector(TEST, to, bytes, Rm::Reg(bytes), None, ALL);
                self.free |= 1 << bytes;
                to
            }
            Op::Binary(form) => {
                let swaps = [ADD, MUL, AND, XOR, ADD_INT].contains(&form) && self.held(args[0]).is_none();
                let (a, b) = if swaps { (args[1], args[0]) } else { (args[0], args[1]) };
                let (a, b) = (self.reg(e, a), self.rm(e, b));
                self.end(e, step);
                let to = self.fresh();
                e.asm.vector(form, to, a, b, None, ALL);
                to
            }
            Op::Unary(form, imm) => {
                let x = self.rm(e, args[0]);
                self.end(e, step);
                let to = self.fresh();
                e.asm.vector(form, to, 0, x, imm, ALL);
                to
            }
            Op::Shift(which, by) => {
                let x = self.reg(e, args[0]);
                self.end(e, step);
                let to = self.fresh();
                e.asm.vector(SHIFT, which, to, Rm::Reg(x), Some(by), ALL);
                to
            }
            Op::Fma => self.fma(e, step, args[0], args[1], args[2]),
            Op::Ternary(table) => {
                let (b, to) = (self.reg(e, args[1]), self.owned(e, args[0]));
                let c = self.rm(e, args[2]);
                e.asm.vector(TERNARY, to, b, c, Some(table), ALL);
                self.end(e, step);
                to
            }
            Op::Compare(how) => {
                let (a, b) = (self.reg(e, args[0]), self.rm(e, args[1]));
                self.end(e, step);
                let to = self.fresh_mask();
                e.asm.vector(COMPARE, to, a, b, Some(how), ALL);
                to
            }
            Op::Blend => {
                let (mask, no, yes) = (self.mask(args[0]), self.reg(e, args[2]), self.rm(e, args[1]));
                self.end(e, step);
                let to = self.fresh();
                e.asm.vector(BLEND, to, no, yes, None, Lanes { mask, zero: false });
                to
            }
            Op::Logic(form) => {
                let (a, b) = (self.mask(args[0]), self.mask(args[args.len() - 1]));
                self.end(e, step);
                let to = self.fresh_mask();
                e.asm.mask(form, to, a, b);
                to
            }
            // Folds are steps of their own.
            Op::Fold(_) => 0,
        };
        self.of.insert(n, to);
    }

    /// The result takes the place of one of the operands: one that ends here, or a copy.
    fn fma(&mut self, e: &mut Emitter<'_>, step: &Step, a: Arg, b: Arg, c: Arg) -> u8 {
        let (a, b) = if self.held(a).is_none() { (b, a) } else { (a, b) };
        let ends = |s: &Self, arg: Arg| {
            arg.node().is_some_and(|n| s.last.get(&n) == Some(&s.now) && s.of.contains_key(&n))
        };
        let (in_place, other) = match () {
            () if self.held(b).is_none() && self.held(c).is_some() => (None, a),
            () if self.held(b).is_none() => (Some(b), a),
            () if ends(self, a) => (Some(a), b),
            () if ends(self, b) => (Some(b), a),
            () if ends(self, c) => (None, a),
            () if self.held(c).is_none() => (Some(a), b),
            () => (None, a),
        };
        match in_place {
            Some(factor) => {
                let (to, second) = (self.owned(e, factor), self.reg(e, other));
                let third = self.rm(e, c);
                e.asm.vector(FMA_213, to, second, third, None, ALL);
                self.end(e, step);
                to
            }
            None => {
                let (to, second) = (self.owned(e, c), self.reg(e, other));
                let third = self.rm(e, b);
                e.asm.vector(FMA_231, to, second, third, None, ALL);
                self.end(e, step);
                to
            }
        }
    }
}
