//! Applies a function, or its derivative, to tensors with named axes. Takes arguments and settings; returns a tensor
//! with named axes, or an error. The functions themselves are in `family`.

use super::family::arrays;
use super::param::Occurs;
use super::{Base, Builtin, Callee, Settings, Shape, Takes};
use crate::builtin::named::{Named, check_meeting, new_axis, pointwise, union};
use crate::syntax::ast::{Function, Name, Projection};
use crate::syntax::limit::{MAX_OPERATIONS, fits};
use gradus_ir::ops::pointwise::Pointwise;
use gradus_ir::{DType, Error, Result};
use gradus_tensor::{Tensor, apply1, trace_function, vjp_within};
use std::cell::RefCell;
use std::collections::HashMap;

/// Runs one of the program's own functions, for a left side with these index names.
type Own<'a> = &'a dyn Fn(&Function, &[Named], &[Name]) -> Result<Named>;

/// The context of a call that `apply` needs.
pub(crate) struct Around<'a> {
    /// The index names of the left side: they name result axes of positional functions.
    pub(crate) left: &'a [Name],
    /// If true, the call is the entire right side.
    pub(crate) whole: bool,
    /// Runs the program's own functions.
    pub(crate) own: Own<'a>,
}

impl Callee {
    /// Applies the function to these arguments.
    pub(crate) fn apply(&self, args: &[Named], s: &Settings, around: &Around<'_>) -> Result<Named> {
        let s = &s.completed(&self.keys())?;
        if self.order == 0 {
            return self.plain(args, s, around);
        }
        let wrt = s.words("wrt");
        if wrt.is_empty() && self.shape() == Shape::Pointwise {
            return self.slope(self.order, args, s, around);
        }
        if wrt.len() != self.order {
            let why = format!("must name {} of the arguments: wrt=\"x\"", self.order);
            return Err(Error::value("wrt", why));
        }
        self.pulled(self.order, &wrt, args, s, around)
    }

    /// Returns the derivative of a pointwise function of one argument, element by element.
    fn slope(&self, order: usize, args: &[Named], s: &Settings, around: &Around<'_>) -> Result<Named> {
        if order == 0 {
            return self.plain(args, s, around);
        }
        self.vjp_of(args, 0, |args| self.slope(order - 1, args, s, around), |out| Ok(out.tensor.ones_like()))
    }

    /// Returns the cotangent of one argument: the vjp at the cotangent of the result, which is the last argument.
    fn pulled(
        &self,
        order: usize,
        wrt: &[Name],
        args: &[Named],
        s: &Settings,
        around: &Around<'_>,
    ) -> Result<Named> {
        let Some((last, inner_wrt)) = wrt.split_last().filter(|_| order > 0) else {
            return self.plain(args, s, around);
        };
        let Some((g, args)) = args.split_last() else {
            return Err(Error::value(
                self.name().to_string(),
                "takes a cotangent as its last argument; none is given",
            ));
        };
        let before = Callee { order: order - 1, ..self.clone() };
        // The cotangent has the indices of the left side of the line that calls the function.
        let there = Around { left: &g.axes, whole: true, own: around.own };
        let bound = before.bound(args.len(), order > 1);
        let at = bound.iter().position(|p| p.name == *last).ok_or_else(|| {
            let names: Vec<String> = bound.iter().map(|p| p.name.to_string()).collect();
            Error::value(format!("wrt \"{last}\""), format!("must be one of {}", names.join(", ")))
        })?;
        self.vjp_of(
            args,
            at,
            |args| self.pulled(order - 1, inner_wrt, args, s, &there),
            |out| cotangent_for(g, out, self.shape()),
        )
    }

    fn vjp_of(
        &self,
        args: &[Named],
        at: usize,
        f: impl Fn(&[Named]) -> Result<Named>,
        cotangent: impl Fn(&Named) -> Result<Tensor>,
    ) -> Result<Named> {
        let out: RefCell<Option<Vec<Name>>> = RefCell::new(None);
        let traced = |x: &[Tensor]| {
            let mut args = args.to_vec();
            args[at].tensor = x[0].clone();
            match f(&args) {
                Ok(value) => {
                    *out.borrow_mut() = Some(value.axes);
                    value.tensor
                }
                Err(e) => Tensor::failed(e),
            }
        };
        let (values, pull) = vjp_within(&[&args[at].tensor], traced, MAX_OPERATIONS)?;
        let axes = out.take().unwrap_or_default();
        let Some(value) = values.into_iter().next() else {
            return Err(Error::gradient("the function returns nothing"));
        };
        let given = cotangent(&Named::new(value, axes))?;
        let pulled = pull(&[&given])?;
        let Some(tensor) = pulled.into_iter().next() else {
            return Err(Error::gradient(format!("`{}` has no derivative", self.name())));
        };
        Ok(Named::new(tensor, args[at].axes.clone()))
    }

    fn plain(&self, args: &[Named], s: &Settings, around: &Around<'_>) -> Result<Named> {
        let needed = self.params().iter().filter(|p| p.occurs == Occurs::Once).count() - self.order;
        if args.len() < needed {
            let behind = match self.order {
                0 => String::new(),
                1 => " and a cotangent after them".into(),
                n => format!(" and {n} cotangents after them"),
            };
            let why = format!("needs {needed} arguments{behind}, {} given", args.len() + self.order);
            return Err(Error::value(&*self.name(), why));
        }
        let b = match &self.base {
            Base::User(f) => return (around.own)(f, args, around.left),
            Base::Pointwise(op) => {
                return checked(pointwise(args, |t| spread(t, |t| apply_pointwise_op(op, t))));
            }
            Base::Table(b) => *b,
        };
        let args = &taken(b, args);
        let run = |t: &[Tensor]| run(b, t, s);
        if matches!(b.shape, Shape::Along | Shape::Resize | Shape::Grow | Shape::Reduce | Shape::ReduceOne) {
            check_meeting(args)?;
        }
        match b.shape {
            Shape::Pointwise => checked(pointwise(args, |t| spread(t, |t| (b.apply)(t, s)))),
            Shape::OfIndex => checked(Named::new(run(&[args[0].tensor.clone()])?, args[0].axes.clone())),
            Shape::Part => {
                let own = &args[0].axes;
                let axes = arrays::slice_axes(&arrays::slice_at(s.word("at"), own.len()), own);
                checked(Named::new(run(&[args[0].tensor.clone()])?, axes).diagonal())
            }
            Shape::Positional => {
                let own = lead_axes(args);
                let (args, added) = match b.gives.is_empty() && args.len() > 1 && !own.is_empty() {
                    true => with_lead(args, &own),
                    false => (args.clone(), 0),
                };
                let moved = |axis: &isize| if *axis < 0 { *axis } else { *axis + added as isize };
                let s = &Settings { axes: s.axes.iter().map(moved).collect(), ..s.clone() };
                let tensors: Vec<Tensor> = args.iter().map(|a| a.tensor.clone()).collect();
                let tensor = self::run(b, &tensors, s)?;
                let axes = by_position(b, tensor.rank(), &args, around);
                checked(Named::new(tensor, axes))
            }
            Shape::Along | Shape::Resize | Shape::Grow => {
                let mut axes = union(args);
                let tensors: Vec<Tensor> = args.iter().map(|a| broadcast(a, &axes, args)).collect();
                let tensor = run(&tensors)?;
                match b.shape {
                    Shape::Resize => rename(&mut axes, wrapped(s.axis(), args[0].axes.len()), around.left),
                    Shape::Grow => grow(&mut axes, tensor.rank(), &s.words("axis"), around.left),
                    _ => {}
                }
                checked(Named::new(tensor, axes))
            }
            Shape::Gather | Shape::Scatter => by_ids(b, args, s),
            Shape::Reduce | Shape::ReduceOne => {
                let mut axes = union(args);
                let first = broadcast(&args[0], &axes, args);
                let rest = args[1..].iter().map(|a| a.aligned(&axes));
                let tensor = run(&[first.clone()].into_iter().chain(rest).collect::<Vec<_>>())?;
                let mut gone: Vec<usize> = s.axes.iter().map(|a| wrapped(*a, args[0].axes.len())).collect();
                gone.sort_unstable();
                let all = gone.len() == axes.len();
                if tensor.rank() == 0 && !(all && s.flag("keepdims")) {
                    return checked(Named::new(tensor, Vec::new()));
                }
                if s.flag("keepdims") {
                    let kept = gone.iter().fold(tensor, |t, i| t.unsqueeze(*i as isize));
                    rename_all(&mut axes, &gone, around.left);
                    return checked(Named::new(kept, axes));
                }
                let stays = |i: &usize| !gone.contains(i);
                let left: Vec<Name> = (0..axes.len()).filter(stays).map(|i| axes[i].clone()).collect();
                let extents: Vec<usize> =
                    (0..axes.len()).filter(stays).map(|i| first.dim(i as isize)).collect();
                checked(Named::new(tensor.reshape(extents), left))
            }
        }
    }
}

/// Runs a function of the table, or returns an error if an argument or the result is too large.
fn run(b: &Builtin, tensors: &[Tensor], s: &Settings) -> Result<Tensor> {
    let apply = |t: &[Tensor]| (b.apply)(&t.iter().collect::<Vec<_>>(), s);
    tensors.iter().try_for_each(|t| fits(&t.shape()))?;
    let avals: Option<Vec<_>> = tensors.iter().map(Tensor::aval).collect();
    if let Some(avals) = avals.filter(|_| !tensors.iter().any(Tensor::is_traced)) {
        // `apply` evaluates untraced arguments immediately, so this traces it first and checks the sizes of the
        // results.
        let traced = trace_function(&avals, |t: &[Tensor]| apply(t));
        let outs = traced.iter().flat_map(|t| t.graph.output_avals());
        outs.into_iter().try_for_each(|out| fits(&out.shape))?;
    }
    let out = apply(tensors);
    fits(&out.check()?.shape())?;
    Ok(out)
}

/// Converts arguments to what the function takes: positions to `i64`, conditions to booleans.
fn taken(b: &Builtin, args: &[Named]) -> Vec<Named> {
    let one = |(i, arg): (usize, &Named)| match b.params.get(i).map(|p| p.takes) {
        Some(Takes::Ids) => arg.with(arg.tensor.to_dtype(DType::I64)),
        Some(Takes::Truth) => arg.truth(),
        _ => arg.clone(),
    };
    args.iter().enumerate().map(one).collect()
}

/// Runs a gather or scatter along an axis. The function sees three merged axes: those shared by `x` and the positions,
/// then the axis (or the axes of the positions), then all others. So `x` is `[s, v, r]`, the positions are `[s, k]`,
/// and the values to write are `[s, k, r]`.
fn by_ids(b: &Builtin, args: &[Named], s: &Settings) -> Result<Named> {
    let [x, ids, more @ ..] = args else { return Err(Error::value(b.name, "needs positions")) };
    let along = &x.axes[wrapped(s.axis(), x.axes.len()).min(x.axes.len() - 1)];
    let own = |a: &&Name| *a != along;
    let shared: Vec<Name> = x.axes.iter().filter(own).filter(|a| ids.axes.contains(a)).cloned().collect();
    let rest: Vec<Name> = x.axes.iter().filter(own).filter(|a| !shared.contains(a)).cloned().collect();
    let new: Vec<Name> = ids.axes.iter().filter(|a| !shared.contains(a)).cloned().collect();
    let extents = |of: &Named, names: &[Name]| names.iter().filter_map(|a| of.size(a)).collect::<Vec<_>>();
    let [n, k, r] = [extents(x, &shared), extents(ids, &new), extents(x, &rest)];
    let [flat, places, behind] = [&n, &k, &r].map(|e| e.iter().product::<usize>());
    let whole = [&shared[..], std::slice::from_ref(along), &rest].concat();
    let there = [&shared[..], &new, &rest].concat();
    let size = x.size(along).unwrap_or(0);
    let mut tensors = vec![
        x.aligned(&whole).reshape([flat, size, behind]),
        ids.aligned(&[&shared[..], &new].concat()).reshape([flat, places]),
    ];
    for y in more {
        if let Some(other) = y.axes.iter().find(|a| !there.contains(a)) {
            let why = format!("has index `{other}`, which neither `x` nor `ids` has");
            return Err(Error::value("the value to write", why));
        }
        let spread = y.aligned(&there).expand([&n[..], &k, &r].concat());
        tensors.push(spread.reshape([flat, places, behind]));
    }
    let out = run(b, &tensors, s)?;
    if b.shape == Shape::Gather {
        return checked(Named::new(out.reshape([&n[..], &k, &r].concat()), there));
    }
    let out = Named::new(out.reshape([&n[..], &[size], &r].concat()), whole);
    checked(x.with(out.aligned(&x.axes)))
}

fn wrapped(axis: isize, rank: usize) -> usize {
    if axis < 0 { (axis + rank as isize).max(0) as usize } else { axis as usize }
}

/// Renames a resized axis after the left side: it keeps its own name if the left side has it, else takes the only name
/// of the left side that is not an axis yet.
fn rename(axes: &mut [Name], at: usize, left: &[Name]) {
    let new: Vec<&Name> = left.iter().filter(|l| !axes.contains(l)).collect();
    if let ([name], Some(axis)) = (&new[..], axes.get(at))
        && !left.contains(axis)
    {
        axes[at] = (*name).clone();
    }
}

/// Renames several axes after the left side, if it has as many new names as there are axes to rename.
fn rename_all(axes: &mut [Name], at: &[usize], left: &[Name]) {
    let open: Vec<usize> = at.iter().copied().filter(|i| !left.contains(&axes[*i])).collect();
    let new: Vec<&Name> = left.iter().filter(|l| !axes.contains(l)).collect();
    if new.len() == open.len() {
        open.into_iter().zip(new).for_each(|(i, name)| axes[i] = name.clone());
    }
}

/// Names new last axes by `axis=`, else by the new names of the left side.
fn grow(axes: &mut Vec<Name>, rank: usize, said: &[Name], left: &[Name]) {
    let count = rank.saturating_sub(axes.len());
    let new: Vec<Name> = left.iter().filter(|l| !axes.contains(l)).cloned().collect();
    match [said, &new].into_iter().find(|names| names.len() == count) {
        Some(names) => axes.extend(names.iter().cloned()),
        None => axes.extend((axes.len()..rank).map(new_axis).collect::<Vec<_>>()),
    }
}

/// Repeats an argument along axes that only the other arguments have.
fn broadcast(x: &Named, axes: &[Name], all: &[Named]) -> Tensor {
    let extent = |a: &Name| all.iter().find_map(|n| n.size(a)).unwrap_or(1);
    let extents: Vec<usize> = axes.iter().map(extent).collect();
    x.aligned(axes).expand(extents)
}

/// Applies a pointwise op. If the op takes only booleans or only integers, converts the operands, and converts the
/// result back.
fn apply_pointwise_op(op: &'static Pointwise, operands: &[&Tensor]) -> Tensor {
    let own = operands.first().map_or(DType::F32, |t| t.dtype());
    if op.name == "abs" && own.is_complex() {
        return operands[0].abs();
    }
    if op.takes(own) || own.is_complex() {
        return apply1(op, operands);
    }
    let to = if op.takes(DType::Bool) { DType::Bool } else { DType::I64 };
    let converted: Vec<Tensor> = operands.iter().map(|t| t.to_dtype(to)).collect();
    apply1(op, &converted.iter().collect::<Vec<_>>()).to_dtype(own)
}

/// Broadcasts all operands to a common shape, as the catalog's pointwise ops require.
fn spread(operands: &[&Tensor], f: impl FnOnce(&[&Tensor]) -> Tensor) -> Tensor {
    let rank = operands.first().map_or(0, |t| t.rank());
    let extent = |i: usize| operands.iter().map(|t| t.dim(i as isize)).find(|n| *n != 1).unwrap_or(1);
    let extents: Vec<usize> = (0..rank).map(extent).collect();
    let spread: Vec<Tensor> = operands.iter().map(|t| t.expand(extents.clone())).collect();
    f(&spread.iter().collect::<Vec<_>>())
}

fn checked(v: Named) -> Result<Named> {
    v.tensor.check()?;
    Ok(v)
}

/// Names the result axes of a positional function. Axes that the table maps from an argument keep their names. New axes
/// take the names of the left side that no result axis has, even if the call is only part of the right side. If the
/// call is the entire right side, kept axes whose names the left side lacks are renamed too. Names that the left side
/// and the result share are never permuted. If the table says nothing, or a name would occur twice, all axes take the
/// names of the left side in order.
fn by_position(b: &Builtin, rank: usize, args: &[Named], around: &Around<'_>) -> Vec<Name> {
    let axes: Vec<&[Name]> = args.iter().map(|a| &a.axes[..]).collect();
    let (own, left) = (given(b.gives, &axes, Some(rank)), around.left);
    let lead = lead_axes(args);
    if b.gives.is_empty() && !lead.is_empty() && lead.len() + left.len() == rank {
        return [&lead, left].concat();
    }
    let Some(own) = own.filter(|own| !has_twins(own)) else {
        return if left.len() == rank { left.to_vec() } else { (0..rank).map(new_axis).collect() };
    };
    if b.gives.is_empty() {
        return if left.len() == rank { left.to_vec() } else { own };
    }
    let whole = around.whole && left.len() == rank;
    let is_open = |n: &Name| n.contains(' ') || whole && !left.contains(n);
    let others: Vec<&Name> = left.iter().filter(|l| !own.contains(l)).collect();
    if others.len() != own.iter().filter(|n| is_open(n)).count() {
        return own;
    }
    let mut others = others.into_iter();
    own.iter().map(|n| if is_open(n) { others.next().unwrap_or(n) } else { n }.clone()).collect()
}

/// Returns the leading axes that calls of the program's own functions add to arguments. Their names begin with `^`.
fn lead_axes(args: &[Named]) -> Vec<Name> {
    union(args).into_iter().filter(|a| a.starts_with('^')).collect()
}

/// Moves the axes `lead` of each argument to the front, and broadcasts arguments that lack one. Also returns how many
/// of these axes the first argument lacked.
fn with_lead(args: &[Named], lead: &[Name]) -> (Vec<Named>, usize) {
    let one = |arg: &Named| {
        let own = arg.axes.iter().filter(|a| !lead.contains(a));
        let axes: Vec<Name> = lead.iter().chain(own).cloned().collect();
        let extent = |a: &Name| arg.size(a).or_else(|| args.iter().find_map(|n| n.size(a))).unwrap_or(1);
        let extents: Vec<usize> = axes.iter().map(extent).collect();
        Named::new(arg.aligned(&axes).expand(extents), axes)
    };
    let out: Vec<Named> = args.iter().map(one).collect();
    let added = args.first().map_or(0, |first| out[0].axes.len() - first.axes.len());
    (out, added)
}

/// Returns true if a name occurs twice.
pub(super) fn has_twins(names: &[Name]) -> bool {
    (1..names.len()).any(|i| names[..i].contains(&names[i]))
}

/// Returns the names of the result axes by a table entry such as `ij,jk->ik`, for the first alternative whose result
/// has rank `rank`. New axes get names that contain a space, which a program cannot write.
pub(super) fn given(gives: &str, args: &[&[Name]], rank: Option<usize>) -> Option<Vec<Name>> {
    let fits = |names: &Vec<Name>| rank.is_none_or(|rank| names.len() == rank);
    if gives.is_empty() {
        return args.first().map(|axes| axes.to_vec()).filter(fits);
    }
    gives.split('|').find_map(|way| {
        let (ins, out) = way.split_once("->")?;
        let (mut names, mut lead): (HashMap<char, Name>, Vec<Name>) = Default::default();
        for (letters, axes) in ins.split(',').zip(args) {
            let spare = axes.len().checked_sub(letters.len())?;
            for axis in &axes[..spare] {
                if !lead.contains(axis) {
                    lead.push(axis.clone());
                }
            }
            for (letter, name) in letters.chars().zip(&axes[spare..]) {
                names.entry(letter).or_insert_with(|| name.clone());
            }
        }
        let at = lead.len();
        let of = |(i, c): (usize, char)| names.get(&c).cloned().unwrap_or_else(|| new_axis(at + i));
        lead.extend(out.chars().enumerate().map(of).collect::<Vec<_>>());
        Some(lead).filter(fits)
    })
}

/// Converts a cotangent to the axes of the result: sums over extra axes, and repeats along missing ones.
fn cotangent_for(g: &Named, out: &Named, shape: Shape) -> Result<Tensor> {
    let extents = out.tensor.shape();
    let dtype = out.tensor.dtype();
    let lacks = out.axes.iter().any(|a| !g.axes.contains(a));
    let more = g.axes.iter().any(|a| !out.axes.contains(a));
    if matches!(shape, Shape::Resize | Shape::Grow | Shape::Positional) && lacks && more {
        let why = "has other indices than the result; give the call an equation of its own";
        return Err(Error::gradient(format!("the cotangent {why}")));
    }
    let g = g.projected(&out.axes, Projection::Sum).aligned(&out.axes).to_dtype(dtype);
    // If the result has extent 1 along an axis (`keepdims`) that was repeated afterwards, the cotangents are summed.
    let repeated = |i: &isize| extents[*i as usize] == 1 && g.dim(*i) != 1;
    let repeated: Vec<isize> = (0..g.rank() as isize).filter(repeated).collect();
    let g = if repeated.is_empty() { g } else { g.sum_keepdim(&repeated) };
    Ok(g.expand(extents.to_vec()))
}
