//! Computes convolutions as products of the window with patches of the operand, for each image and group.
//! Chooses between products of packed patches, sums of shifted products (`shifted.rs`) and direct sums (`thin.rs`).

use super::patches::{Packable, Patches, Starts, depth_offsets};
use super::spread::{Axis, spread, spread_axes};
use super::{Call, shifted, thin};
use crate::elements::Elements;
use crate::gemm::{self, Operand, Output, Problem, Real, Scratch, Strided};
use crate::tile::memory;
use gradus_ir::ops::Window;
use gradus_ir::{Class, DType, Error, Kind, Result};
use gradus_mem::Storage;
use std::ops::Range;

/// If an image has fewer output positions than this, the positions of all images are the columns of one product.
const FEW_POSITIONS: usize = 64;
/// If there are at least this many products, they run in parallel, each on one thread. Fewer products run one after the
/// other, each on all threads.
const PARALLEL_PRODUCTS: usize = 16;
/// Largest number of rows of a product for which packing patches costs more than it saves.
const FEW_ROWS: usize = 2;
/// Largest number of rows, and smallest number of channels, for which packing patches takes long compared with the
/// product.
const SOME_ROWS: usize = 48;
const SOME_CHANNELS: usize = 16;
/// Largest size of shifted products, in bytes, that stays in the second-level cache until the products are added.
const PRODUCTS: usize = 1 << 20;

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn convolve(call: &Call<'_>, window: &Window) -> Result<bool> {
    // If there are no elements, the reference evaluator computes the result.
    if call.operand_type(0).shape.numel() == 0 || call.operand_type(1).shape.numel() == 0 {
        return Ok(false);
    }
    // SAFETY: the caller guarantees buffers of the stated types, which no other thread accesses; each arm
    // uses the element type of the dtype.
    unsafe {
        match call.operand_type(0).dtype {
            DType::F32 => run::<f32>(call, window, call.operand(0), call.operand(1), call.result(0)),
            DType::F64 => run::<f64>(call, window, call.operand(0), call.operand(1), call.result(0)),
            dtype if dtype.class() == Class::Float => narrow(call, window, dtype)?,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Convolves half-precision floats: converts the operands to `f32` and rounds the result.
unsafe fn narrow(call: &Call<'_>, window: &Window, dtype: DType) -> Result<()> {
    let allocate = |n: usize| {
        let bytes = n * size_of::<f32>();
        Storage::zeroed(bytes).ok_or_else(|| Error::new(Kind::Memory { bytes }))
    };
    let (x, w) = (call.operand_type(0).shape.numel(), call.operand_type(1).shape.numel());
    let n = call.routine.results[0].shape.numel();
    let (wide, out) = ([(x, allocate(x)?), (w, allocate(w)?)], allocate(n)?);
    for (i, (n, storage)) in wide.iter().enumerate() {
        let (from, to) =
            (Elements(call.memory.0[call.routine.ins[i]]), Elements(storage.as_ptr().cast::<f32>()));
        call.parts(*n, dtype.size(), |first, last| {
            // SAFETY: the range is within operand and storage, and belongs to this task.
            unsafe {
                memory::read(dtype, from.at(0), first as i64, 1, to.at(first).cast(), last - first);
            }
        });
    }
    let slice = |(n, storage): &(usize, Storage)| {
        let data = if *n == 0 { std::ptr::NonNull::dangling().as_ptr() } else { storage.as_ptr().cast() };
        // SAFETY: the storage has `n` elements, all written, and outlives the slice.
        unsafe { std::slice::from_raw_parts::<f32>(data, *n) }
    };
    let (from, to) = (Elements(out.as_ptr().cast::<f32>()), call.result::<u8>(0));
    // SAFETY: the caller guarantees buffers of the stated types, which no other thread accesses; `out` has as
    // many elements as the result.
    unsafe { run(call, window, slice(&wide[0]), slice(&wide[1]), Elements(from.at(0))) };
    call.parts(n, dtype.size(), |first, last| {
        // SAFETY: the range is within storage and result, and belongs to this task.
        unsafe { memory::write(dtype, from.at(first).cast(), to.at(0), first as i64, 1, last - first) };
    });
    Ok(())
}

/// Extents of a convolution.
struct Shape {
    axes: Vec<Axis>,
    images: usize,
    groups: usize,
    channels: usize,
    outputs: usize,
    /// Number of elements per channel of the operand, of the window, and of the result.
    space: usize,
    window: usize,
    positions: usize,
}

impl Shape {
    fn new(call: &Call<'_>, window: &Window) -> Shape {
        let (x, w, y) =
            (&call.operand_type(0).shape, &call.operand_type(1).shape, &call.routine.results[0].shape);
        let axis = |i: usize| Axis {
            extent: x[3 + i],
            memory_stride: x[4 + i..].iter().product(),
            window: w[3 + i],
            positions: y[3 + i],
            stride: window.stride[i] as i64,
            low: window.low[i],
            base: window.base_dilation[i] as i64,
            dilation: window.window_dilation[i] as i64,
        };
        let axes: Vec<Axis> = (0..window.stride.len()).map(axis).collect();
        let product = |f: fn(&Axis) -> usize| axes.iter().map(f).product();
        let (space, window, positions) =
            (product(|a| a.extent), product(|a| a.window), product(|a| a.positions));
        let (images, groups, channels, outputs) = (x[0], x[1], x[2], w[1]);
        Shape { axes, images, groups, channels, outputs, space, window, positions }
    }

    /// Returns the extents of the convolution after explicit zeros are written around and between the elements of the operand.
    fn spread(&self) -> Shape {
        let axes = if self.is_plain() { self.axes.clone() } else { spread_axes(&self.axes) };
        let space = axes.iter().map(|a| a.extent).product();
        Shape { axes, space, ..*self }
    }

    fn is_plain(&self) -> bool {
        self.axes.iter().all(Axis::is_plain)
    }

    /// Returns true if each output position reads only the operand's element at the same position. Call it only if
    /// [`Shape::is_plain`] is true.
    fn is_pointwise(&self) -> bool {
        self.window == 1 && self.axes.iter().all(|a| a.stride == 1 && a.positions == a.extent)
    }

    /// Returns true if the window covers the operand.
    fn covers_operand(&self) -> bool {
        let covers =
            |a: &Axis| a.positions == 1 && a.window == a.extent && (a.dilation == 1 || a.window == 1);
        self.axes.iter().all(covers)
    }

    /// Returns true if the product has so few rows that packing patches would cost more than direct sums (`thin.rs`), and
    /// rows of output positions are long enough for these.
    fn is_thin(&self) -> bool {
        self.outputs <= FEW_ROWS && self.axes.last().is_some_and(|a| a.positions >= thin::NARROW)
    }

    /// Returns true if adding shifted products of the operand is cheaper than products of patches.
    fn is_shifted<T>(&self) -> bool {
        self.window > 1
            && self.outputs <= SOME_ROWS
            && self.channels >= SOME_CHANNELS
            && self.outputs * self.window * self.space * size_of::<T>() <= PRODUCTS
            && !self.is_merged()
            && !self.is_thin()
            && shifted::fits(&self.axes)
    }

    /// Returns true if the output positions of all images are the columns of one product.
    fn is_merged(&self) -> bool {
        self.covers_operand()
            || self.positions < FEW_POSITIONS && self.images > 1 && !self.is_pointwise() && !self.is_thin()
    }

    /// Returns the matrix product of a group: A holds the windows, one per row, and B the patches, one per column.
    fn problem<'a, T: Real<Sum = T>>(
        &self,
        windows: &[T],
        n: usize,
        b: Operand<'a, T>,
        c: *mut T,
    ) -> Problem<'a, T> {
        let depth = self.channels * self.window;
        let a = Strided { data: windows.as_ptr(), batch: 0, lane: depth as isize, depth: 1 };
        let c = Output { data: c, batch: 0, row: n as isize };
        let (a, accumulate, finish) = (Operand::Strided(a), false, None);
        Problem { batch: 1, m: self.outputs, n, k: depth, a, b, c, accumulate, finish }
    }
}

unsafe fn run<T: Real<Sum = T> + thin::Number + Packable>(
    call: &Call<'_>,
    window: &Window,
    x: &[T],
    w: &[T],
    out: Elements<T>,
) {
    let original = Shape::new(call, window);
    if original.images * original.groups * original.outputs * original.positions == 0 {
        return;
    }
    let s = original.spread();
    let (depth_offsets, starts) = (depth_offsets(s.channels, s.space, &s.axes), Starts::new(&s.axes));
    let run =
        s.axes.last().map_or(1, |a| if a.dilation as usize * a.memory_stride == 1 { a.window } else { 1 });
    let run = Convolution {
        call,
        original: &original,
        s: &s,
        depth_offsets: &depth_offsets,
        run,
        starts: &starts,
        w,
        out,
    };
    // SAFETY: the caller guarantees operands and a result of these shapes, and that no other thread accesses
    // the result.
    unsafe {
        match () {
            () if original.is_shifted::<T>() => run.compute_shifted(x),
            () if s.is_merged() => run.compute_merged(x),
            () => run.compute_images(x),
        }
    }
}

/// The operands, tables and result of one convolution.
struct Convolution<'a, T> {
    call: &'a Call<'a>,
    /// The extents of the operand as given, and in `s` those with explicit zeros around and between its elements.
    original: &'a Shape,
    s: &'a Shape,
    depth_offsets: &'a [usize],
    run: usize,
    starts: &'a Starts,
    w: &'a [T],
    out: Elements<T>,
}

impl<T: Real<Sum = T> + thin::Number + Packable> Convolution<'_, T> {
    /// Returns the windows of a group.
    fn windows(&self, g: usize) -> &[T] {
        &self.w[g * self.s.outputs * self.s.channels * self.s.window..]
    }

    /// Copies channels and writes their explicit zeros.
    fn spread(&self, x: &[T], channels: Range<usize>, to: &mut [T]) {
        let (original, space) = (self.original, self.s.space);
        for (c, to) in channels.zip(to.chunks_exact_mut(space)) {
            spread(&x[c * original.space..][..original.space], &original.axes, to);
        }
    }

    /// Computes one product per group, with the output positions of all images as its columns.
    unsafe fn compute_merged(&self, x: &[T]) {
        let (&Convolution { call, s, depth_offsets, run, starts, out, .. }, original) = (self, self.original);
        let (image, columns, result) =
            (s.groups * s.channels * s.space, s.images * s.positions, s.outputs * s.positions);
        let scratch;
        let x = if original.is_plain() {
            x
        } else {
            scratch = Scratch::take::<T>(s.images * image);
            let whole = Elements(scratch.as_ptr::<T>());
            call.parts(s.images * s.groups * s.channels, s.space * size_of::<T>(), |from, to| {
                // SAFETY: the scratch memory holds all channels, and these belong to this task.
                self.spread(x, from..to, unsafe { whole.slice(from * s.space, (to - from) * s.space) });
            });
            // SAFETY: all channels are written, and no task writes them now.
            unsafe { whole.slice(0, s.images * image) }
        };
        let one = |g: usize| {
            let sums = Scratch::take::<T>(s.outputs * columns);
            let sums = Elements(sums.as_ptr::<T>());
            let patches = Patches {
                x: &x[(g * s.channels * s.space).min(x.len())..],
                image,
                depth_offsets,
                run,
                starts,
            };
            let whole = Strided { data: patches.x.as_ptr(), batch: 0, lane: image as isize, depth: 1 };
            let b = if s.covers_operand() { Operand::Strided(whole) } else { Operand::Packed(&patches) };
            // SAFETY: the operands have these elements, and the sums belong to this group.
            unsafe { gemm::gemm(call.pool, &s.problem(self.windows(g), columns, b, sums.at(0))) };
            call.parts(s.images, result * size_of::<T>(), |from, to| {
                for (n, o) in (from..to).flat_map(|n| (0..s.outputs).map(move |o| (n, o))) {
                    let (from, to) =
                        (o * columns + n * s.positions, (n * s.groups + g) * result + o * s.positions);
                    // SAFETY: both ranges have `positions` elements, and this range of the result belongs to this
                    // task.
                    unsafe { std::ptr::copy_nonoverlapping(sums.at(from), out.at(to), s.positions) };
                }
            });
        };
        if s.groups < PARALLEL_PRODUCTS { (0..s.groups).for_each(one) } else { call.pool.run(s.groups, &one) }
    }

    /// Computes one product per image and group, with all positions of the window as rows, and adds the parts of the
    /// product at their output positions.
    unsafe fn compute_shifted(&self, x: &[T]) {
        let (&Convolution { call, out, .. }, s) = (self, self.original);
        let (image, result) = (s.channels * s.space, s.outputs * s.positions);
        let each = s.outputs * s.channels * s.window;
        let transposed = Scratch::take::<T>(s.groups * each);
        let transposed = Elements(transposed.as_ptr::<T>());
        for g in 0..s.groups {
            // SAFETY: the scratch memory holds the windows of all groups, and no task runs yet.
            let to = unsafe { transposed.slice(g * each, each) };
            shifted::transpose_windows(self.windows(g), (s.outputs, s.channels, s.window), to);
        }
        let rows = s.window * s.outputs;
        let one = |at: usize| {
            let products = Scratch::take::<T>(rows * s.space);
            let products = Elements(products.as_ptr::<T>());
            // SAFETY: the windows are written, and no task writes them now.
            let windows = unsafe { transposed.slice(at % s.groups * each, each) };
            let a = Strided { data: windows.as_ptr(), batch: 0, lane: s.channels as isize, depth: 1 };
            let b = Strided { data: x[at * image..].as_ptr(), batch: 0, lane: 1, depth: s.space as isize };
            let problem = Problem {
                batch: 1,
                m: rows,
                n: s.space,
                k: s.channels,
                a: Operand::Strided(a),
                b: Operand::Strided(b),
                c: Output { data: products.at(0), batch: 0, row: s.space as isize },
                accumulate: false,
                finish: None,
            };
            // SAFETY: the operands have these elements; products and result of an image and group belong to
            // this task.
            unsafe {
                gemm::gemm(call.pool, &problem);
                let (products, out) = (products.slice(0, rows * s.space), out.slice(at * result, result));
                shifted::sum(products, &s.axes, (s.window, s.outputs), out);
            }
        };
        let all = s.images * s.groups;
        if all < PARALLEL_PRODUCTS { (0..all).for_each(one) } else { call.pool.run(all, &one) }
    }

    /// Computes one product per image and group.
    unsafe fn compute_images(&self, x: &[T]) {
        let (&Convolution { call, s, depth_offsets, run, starts, out, .. }, original) = (self, self.original);
        let (image, result) = (s.channels * s.space, s.outputs * s.positions);
        let one = |at: usize| {
            let scratch;
            let x = if original.is_plain() {
                &x[at * image..][..image]
            } else {
                scratch = Scratch::take::<T>(image);
                // SAFETY: the scratch memory holds an image, and belongs to this task.
                let own = unsafe { Elements(scratch.as_ptr::<T>()).slice(0, image) };
                self.spread(x, at * s.channels..(at + 1) * s.channels, own);
                own
            };
            let (patches, windows) =
                (Patches { x, image, depth_offsets, run, starts }, self.windows(at % s.groups));
            if s.is_thin() {
                // SAFETY: the result of an image and group belongs to this task.
                return thin::convolve(&patches, windows, unsafe { out.slice(at * result, result) });
            }
            let pointwise = Strided { data: x.as_ptr(), batch: 0, lane: 1, depth: s.space as isize };
            let b = if s.is_pointwise() { Operand::Strided(pointwise) } else { Operand::Packed(&patches) };
            // SAFETY: the operands have these elements; the result of an image and group belongs to this task.
            unsafe { gemm::gemm(call.pool, &s.problem(windows, s.positions, b, out.at(at * result))) };
        };
        let all = s.images * s.groups;
        if all < PARALLEL_PRODUCTS && !s.is_thin() {
            (0..all).for_each(one)
        } else {
            call.pool.run(all, &one)
        }
    }
}
