//! Translates loops of known length: appends the commands of the body once for every iteration.
//! Slices are parts of the stacked operands and results; carries alternate between two temporaries.

use crate::host::rename;
use crate::translate::Translation;
use gradus_compile::{
    Access, Buffer, BufferLocation, Control, Inst, Kernel, Layout, Level, Operation, Plan, Step, Store,
};

/// Largest number of iterations times steps of a loop whose commands are appended. A larger loop runs on the host.
const MAX: usize = 1 << 13;

/// The location of a buffer of the body in an iteration: a buffer of the program, and the offset of the first element.
type Slot = (usize, i64);

/// A buffer of the body that is a slice of a stack.
struct Slice {
    /// The buffer of the body.
    inner: usize,
    /// The stack.
    outer: usize,
    /// Number of elements in a slice.
    numel: usize,
    /// The temporary that the body uses instead of the slice, if a step needs a complete buffer.
    copy: Option<usize>,
}

impl Translation<'_> {
    /// Appends the commands of a loop, or returns the reason why it runs on the host.
    pub(crate) fn scan(
        &mut self,
        at: usize,
        control: &Control,
        (shared, carries): (usize, usize),
        length: usize,
        reverse: bool,
    ) -> Result<(), String> {
        let body = control.plans.first().ok_or("a loop has no body")?;
        if length.saturating_mul(body.steps.len()) > MAX {
            return Err(format!(
                "a loop of {length} iterations and {} steps runs on the host",
                body.steps.len()
            ));
        }
        let mark = self.mark();
        let done = self.iterations(at, body, control, (shared, carries), length, reverse);
        match &done {
            Ok(()) => self.free = mark.free,
            Err(_) => self.roll_back(&mark),
        }
        done
    }

    fn iterations(
        &mut self,
        at: usize,
        body: &Plan,
        control: &Control,
        (shared, carries): (usize, usize),
        length: usize,
        reverse: bool,
    ) -> Result<(), String> {
        if length == 0 {
            for c in 0..carries {
                self.copy(at, (control.ins[shared + c], 0), (control.outs[c], 0))?;
            }
            return Ok(());
        }
        // The slot of each buffer of the body. Those of shared operands, constants and temporaries are the same in all
        // iterations; those of carries and slices are replaced in each iteration.
        let mut slots: Vec<Slot> = Vec::with_capacity(body.buffers.len());
        // The body's arena fits in a page or begins with one, so each temporary of the body stays in one page.
        let (arena, end) = self.program.next_temporary(self.free, body.arena);
        self.free = end;
        for own in &body.buffers {
            let number = match &own.location {
                BufferLocation::Input(k) => {
                    control.ins.get(*k).copied().ok_or("a loop has too few operands")?
                }
                BufferLocation::Output(k) => {
                    control.outs.get(*k).copied().ok_or("a loop has too few results")?
                }
                BufferLocation::Arena(at) => self.program.temporary(own.dtype, own.numel, arena + at),
                BufferLocation::Constant(_) => {
                    self.program.buffers.push(Buffer::clone(own));
                    self.program.buffers.len() - 1
                }
            };
            slots.push((number, 0));
        }
        let mut alternate = Vec::new();
        for c in 0..carries {
            let own = &body.buffers[body.outputs[c]];
            let both = [self.temporary(own.dtype, own.numel), self.temporary(own.dtype, own.numel)];
            alternate.push(both);
        }
        let operands = self.slices(body, &body.inputs[shared + carries..], &control.ins[shared + carries..]);
        let results = self.slices(body, &body.outputs[carries..], &control.outs[carries..]);
        for i in 0..length {
            let index = if reverse { length - 1 - i } else { i };
            for c in 0..carries {
                let last = i + 1 == length;
                let from = if i == 0 { control.ins[shared + c] } else { alternate[c][(i + 1) % 2] };
                let to = if last { control.outs[c] } else { alternate[c][i % 2] };
                slots[body.inputs[shared + c]] = (from, 0);
                slots[body.outputs[c]] = (to, 0);
            }
            for slice in operands.iter().chain(&results) {
                let part = (slice.outer, (index * slice.numel) as i64);
                slots[slice.inner] = slice.copy.map_or(part, |copy| (copy, 0));
            }
            for slice in &operands {
                if let Some(copy) = slice.copy {
                    self.copy_slice(at, slice, index, (copy, true))?;
                }
            }
            for step in &body.steps {
                let own = rewrite_step(step, &slots)?;
                self.step(at, body, step, &own)?;
            }
            for slice in &results {
                if let Some(copy) = slice.copy {
                    self.copy_slice(at, slice, index, (copy, false))?;
                }
            }
        }
        Ok(())
    }

    /// Finds the slices of stacks. Slices that a step needs as complete buffers get a temporary.
    fn slices(&mut self, body: &Plan, inner: &[usize], outer: &[usize]) -> Vec<Slice> {
        let mut all = Vec::new();
        for (&inner, &outer) in inner.iter().zip(outer) {
            let (dtype, numel) = (body.buffers[inner].dtype, body.buffers[inner].numel);
            let needs = body.steps.iter().any(|s| needs_complete(s, inner));
            let copy = needs.then(|| self.temporary(dtype, numel));
            all.push(Slice { inner, outer, numel, copy });
        }
        all
    }

    fn copy_slice(
        &mut self,
        at: usize,
        slice: &Slice,
        index: usize,
        (copy, read): (usize, bool),
    ) -> Result<(), String> {
        let part = (slice.outer, (index * slice.numel) as i64);
        let (from, to) = if read { (part, (copy, 0)) } else { ((copy, 0), part) };
        self.copy_part(at, from, to, slice.numel)
    }

    /// Appends a command that copies a complete buffer.
    pub(crate) fn copy(&mut self, at: usize, from: Slot, to: Slot) -> Result<(), String> {
        let numel = self.program.buffers[to.0].numel;
        self.copy_part(at, from, to, numel)
    }

    fn copy_part(&mut self, at: usize, from: Slot, to: Slot, numel: usize) -> Result<(), String> {
        let access = |(buffer, offset): Slot| Access { buffer, layout: Layout { offset, strides: vec![1] } };
        let dtype = self.program.buffers[from.0].dtype;
        let load = Inst { op: Operation::Load(access(from)), args: Vec::new(), dtype, level: Level::Element };
        let kernel = Kernel {
            axes: vec![numel],
            parallel: 1,
            columns: false,
            body: vec![load],
            stores: vec![Store { value: 0, access: access(to) }],
        };
        let launch = self.kernel(&kernel)?;
        launch.into_iter().for_each(|l| self.dispatch(at, l));
        Ok(())
    }
}

/// Returns true if a step needs this buffer as a complete buffer, and not as a part of another.
fn needs_complete(step: &Step, buffer: usize) -> bool {
    let uses = step.reads().contains(&buffer) || step.writes().contains(&buffer);
    match step {
        Step::Kernel(_) => false,
        // A kernel fused with a product numbers elements from the start of the product's buffer.
        Step::Contract(c) => c.finish.is_some() && c.buffers[2] == buffer,
        _ => uses,
    }
}

/// Rewrites a step of the body to use the program's buffers.
fn rewrite_step(step: &Step, slots: &[Slot]) -> Result<Step, String> {
    let mut own = step.clone();
    let shift = |buffer: usize| slots.get(buffer).map_or(0, |s| s.1);
    let kernel = |k: &mut Kernel| {
        for inst in &mut k.body {
            match &mut inst.op {
                Operation::Load(access) => access.layout.offset += shift(access.buffer),
                Operation::Pieces(all) => {
                    all.iter_mut().for_each(|p| p.access.layout.offset += shift(p.access.buffer));
                }
                _ => {}
            }
        }
        k.stores.iter_mut().for_each(|s| s.access.layout.offset += shift(s.access.buffer));
    };
    match &mut own {
        Step::Kernel(k) => kernel(k),
        Step::Contract(c) => {
            (0..3).for_each(|o| c.offsets[o] += shift(c.buffers[o]));
            if let Some(k) = &mut c.finish {
                kernel(k);
            }
        }
        _ => {
            let all = step.reads().into_iter().chain(step.writes());
            if all.map(shift).any(|s| s != 0) {
                return Err("a step needs a complete buffer, but its operand is a slice".into());
            }
        }
    }
    rename(&mut own, &|b| slots.get(b).map_or(b, |s| s.0));
    Ok(own)
}
