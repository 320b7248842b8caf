//! Copies elements between memory and registers, in runs along the last axis, and converts them.

use super::Kind;
use crate::vector::{Convert, conversions};
use gradus_compile::{Access, Kernel, Layout, Piece};
use gradus_ir::{C, DType, Error, Result};
use half::{bf16, f16};
use num_complex::Complex;

/// The layout of the elements of a kernel's access.
#[derive(Clone, Debug)]
pub(super) struct AccessLayout {
    pub(super) buffer: usize,
    pub(super) dtype: DType,
    pub(super) layout: Layout,
    /// If true, the elements of a register are contiguous in memory.
    pub(super) is_contiguous: bool,
    /// The axes of a register, after merging axes with compatible strides. `strides` has their strides.
    pub(super) axes: Vec<usize>,
    pub(super) strides: Vec<i64>,
}

impl AccessLayout {
    /// Describes an access for registers that cover the first `span` axes.
    pub(super) fn new(axes: &[usize], span: usize, access: &Access, dtype: DType) -> AccessLayout {
        let layout = access.layout.clone();
        let is_contiguous = Layout::row_major(&axes[..span]).strides == layout.strides[..span];
        let (mut own, mut strides): (Vec<usize>, Vec<i64>) = (Vec::new(), Vec::new());
        for (&extent, &stride) in axes[..span].iter().zip(&layout.strides).filter(|(e, _)| **e != 1) {
            match (own.last_mut(), strides.last_mut()) {
                (Some(last), Some(step)) if *step == stride * extent as i64 => {
                    *last *= extent;
                    *step = stride;
                }
                _ => {
                    own.push(extent);
                    strides.push(stride);
                }
            }
        }
        AccessLayout { buffer: access.buffer, dtype, layout, is_contiguous, axes: own, strides }
    }
}

/// Calls `f(number of elements before the run, offset of its first element, length)` for the runs along the last
/// axis of the row-major range `from..from + count` of these axes.
pub(super) fn runs(
    axes: &[usize],
    strides: &[i64],
    offset: i64,
    from: usize,
    count: usize,
    mut f: impl FnMut(usize, i64, usize),
) {
    blocks(axes, strides, offset, (from, count), 1, |first, at, _, n| f(first, at, n));
}

/// As [`runs`], but calls `f` once for up to `most` complete runs along the second-to-last axis, and passes their number.
fn blocks(
    axes: &[usize],
    strides: &[i64],
    offset: i64,
    (from, count): (usize, usize),
    most: usize,
    mut f: impl FnMut(usize, i64, usize, usize),
) {
    let Some((&inner, outer)) = axes.split_last() else {
        if count > 0 {
            f(0, offset, 1, 1);
        }
        return;
    };
    if count == 0 {
        return;
    }
    let last = outer.len();
    // The index is on the stack if there are few axes, otherwise on the heap.
    let (mut few, mut many) = ([0usize; 16], Vec::new());
    let index: &mut [usize] = if last <= few.len() {
        &mut few
    } else {
        many.resize(last, 0);
        &mut many
    };
    let mut rest = from / inner;
    let mut at = offset;
    for a in (0..last).rev() {
        index[a] = rest % outer[a];
        rest /= outer[a];
        at += index[a] as i64 * strides[a];
    }
    let (mut done, mut i) = (0, from % inner);
    while done < count {
        let n = (inner - i).min(count - done);
        let rows = match last {
            0 => 1,
            _ if n < inner => 1,
            _ => most.min(outer[last - 1] - index[last - 1]).min((count - done) / inner),
        };
        f(done, at + i as i64 * strides[last], rows, n);
        done += rows * n;
        i = 0;
        let mut steps = rows;
        for a in (0..last).rev() {
            index[a] += steps;
            at += strides[a] * steps as i64;
            if index[a] < outer[a] {
                break;
            }
            at -= strides[a] * outer[a] as i64;
            index[a] = 0;
            steps = 1;
        }
    }
}

/// Reads the row-major range `from..from + count` of axes into a register.
///
/// # Safety
/// The range is within the memory of `source`, and `to` has space for `count` elements of `size` bytes.
pub(super) unsafe fn read_range(
    dtype: DType,
    source: *const u8,
    axes: &[usize],
    (offset, strides): (i64, &[i64]),
    range: (usize, usize),
    (to, size): (*mut u8, usize),
) {
    let stride = |back: usize| axes.len().checked_sub(back).map_or(1, |a| strides[a]);
    let (step, pitch) = (stride(1), stride(2));
    blocks(axes, strides, offset, range, usize::MAX, |first, at, rows, n| {
        // SAFETY: the caller guarantees the range, of which these runs are a part.
        unsafe { read_rows(dtype, source, (at, rows, pitch), step, to.add(first * size), n) };
    });
}

/// Reads a strided run into a register.
///
/// # Safety
/// The run is within the memory of `from`, and `to` has space for `n` elements of the dtype's kind.
pub(crate) unsafe fn read(dtype: DType, from: *const u8, at: i64, step: i64, to: *mut u8, n: usize) {
    // SAFETY: the caller guarantees the run and the space for its elements; this is one run.
    unsafe { read_rows(dtype, from, (at, 1, 0), step, to, n) }
}

/// Reads several runs into a register. Takes the offset of the first run, the number of runs and the distance between them.
///
/// # Safety
/// As for [`read`], for all runs.
unsafe fn read_rows(
    dtype: DType,
    from: *const u8,
    rows: (i64, usize, i64),
    step: i64,
    to: *mut u8,
    n: usize,
) {
    // SAFETY: callers guarantee the runs and space for their elements; `S` is the stored type, `R` the register type.
    unsafe fn each<S: Copy, R: Copy>(
        from: *const u8,
        (at, rows, pitch): (i64, usize, i64),
        step: i64,
        to: *mut u8,
        n: usize,
        f: impl Fn(S) -> R,
    ) {
        let (from, to) = (from.cast::<S>(), to.cast::<R>());
        for row in 0..rows {
            // SAFETY: the caller guarantees the runs and the space for their elements.
            unsafe {
                let from = from.offset((at + row as i64 * pitch) as isize);
                let to = to.add(row * n);
                match (step, n) {
                    // Short runs are frequent and are copied without a loop.
                    (0, 2) => to.cast::<[R; 2]>().write_unaligned([f(from.read()); 2]),
                    (1, _) => (0..n).for_each(|i| to.add(i).write(f(from.add(i).read()))),
                    (0, _) => {
                        let x = from.read();
                        (0..n).for_each(|i| to.add(i).write(f(x)));
                    }
                    _ => (0..n)
                        .for_each(|i| to.add(i).write(f(from.offset(i as isize * step as isize).read()))),
                }
            }
        }
    }
    /// Reads contiguous runs by a vectorized loop.
    ///
    /// # Safety
    /// As for [`each`].
    unsafe fn along<S, R>(
        from: *const u8,
        (at, rows, pitch): (i64, usize, i64),
        to: *mut u8,
        n: usize,
        f: Convert<S, R>,
    ) {
        for row in 0..rows {
            // SAFETY: the caller guarantees the runs and the space for their elements.
            unsafe {
                let from = from.cast::<S>().offset((at + row as i64 * pitch) as isize);
                f(from, to.cast::<R>().add(row * n), n);
            }
        }
    }
    let (at, all) = (rows, conversions());
    // SAFETY: the caller guarantees the runs and the space for their elements; each arm uses the types of the
    // dtype.
    unsafe {
        match dtype {
            DType::BF16 if step == 1 => along(from, at, to, n, all.bf16_f32),
            DType::F16 if step == 1 => along(from, at, to, n, all.f16_f32),
            DType::I8 if step == 1 => along(from, at, to, n, all.i8_i64),
            DType::U8 if step == 1 => along(from, at, to, n, all.u8_i64),
            DType::I32 if step == 1 => along(from, at, to, n, all.i32_i64),
            DType::U32 if step == 1 => along(from, at, to, n, all.u32_i64),
            DType::F32 => each(from, at, step, to, n, |x: f32| x),
            DType::F64 => each(from, at, step, to, n, |x: f64| x),
            DType::BF16 => each(from, at, step, to, n, |x: bf16| x.to_f32()),
            DType::F16 => each(from, at, step, to, n, |x: f16| x.to_f32()),
            DType::I8 => each(from, at, step, to, n, |x: i8| x as i64),
            DType::U8 => each(from, at, step, to, n, |x: u8| x as i64),
            DType::I32 => each(from, at, step, to, n, |x: i32| x as i64),
            DType::U32 => each(from, at, step, to, n, |x: u32| x as i64),
            DType::I64 => each(from, at, step, to, n, |x: i64| x),
            DType::Bool => each(from, at, step, to, n, |x: u8| x),
            DType::C64 => each(from, at, step, to, n, |z: Complex<f32>| C::new(z.re as f64, z.im as f64)),
            DType::C128 => each(from, at, step, to, n, |z: C| z),
        }
    }
}

/// Writes a register to a strided run.
///
/// # Safety
/// The run is within the memory of `to`, and `from` has `n` elements of the dtype's kind.
pub(crate) unsafe fn write(dtype: DType, from: *const u8, to: *mut u8, at: i64, step: i64, n: usize) {
    // SAFETY: callers guarantee the run and `n` elements; `R` is the register type, `S` the stored type.
    unsafe fn each<R: Copy, S>(
        from: *const u8,
        to: *mut u8,
        at: i64,
        step: i64,
        n: usize,
        f: impl Fn(R) -> S,
    ) {
        let (from, to) = (from.cast::<R>(), to.cast::<S>());
        // SAFETY: the caller guarantees that the run is within memory, and `n` elements at `from`.
        unsafe {
            let to = to.offset(at as isize);
            if step == 1 {
                (0..n).for_each(|i| to.add(i).write(f(from.add(i).read())));
            } else {
                (0..n).for_each(|i| to.offset(i as isize * step as isize).write(f(from.add(i).read())));
            }
        }
    }
    /// Writes a contiguous run by a vectorized loop.
    ///
    /// # Safety
    /// As for [`each`].
    unsafe fn along<R, S>(from: *const u8, to: *mut u8, at: i64, n: usize, f: Convert<R, S>) {
        // SAFETY: the caller guarantees that the run is within memory, and `n` elements at `from`.
        unsafe { f(from.cast(), to.cast::<S>().offset(at as isize), n) }
    }
    let all = conversions();
    // SAFETY: the caller guarantees the run and the elements; each arm uses the types of the dtype.
    unsafe {
        match dtype {
            DType::BF16 if step == 1 => along(from, to, at, n, all.f32_bf16),
            DType::F16 if step == 1 => along(from, to, at, n, all.f32_f16),
            DType::I8 if step == 1 => along(from, to, at, n, all.i64_i8),
            DType::U8 if step == 1 => along(from, to, at, n, all.i64_u8),
            DType::I32 if step == 1 => along(from, to, at, n, all.i64_i32),
            DType::U32 if step == 1 => along(from, to, at, n, all.i64_u32),
            DType::F32 => each(from, to, at, step, n, |x: f32| x),
            DType::F64 => each(from, to, at, step, n, |x: f64| x),
            DType::BF16 => each(from, to, at, step, n, bf16::from_f32),
            DType::F16 => each(from, to, at, step, n, f16::from_f32),
            DType::I8 => each(from, to, at, step, n, |x: i64| x as i8),
            DType::U8 => each(from, to, at, step, n, |x: i64| x as u8),
            DType::I32 => each(from, to, at, step, n, |x: i64| x as i32),
            DType::U32 => each(from, to, at, step, n, |x: i64| x as u32),
            DType::I64 => each(from, to, at, step, n, |x: i64| x),
            DType::Bool => each(from, to, at, step, n, |x: u8| x),
            DType::C64 => each(from, to, at, step, n, |z: C| Complex::new(z.re as f32, z.im as f32)),
            DType::C128 => each(from, to, at, step, n, |z: C| z),
        }
    }
}

/// Pieces of other values, with zeros at indices that no piece contains.
#[derive(Debug)]
pub(super) struct Pieces {
    pieces: Vec<(AccessLayout, Vec<(Layout, usize)>)>,
}

impl Pieces {
    pub(super) fn new(pieces: &[Piece], buffers: &[(DType, usize)]) -> Pieces {
        let one = |p: &Piece| {
            let dtype = buffers[p.access.buffer].0;
            (AccessLayout::new(&[], 0, &p.access, dtype), p.bounds.clone())
        };
        Pieces { pieces: pieces.iter().map(one).collect() }
    }

    /// Fills a register with the elements of a row-major range (first, count) of `axes`. `further` holds the axes that
    /// the register does not cover, and their indices.
    ///
    /// # Safety
    /// Buffers have the sizes that the pieces were built for; `to` has space for `count` elements.
    pub(super) unsafe fn fill(
        &self,
        kind: Kind,
        axes: &[usize],
        further: (&[usize], &[usize]),
        range: (usize, usize),
        memory: &[*mut u8],
        to: *mut u8,
    ) {
        let (from, count) = range;
        let size = kind.size();
        // SAFETY: the caller guarantees the space; zero bytes are zeros of every kind.
        unsafe { to.write_bytes(0, count * size) };
        for (access, bounds) in &self.pieces {
            let fixed = |l: &Layout| {
                let more: i64 = further.0.iter().zip(further.1).map(|(&a, &i)| l.strides[a] * i as i64).sum();
                l.offset + more
            };
            // A piece and its bounds have the same axes, so they have the same runs.
            let mut windows: Vec<Vec<(i64, i64)>> = Vec::with_capacity(bounds.len());
            for (l, extent) in bounds {
                let mut own = Vec::new();
                let step = axes.len().checked_sub(1).map_or(0, |a| l.strides[a]);
                runs(axes, &l.strides, fixed(l), from, count, |_, at, n| {
                    own.push(within(at, step, *extent, n))
                });
                windows.push(own);
            }
            let step = axes.len().checked_sub(1).map_or(0, |a| access.layout.strides[a]);
            let mut k = 0;
            runs(axes, &access.layout.strides, fixed(&access.layout), from, count, |first, at, n| {
                let (mut low, mut high) = (0, n as i64);
                for w in &windows {
                    (low, high) = (low.max(w[k].0), high.min(w[k].1));
                }
                k += 1;
                if low < high {
                    // SAFETY: `check` has verified that an index within the bounds of the piece is within the buffer.
                    unsafe {
                        let to = to.add((first + low as usize) * size);
                        let source = memory[access.buffer];
                        read(access.dtype, source, at + low * step, step, to, (high - low) as usize);
                    }
                }
            });
        }
    }
}

/// Returns the part of a run `0..n` in which `0 ≤ at + i·step < extent`.
fn within(at: i64, step: i64, extent: usize, n: usize) -> (i64, i64) {
    let (n, extent) = (n as i64, extent as i64);
    match step {
        0 if (0..extent).contains(&at) => (0, n),
        0 => (0, 0),
        s if s > 0 => {
            let low = (-at).div_euclid(s) + ((-at).rem_euclid(s) != 0) as i64;
            let high = (extent - at).div_euclid(s) + ((extent - at).rem_euclid(s) != 0) as i64;
            (low.clamp(0, n), high.clamp(0, n))
        }
        s => {
            // Iterates from the end, so that the stride is positive.
            let (low, high) = within(at + s * (n - 1), -s, extent as usize, n as usize);
            (n - high, n - low)
        }
    }
}

/// Returns an error if a kernel accesses elements outside of its buffers. Running such a kernel would be unsound.
pub(super) fn check(kernel: &Kernel, buffers: &[(DType, usize)]) -> Result<()> {
    let outside = |(access, _, (low, high)): &(&Access, DType, (i64, i64))| {
        *low < 0 || *high as u64 >= buffers[access.buffer].1 as u64
    };
    match kernel.reach().into_iter().find(outside) {
        Some((a, ..)) => {
            Err(Error::verify(format!("a kernel reaches outside of buffer {}\n{kernel}", a.buffer)))
        }
        None => Ok(()),
    }
}
