//! Runs the nested plans of branches, loops and slices on the memory of the outer plan.

use crate::executable::{Executable, Session};
use crate::pool::Pool;
use crate::tile::Memory;
use gradus_compile::{Control, Plan};
use gradus_device::memory_error;
use gradus_ir::Result;
use gradus_mem::Storage;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

fn bytes(plan: &Plan, b: usize) -> usize {
    plan.buffers[b].bytes()
}

fn integer(plan: &Plan, b: usize, memory: Memory<'_>) -> i64 {
    let aval = gradus_ir::Aval::scalar(plan.buffers[b].dtype);
    // SAFETY: the caller guarantees the plan's memory, and this buffer holds a scalar of this type.
    let l = unsafe { crate::literal::from_memory(&aval, memory.0[b]) };
    l.ok().and_then(|l| l.i().first().copied()).unwrap_or(0)
}

/// Runs the branch that the first operand selects. An index outside of the branches is replaced by the nearest one.
///
/// # Safety
/// `memory` holds the buffers of the plan, and no other thread accesses them during the call. The other functions of this
/// file have the same requirements.
pub(crate) unsafe fn switch(
    c: &Control,
    branches: &[Executable],
    pool: &Pool,
    memory: Memory<'_>,
    plan: &Plan,
) -> Result<()> {
    let index = integer(plan, c.ins[0], memory).clamp(0, branches.len() as i64 - 1) as usize;
    let pointer = |b: &usize| memory.0[*b];
    let (ins, outs) = (c.ins[1..].iter().map(pointer), c.outs.iter().map(pointer));
    // SAFETY: the caller guarantees the memory; branches have the inputs and outputs of the switch.
    unsafe { branches[index].session(pool)?.run(pool, ins, outs, None) }
}

/// Two buffers for each carry: an iteration reads one and writes the other.
struct Carries {
    buffers: Vec<[Storage; 2]>,
    now: usize,
}

impl Carries {
    unsafe fn new(sizes: &[usize], first: &[*mut u8]) -> Result<Carries> {
        let mut buffers = Vec::with_capacity(sizes.len());
        for (&size, &from) in sizes.iter().zip(first) {
            let allocate = || Storage::zeroed(size).ok_or_else(|| memory_error(size));
            let both = [allocate()?, allocate()?];
            // SAFETY: the caller guarantees `size` bytes at `from`, and the buffer is new.
            unsafe { std::ptr::copy_nonoverlapping(from, both[0].as_ptr(), size) };
            buffers.push(both);
        }
        Ok(Carries { buffers, now: 0 })
    }

    fn pointers(&self, which: usize) -> impl Iterator<Item = *mut u8> + '_ {
        self.buffers.iter().map(move |r| r[which].as_ptr())
    }

    /// Copies the carries to the results of the loop.
    unsafe fn finish(&self, sizes: &[usize], to: &[*mut u8]) {
        for ((from, &to), &size) in self.pointers(self.now).zip(to).zip(sizes) {
            // SAFETY: the caller guarantees `size` bytes at `to`, which is not a buffer of the carries.
            unsafe { std::ptr::copy_nonoverlapping(from, to, size) };
        }
    }
}

/// Runs a loop of known length.
///
/// # Safety
/// As for [`switch`].
pub(crate) unsafe fn scan(
    c: &Control,
    (shared, carries, length): (usize, usize, usize),
    reverse: bool,
    body: &Executable,
    pool: &Pool,
    memory: Memory<'_>,
    plan: &Plan,
) -> Result<()> {
    let pointer = |b: &usize| memory.0[*b];
    let (fixed, rest) = c.ins.split_at(shared);
    let (first, xs) = rest.split_at(carries);
    let (last, ys) = c.outs.split_at(carries);
    let sizes: Vec<usize> = first.iter().map(|b| bytes(plan, *b)).collect();
    let slice = |b: &usize, i: usize| {
        let size = bytes(plan, *b) / length.max(1);
        memory.0[*b].wrapping_add(i * size)
    };
    // SAFETY: the caller guarantees the memory; slices of stacks have the sizes that the step reads and writes.
    unsafe {
        let mut state = Carries::new(&sizes, &first.iter().map(pointer).collect::<Vec<_>>())?;
        let mut session = body.session(pool)?;
        for step in 0..length {
            let i = if reverse { length - 1 - step } else { step };
            let at = |b: &usize| slice(b, i);
            let ins = fixed.iter().map(pointer).chain(state.pointers(state.now)).chain(xs.iter().map(at));
            let outs = state.pointers(1 - state.now).chain(ys.iter().map(at));
            session.run(pool, ins, outs, None).map_err(|e| e.in_iteration(i))?;
            state.now = 1 - state.now;
        }
        state.finish(&sizes, &last.iter().map(pointer).collect::<Vec<_>>());
    }
    Ok(())
}

/// Runs all slices, each thread with its own session. If there are fewer slices than threads, runs them in
/// order, and the threads share each slice.
///
/// # Safety
/// As for [`switch`].
pub(crate) unsafe fn slices(
    c: &Control,
    (extents, moves): (&[usize], &[Vec<i64>]),
    sessions: &mut [Session<'_>],
    pool: &Pool,
    memory: Memory<'_>,
    plan: &Plan,
) -> Result<()> {
    let count: usize = extents.iter().product();
    let pointer = |slice: usize, (b, along): (&usize, &Vec<i64>)| {
        let (mut rest, mut at) = (slice, 0);
        for (extent, step) in extents.iter().zip(along).rev() {
            at += (rest % extent) as i64 * step;
            rest /= extent;
        }
        memory.at(*b).wrapping_offset(at as isize * plan.buffers[*b].dtype.size() as isize)
    };
    let one = |session: &mut Session<'_>, slice: usize| {
        let ins = c.ins.iter().zip(moves).map(|p| pointer(slice, p));
        let outs = c.outs.iter().zip(&moves[c.ins.len()..]).map(|p| pointer(slice, p));
        // SAFETY: the caller guarantees the memory; slices write separate elements, and read none that another
        // slice writes.
        unsafe { session.run_with_interrupts(pool, (ins, outs), None, false) }
    };
    if sessions.len() < pool.threads() {
        return sessions.iter_mut().take(1).try_for_each(|s| (0..count).try_for_each(|slice| one(s, slice)));
    }
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let sessions: Vec<Mutex<&mut Session<'_>>> = sessions.iter_mut().map(Mutex::new).collect();
    pool.run(sessions.len(), &|thread| {
        let mut session = sessions[thread].lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let slice = next.fetch_add(1, Ordering::Relaxed);
            if slice >= count {
                return;
            }
            if let Err(e) = one(&mut session, slice) {
                next.store(count, Ordering::Relaxed);
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
            }
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Runs a loop until its condition is false, for at most `bound` iterations if `bound` is not 0.
///
/// # Safety
/// As for [`switch`].
pub(crate) unsafe fn while_loop(
    c: &Control,
    shared: usize,
    bound: usize,
    plans: &[Executable],
    pool: &Pool,
    memory: Memory<'_>,
    plan: &Plan,
) -> Result<()> {
    let pointer = |b: &usize| memory.0[*b];
    let (fixed, first) = c.ins.split_at(shared);
    let sizes: Vec<usize> = first.iter().map(|b| bytes(plan, *b)).collect();
    let most = if bound == 0 { usize::MAX } else { bound };
    let mut go = [0u8; 64];
    // SAFETY: the caller guarantees the memory; the condition writes one boolean.
    unsafe {
        let mut state = Carries::new(&sizes, &first.iter().map(pointer).collect::<Vec<_>>())?;
        let (mut condition, mut body) = (plans[0].session(pool)?, plans[1].session(pool)?);
        for iteration in 0..most {
            let failed = |e: gradus_ir::Error| e.in_iteration(iteration);
            let ins = || fixed.iter().map(pointer).chain(state.pointers(state.now));
            condition.run(pool, ins(), [go.as_mut_ptr()].into_iter(), None).map_err(failed)?;
            if go[0] == 0 {
                break;
            }
            body.run(pool, ins(), state.pointers(1 - state.now), None).map_err(failed)?;
            state.now = 1 - state.now;
        }
        state.finish(&sizes, &c.outs.iter().map(pointer).collect::<Vec<_>>());
    }
    Ok(())
}
