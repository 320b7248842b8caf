//! Raises each op by its form, most to one equation.

use super::control::FEW;
use super::draft::{Drafts, cast, local, operand};
use super::{Base, Known, Source, View, number};
use crate::builtin::{self, Shape};
use crate::syntax::ast::{Array, Call, Expr, Index, Kind, Name, Place, Projection};
use gradus_ir::attr::Attr;
use gradus_ir::graph::{Builder, Id, Node};
use gradus_ir::literal::Data;
use gradus_ir::ops::{Combine, Form, IndexMap, Op};
use gradus_ir::{Class, DType, Graph, Literal, Result};

/// Raises a graph applied to operands; returns its outputs.
pub(super) fn walk(graph: &Graph, operands: &[View], drafts: &mut Drafts) -> Result<Vec<View>> {
    let live = live(graph);
    let mut known: Known = Known::new();
    for ((_, id), view) in graph.inputs().iter().zip(operands) {
        known.insert(*id, view.clone());
    }
    for (at, node) in graph.nodes().iter().enumerate() {
        if !live[at] || matches!(node.op, Op::Input(_)) {
            continue;
        }
        let ins: Vec<View> = node.ins.iter().filter_map(|i| known.get(i).cloned()).collect();
        let outs = Raise { graph, node, ins: &ins }.outputs(drafts)?;
        for (out, view) in outs.into_iter().enumerate() {
            known.insert(Id { node: at as u32, out: out as u32 }, view);
        }
    }
    Ok(graph.outputs().iter().filter_map(|i| known.get(i).cloned()).collect())
}

pub(super) fn live(graph: &Graph) -> Vec<bool> {
    let mut live = vec![false; graph.nodes().len()];
    graph.outputs().iter().for_each(|o| live[o.node as usize] = true);
    for at in (0..live.len()).rev() {
        if live[at] {
            graph.nodes()[at].ins.iter().for_each(|i| live[i.node as usize] = true);
        }
    }
    live
}

pub(super) fn call(function: &str, args: Vec<Expr>, named: Vec<(&str, Expr)>) -> Expr {
    let named = named.into_iter().map(|(k, v)| (k.into(), v)).collect();
    Kind::Call(Box::new(Call { function: function.into(), args, named })).bare()
}

/// Integers up to 2⁵³ are exact as `f64`.
const EXACT: u64 = 1 << 53;
const HALF: i64 = 1 << 32;

/// A node to raise, with the values of its operands.
pub(super) struct Raise<'a> {
    pub(super) graph: &'a Graph,
    pub(super) node: &'a Node,
    pub(super) ins: &'a [View],
}

impl Raise<'_> {
    pub(super) fn extents(&self, out: usize) -> Vec<usize> {
        self.node.outs[out].shape.to_vec()
    }

    /// Returns true if no operand and no result is complex.
    pub(super) fn is_real(&self) -> bool {
        let ins = self.node.ins.iter().map(|i| self.graph.aval(*i).dtype);
        !ins.chain(self.node.outs.iter().map(|a| a.dtype)).any(|d| d.is_complex())
    }

    /// Returns true if all operands and results are floats of one dtype.
    fn is_of_floats(&self) -> bool {
        let mut all = self.node.ins.iter().map(|i| self.graph.aval(*i).dtype);
        let out = self.node.outs[0].dtype;
        out.class() == Class::Float && all.all(|d| d == out)
    }

    pub(super) fn outputs(&self, drafts: &mut Drafts) -> Result<Vec<View>> {
        let mut empty = self.node.outs.iter().filter(|a| a.shape.numel() == 0);
        if self.node.outs.len() == 1 && empty.next().is_some() {
            let kinds = self.extents(0).iter().map(|n| drafts.kind(*n)).collect();
            return Ok(vec![drafts.number(0.0, self.node.outs[0].dtype, kinds)]);
        }
        let avals: Vec<_> = self.node.ins.iter().map(|i| self.graph.aval(*i).clone()).collect();
        let one = match self.node.op.def().form(&avals) {
            Form::Constant(l) => self.constant(&l, drafts),
            Form::Iota { axis } => {
                let kinds: Vec<usize> = self.extents(0).iter().map(|n| drafts.kind(*n)).collect();
                let own = Kind::Of("index".into(), local(axis)).bare();
                let own = match drafts.said(self.node.outs[0].dtype) {
                    Some(dtype) => cast(own, dtype),
                    None => own,
                };
                Some(drafts.equation(kinds, Vec::new(), Projection::Sum, own))
            }
            Form::View(map) => self.view(&map, drafts),
            Form::Reshape => self.reshaped(drafts),
            Form::Pointwise(_) => self.pointwise(drafts),
            Form::Contract { lhs, rhs, out } => Some(self.contraction([&lhs, &rhs], &out, drafts)),
            Form::Reduce { combine, axes } => Some(self.reduction(combine, &axes, drafts)),
            Form::Cumulate { combine, axis, reverse } => self.running(combine, axis, reverse, drafts),
            Form::Concat { axis } => Some(self.joined(axis, drafts)),
            Form::Pad { low, interior } => self.pads(&low, &interior, drafts),
            Form::Convolve(window) => self.convolution(&window, drafts).map(|y| self.held(y, drafts)),
            Form::Fold(window) => self.folded(&window, drafts),
            Form::Take { axis } => self.taken(axis, drafts),
            Form::Scatter { axis, combine } => self.put(axis, combine, drafts),
            Form::ArgReduce { largest, axis } => Some(self.extreme(largest, axis, drafts)),
            Form::Sort { axis, descending, first } => {
                return Ok(match first {
                    None => self.ordered(axis, descending, drafts),
                    Some(k) => self.first_ordered(axis, descending, k, drafts),
                });
            }
            Form::Region(body) => return self.region(&body, drafts),
            Form::Switch(branches) => {
                let all = self.choice(&branches, drafts)?;
                return all.map_or_else(|| self.all_literally(drafts), Ok);
            }
            Form::Scan(scan) => {
                return match scan.length {
                    0 => Ok(self.no_steps(&scan, drafts)),
                    1..=FEW => self.steps(&scan, drafts),
                    _ => self.through_time(&scan, drafts),
                };
            }
            Form::While(repeat) => return self.rounds(&repeat, drafts),
            Form::Bits => return Ok(self.bits(drafts)),
            _ => {
                if let Some(all) = self.closure(drafts) {
                    return Ok(all);
                }
                let all = self.linear(drafts).or_else(|| self.spectra(drafts));
                return match all {
                    Some(all) => Ok(self.all_held(all, drafts)),
                    None => self.all_literally(drafts),
                };
            }
        };
        match one {
            Some(view) => Ok(vec![view]),
            None => self.all_literally(drafts),
        }
    }

    /// Converts the result of a function that returns the program's floats to the dtype of the node.
    fn held(&self, y: View, drafts: &mut Drafts) -> View {
        self.all_held(vec![y], drafts).remove(0)
    }

    fn all_held(&self, mut all: Vec<View>, drafts: &mut Drafts) -> Vec<View> {
        for (view, aval) in all.iter_mut().zip(&self.node.outs) {
            if let Some(dtype) = drafts.said(aval.dtype) {
                *view = drafts.cast(view, dtype);
            }
        }
        all
    }

    /// Returns the dtype of an operand.
    pub(super) fn dtype(&self, operand: usize) -> DType {
        self.graph.aval(self.node.ins[operand]).dtype
    }

    fn all_literally(&self, drafts: &mut Drafts) -> Result<Vec<View>> {
        (0..self.node.outs.len()).map(|out| self.literally(out, drafts)).collect()
    }

    fn constant(&self, l: &Literal, drafts: &mut Drafts) -> Option<View> {
        Some(match l.data() {
            Data::C(both) => {
                let part = l.dtype().real();
                let real = self.array(both.iter().map(|z| z.re).collect(), part, drafts);
                let imag = self.array(both.iter().map(|z| z.im).collect(), part, drafts);
                drafts.pointwise("complex", &[&real, &imag])
            }
            Data::F(numbers) => self.array(numbers.to_vec(), l.dtype(), drafts),
            Data::I(numbers) if numbers.iter().all(|n| n.unsigned_abs() <= EXACT) => {
                self.array(numbers.iter().map(|n| *n as f64).collect(), l.dtype(), drafts)
            }
            // Larger integers are written as two halves of 32 bits.
            Data::I(numbers) => {
                let half = |n: &i64| n.div_euclid(HALF);
                let high = self.array(numbers.iter().map(|n| half(n) as f64).collect(), DType::I64, drafts);
                let low = numbers.iter().map(|n| (n - half(n) * HALF) as f64).collect();
                let low = self.array(low, DType::I64, drafts);
                let places: Vec<usize> = (0..low.kinds.len()).collect();
                high.kinds.iter().zip(&low.kinds).for_each(|(a, b)| drafts.join(*a, *b));
                let high = Kind::Product(vec![operand(&high, &places), number(HALF as f64)]).bare();
                let value = Kind::Sum(vec![high, operand(&low, &places)]).bare();
                drafts.equation(low.kinds, Vec::new(), Projection::Sum, value)
            }
        })
    }

    /// Writes a constant, from numbers in row-major order.
    fn array(&self, numbers: Vec<f64>, dtype: DType, drafts: &mut Drafts) -> View {
        let kinds: Vec<usize> = self.extents(0).iter().map(|n| drafts.kind(*n)).collect();
        if numbers.iter().all(|x| x.to_bits() == numbers[0].to_bits()) {
            return drafts.number(numbers[0], dtype, kinds);
        }
        let said = drafts.said(dtype);
        let mut array = |numbers: Vec<f64>, dtype: Option<DType>| {
            let array = Array::new(self.extents(0), numbers);
            let value = call("const", vec![Kind::Array(array).bare()], Vec::new());
            let value = match dtype {
                Some(dtype) => cast(value, dtype),
                None => value,
            };
            drafts.equation(kinds.clone(), Vec::new(), Projection::Sum, value)
        };
        if numbers.iter().all(|x| x.is_finite()) {
            return array(numbers, said);
        }
        // Infinities and NaN have no literals: they are written as 1, -1 or 0 divided by 0.
        let finite = array(numbers.iter().map(|x| if x.is_finite() { *x } else { 0.0 }).collect(), said);
        let sign = |x: &f64| if x.is_nan() { 0.0 } else { x.signum() };
        let signs = array(numbers.iter().map(|x| if x.is_finite() { 0.0 } else { sign(x) }).collect(), said);
        let plain = array(numbers.iter().map(|x| f64::from(x.is_finite())).collect(), None);
        let places: Vec<usize> = (0..kinds.len()).collect();
        let [finite, sign, plain] = [finite, signs, plain].map(|s| operand(&s, &places));
        let infinite = Kind::Quotient(Box::new([sign, number(0.0)])).bare();
        let value = call("where", vec![plain, finite, infinite], Vec::new());
        drafts.equation(kinds, Vec::new(), Projection::Sum, value)
    }

    /// Raises a view. Permutations, broadcasts and fixed positions only change how the value is read; ranges
    /// need an equation.
    fn view(&self, map: &IndexMap, drafts: &mut Drafts) -> Option<View> {
        let [x] = self.ins else { return None };
        let extents = self.extents(0);
        let from = &self.graph.aval(self.node.ins[0]).shape;
        let readers = |axis: usize| {
            map.steps.iter().enumerate().filter(move |(_, s)| matches!(s, Some((a, _)) if *a == axis))
        };
        if (0..from.rank()).any(|a| readers(a).count() > 1) {
            return self.windows(map, drafts);
        }
        let whole = |axis: usize| match readers(axis).next() {
            Some((r, Some((_, step)))) => *step == 1 && map.offset[axis] == 0 && extents[r] == from[axis],
            _ => true,
        };
        if (0..from.rank()).all(whole) {
            let kinds: Vec<usize> = map
                .steps
                .iter()
                .enumerate()
                .map(|(r, s)| match s {
                    Some((axis, _)) => x.kinds[*axis],
                    None => drafts.kind(extents[r]),
                })
                .collect();
            return Some(x.with_axes(kinds, |axis| match readers(axis).next() {
                Some((r, _)) => Source::Axis(r),
                None => Source::At(map.offset[axis]),
            }));
        }
        self.ranges(map, drafts)
    }

    /// Writes `T[s, j] = X[s=1:3, j]`.
    fn ranges(&self, map: &IndexMap, drafts: &mut Drafts) -> Option<View> {
        let extents = self.extents(0);
        if extents.contains(&0) {
            return None;
        }
        let x = drafts.solid(&self.ins[0]);
        let Base::Tensor(name, _) = &x.base else { return None };
        let mut kinds = Vec::new();
        for (r, s) in map.steps.iter().enumerate() {
            kinds.push(match s {
                Some((axis, 1))
                    if map.offset[*axis] == 0
                        && self.graph.aval(self.node.ins[0]).shape[*axis] == extents[r] =>
                {
                    x.kinds[*axis]
                }
                _ => drafts.kind(extents[r]),
            });
        }
        let place = |axis: usize| {
            let first = map.offset[axis];
            let reader = map.steps.iter().position(|s| matches!(s, Some((a, _)) if *a == axis));
            let index = match reader.map(|r| (r, map.steps[r].map_or(1, |s| s.1))) {
                None => Index::At(first),
                Some((r, step)) if kinds[r] == x.kinds[axis] && step == 1 => Index::Named(local(r), 0),
                Some((r, step)) => {
                    let end = first + step * extents[r] as i64;
                    let stop = if end < 0 { None } else { Some(end) };
                    let by = if step == 1 { None } else { Some(step) };
                    Index::Slice(Some(local(r)), Box::new([Some(first), stop, by]))
                }
            };
            Place { index, dotted: false, span: Default::default() }
        };
        let places = (0..x.kinds.len()).map(place).chain(x.time_place()).collect();
        let r =
            crate::syntax::ast::Ref { name: name.clone(), places, relation: false, span: Default::default() };
        Some(drafts.equation(kinds, Vec::new(), Projection::Sum, Kind::Ref(r).bare()))
    }

    /// Raises a reshape. Adding or removing axes of extent 1 needs no equation.
    fn reshaped(&self, drafts: &mut Drafts) -> Option<View> {
        let [x] = self.ins else { return None };
        let (from, to) = (self.graph.aval(self.node.ins[0]).shape.to_vec(), self.extents(0));
        let large = |e: &[usize]| e.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
        if large(&from) == large(&to) {
            let olds: Vec<usize> = (0..from.len()).filter(|i| from[*i] != 1).collect();
            let news: Vec<usize> = (0..to.len()).filter(|i| to[*i] != 1).collect();
            let old_of = |new: usize| news.iter().position(|n| *n == new).map(|k| olds[k]);
            let new_of = |old: usize| olds.iter().position(|o| *o == old).map(|k| news[k]);
            let kinds: Vec<usize> =
                (0..to.len()).map(|n| old_of(n).map_or_else(|| drafts.kind(1), |o| x.kinds[o])).collect();
            return Some(x.with_axes(kinds, |old| new_of(old).map_or(Source::At(0), Source::Axis)));
        }
        Some(drafts.reshape(x, &to))
    }

    /// Returns the kinds of the result's indices, joined with those of the operands, and the operands at
    /// these indices.
    pub(super) fn together(&self, drafts: &mut Drafts) -> (Vec<usize>, Vec<Expr>) {
        let extents = self.extents(0);
        let mut kinds = Vec::new();
        for (axis, n) in extents.iter().enumerate() {
            let mut of: Vec<usize> =
                self.ins.iter().filter(|s| s.reads(axis)).map(|s| s.kinds[axis]).collect();
            of.extend(self.ins.iter().filter(|s| !s.reads(axis)).filter_map(|s| s.kinds.get(axis).copied()));
            let first = of.first().copied().unwrap_or_else(|| drafts.kind(*n));
            of.iter().for_each(|k| drafts.join(first, *k));
            kinds.push(first);
        }
        let places: Vec<usize> = (0..extents.len()).collect();
        // A literal takes the dtype of the tensors that it is combined with.
        let met = |dtype: DType| {
            let ins = self.node.ins.iter().zip(self.ins);
            ins.into_iter().any(|(i, s)| s.name().is_some() && self.graph.aval(*i).dtype == dtype)
        };
        let operands = self.ins.iter().map(|s| match s.base {
            Base::Number(x, Some(dtype)) if met(dtype) => number(x),
            _ => operand(s, &places),
        });
        let operands = operands.collect();
        (kinds, operands)
    }

    pub(super) fn contraction(&self, labels: [&str; 2], out: &str, drafts: &mut Drafts) -> View {
        let all: Vec<char> = out.chars().chain(labels.concat().chars()).fold(Vec::new(), |mut v, c| {
            if !v.contains(&c) {
                v.push(c);
            }
            v
        });
        // If both operands are only repeated along a summed axis, one of them must be written with the axis.
        let read = |c: char, ins: &[View]| {
            labels.iter().zip(ins).any(|(l, s)| l.chars().position(|d| d == c).is_some_and(|p| s.reads(p)))
        };
        let mut ins = self.ins.to_vec();
        for c in all.iter().filter(|c| !out.contains(**c)) {
            if !read(*c, &ins)
                && let Some(at) = labels.iter().position(|l| l.contains(*c))
            {
                ins[at] = drafts.solid(&ins[at]);
            }
        }
        let mut kinds = Vec::new();
        for c in &all {
            let of: Vec<usize> = labels
                .iter()
                .zip(&ins)
                .filter_map(|(l, s)| l.chars().position(|d| d == *c).map(|p| s.kinds[p]))
                .collect();
            of.iter().for_each(|k| drafts.join(of[0], *k));
            kinds.push(of.first().copied().unwrap_or_else(|| drafts.kind(1)));
        }
        let factor = |(l, s): (&&str, &View)| {
            let places: Vec<usize> = l.chars().filter_map(|c| all.iter().position(|d| *d == c)).collect();
            operand(s, &places)
        };
        let factors: Vec<Expr> = labels.iter().zip(&ins).map(factor).collect();
        let more = kinds.split_off(out.chars().count());
        drafts.equation(kinds, more, Projection::Sum, Kind::Product(factors).bare())
    }

    /// Splits the axes of an operand into kept and reduced ones. Returns the kinds of both, and the number of
    /// each axis's index: kept axes come first.
    pub(super) fn split(&self, x: &View, axes: &[usize]) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
        let stay: Vec<usize> = (0..x.kinds.len()).filter(|a| !axes.contains(a)).collect();
        let mut places = vec![0; x.kinds.len()];
        stay.iter().chain(axes).enumerate().for_each(|(k, a)| places[*a] = k);
        let kinds = |of: &[usize]| of.iter().map(|a| x.kinds[*a]).collect::<Vec<_>>();
        (kinds(&stay), kinds(axes), places)
    }

    fn reduction(&self, combine: Combine, axes: &[usize], drafts: &mut Drafts) -> View {
        let x = if axes.iter().all(|a| self.ins[0].reads(*a)) {
            self.ins[0].clone()
        } else {
            drafts.solid(&self.ins[0])
        };
        let (left, more, places) = self.split(&x, axes);
        let value = operand(&x, &places);
        let how = match combine {
            Combine::Sum => Projection::Sum,
            Combine::Prod => Projection::Prod,
            Combine::Max => Projection::Max,
            Combine::Min => Projection::Min,
            Combine::LogSumExp => {
                let names =
                    (left.len()..left.len() + more.len()).map(|k| Kind::Text(local(k)).bare()).collect();
                let value = call("logsumexp", vec![value], vec![("axis", Kind::List(names).bare())]);
                return drafts.equation(left, more, Projection::Sum, value);
            }
        };
        drafts.equation(left, more, how, value)
    }

    fn running(&self, combine: Combine, axis: usize, reverse: bool, drafts: &mut Drafts) -> Option<View> {
        let function = match combine {
            Combine::Sum => "cumsum",
            Combine::Prod => "cumprod",
            Combine::Max => "cummax",
            Combine::Min => "cummin",
            Combine::LogSumExp => "logcumsumexp",
        };
        let x = drafts.solid(&self.ins[0]);
        let places: Vec<usize> = (0..x.kinds.len()).collect();
        let along =
            |function: &str, x: Expr| call(function, vec![x], vec![("axis", Kind::Text(local(axis)).bare())]);
        let value = match reverse {
            false => along(function, operand(&x, &places)),
            true => along("flip", along(function, along("flip", operand(&x, &places)))),
        };
        Some(drafts.equation(x.kinds, Vec::new(), Projection::Sum, value))
    }

    fn joined(&self, axis: usize, drafts: &mut Drafts) -> View {
        let extents = self.extents(0);
        let ins: Vec<View> = self.ins.iter().map(|s| drafts.solid(s)).collect();
        let mut left: Vec<usize> = ins.first().map(|s| s.kinds.clone()).unwrap_or_default();
        left[axis] = drafts.kind(extents[axis]);
        let (mut more, mut args) = (Vec::new(), Vec::new());
        for s in &ins {
            let mut places: Vec<usize> = (0..left.len()).collect();
            places[axis] = left.len() + more.len();
            more.push(s.kinds[axis]);
            for a in (0..left.len()).filter(|a| *a != axis) {
                drafts.join(left[a], s.kinds[a]);
            }
            args.push(operand(s, &places));
        }
        let value = call("concat", args, vec![("axis", number(axis as f64))]);
        drafts.equation(left, more, Projection::Sum, value)
    }

    /// Raises a region to a call if the language has a function of its name, else to the ops of its body.
    fn region(&self, body: &Graph, drafts: &mut Drafts) -> Result<Vec<View>> {
        if let Some(view) = self.by_name(drafts) {
            return Ok(vec![view]);
        }
        walk(body, self.ins, drafts)
    }

    fn by_name(&self, drafts: &mut Drafts) -> Option<View> {
        if !self.is_of_floats() || self.node.outs.len() != 1 {
            return None;
        }
        let attrs = self.node.op.def().attrs();
        let text = |key: &str| attrs.iter().find(|(k, _)| *k == key).map(|(_, a)| a);
        let Attr::Str(name) = text("name")? else { return None };
        let args = match text("args") {
            Some(Attr::Map(args)) => args.clone(),
            _ => Vec::new(),
        };
        if let (Some(function), [], [_, _]) = (name.strip_suffix("_vjp"), &args[..], self.ins) {
            return self.slope(function, drafts);
        }
        let callee = builtin::find(name, &Default::default())?;
        let exact = callee.order == 0 && *callee.name() == **name && callee.params().len() == self.ins.len();
        match (callee.shape(), &args[..]) {
            // By default, the language's `gelu` is the approximation by tanh.
            (Shape::Pointwise, []) if exact && self.ins.len() == 1 => {
                let (kinds, operands) = self.together(drafts);
                let exactly = if &**name == "gelu" {
                    vec![("approximate", Kind::Text("none".into()).bare())]
                } else {
                    Vec::new()
                };
                Some(drafts.equation(kinds, Vec::new(), Projection::Sum, call(name, operands, exactly)))
            }
            (Shape::Along, [(key, Attr::Int(axis))]) if exact && key == "axis" && self.has_equal_shapes() => {
                let ins: Vec<View> = self.ins.iter().map(|s| drafts.solid(s)).collect();
                let rank = self.extents(0).len() as i64;
                let axis = if *axis < 0 { axis + rank } else { *axis } as usize;
                let (kinds, operands) = Raise { ins: &ins, ..*self }.together(drafts);
                let axis = vec![("axis", Kind::Text(local(axis)).bare())];
                Some(drafts.equation(kinds, Vec::new(), Projection::Sum, call(name, operands, axis)))
            }
            _ => None,
        }
    }

    /// Returns true if all operands have the shape of the result: axes of extent 1 are not broadcast by name.
    fn has_equal_shapes(&self) -> bool {
        self.node.ins.iter().all(|i| self.graph.aval(*i).shape == self.node.outs[0].shape)
    }

    /// Raises the vjp of a pointwise function of one argument: the cotangent times the derivative.
    fn slope(&self, function: &str, drafts: &mut Drafts) -> Option<View> {
        let callee = builtin::find(function, &Default::default())?;
        let exact = callee.order == 0 && &*callee.name() == function && callee.params().len() == 1;
        if callee.shape() != Shape::Pointwise || !exact || function == "gelu" {
            return None;
        }
        let (kinds, mut e) = self.together(drafts);
        let (g, x) = (e.pop()?, e.pop()?);
        let slope = call(&format!("{function}_grad"), vec![x], Vec::new());
        Some(drafts.equation(kinds, Vec::new(), Projection::Sum, Kind::Product(vec![g, slope]).bare()))
    }

    /// Writes an op as a call of `graph`, with the text of a graph that has only this op.
    fn literally(&self, out: usize, drafts: &mut Drafts) -> Result<View> {
        let b = Builder::new();
        let ins: Vec<_> = self
            .node
            .ins
            .iter()
            .enumerate()
            .map(|(i, id)| b.input(&format!("x{i}"), self.graph.aval(*id).clone()))
            .collect();
        let outs = b.apply(self.node.op.clone(), &ins);
        let graph = b.finish(&outs[out..=out])?;
        let text = graph.to_string().split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "`");
        let solid: Vec<View> = self.ins.iter().map(|s| drafts.solid(s)).collect();
        let extents = self.extents(out);
        let shares = solid
            .iter()
            .position(|s| s.kinds.len() == extents.len())
            .filter(|i| self.graph.aval(self.node.ins[*i]).shape[..] == extents[..]);
        let left: Vec<usize> = match shares {
            Some(i) => solid[i].kinds.clone(),
            None => extents.iter().map(|n| drafts.kind(*n)).collect(),
        };
        let (mut more, mut args) = (Vec::new(), Vec::new());
        for (i, s) in solid.iter().enumerate() {
            let places: Vec<usize> = if shares == Some(i) {
                (0..left.len()).collect()
            } else {
                let first = left.len() + more.len();
                more.extend(&s.kinds);
                (first..first + s.kinds.len()).collect()
            };
            args.push(operand(s, &places));
        }
        let text: Name = text.into();
        let value = call("graph", args, vec![("text", Kind::Text(text).bare())]);
        Ok(drafts.equation(left, more, Projection::Sum, value))
    }
}
