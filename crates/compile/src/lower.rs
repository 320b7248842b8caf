//! Lowers a graph to units of work. Views become layouts, pointwise ops and reductions are fused into loop nests, and all
//! other ops are units of their own.

use crate::InputLayout;
use crate::contraction::{NotMatmul, Operand, match_product};
use crate::group::{Group, Member, Source, Task, Value, View};
use crate::layout::Layout;
use crate::lowered::{Lowered, NotFused, Origin, Unit};
use crate::profile::{Profile, Split};
use gradus_ir::graph::{Id, Node};
use gradus_ir::ops::{Combine, Form, Scalar};
use gradus_ir::{Aval, Class, DType, Error, Graph, Kind, Literal, Op, Result, Shape, stop};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Lowers a graph without regions. `layouts` are those of its inputs; if the list is empty, inputs are row-major.
pub(crate) fn lower(graph: &Graph, layouts: &[InputLayout], profile: &Profile) -> Result<Lowered> {
    let views = Vec::with_capacity(graph.nodes().len());
    let outputs = output_nodes(graph);
    let mut l = Lowering {
        graph,
        layouts,
        profile,
        views,
        outputs,
        is_output: false,
        readers: None,
        to: Lowered::default(),
    };
    for (i, node) in graph.nodes().iter().enumerate() {
        stop::poll()?;
        l.is_output = l.outputs.contains(&(i as u32));
        let views = l.node(node).map_err(|e| {
            let ins: Vec<Aval> = node.ins.iter().map(|id| graph.aval(*id).clone()).collect();
            e.in_op(node.op.name(), &ins)
        })?;
        l.views.push(views);
    }
    for &id in graph.outputs() {
        let value = l.output(id);
        l.to.outputs.push(value);
    }
    Ok(l.to)
}

/// Returns the nodes that have a result which is an output, directly or through views.
fn output_nodes(graph: &Graph) -> HashSet<u32> {
    let of_view = |id: Id| {
        let node = &graph.nodes()[id.node as usize];
        let types: Vec<Aval> = node.ins.iter().map(|id| graph.aval(*id).clone()).collect();
        let view = matches!(node.op.def().form(&types), Form::View(_) | Form::Reshape);
        if view { node.ins.first().copied() } else { None }
    };
    let all = graph.outputs().iter().map(|id| std::iter::successors(Some(*id), |id| of_view(*id)));
    all.filter_map(Iterator::last).map(|id| id.node).collect()
}

struct Lowering<'g> {
    graph: &'g Graph,
    layouts: &'g [InputLayout],
    profile: &'g Profile,
    /// The expressions that read the results of each node.
    views: Vec<Vec<View>>,
    /// Nodes whose results are outputs.
    outputs: HashSet<u32>,
    /// If true, the current node is in `outputs`.
    is_output: bool,
    /// The groups that read each value. Computed when the first output needs a copy.
    readers: Option<HashMap<Value, Vec<usize>>>,
    to: Lowered,
}

impl Lowering<'_> {
    fn view(&self, id: Id) -> View {
        self.views[id.node as usize][id.out as usize].clone()
    }

    fn new_value(&mut self, aval: Aval, origin: Origin) -> Value {
        self.to.values.push((aval, origin));
        self.to.maker.push(None);
        self.to.values.len() - 1
    }

    fn view_of(&self, value: Value) -> View {
        let layout = Layout::row_major(&self.to.values[value].0.shape);
        View { source: Source::Value(value), layout }
    }

    fn node(&mut self, node: &Node) -> Result<Vec<View>> {
        if let Op::Input(input) = &node.op {
            let aval = node.outs[0].clone();
            let Some(own) = self.layouts.get(input.index) else {
                let value = self.new_value(aval, Origin::Input(input.index));
                return Ok(vec![self.view_of(value)]);
            };
            let value = self.new_value(aval.with_shape([own.numel]), Origin::Input(input.index));
            return Ok(vec![View { source: Source::Value(value), layout: own.layout.clone() }]);
        }
        let ins: Vec<View> = node.ins.iter().map(|id| self.view(*id)).collect();
        let types: Vec<Aval> = node.ins.iter().map(|id| self.graph.aval(*id).clone()).collect();
        let out = &node.outs[0];
        let form = node.op.def().form(&types);
        if !matches!(form, Form::View(_) | Form::Reshape | Form::Iota { .. } | Form::Constant(_)) {
            check_sizes(types.iter().chain(&node.outs), self.profile.memory.most)?;
        }
        Ok(vec![match form {
            Form::Constant(l) => self.constant(l),
            Form::Iota { axis } => {
                let mut strides = vec![0; out.rank()];
                strides[axis] = 1;
                View { source: Source::Index(out.dtype), layout: Layout { offset: 0, strides } }
            }
            Form::Pointwise(Scalar::Identity) => ins[0].clone(),
            Form::Pointwise(scalar) => self.member(Task::Scalar(scalar), ins, &out.shape, out),
            Form::View(map) => View { layout: ins[0].layout.through(&map), ..ins[0].clone() },
            Form::Reshape => match ins[0].layout.reshaped(&types[0].shape, &out.shape) {
                Some(layout) => View { layout, ..ins[0].clone() },
                None => {
                    let value = self.row_major(&ins[0], &types[0]);
                    View { source: Source::Value(value), layout: Layout::row_major(&out.shape) }
                }
            },
            Form::Reduce { combine, axes } => self.reduce(combine, &axes, &ins[0], &types[0]),
            Form::Pad { low, interior } if interior.iter().all(|&i| i == 0) => {
                self.pieces(&ins, &types, out, &[low])
            }
            Form::Concat { axis } => {
                let mut at = 0;
                let low = |t: &Aval| {
                    let mut low = vec![0; out.rank()];
                    low[axis] = at;
                    at += t.shape[axis] as i64;
                    low
                };
                let low: Vec<Vec<i64>> = types.iter().map(low).collect();
                self.pieces(&ins, &types, out, &low)
            }
            Form::Contract { lhs, rhs, out: labels } if out.dtype.class() == Class::Float => {
                self.contract([&lhs, &rhs, &labels], ins, &types, out)?
            }
            _ => return Ok(self.routine(node, &ins, &types)),
        }])
    }

    fn constant(&mut self, l: Literal) -> View {
        if l.splat().is_some() && !l.data().is_empty() {
            let layout = Layout { offset: 0, strides: vec![0; l.aval().rank()] };
            return View { source: Source::Scalar(l.first()), layout };
        }
        let value = self.new_value(l.aval().clone(), Origin::Constant(l));
        self.view_of(value)
    }

    /// Adds an op over an index space to the loop nest where it fits best. Returns a view of its value.
    fn member(&mut self, task: Task, args: Vec<View>, space: &Shape, out: &Aval) -> View {
        let value = self.new_value(out.clone(), Origin::Computed);
        let large = self.large(&args, value);
        let (space, shape, dtype) = (space.clone(), out.shape.clone(), out.dtype);
        self.fuse(Arc::new(Member { value, task, args, space, shape, dtype, large }));
        self.view_of(value)
    }

    /// Returns the inputs and constants among the operands, and the value itself if it is an output. Omits values that have no
    /// memory of their own.
    fn large(&self, args: &[View], value: Value) -> Vec<Value> {
        let bytes = |v: Value| {
            let aval = &self.to.values[v].0;
            aval.shape.numel().saturating_mul(aval.dtype.size())
        };
        let is_large = |v: &Value| bytes(*v) > self.profile.fuse.large;
        let stored = |v: &Value| !matches!(self.to.values[*v].1, Origin::Computed);
        let reads = args.iter().filter_map(View::value).filter(stored);
        reads.chain(self.is_output.then_some(value)).filter(is_large).collect()
    }

    /// Merges an op into as many of the groups that compute its operands as possible, or starts a new group.
    fn fuse(&mut self, member: Arc<Member>) {
        let value = member.value;
        let mut producers: Vec<usize> =
            member.args.iter().filter_map(View::value).filter_map(|v| self.to.maker[v]).collect();
        producers.sort_unstable();
        producers.dedup();
        let mut joined: Option<(usize, Group)> = None;
        // Tries the latest unit first, because the fewest other units depend on it.
        for &unit in producers.iter().rev() {
            let Unit::Group(group) = &self.to.units[unit] else { continue };
            let attempt = match &joined {
                None if self.to.depend.could_join(unit, &producers) => {
                    group.joined(&member).map(|g| (unit, g))
                }
                Some((own, own_group)) if self.to.depend.could_merge(*own, unit) => {
                    own_group.merged(group).map(|g| (*own, g))
                }
                _ => Err("another kernel must run between it and its operand"),
            };
            match attempt {
                Ok((own, group)) => {
                    if own != unit {
                        for (m, _) in &group.members {
                            self.to.maker[m.value] = Some(own);
                        }
                        self.to.depend.merge(own, unit);
                        self.to.units[unit] = Unit::Gone;
                    } else {
                        self.to.depend.add(own, producers.iter().copied().filter(|p| *p != own));
                    }
                    joined = Some((own, group));
                }
                Err(why) => self.to.not_fused.push(NotFused { member: member.clone(), why }),
            }
        }
        let unit = match joined {
            Some((unit, group)) => {
                self.to.units[unit] = Unit::Group(group);
                unit
            }
            None => self.unit(Unit::Group(Group::new(member, self.profile.fuse.limits())), &producers),
        };
        self.to.maker[value] = Some(unit);
    }

    fn unit(&mut self, unit: Unit, producers: &[usize]) -> usize {
        self.to.units.push(unit);
        self.to.depend.new_unit(producers)
    }

    fn producers(&self, values: &[Value]) -> Vec<usize> {
        values.iter().filter_map(|v| self.to.maker[*v]).collect()
    }

    /// Returns a row-major value with the elements of a view. Adds a copy if needed.
    fn row_major(&mut self, view: &View, aval: &Aval) -> Value {
        if let Some(v) = view.value()
            && view.layout.is_row_major(&aval.shape)
            && self.to.values[v].0.shape.numel() == aval.shape.numel()
        {
            return v;
        }
        self.copy(view, aval)
    }

    fn copy(&mut self, view: &View, aval: &Aval) -> Value {
        let task = Task::Scalar(Scalar::Identity);
        let copied = self.member(task, vec![view.clone()], &aval.shape, aval);
        // `member` returns a view of a value, so the default is not used.
        copied.value().unwrap_or_default()
    }

    /// Returns a view of the same elements that reads a value in memory, in any layout. Adds a copy if needed.
    fn in_memory(&mut self, view: &View, aval: &Aval) -> View {
        if view.value().is_some() {
            return view.clone();
        }
        let value = self.copy(view, aval);
        self.view_of(value)
    }

    fn reduce(&mut self, combine: Combine, axes: &[usize], x: &View, t: &Aval) -> View {
        let count: usize = axes.iter().map(|&a| t.shape[a]).product();
        let out = t.with_shape(t.shape.without(axes));
        if count == 1 {
            // A reduction over a single element returns that element.
            return match x.layout.reshaped(&t.shape, &out.shape) {
                Some(layout) => View { layout, ..x.clone() },
                None => View {
                    source: Source::Value(self.row_major(x, t)),
                    layout: Layout::row_major(&out.shape),
                },
            };
        }
        if let Some((shape, first)) = split_reduction(&t.shape, axes, &self.profile.split)
            && let Some(layout) = x.layout.reshaped(&t.shape, &shape)
        {
            let x = View { layout, ..x.clone() };
            let partial = t.with_shape(shape.without(&first));
            let kept = (0..shape.rank()).filter(|a| !first.contains(a));
            // The axis of the partial result that the second reduction removes.
            let at = axes.iter().copied().min().unwrap_or(0);
            let left = kept.enumerate().filter(|(_, a)| *a == at).map(|(i, _)| i).collect();
            let inner = self.member(Task::Reduce(combine, first), vec![x], &shape, &partial);
            return self.member(Task::Reduce(combine, left), vec![inner], &partial.shape, &out);
        }
        self.member(Task::Reduce(combine, axes.to_vec()), vec![x.clone()], &t.shape, &out)
    }

    /// Adds a member that copies each operand to its offset in the result, with zeros around the operands.
    fn pieces(&mut self, ins: &[View], types: &[Aval], out: &Aval, low: &[Vec<i64>]) -> View {
        let mut args = Vec::new();
        let mut bounds = Vec::new();
        for ((view, t), low) in ins.iter().zip(types).zip(low) {
            if t.shape.contains(&0) {
                continue;
            }
            let view = self.in_memory(view, t);
            let shift: i64 = low.iter().zip(&view.layout.strides).map(|(l, s)| l * s).sum();
            let layout = Layout { offset: view.layout.offset - shift, ..view.layout };
            args.push(View { layout, ..view });
            let bound = |a: usize| {
                let mut strides = vec![0; out.rank()];
                strides[a] = 1;
                (Layout { offset: -low[a], strides }, t.shape[a])
            };
            let inside = |a: &usize| low[*a] != 0 || t.shape[*a] != out.shape[*a];
            bounds.push((0..out.rank()).filter(inside).map(bound).collect());
        }
        self.member(Task::Pieces(bounds), args, &out.shape, out)
    }

    fn routine(&mut self, node: &Node, ins: &[View], types: &[Aval]) -> Vec<View> {
        let ins: Vec<Value> = ins.iter().zip(types).map(|(v, t)| self.row_major(v, t)).collect();
        let outs: Vec<Value> =
            node.outs.iter().map(|a| self.new_value(a.clone(), Origin::Computed)).collect();
        let producers = self.producers(&ins);
        let unit = self.unit(
            Unit::Routine {
                op: node.op.clone(),
                types: types.to_vec(),
                ins,
                outs: outs.clone(),
                origin: node.origin.clone(),
            },
            &producers,
        );
        outs.iter().for_each(|v| self.to.maker[*v] = Some(unit));
        outs.into_iter().map(|v| self.view_of(v)).collect()
    }

    fn contract(&mut self, labels: [&str; 3], ins: Vec<View>, types: &[Aval], out: &Aval) -> Result<View> {
        // Narrow floats are summed in `f32`. Operands keep their dtype if the device multiplies it, unless an operand is summed
        // first.
        let dtype = if out.dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let has_own_label =
            |o: usize| labels[o].chars().any(|l| !labels[1 - o].contains(l) && !labels[2].contains(l));
        let narrow = self.profile.products.contains(&out.dtype) && !has_own_label(0) && !has_own_label(1);
        let operand_dtype = if narrow { out.dtype } else { dtype };
        let mut operands = Vec::new();
        for (o, (view, t)) in ins.into_iter().zip(types).enumerate() {
            let (mut view, mut t) = (view, t.clone());
            if t.dtype != operand_dtype {
                let wide = t.with_dtype(operand_dtype);
                view = self.member(Task::Scalar(Scalar::Cast), vec![view], &t.shape, &wide);
                t = wide;
            }
            let others = format!("{}{}", labels[1 - o], labels[2]);
            operands.push(self.plain_operand(view, t, labels[o], &others));
        }
        let result = out.with_dtype(dtype);
        let product = self.product(operands, labels[2], &result)?;
        if result == *out {
            return Ok(product);
        }
        Ok(self.member(Task::Scalar(Scalar::Cast), vec![product], &out.shape, out))
    }

    /// Returns an operand in memory. First sums over the labels that neither the other operand nor the result has.
    fn plain_operand(&mut self, view: View, t: Aval, labels: &str, others: &str) -> (View, Aval, String) {
        let (mut view, mut t) = (view, t);
        let own_axes: Vec<usize> =
            labels.chars().enumerate().filter(|(_, l)| !others.contains(*l)).map(|(a, _)| a).collect();
        if !own_axes.is_empty() {
            view = self.reduce(Combine::Sum, &own_axes, &view, &t);
            t = t.with_shape(t.shape.without(&own_axes));
        }
        let kept = labels.chars().filter(|l| others.contains(*l)).collect();
        (self.in_memory(&view, &t), t, kept)
    }

    fn product(&mut self, mut ops: Vec<(View, Aval, String)>, out: &str, aval: &Aval) -> Result<View> {
        // Tries the result in the order of its labels, then with the labels of only the second operand last.
        let mut order: String = out.to_string();
        for _ in 0..4 {
            let shape: Shape = order.chars().map(|l| extent(out, &aval.shape, l)).collect();
            let operand = |(v, t, labels): &'_ (View, Aval, String)| {
                (v.layout.clone(), t.shape.clone(), labels.clone())
            };
            let (a, b) = (operand(&ops[0]), operand(&ops[1]));
            let three = [
                Operand { labels: &a.2, shape: &a.1, layout: a.0 },
                Operand { labels: &b.2, shape: &b.1, layout: b.0 },
                Operand { labels: &order, shape: &shape, layout: Layout::row_major(&shape) },
            ];
            match match_product([ops[0].1.dtype, aval.dtype], &three) {
                Ok((mut c, swapped)) => {
                    let value = self.new_value(aval.with_shape(&shape), Origin::Computed);
                    let ins: Vec<Value> = ops.iter().filter_map(|o| o.0.value()).collect();
                    c.buffers = if swapped { [ins[1], ins[0], value] } else { [ins[0], ins[1], value] };
                    let producers = self.producers(&ins);
                    let unit = self.unit(Unit::Contract(Box::new(c), None), &producers);
                    self.to.maker[value] = Some(unit);
                    let own = Layout::row_major(&shape);
                    let step = |l: char| order.chars().position(|o| o == l).map_or(0, |a| own.strides[a]);
                    let layout = Layout { offset: 0, strides: out.chars().map(step).collect() };
                    return Ok(View { source: Source::Value(value), layout });
                }
                Err(NotMatmul::Operand(o)) => {
                    let summed: String = ops[0].2.chars().filter(|l| !out.contains(*l)).collect();
                    ops[o] = self.summed_last(&ops[o].clone(), &summed);
                }
                Err(NotMatmul::Result) => {
                    let last = |l: &char| ops[1].2.contains(*l) && !ops[0].2.contains(*l);
                    order = out.chars().filter(|l| !last(l)).chain(out.chars().filter(last)).collect();
                }
            }
        }
        Err(Error::verify("a contraction does not match a matrix product, even with copied operands"))
    }

    /// Copies an operand with these labels last and in this order, so that they form one axis.
    fn summed_last(
        &mut self,
        (view, t, labels): &(View, Aval, String),
        summed: &str,
    ) -> (View, Aval, String) {
        let kept = labels.chars().filter(|l| !summed.contains(*l));
        let order: String = kept.chain(summed.chars().filter(|l| labels.contains(*l))).collect();
        let from: Vec<usize> = order.chars().filter_map(|l| labels.chars().position(|o| o == l)).collect();
        let strides = from.iter().map(|&a| view.layout.strides[a]).collect();
        let t = t.with_shape(from.iter().map(|&a| t.shape[a]).collect::<Shape>());
        let transposed = View { layout: Layout { offset: view.layout.offset, strides }, ..view.clone() };
        let value = self.copy(&transposed, &t);
        (self.view_of(value), t, order)
    }

    /// Returns a value for an output. The value is computed by a unit, row-major, and not the value of another output.
    fn output(&mut self, id: Id) -> Value {
        let (view, aval) = (self.view(id), self.graph.aval(id).clone());
        let value = self.row_major(&view, &aval);
        let own = matches!(self.to.values[value].1, Origin::Computed) && !self.to.outputs.contains(&value);
        if own { value } else { self.copy_in_reader(&view, &aval) }
    }

    /// Copies a value. If a loop nest reads the value, the copy joins that nest. That creates no cycle, because the copy is an
    /// output that no unit reads.
    fn copy_in_reader(&mut self, view: &View, aval: &Aval) -> Value {
        let value = self.new_value(aval.clone(), Origin::Computed);
        let (shape, dtype) = (aval.shape.clone(), aval.dtype);
        let large = self.large(std::slice::from_ref(view), value);
        let member = Arc::new(Member {
            value,
            task: Task::Scalar(Scalar::Identity),
            args: vec![view.clone()],
            space: shape.clone(),
            shape,
            dtype,
            large,
        });
        let producers = self.producers(&view.value().into_iter().collect::<Vec<_>>());
        let readers = self.readers.get_or_insert_with(|| readers(&self.to.units));
        let own = view.value().and_then(|v| readers.get(&v)).map(|units| &units[..]).unwrap_or_default();
        let joined = own.iter().find_map(|&u| match &self.to.units[u] {
            Unit::Group(group) if self.to.depend.could_join(u, &producers) => {
                group.joined(&member).ok().map(|g| (u, g))
            }
            _ => None,
        });
        match joined {
            Some((u, group)) => {
                self.to.units[u] = Unit::Group(group);
                self.to.maker[value] = Some(u);
            }
            None => self.fuse(member),
        }
        value
    }
}

/// Returns the groups that read each value.
fn readers(units: &[Unit]) -> HashMap<Value, Vec<usize>> {
    let mut readers: HashMap<Value, Vec<usize>> = HashMap::new();
    for (u, unit) in units.iter().enumerate() {
        let Unit::Group(group) = unit else { continue };
        group.reads().into_iter().for_each(|v| readers.entry(v).or_default().push(u));
    }
    readers
}

/// Returns an error if a value is too large to compute, even if fusion would not store it.
fn check_sizes<'a>(mut avals: impl Iterator<Item = &'a Aval>, most: usize) -> Result<()> {
    let bytes = |a: &Aval| a.shape.numel().saturating_mul(a.dtype.size());
    match avals.find(|a| bytes(a) > most) {
        Some(a) => Err(Error::new(Kind::Memory { bytes: bytes(a) })),
        None => Ok(()),
    }
}

fn extent(labels: &str, shape: &[usize], label: char) -> usize {
    labels.chars().position(|l| l == label).map_or(1, |a| shape[a])
}

/// Splits a reduction that has too few parallel indices to occupy all cores. Returns the shape with its outermost reduced
/// axis split in two, or unchanged if that axis is short enough. Also returns the axes to reduce first: all reduced axes
/// except the outer part of the split axis.
fn split_reduction(shape: &Shape, axes: &[usize], limits: &Split) -> Option<(Shape, Vec<usize>)> {
    let numel = shape.numel();
    let kept = numel / axes.iter().map(|&a| shape[a]).product::<usize>().max(1);
    // Several columns are reduced together, but only one row, so columns need a larger number of parallel indices.
    let by_columns = (0..shape.rank()).rev().find(|&a| shape[a] > 1).is_some_and(|a| !axes.contains(&a));
    let enough = if by_columns { limits.columns } else { limits.rows };
    if kept >= enough || numel < limits.least {
        return None;
    }
    let axis = axes.iter().copied().min()?;
    let extent = shape[axis];
    let wanted = enough.div_ceil(kept).max(if by_columns { numel / limits.tile } else { 0 });
    if axes.len() > 1 && extent > 3 && extent <= 2 * wanted {
        // The outermost axis is short enough to be the outer part itself.
        return Some((shape.clone(), axes.iter().copied().filter(|&a| a != axis).collect()));
    }
    let parts = (2..=wanted.min(extent / limits.part)).rev().find(|p| extent.is_multiple_of(*p))?;
    let cut = [parts, extent / parts];
    let new = shape[..axis].iter().chain(&cut).chain(&shape[axis + 1..]).copied().collect();
    let later = axes.iter().map(|&a| if a > axis { a + 1 } else { a });
    Some((new, [axis + 1].into_iter().chain(later.filter(|&a| a != axis)).collect()))
}
