//! Convolutions: products of the window with patches of the operand, image by image and group by group.

use super::patches::{Patches, Starts, steps};
use super::spread::{Axis, spread, spread_axes};
use super::{Call, Out, thin};
use crate::gemm::{self, Operand, Output, Problem, Real, Strided};
use crate::tile::memory;
use gradus_ir::ops::Window;
use gradus_ir::{Class, DType, Error, Kind, Result};
use gradus_mem::Storage;

/// With fewer places of the result in an image, those of all images are the columns of one product.
const FEW_PLACES: usize = 64;
/// So many products are done each by one thread.
const MANY: usize = 16;
/// Rows of a product for which it does not pay to pack patches.
const FEW_ROWS: usize = 2;

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn convolve(call: &Call<'_>, window: &Window) -> Result<bool> {
    // SAFETY: the caller's promise, at the type of the elements.
    unsafe {
        match call.of(0).dtype {
            DType::F32 => run::<f32>(call, window, call.operand(0), call.operand(1), call.result(0)),
            DType::F64 => run::<f64>(call, window, call.operand(0), call.operand(1), call.result(0)),
            dtype if dtype.class() == Class::Float => narrow(call, window, dtype)?,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Narrow floats are convolved as `f32`.
unsafe fn narrow(call: &Call<'_>, window: &Window, dtype: DType) -> Result<()> {
    let room = |n: usize| {
        let bytes = n * size_of::<f32>();
        Storage::zeroed(bytes).ok_or_else(|| Error::new(Kind::Memory { bytes }))
    };
    let (x, w) = (call.of(0).shape.numel(), call.of(1).shape.numel());
    let n = call.routine.results[0].shape.numel();
    let (wide, out) = ([(x, room(x)?), (w, room(w)?)], room(n)?);
    for (i, (n, storage)) in wide.iter().enumerate() {
        let (from, to) = (Out(call.memory.0[call.routine.ins[i]]), Out(storage.as_ptr().cast::<f32>()));
        call.parts(*n, dtype.size(), |first, last| {
            // SAFETY: the elements exist, and their places are this task's.
            unsafe {
                memory::read(dtype, from.at(0), first as i64, 1, to.at(first).cast(), last - first);
            }
        });
    }
    let slice = |(n, storage): &(usize, Storage)| {
        let data = if *n == 0 { std::ptr::NonNull::dangling().as_ptr() } else { storage.as_ptr().cast() };
        // SAFETY: the storage has as many elements and outlives the slice.
        unsafe { std::slice::from_raw_parts::<f32>(data, *n) }
    };
    let (from, to) = (Out(out.as_ptr().cast::<f32>()), call.result::<u8>(0));
    // SAFETY: the result is as large as that of the op.
    unsafe { run(call, window, slice(&wide[0]), slice(&wide[1]), Out(from.at(0))) };
    call.parts(n, dtype.size(), |first, last| {
        // SAFETY: as above.
        unsafe { memory::write(dtype, from.at(first).cast(), to.at(0), first as i64, 1, last - first) };
    });
    Ok(())
}

/// What a convolution is, in numbers.
struct Shape {
    axes: Vec<Axis>,
    images: usize,
    groups: usize,
    channels: usize,
    outputs: usize,
    /// Elements of one channel of the operand, of the window, of the result.
    space: usize,
    window: usize,
    places: usize,
}

impl Shape {
    fn new(call: &Call<'_>, window: &Window) -> Shape {
        let (x, w, y) = (&call.of(0).shape, &call.of(1).shape, &call.routine.results[0].shape);
        let axis = |i: usize| Axis {
            extent: x[3 + i],
            step: x[4 + i..].iter().product(),
            window: w[3 + i],
            places: y[3 + i],
            stride: window.stride[i] as i64,
            low: window.low[i],
            base: window.base_dilation[i] as i64,
            dilation: window.window_dilation[i] as i64,
        };
        let axes: Vec<Axis> = (0..window.stride.len()).map(axis).collect();
        let product = |f: fn(&Axis) -> usize| axes.iter().map(f).product();
        let (space, window, places) = (product(|a| a.extent), product(|a| a.window), product(|a| a.places));
        let (images, groups, channels, outputs) = (x[0], x[1], x[2], w[1]);
        Shape { axes, images, groups, channels, outputs, space, window, places }
    }

    /// Of an operand with its zeros.
    fn spread(&self) -> Shape {
        let axes = spread_axes(&self.axes);
        let space = axes.iter().map(|a| a.extent).product();
        Shape { axes, space, ..*self }
    }

    fn is_plain(&self) -> bool {
        self.axes.iter().all(Axis::is_plain)
    }

    /// Every place of the result reads the element at the same place.
    fn is_pointwise(&self) -> bool {
        self.window == 1 && self.axes.iter().all(|a| a.stride == 1 && a.places == a.extent)
    }

    /// The window is as large as the operand.
    fn is_whole(&self) -> bool {
        let covers = |a: &Axis| a.places == 1 && a.window == a.extent && (a.dilation == 1 || a.window == 1);
        self.axes.iter().all(covers)
    }

    /// So few rows in the product that packing patches would cost more than reading them where they are.
    fn is_thin(&self) -> bool {
        self.outputs <= FEW_ROWS && self.axes.last().is_some_and(|a| a.places >= thin::NARROW)
    }

    /// The places of all images are the columns of one product.
    fn is_merged(&self) -> bool {
        self.is_whole()
            || self.places < FEW_PLACES && self.images > 1 && !self.is_pointwise() && !self.is_thin()
    }

    /// The product of the windows of a group, the rows of A, with patches.
    fn problem<'a, T>(&self, windows: &[T], n: usize, b: Operand<'a, T>, c: *mut T) -> Problem<'a, T> {
        let depth = self.channels * self.window;
        let a = Strided { data: windows.as_ptr(), batch: 0, lane: depth as isize, depth: 1 };
        let c = Output { data: c, batch: 0, row: n as isize };
        let (a, accumulate, finish) = (Operand::Strided(a), false, None);
        Problem { batch: 1, m: self.outputs, n, k: depth, a, b, c, accumulate, finish }
    }
}

unsafe fn run<T: Real + thin::Number>(call: &Call<'_>, window: &Window, x: &[T], w: &[T], out: Out<T>) {
    let given = Shape::new(call, window);
    if given.images * given.groups * given.outputs * given.places == 0 {
        return;
    }
    if given.is_plain() {
        // SAFETY: the caller's promise.
        return unsafe { plain(call, &given, x, w, out) };
    }
    let (s, channels) = (given.spread(), given.images * given.groups * given.channels);
    let scratch = gemm::Scratch::take::<T>(channels * s.space);
    let whole = Out(scratch.as_ptr::<T>());
    call.parts(channels, s.space * size_of::<T>(), |from, to| {
        for c in from..to {
            // SAFETY: the channel is this task's.
            spread(&x[c * given.space..][..given.space], &given.axes, unsafe {
                whole.slice(c * s.space, s.space)
            });
        }
    });
    // SAFETY: the caller's promise; all channels are written.
    unsafe { plain(call, &s, whole.slice(0, channels * s.space), w, out) }
}

/// Where every patch lies within the operand.
unsafe fn plain<T: Real + thin::Number>(call: &Call<'_>, s: &Shape, x: &[T], w: &[T], out: Out<T>) {
    let (depth, image) = (s.channels * s.window, s.groups * s.channels * s.space);
    let (steps, starts) = (steps(s.channels, s.space, &s.axes), Starts::new(&s.axes));
    let (steps, starts, result) = (&steps[..], &starts, s.outputs * s.places);
    let patches = |n: usize, g: usize| {
        let from = n * image + g * s.channels * s.space;
        Patches { x: &x[from.min(x.len())..], image, steps, starts }
    };
    let windows = |g: usize| &w[g * s.outputs * depth..];
    let (all, columns) = (s.images * s.groups, s.images * s.places);
    if s.is_merged() {
        let one = |g: usize| {
            let sums = gemm::Scratch::take::<T>(s.outputs * columns);
            let sums = Out(sums.as_ptr::<T>());
            let patches = patches(0, g);
            let whole = Strided { data: patches.x.as_ptr(), batch: 0, lane: image as isize, depth: 1 };
            let b = if s.is_whole() { Operand::Strided(whole) } else { Operand::Packed(&patches) };
            // SAFETY: the operands have these elements; the sums are this group's.
            unsafe { gemm::gemm(call.pool, &s.problem(windows(g), columns, b, sums.at(0))) };
            call.parts(s.images, result * size_of::<T>(), |from, to| {
                for (n, o) in (from..to).flat_map(|n| (0..s.outputs).map(move |o| (n, o))) {
                    let (from, to) = (o * columns + n * s.places, (n * s.groups + g) * result + o * s.places);
                    // SAFETY: the places of an image in the result are this task's.
                    unsafe { std::ptr::copy_nonoverlapping(sums.at(from), out.at(to), s.places) };
                }
            });
        };
        return if s.groups < MANY { (0..s.groups).for_each(one) } else { call.pool.run(s.groups, &one) };
    }
    let one = |at: usize| {
        let patches = patches(at / s.groups, at % s.groups);
        let windows = windows(at % s.groups);
        if s.is_thin() {
            // SAFETY: the result of an image and group is this task's.
            return thin::convolve(&patches, windows, unsafe { out.slice(at * result, result) });
        }
        let pointwise = Strided { data: patches.x.as_ptr(), batch: 0, lane: 1, depth: s.space as isize };
        let b = if s.is_pointwise() { Operand::Strided(pointwise) } else { Operand::Packed(&patches) };
        // SAFETY: the operands have these elements; the result of an image and group is this task's.
        unsafe { gemm::gemm(call.pool, &s.problem(windows, s.places, b, out.at(at * result))) };
    };
    if all < MANY && !s.is_thin() { (0..all).for_each(one) } else { call.pool.run(all, &one) }
}
