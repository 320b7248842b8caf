//! Translates ops that are not loop nests: indexing, sorting, running combinations, random bits, convolution, Fourier
//! transforms, attention.
//! Takes a routine of a plan; returns its kernels in order, or the reason why there are none. Their temporaries are in the
//! arena, after those of the plan.

mod arg;
mod attention;
mod bits;
mod convolve;
mod cumulate;
mod direct;
mod each;
mod fft;
mod implicit;
mod index;
mod sort;

pub(crate) use attention::CLAIMS;

use crate::build::Launch;
use crate::dialect::Dialect;
use crate::limits::Limits;
use crate::memory::register;
use crate::program::{ALIGN, Check, GpuProgram};
use crate::translate::kernel_launch;
use gradus_compile::{Access, Inst, Kernel, Layout, Level, Operation, Routine, Store, Text};
use gradus_ir::ops::{Combine, Form, Scalar, pointwise};
use gradus_ir::{Aval, DType, Op};
use std::ops::Range;

/// A routine under translation.
pub(crate) struct Call<'a> {
    pub(crate) program: &'a mut GpuProgram,
    pub(crate) routine: &'a Routine,
    pub(crate) limits: &'a Limits,
    pub(crate) dialect: Dialect,
    pub(crate) text: Text,
    /// The step of the plan.
    pub(crate) step: usize,
    /// The bytes of the arena for the words of further checks. No temporary uses this memory.
    pub(crate) checks: &'a mut Range<usize>,
    /// First byte of the arena that this step may use. Other steps reuse the same bytes.
    pub(crate) free: usize,
}

/// Returns the number of rows before an axis, its extent, and the number of elements after it.
pub(crate) fn split_extents(aval: &Aval, axis: usize) -> (usize, usize, usize) {
    let shape = &aval.shape;
    (shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product())
}

/// Returns the kernels of a routine.
pub(crate) fn launches(call: &mut Call<'_>) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let types = routine.types.iter().chain(&routine.results);
    for aval in types.clone() {
        register(aval.dtype).ok_or_else(|| format!("kernels do not compute in {}", aval.dtype))?;
    }
    if types.clone().any(|a| a.shape.numel() >= 1 << 31) {
        return Err("an operand has more than 2^31 elements".into());
    }
    if let Op::Call(region) = &routine.op {
        return attention::launches(call, region);
    }
    match routine.op.def().form(&routine.types) {
        Form::Take { axis } => index::take(call, axis),
        Form::Scatter { axis, combine } => index::scatter(call, axis, combine),
        Form::ArgReduce { largest, axis } => arg::launches(call, largest, axis),
        Form::Cumulate { combine, axis, reverse } => cumulate::launches(call, combine, axis, reverse),
        Form::Sort { axis, descending, .. } => sort::launches(call, axis, descending),
        Form::Bits => bits::launches(call),
        Form::Fourier(fft) => fft::launches(call, fft.axis, fft.inverse),
        Form::Convolve(window) => convolve::convolve(call, &window),
        Form::Fold(window) => convolve::fold(call, &window),
        Form::Pad { low, interior } => convolve::pad(call, &low, &interior),
        Form::Contract { lhs, rhs, out } => contract(call, [&lhs, &rhs, &out]),
        _ => Err(format!("there is no kernel for {}", routine.op.name())),
    }
}

impl Call<'_> {
    /// Allocates a temporary for the duration of this step.
    pub(crate) fn scratch(&mut self, dtype: DType, numel: usize) -> usize {
        let (at, end) = self.program.next_temporary(self.free, numel * dtype.size());
        self.free = end;
        self.program.temporary(dtype, numel, at)
    }

    /// Returns the launch of a loop nest that is part of the routine; `None` if it has no indices.
    pub(crate) fn nest(&self, kernel: &Kernel) -> Result<Option<Launch>, String> {
        kernel_launch(self.program, kernel, self.limits, self.dialect, self.text)
    }

    /// Returns kernels that find the first index out of range, and adds the word to which they write its position to the
    /// checks of the program. Returns an error if the program has the largest number of checks already.
    pub(crate) fn check(&mut self, index: usize, extent: usize) -> Result<Vec<Launch>, String> {
        let (dtype, numel) = (self.program.buffers[index].dtype, self.program.buffers[index].numel);
        if self.checks.start >= self.checks.end {
            return Err("the program has too many checks of indices".into());
        }
        let at = self.program.temporary(DType::U32, 1, self.checks.start);
        self.checks.start += ALIGN;
        self.program.checks.push(Check { step: self.step, word: at, index, extent });
        let inst = |op: Operation, args: &[usize], dtype: DType| Inst {
            op,
            args: args.to_vec(),
            dtype,
            level: Level::Element,
        };
        let scalar = |op| Operation::Scalar(Scalar::Pointwise(op));
        let number = |d: DType, x: i64| Operation::Constant(gradus_ir::Literal::int_scalar(d, x));
        let along = Layout { offset: 0, strides: vec![1] };
        // Compares indices as 64-bit integers, which can represent every extent.
        let mut body = vec![
            inst(Operation::Load(Access { buffer: index, layout: along.clone() }), &[], dtype),
            inst(Operation::Scalar(Scalar::Cast), &[0], DType::I64),
            inst(number(DType::I64, 0), &[], DType::I64),
            inst(number(DType::I64, extent as i64), &[], DType::I64),
            inst(scalar(&pointwise::compare::ge), &[1, 2], DType::Bool),
            inst(scalar(&pointwise::compare::lt), &[1, 3], DType::Bool),
            inst(scalar(&pointwise::logic::and), &[4, 5], DType::Bool),
            inst(number(DType::U32, i64::from(u32::MAX)), &[], DType::U32),
            inst(Operation::Index(along), &[], DType::U32),
            inst(Operation::Scalar(Scalar::Select), &[6, 7, 8], DType::U32),
        ];
        body.push(Inst {
            op: Operation::Reduce(Combine::Min),
            args: vec![9],
            dtype: DType::U32,
            level: Level::Row,
        });
        let to = Access { buffer: at, layout: Layout { offset: 0, strides: vec![0] } };
        let kernel = Kernel {
            axes: vec![numel],
            parallel: 0,
            columns: false,
            body,
            stores: vec![Store { value: 10, access: to }],
        };
        Ok(self.nest(&kernel)?.into_iter().collect())
    }
}

/// Returns the kernel of a contraction of operands that are not floats, as a loop nest over all labels.
fn contract(call: &mut Call<'_>, labels: [&str; 3]) -> Result<Vec<Launch>, String> {
    let routine = call.routine;
    let types = [&routine.types[0], &routine.types[1], &routine.results[0]];
    let extent = |l: char| {
        (0..2).find_map(|o| labels[o].chars().position(|x| x == l).map(|at| types[o].shape[at])).unwrap_or(1)
    };
    let outer: Vec<char> = labels[2].chars().collect();
    let mut inner: Vec<char> = Vec::new();
    for l in labels[..2].iter().flat_map(|s| s.chars()) {
        if !outer.contains(&l) && !inner.contains(&l) {
            inner.push(l);
        }
    }
    let all: Vec<char> = outer.iter().chain(&inner).copied().collect();
    let layout = |o: usize| {
        let own = Layout::row_major(&types[o].shape).strides;
        // A label that occurs twice in an operand selects its diagonal.
        let stride = |l: &char| labels[o].chars().zip(&own).filter(|(x, _)| x == l).map(|(_, s)| *s).sum();
        Layout { offset: 0, strides: all.iter().map(stride).collect() }
    };
    let buffers = [routine.ins[0], routine.ins[1], routine.outs[0]];
    let (from, to) = (types[0].dtype, types[2].dtype);
    let load = |o: usize| Inst {
        op: Operation::Load(Access { buffer: buffers[o], layout: layout(o) }),
        args: Vec::new(),
        dtype: from,
        level: Level::Element,
    };
    let product = Inst {
        op: Operation::Scalar(Scalar::Pointwise(&pointwise::arith::mul)),
        args: vec![0, 1],
        dtype: to,
        level: Level::Element,
    };
    let sum = Inst { op: Operation::Reduce(Combine::Sum), args: vec![2], dtype: to, level: Level::Row };
    let store = Store { value: 3, access: Access { buffer: buffers[2], layout: layout(2) } };
    let mut kernel = Kernel {
        axes: all.iter().map(|l| extent(*l)).collect(),
        parallel: outer.len(),
        columns: false,
        body: vec![load(0), load(1), product, sum],
        stores: vec![store],
    };
    kernel.coalesce();
    Ok(call.nest(&kernel)?.into_iter().collect())
}
