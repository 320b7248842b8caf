//! Register allocation for the body of a loop, done while its instructions are written.

use super::emit::Emitter;
use super::encode::*;
use super::machine::{Lanes, Machine};
use super::node::{Action, Arg, Node};
use super::schedule::Step;
use std::collections::HashMap;
use std::marker::PhantomData;

/// Register state of a body.
pub(super) struct Body<M> {
    machine: PhantomData<M>,
    /// The last step that uses each node.
    last: HashMap<usize, usize>,
    /// Registers of nodes: vectors or masks.
    registers: HashMap<usize, u8>,
    /// Memory values that are kept in registers.
    pub(super) fixed: Vec<(Arg, u8)>,
    /// The location of each accumulator.
    pub(super) folds: Vec<(usize, Rm)>,
    free: u64,
    free_masks: u8,
    /// The largest number of registers used at once.
    pub(super) peak: usize,
    limit: usize,
    failed: bool,
    now: usize,
    lanes: Lanes,
    copy: usize,
    /// The node whose register the result reuses.
    taken: Option<usize>,
    /// Registers to free after the step.
    spent: Vec<u8>,
}

impl<M: Machine> Body<M> {
    pub(super) fn new(steps: &[Step], e: &Emitter<'_, M>, limit: usize) -> Body<M> {
        let mut last = HashMap::new();
        for (i, step) in steps.iter().enumerate() {
            e.uses(step).iter().filter_map(Arg::node).for_each(|n| {
                last.insert(n, i);
            });
        }
        Body {
            machine: PhantomData,
            last,
            registers: HashMap::new(),
            fixed: vec![],
            folds: vec![],
            free: if limit == 64 { u64::MAX } else { (1 << limit) - 1 },
            free_masks: M::MASKS.fold(0, |all, k| all | 1 << k),
            peak: 0,
            limit,
            failed: false,
            now: 0,
            lanes: Lanes::All,
            copy: 0,
            taken: None,
            spent: vec![],
        }
    }

    pub(super) fn check(&self) -> Option<()> {
        (!self.failed).then_some(())
    }

    fn fresh(&mut self) -> u8 {
        if self.free == 0 {
            self.failed = true;
            return 0;
        }
        let r = self.free.trailing_zeros() as u8;
        self.free &= !(1 << r);
        self.peak = self.peak.max(r as usize + 1);
        self.failed |= r as usize >= self.limit;
        r
    }

    fn fresh_mask(&mut self) -> u8 {
        if M::MASKS.is_empty() {
            return self.fresh();
        }
        if self.free_masks == 0 {
            self.failed = true;
            return M::MASKS.start;
        }
        let k = self.free_masks.trailing_zeros() as u8;
        self.free_masks &= !(1 << k);
        k
    }

    pub(super) fn steps(&mut self, e: &mut Emitter<'_, M>, steps: &[Step], copy: usize, lanes: Lanes) {
        (self.copy, self.lanes) = (copy, lanes);
        for (now, step) in steps.iter().enumerate() {
            self.now = now;
            self.step(e, step);
            for r in std::mem::take(&mut self.spent) {
                self.free |= 1 << r;
            }
        }
        // Frees the registers of values that no step uses.
        for (n, r) in std::mem::take(&mut self.registers) {
            self.give_back(e, n, r);
        }
    }

    fn give_back(&mut self, e: &Emitter<'_, M>, node: usize, r: u8) {
        match e.node(node).is_mask() && !M::MASKS.is_empty() {
            true => self.free_masks |= 1 << r,
            false => self.free |= 1 << r,
        }
    }

    /// Frees the registers of values whose last use is this step, so that the result may reuse them.
    fn free_last_uses(&mut self, e: &Emitter<'_, M>, step: &Step) {
        for n in e.uses(step).iter().filter_map(Arg::node) {
            if self.last.get(&n) == Some(&self.now)
                && let Some(r) = self.registers.remove(&n)
                && self.taken.take_if(|taken| *taken == n).is_none()
            {
                self.give_back(e, n, r);
            }
        }
        for r in std::mem::take(&mut self.spent) {
            self.free |= 1 << r;
        }
    }

    /// Returns the register that holds an operand, if one does.
    fn register_of(&self, arg: Arg) -> Option<u8> {
        let fixed = || self.fixed.iter().find(|f| f.0 == arg).map(|f| f.1);
        arg.node().and_then(|n| self.registers.get(&n).copied()).or_else(fixed)
    }

    /// Returns an operand in a register, loading it if necessary.
    fn reg(&mut self, e: &mut Emitter<'_, M>, arg: Arg) -> u8 {
        self.register_of(arg).unwrap_or_else(|| {
            let r = self.fresh();
            e.splat(r, arg);
            self.spent.push(r);
            r
        })
    }

    /// Returns an operand in a register or in memory.
    fn rm(&mut self, e: &mut Emitter<'_, M>, arg: Arg) -> Rm {
        if let Some(r) = self.register_of(arg) {
            return Rm::Reg(r);
        }
        let memory = e.memory_of(arg);
        if M::can_broadcast(memory) { Rm::Splat(memory) } else { Rm::Reg(self.reg(e, arg)) }
    }

    fn mask(&self, arg: Arg) -> u8 {
        self.register_of(arg).unwrap_or(M::MASKS.start)
    }

    /// Returns an operand in a register that the result may overwrite.
    fn overwritable(&mut self, e: &mut Emitter<'_, M>, arg: Arg) -> u8 {
        if let Some(n) = arg.node().filter(|n| self.last.get(n) == Some(&self.now))
            && let Some(r) = self.registers.get(&n)
        {
            self.taken = Some(n);
            return *r;
        }
        let held = self.register_of(arg);
        let r = self.fresh();
        match held {
            Some(from) => M::op(&mut e.asm, COPY, r, 0, Rm::Reg(from), None),
            None => e.splat(r, arg),
        }
        r
    }

    fn step(&mut self, e: &mut Emitter<'_, M>, step: &Step) {
        match *step {
            Step::Compute(n) => self.compute(e, step, n),
            Step::Keep(n, buffer) => {
                let from = self.reg(e, Arg::Node(n));
                let to = e.elements_at(e.lowered.sizes.len() + buffer, self.copy);
                M::store(&mut e.asm, from, to, self.lanes);
                self.free_last_uses(e, step);
            }
            Step::Recall(n, buffer) => {
                let to = self.fresh();
                let from = e.elements_at(e.lowered.sizes.len() + buffer, self.copy);
                M::load(&mut e.asm, to, from, self.lanes);
                self.registers.insert(n, to);
            }
            Step::Fold(n) => {
                let x = self.reg(e, e.node(n).args[0]);
                let to = self.folds.iter().find(|f| f.0 == n).map_or(Rm::Reg(0), |f| f.1);
                if let Action::Fold(fold) = e.node(n).op {
                    let spare = self.spare(M::SPARE.1);
                    M::fold(&mut e.asm, fold, to, x, &spare, self.lanes);
                }
                self.free_last_uses(e, step);
            }
            Step::Store(i) => self.store(e, step, i),
            Step::Save(n) => {
                let from = self.reg(e, Arg::Node(n));
                let to = e.slot(n);
                M::op(&mut e.asm, STORE_ONE, from, 0, Rm::Bytes(to), None);
                self.free_last_uses(e, step);
            }
        }
    }

    /// Returns registers that are free again after the step.
    fn spare(&mut self, count: usize) -> Vec<u8> {
        let spare: Vec<u8> = (0..count).map(|_| self.fresh()).collect();
        self.spent.extend(&spare);
        spare
    }

    fn store(&mut self, e: &mut Emitter<'_, M>, step: &Step, i: usize) {
        let store = e.lowered.stores[i];
        let value = Arg::Node(store.node);
        if e.node(store.node).is_mask() {
            let (flags, spare) = (self.mask(value), self.spare(M::SPARE.0));
            let to = e.elements_at(store.access, self.copy);
            M::store_flags(&mut e.asm, flags, to, &spare, self.lanes);
        } else {
            let from = self.reg(e, value);
            if store.row {
                let to = Mem::At(e.pointer(store.access), 0);
                M::op(&mut e.asm, STORE_ONE, from, 0, Rm::Bytes(to), None);
            } else {
                // Uses no non-temporal stores: they are faster only for the largest results, and the next kernel
                // would not find the result in cache.
                let to = e.elements_at(store.access, self.copy);
                match e.lowered.single {
                    true => M::op(&mut e.asm, STORE_ONE, from, 0, Rm::Bytes(to), None),
                    false => M::store(&mut e.asm, from, to, self.lanes),
                }
            }
        }
        self.free_last_uses(e, step);
    }

    fn compute(&mut self, e: &mut Emitter<'_, M>, step: &Step, n: usize) {
        let Node { op, args, .. } = e.node(n).clone();
        let to = match op {
            Action::Load(access) => {
                let to = self.fresh();
                let from = e.elements_at(access, self.copy);
                match e.lowered.single {
                    true => M::op(&mut e.asm, LOAD_ONE, to, 0, Rm::Bytes(from), None),
                    false => M::load(&mut e.asm, to, from, self.lanes),
                }
                to
            }
            Action::LoadMask(access) => {
                let (spare, to) = (self.spare(M::SPARE.0), self.fresh_mask());
                let from = e.elements_at(access, self.copy);
                M::load_flags(&mut e.asm, to, from, &spare, self.lanes);
                to
            }
            Action::Binary(form, imm) => {
                let swaps =
                    [ADD, MUL, AND, OR, XOR, ADD_INT].contains(&form) && self.register_of(args[0]).is_none();
                let (a, b) = if swaps { (args[1], args[0]) } else { (args[0], args[1]) };
                let (a, b) = (self.reg(e, a), self.rm(e, b));
                self.free_last_uses(e, step);
                let to = self.fresh();
                M::op(&mut e.asm, form, to, a, b, imm);
                to
            }
            Action::Unary(form, imm) => {
                let x = self.rm(e, args[0]);
                self.free_last_uses(e, step);
                let to = self.fresh();
                M::op(&mut e.asm, form, to, 0, x, imm);
                to
            }
            Action::Shift(which, by) => {
                let x = self.reg(e, args[0]);
                self.free_last_uses(e, step);
                let to = self.fresh();
                M::op(&mut e.asm, SHIFT, which, to, Rm::Reg(x), Some(by));
                to
            }
            Action::Fma => self.fma(e, step, [args[0], args[1], args[2]]),
            Action::Ternary(table) => {
                let (b, to) = (self.reg(e, args[1]), self.overwritable(e, args[0]));
                let c = self.rm(e, args[2]);
                M::op(&mut e.asm, TERNARY, to, b, c, Some(table));
                self.free_last_uses(e, step);
                to
            }
            Action::Compare(how) => {
                let (a, b) = (self.reg(e, args[0]), self.rm(e, args[1]));
                self.free_last_uses(e, step);
                let to = self.fresh_mask();
                M::compare(&mut e.asm, to, a, b, how);
                to
            }
            Action::Blend => {
                let (mask, no, yes) = (self.mask(args[0]), self.reg(e, args[2]), self.rm(e, args[1]));
                self.free_last_uses(e, step);
                let to = self.fresh();
                M::blend(&mut e.asm, to, mask, yes, no);
                to
            }
            Action::Far(far) => {
                let (x, to, mask) = (self.reg(e, args[0]), self.overwritable(e, args[1]), self.mask(args[2]));
                e.far(far, mask, x, to);
                self.free_last_uses(e, step);
                to
            }
            Action::Logic(logic) => {
                let (a, b) = (self.mask(args[0]), self.mask(args[args.len() - 1]));
                self.free_last_uses(e, step);
                let to = self.fresh_mask();
                M::logic(&mut e.asm, logic, to, a, b);
                to
            }
            // Does not occur: `Step::Fold` emits folds, `Step::Compute` does not.
            Action::Fold(_) => 0,
        };
        self.registers.insert(n, to);
    }

    /// Emits a fused multiply-add, which overwrites one of its operands. That is an operand whose last use is this step,
    /// or a copy of an operand.
    fn fma(&mut self, e: &mut Emitter<'_, M>, step: &Step, [a, b, c]: [Arg; 3]) -> u8 {
        let (a, b) = if self.register_of(a).is_none() { (b, a) } else { (a, b) };
        let ends = |s: &Self, arg: Arg| {
            arg.node().is_some_and(|n| s.last.get(&n) == Some(&s.now) && s.registers.contains_key(&n))
        };
        let (in_place, other) = match () {
            () if self.register_of(b).is_none() && self.register_of(c).is_some() => (None, a),
            () if self.register_of(b).is_none() => (Some(b), a),
            () if ends(self, a) => (Some(a), b),
            () if ends(self, b) => (Some(b), a),
            () if ends(self, c) => (None, a),
            () if self.register_of(c).is_none() => (Some(a), b),
            () => (None, a),
        };
        match in_place {
            Some(factor) => {
                let (to, second) = (self.overwritable(e, factor), self.reg(e, other));
                let third = self.rm(e, c);
                M::op(&mut e.asm, FMA_213, to, second, third, None);
                self.free_last_uses(e, step);
                to
            }
            None => {
                let (to, second) = (self.overwritable(e, c), self.reg(e, other));
                let third = self.rm(e, b);
                M::op(&mut e.asm, FMA_231, to, second, third, None);
                self.free_last_uses(e, step);
                to
            }
        }
    }
}
