//! Groups of ops that share one loop nest, and the conditions under which another op may join a group.
//! Takes a group and a member; returns the larger group, or the reason why the member cannot join.
//! `lower.rs` decides which groups are tried, and in which order.

use crate::kernel::Level;
use crate::layout::{Layout, cut, refine, same_strides};
use gradus_ir::ops::{Combine, Scalar};
use gradus_ir::{DType, Literal, Shape};
use std::collections::HashSet;
use std::sync::Arc;

const TOO_LONG: &str = "the kernel would be too long";
const TOO_WIDE: &str = "the kernel would use too many buffers";
const OTHER_AXES: &str = "its reduced axes cannot be axes of the kernel";
const OTHER_EXTENTS: &str = "its extents do not match the axes of the kernel";

/// The number of a value in `Lowered::values`. It may or may not be stored in memory.
pub(crate) type Value = usize;

/// An operand as a function of the index: elements of a value, one number, or an affine function of the index.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) source: Source,
    pub(crate) layout: Layout,
}

/// The source of a view.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The elements of a value.
    Value(Value),
    /// One number for all indices.
    Scalar(Literal),
    /// An affine function of the index, converted to this dtype: `layout` gives the coefficients.
    Index(DType),
}

impl View {
    pub(crate) fn value(&self) -> Option<Value> {
        if let Source::Value(v) = self.source { Some(v) } else { None }
    }
}

/// An op that can be part of a loop nest.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The value that the op defines.
    pub(crate) value: Value,
    pub(crate) task: Task,
    /// The operands, as views over `space`.
    pub(crate) args: Vec<View>,
    /// Extents of the index space of the op.
    pub(crate) space: Shape,
    /// Shape of the value: the extents of `space` without the reduced axes.
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    /// The inputs, constants and outputs of the graph that the op reads or defines and that have memory of their own.
    pub(crate) large: Vec<Value>,
}

/// The computation of a member.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    Scalar(Scalar),
    Reduce(Combine, Vec<usize>),
    /// Reads the first argument whose bounds contain the index. A bound is an affine function of the index and the
    /// extent that its value must be below.
    Pieces(Vec<Vec<(Layout, usize)>>),
}

impl Member {
    /// Returns the name and shape of the op, for users.
    pub(crate) fn describe(&self) -> String {
        format!("{} {}{}", self.task, self.dtype, self.shape)
    }

    /// Returns the level at which the op reads its operands if its value has this level.
    pub(crate) fn reads_at(&self, level: Level) -> Level {
        if matches!(self.task, Task::Reduce(..)) { Level::Element } else { level }
    }

    /// Returns true if the op is a function that is not exact arithmetic, such as `exp`.
    pub(crate) fn is_function(&self) -> bool {
        matches!(&self.task, Task::Scalar(Scalar::Pointwise(op)) if op.ulp > 1.0)
    }

    /// Returns true if the op's reads are guarded by bounds.
    pub(crate) fn guarded(&self) -> bool {
        matches!(self.task, Task::Pieces(_))
    }
}

/// Limits of the size of a group, from the profile.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Largest length of a group, in ops.
    pub(crate) most: usize,
    /// Length of a function that is not exact arithmetic, in ops.
    pub(crate) function: usize,
    /// Largest number of inputs and outputs with memory of their own.
    pub(crate) buffers: usize,
}

/// Members that share a loop nest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// The axes of the loop nest in memory order, without axes of extent 1.
    pub(crate) space: Vec<usize>,
    /// For each axis, true if it is reduced; `None` until a member reduces.
    pub(crate) reduced: Option<Vec<bool>>,
    /// Limits of the size of the group.
    pub(crate) limits: Limits,
    /// The members in order, with their levels. They are shared, because groups are often copied to try another member.
    pub(crate) members: Vec<(Arc<Member>, Level)>,
}

impl Group {
    /// Makes a group of one member.
    pub(crate) fn new(member: Arc<Member>, limits: Limits) -> Group {
        let space: Vec<usize> = member.space.iter().copied().filter(|&e| e != 1).collect();
        let empty = Group { space, reduced: None, limits, members: Vec::new() };
        // One member always fits a group without axes of other members, so the fallback is never used.
        empty.joined(&member).unwrap_or_else(|_| Group { members: vec![(member, Level::Element)], ..empty })
    }

    /// Returns the length, in ops, of this group with more members.
    fn length_with<'a>(&self, more: impl Iterator<Item = &'a Arc<Member>>) -> usize {
        let of = |m: &Arc<Member>| if m.is_function() { self.limits.function } else { 1 };
        self.members.iter().map(|(m, _)| of(m)).sum::<usize>() + more.map(of).sum::<usize>()
    }

    /// Returns true if this group with more members uses more large buffers than a kernel may bind.
    fn is_too_wide_with<'a>(&'a self, more: impl Iterator<Item = &'a Arc<Member>>) -> bool {
        let mut all: HashSet<Value> = more.flat_map(|m| &m.large).copied().collect();
        // Adding members without large buffers, as most are, does not change the result.
        if all.is_empty() {
            return false;
        }
        all.extend(self.members.iter().flat_map(|(m, _)| &m.large).copied());
        all.len() > self.limits.buffers
    }

    pub(crate) fn find(&self, value: Value) -> Option<&(Arc<Member>, Level)> {
        self.members.iter().find(|(m, _)| m.value == value)
    }

    /// Returns the values read from memory.
    pub(crate) fn reads(&self) -> Vec<Value> {
        let own: HashSet<Value> = self.members.iter().map(|(m, _)| m.value).collect();
        let all = self.members.iter().flat_map(|(m, _)| &m.args).filter_map(View::value);
        all.filter(|v| !own.contains(v)).collect()
    }

    /// Returns true if this group reads a value that another group computes.
    fn reads_of(&self, other: &Group) -> bool {
        let own: HashSet<Value> = other.members.iter().map(|(m, _)| m.value).collect();
        self.members.iter().flat_map(|(m, _)| &m.args).filter_map(View::value).any(|v| own.contains(&v))
    }

    /// Returns true if the group reduces outer axes, so that the contiguous axis is parallel.
    pub(crate) fn by_columns(&self) -> bool {
        let last = self.reduced.as_ref().and_then(|r| r.last());
        last.is_some_and(|reduced| !reduced)
    }

    /// Returns the extents of the axes over which values of a level are computed.
    fn axes(&self, level: Level) -> Vec<usize> {
        let all = 0..self.space.len();
        match (&self.reduced, level) {
            (Some(reduced), Level::Row) => all.filter(|&a| !reduced[a]).collect(),
            _ => all.collect(),
        }
    }

    /// Converts a layout over a shape to strides over the group's axes, if the shape fits the level.
    pub(crate) fn strides(&self, layout: &Layout, shape: &[usize], level: Level) -> Option<Layout> {
        let axes = self.axes(level);
        let fine: Vec<usize> = axes.iter().map(|&a| self.space[a]).collect();
        let own = layout.cut(shape, &cut(shape, &fine)?);
        let mut strides = vec![0; self.space.len()];
        axes.iter().zip(own.strides).for_each(|(&a, s)| strides[a] = s);
        Some(Layout { offset: own.offset, strides })
    }

    /// Splits the axes of a level so that the axes of a shape can be composed of them. Returns `None` if that is impossible.
    fn fit(&mut self, shape: &[usize], level: Level) -> Option<()> {
        let axes = self.axes(level);
        let own: Vec<usize> = axes.iter().map(|&a| self.space[a]).collect();
        let pieces = cut(&own, &refine(&own, shape)?)?;
        let (mut space, mut reduced) = (Vec::new(), Vec::new());
        for a in 0..self.space.len() {
            let is_reduced = self.reduced.as_ref().is_some_and(|r| r[a]);
            match axes.iter().position(|&b| b == a) {
                Some(i) => {
                    space.extend(&pieces[i]);
                    reduced.extend(pieces[i].iter().map(|_| is_reduced));
                }
                None => {
                    space.push(self.space[a]);
                    reduced.push(is_reduced);
                }
            }
        }
        self.space = space;
        if self.reduced.is_some() {
            self.reduced = Some(reduced);
        }
        Some(())
    }

    /// Returns this group with one more member, or the reason why it cannot join.
    pub(crate) fn joined(&self, member: &Arc<Member>) -> Result<Group, &'static str> {
        // Checks the limits before copying the group, because most calls are for groups that are already full.
        if self.length_with([member].into_iter()) > self.limits.most {
            return Err(TOO_LONG);
        }
        if self.is_too_wide_with([member].into_iter()) {
            return Err(TOO_WIDE);
        }
        let mut group = self.clone();
        group.join(member)?;
        Ok(group)
    }

    /// Adds a member. On failure the group is left in an unspecified state and must be dropped.
    pub(crate) fn join(&mut self, member: &Arc<Member>) -> Result<(), &'static str> {
        if self.length_with([member].into_iter()) > self.limits.most {
            return Err(TOO_LONG);
        }
        if self.is_too_wide_with([member].into_iter()) {
            return Err(TOO_WIDE);
        }
        let fits = self.fit(&member.space, Level::Element).is_some();
        let level = match (&member.task, fits) {
            (Task::Reduce(_, axes), true) => {
                let reduced = self.reduced_axes(&member.space, axes).ok_or(OTHER_AXES)?;
                match &self.reduced {
                    Some(own) if *own != reduced => return Err("it reduces other axes than the kernel"),
                    _ => self.reduced = Some(reduced),
                }
                Level::Row
            }
            (_, true) => Level::Element,
            (Task::Scalar(_), false) if self.reduced.is_some() => {
                self.fit(&member.space, Level::Row).ok_or(OTHER_EXTENTS)?;
                Level::Row
            }
            _ => return Err(OTHER_EXTENTS),
        };
        let reads = member.reads_at(level);
        for arg in &member.args {
            let Some(producer) = arg.value().and_then(|v| self.find(v)) else { continue };
            if member.guarded() {
                return Err("it concatenates pieces, and these must be in memory");
            }
            let (own, own_level) = (&producer.0, producer.1);
            if own_level > reads {
                return Err("it is computed once per row but reads a value per element");
            }
            if self.by_columns() && reads == Level::Element && own_level == Level::Row {
                return Err("it needs the result of a column before all elements of the column are combined");
            }
            let layout = self.strides(&arg.layout, &member.space, reads).ok_or(OTHER_EXTENTS)?;
            let natural = Layout::row_major(&own.shape);
            let natural = self.strides(&natural, &own.shape, own_level).ok_or(OTHER_EXTENTS)?;
            if layout.offset != 0 || !same_strides(&self.space, &layout.strides, &natural.strides) {
                return Err("it reads its operand at other indices than its own");
            }
        }
        self.members.push((member.clone(), level));
        Ok(())
    }

    /// Returns this group with all members of another, or the reason why they cannot be merged.
    pub(crate) fn merged(&self, other: &Group) -> Result<Group, &'static str> {
        if self.length_with(other.members.iter().map(|(m, _)| m)) > self.limits.most {
            return Err(TOO_LONG);
        }
        if self.is_too_wide_with(other.members.iter().map(|(m, _)| m)) {
            return Err(TOO_WIDE);
        }
        // If both groups have the same axes, and one reads from the other, adds the members of the reader to the group that it
        // reads from.
        if (&self.space, &self.reduced) == (&other.space, &other.reduced) {
            let both = [(self, other), (other, self)];
            if let Some((first, second)) = both.into_iter().find(|(first, second)| !first.reads_of(second)) {
                let mut group = first.clone();
                second.members.iter().try_for_each(|(m, _)| group.join(m))?;
                group.members.sort_by_key(|(m, _)| m.value);
                return Ok(group);
            }
        }
        let mut all: Vec<&Arc<Member>> = self.members.iter().chain(&other.members).map(|(m, _)| m).collect();
        all.sort_by_key(|m| m.value);
        // Otherwise keeps the axes of the group with the larger space. They include the row axes that the members of the other
        // group need.
        let numel = |g: &Group| g.space.iter().product::<usize>();
        let larger = if numel(self) >= numel(other) { self } else { other };
        let mut group = Group {
            members: Vec::new(),
            space: larger.space.clone(),
            reduced: larger.reduced.clone(),
            limits: self.limits,
        };
        for member in all {
            group.join(member)?;
        }
        Ok(group)
    }

    /// Returns, for each axis of the group, true if a reduction over `axes` of a shape reduces it. Returns `None` if the
    /// reduction cuts an axis of the group.
    fn reduced_axes(&self, shape: &[usize], axes: &[usize]) -> Option<Vec<bool>> {
        let pieces = cut(shape, &self.space)?;
        let reduced = gradus_ir::axis_mask(axes, shape.len());
        Some(pieces.iter().zip(reduced).flat_map(|(p, reduced)| p.iter().map(move |_| reduced)).collect())
    }
}
