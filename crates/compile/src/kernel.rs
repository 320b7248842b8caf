//! The kernel: one loop nest over memory, in which any number of ops have been fused.
//!
//! The index space has *parallel* axes and, inside them, *reduced* ones. The body is a list of scalar instructions in single
//! assignment form. An instruction of level `Element` computes a value for each index. One of level `Row` computes a value
//! for each parallel index: the result of a reduction, or a value computed from such results only. Reductions that depend on
//! each other are several passes over a row, but a single pass over memory if the row stays in cache. All devices run this
//! representation.

use crate::layout::Layout;
use gradus_ir::ops::{Combine, Scalar};
use gradus_ir::{DType, Literal};
use std::fmt;

/// A loop nest with a scalar body.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Extents: parallel axes, then reduced ones.
    pub axes: Vec<usize>,
    /// Number of parallel axes.
    pub parallel: usize,
    /// If true, the last parallel axis is the contiguous one, rather than the last axis.
    pub columns: bool,
    /// The body. Instructions are numbered by position and use earlier ones only.
    pub body: Vec<Inst>,
    /// The stores.
    pub stores: Vec<Store>,
}

/// A scalar instruction.
#[derive(Clone, Debug)]
pub struct Inst {
    /// The operation.
    pub op: Operation,
    /// Its operands.
    pub args: Vec<usize>,
    /// Type of its value.
    pub dtype: DType,
    /// The loop level at which the value is computed.
    pub level: Level,
}

/// The loop level at which a value is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Once per parallel index.
    Row,
    /// Once per index.
    Element,
}

/// The operation of an instruction.
#[derive(Clone, Debug)]
pub enum Operation {
    /// The same value at every index.
    Constant(Literal),
    /// An element of a buffer.
    Load(Access),
    /// An element of the first piece whose bounds contain the index, else zero.
    Pieces(Vec<Piece>),
    /// The value of an affine function of the index, as an integer.
    Index(Layout),
    /// A scalar function of the operands.
    Scalar(Scalar),
    /// Combines all elements of a row.
    Reduce(Combine),
}

/// A position in a buffer for every index of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The buffer, by number in its plan.
    pub buffer: usize,
    /// The layout within the buffer.
    pub layout: Layout,
}

/// An access that is valid only within bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The access.
    pub access: Access,
    /// Affine functions of the index, each with the extent that its value must be below; values must also be at least 0.
    pub bounds: Vec<(Layout, usize)>,
}

impl Piece {
    /// Returns the smallest and the largest position of the access at indices within the bounds. `all` holds the indices
    /// along each axis, from 0. Returns `None` if the piece is never read.
    ///
    /// If a bound uses several axes, because the kernel splits an axis of the piece, the access uses these axes only through
    /// the value of the bound, whose range is known. An access that uses them differently is not restricted by the bound, so
    /// the range may be too large, but never too small.
    fn ends(&self, all: &[(i64, i64)]) -> Option<(i64, i64)> {
        let mut ranges = all.to_vec();
        let mut joint = Vec::new();
        for (l, extent) in &self.bounds {
            let (low, high) = l.bounds_over(all);
            let (low, high) = (low.max(0), high.min(*extent as i64 - 1));
            if low > high {
                return None;
            }
            // The only index of an axis of extent 1 is 0.
            let used: Vec<usize> =
                (0..all.len()).filter(|&a| l.strides[a] != 0 && all[a] != (0, 0)).collect();
            match used[..] {
                [] => {}
                [a] => {
                    let stride = l.strides[a];
                    let (from, to) = match stride > 0 {
                        true => (low - l.offset, high - l.offset),
                        false => (l.offset - high, l.offset - low),
                    };
                    let first = -(-from).div_euclid(stride.abs());
                    let last = to.div_euclid(stride.abs());
                    ranges[a] = (ranges[a].0.max(first), ranges[a].1.min(last));
                }
                _ => joint.push((l, (low, high), used)),
            }
        }
        if ranges.iter().any(|(low, high)| low > high) {
            return None;
        }
        let mut rest = self.access.layout.clone();
        let mut ends = (0, 0);
        for (l, (low, high), used) in joint {
            let factor = rest.strides[used[0]] / l.strides[used[0]];
            if used.iter().all(|&a| rest.strides[a] == factor * l.strides[a]) {
                used.iter().for_each(|&a| rest.strides[a] = 0);
                let (a, b) = (factor * (low - l.offset), factor * (high - l.offset));
                ends = (ends.0 + a.min(b), ends.1 + a.max(b));
            }
        }
        let (low, high) = rest.bounds_over(&ranges);
        Some((low + ends.0, high + ends.1))
    }
}

/// A write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// The instruction whose value is written.
    pub value: usize,
    /// The destination.
    pub access: Access,
}

impl Kernel {
    /// Returns the number of parallel indices.
    pub fn rows(&self) -> usize {
        self.axes[..self.parallel].iter().product()
    }

    /// Returns the number of indices in a row.
    pub fn row_length(&self) -> usize {
        self.axes[self.parallel..].iter().product()
    }

    /// Returns the accesses that read.
    pub fn loads(&self) -> impl Iterator<Item = &Access> {
        self.body.iter().flat_map(|inst| match &inst.op {
            Operation::Load(access) => vec![access],
            Operation::Pieces(pieces) => pieces.iter().map(|p| &p.access).collect(),
            _ => vec![],
        })
    }

    /// Returns all accesses that can occur, each with the dtype of its elements and the first and last position it reaches.
    /// Omits pieces that are never read.
    pub fn reach(&self) -> Vec<(&Access, DType, (i64, i64))> {
        let Some(all) =
            self.axes.iter().map(|&e| Some((0, e.checked_sub(1)? as i64))).collect::<Option<Vec<_>>>()
        else {
            return Vec::new();
        };
        let mut reach = Vec::new();
        for inst in &self.body {
            match &inst.op {
                Operation::Load(access) => reach.push((access, inst.dtype, access.layout.bounds_over(&all))),
                Operation::Pieces(pieces) => {
                    let read = pieces.iter().filter_map(|p| Some((&p.access, inst.dtype, p.ends(&all)?)));
                    reach.extend(read);
                }
                _ => {}
            }
        }
        for store in &self.stores {
            let dtype = self.body.get(store.value).map(|inst| inst.dtype);
            reach.extend(dtype.map(|dtype| (&store.access, dtype, store.access.layout.bounds_over(&all))));
        }
        reach
    }

    /// Returns all accesses, reads and writes.
    pub(crate) fn accesses_mut(&mut self) -> Vec<&mut Access> {
        let mut all: Vec<&mut Access> = Vec::new();
        for inst in &mut self.body {
            match &mut inst.op {
                Operation::Load(access) => all.push(access),
                Operation::Pieces(pieces) => all.extend(pieces.iter_mut().map(|p| &mut p.access)),
                _ => {}
            }
        }
        all.extend(self.stores.iter_mut().map(|s| &mut s.access));
        all
    }

    /// Returns every layout over the axes of the kernel.
    fn layouts_mut(&mut self) -> Vec<&mut Layout> {
        let mut all: Vec<&mut Layout> = Vec::new();
        for inst in &mut self.body {
            match &mut inst.op {
                Operation::Load(access) => all.push(&mut access.layout),
                Operation::Index(layout) => all.push(layout),
                Operation::Pieces(pieces) => {
                    for piece in pieces {
                        all.push(&mut piece.access.layout);
                        all.extend(piece.bounds.iter_mut().map(|(l, _)| l));
                    }
                }
                _ => {}
            }
        }
        all.extend(self.stores.iter_mut().map(|s| &mut s.access.layout));
        all
    }

    /// Merges neighbouring axes whose strides are compatible in all accesses, so that loops are few and long.
    pub fn coalesce(&mut self) {
        let (axes, parallel) = (self.axes.clone(), self.parallel);
        let mut layouts = self.layouts_mut();
        // True for each axis that is merged with the one before it.
        let merged: Vec<bool> = (0..axes.len())
            .map(|a| {
                a > 0
                    && a != parallel
                    && layouts.iter().all(|l| l.strides[a - 1] == l.strides[a] * axes[a] as i64)
            })
            .collect();
        if !merged.contains(&true) {
            return;
        }
        // Merged axes have the stride of the last of them.
        let last = |a: usize| !merged.get(a + 1).copied().unwrap_or(false);
        for l in &mut layouts {
            l.strides = (0..axes.len()).filter(|a| last(*a)).map(|a| l.strides[a]).collect();
        }
        self.axes.clear();
        for (extent, merged) in axes.iter().zip(&merged) {
            match self.axes.last_mut() {
                Some(before) if *merged => *before *= extent,
                _ => self.axes.push(*extent),
            }
        }
        self.parallel -= merged[..parallel].iter().filter(|merged| **merged).count();
    }

    /// Checks the invariants of a kernel. Returns a description of the first that is violated.
    pub fn verify(&self) -> Result<(), String> {
        let rank = self.axes.len();
        let fail = |what: String| Err(format!("{what} in\n{self}"));
        if self.parallel > rank {
            return fail(format!("{} axes are parallel, but there are {rank} axes", self.parallel));
        }
        if self.clone().layouts_mut().iter().any(|l| l.strides.len() != rank) {
            return fail("the number of axes of a layout differs from that of the kernel".into());
        }
        for (i, inst) in self.body.iter().enumerate() {
            if inst.args.iter().any(|&a| a >= i) {
                return fail(format!("%{i} uses a later value"));
            }
            let reduces = matches!(inst.op, Operation::Reduce(_));
            if reduces && inst.level != Level::Row {
                return fail(format!("%{i} is a reduction but has a value per element"));
            }
            if !reduces
                && inst.level == Level::Row
                && inst.args.iter().any(|&a| self.body[a].level == Level::Element)
            {
                return fail(format!("%{i} has a value per row but uses a value per element"));
            }
        }
        for store in &self.stores {
            let Some(inst) = self.body.get(store.value) else {
                return fail(format!("%{} is stored but not defined", store.value));
            };
            let reduced = &store.access.layout.strides[self.parallel..];
            if inst.level == Level::Row && reduced.iter().any(|&s| s != 0) {
                return fail("a value per row is stored once per element".into());
            }
        }
        Ok(())
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}[{}]", self.buffer, self.layout)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms: Vec<String> = Vec::new();
        if self.offset != 0 {
            terms.push(self.offset.to_string());
        }
        for (a, &s) in self.strides.iter().enumerate() {
            match s {
                0 => {}
                1 => terms.push(format!("i{a}")),
                s => terms.push(format!("{s}·i{a}")),
            }
        }
        f.write_str(&if terms.is_empty() { "0".to_string() } else { terms.join(" + ") })
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents = |axes: &[usize]| axes.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
        write!(f, "for {}", extents(&self.axes[..self.parallel]))?;
        if self.parallel < self.axes.len() {
            write!(f, ", over {}", extents(&self.axes[self.parallel..]))?;
        }
        writeln!(f, "{}", if self.columns { " by columns" } else { "" })?;
        for (i, inst) in self.body.iter().enumerate() {
            let args: Vec<String> = inst.args.iter().map(|a| format!("%{a}")).collect();
            let level = if inst.level == Level::Row { " per row" } else { "" };
            writeln!(f, "  %{i}: {}{level} = {} {}", inst.dtype, inst.op, args.join(", "))?;
        }
        for store in &self.stores {
            writeln!(f, "  {} := %{}", store.access, store.value)?;
        }
        Ok(())
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Constant(l) => f.write_str(&gradus_ir::graph::literal_text(l)),
            Operation::Load(access) => write!(f, "{access}"),
            Operation::Pieces(pieces) => {
                let one = |p: &Piece| {
                    let bounds: Vec<String> =
                        p.bounds.iter().map(|(l, e)| format!("0 ≤ {l} < {e}")).collect();
                    format!("{} if {}", p.access, bounds.join(" and "))
                };
                f.write_str(&pieces.iter().map(one).collect::<Vec<_>>().join(" else "))
            }
            Operation::Index(layout) => write!(f, "{layout}"),
            Operation::Scalar(Scalar::Pointwise(op)) => f.write_str(op.name),
            Operation::Scalar(scalar) => f.write_str(&format!("{scalar:?}").to_lowercase()),
            Operation::Reduce(combine) => write!(f, "{}", format!("{combine:?}").to_lowercase()),
        }
    }
}
