//! Raises ops that move elements: padding, windows, convolutions, gather, scatter, sorting.

use super::draft::{Drafts, local, operand};
use super::forms::{Raise, call};
use super::function::axis_called;
use super::{Base, Source, View, number};
use crate::syntax::ast::{Array, Expr, Index, Kind, Place, Projection, Ref};
use gradus_ir::DType;
use gradus_ir::ops::{Combine, IndexMap, Window};

/// Returns integers as an argument: one number if all are equal, else a list.
fn wholes(all: &[usize]) -> Expr {
    match all {
        [first, rest @ ..] if rest.iter().all(|n| n == first) => number(*first as f64),
        _ => list(all.iter().map(|n| *n as f64).collect()),
    }
}

fn list(numbers: Vec<f64>) -> Expr {
    Kind::Array(Array::new(vec![numbers.len()], numbers)).bare()
}

/// Drops an axis of extent 1: reads it at index 0.
fn drop_axis(view: &View, axis: usize) -> View {
    let mut kinds = view.kinds.clone();
    kinds.remove(axis);
    view.with_axes(kinds, |a| if a == axis { Source::At(0) } else { Source::Axis(a - usize::from(a > axis)) })
}

/// Inserts an axis of extent 1.
fn insert_axis(view: &View, axis: usize, drafts: &mut Drafts) -> View {
    let mut kinds = view.kinds.clone();
    kinds.insert(axis, drafts.kind(1));
    view.with_axes(kinds, |a| Source::Axis(a + usize::from(a >= axis)))
}

impl Drafts {
    /// Writes a reshape to other extents.
    pub(super) fn reshape(&mut self, view: &View, extents: &[usize]) -> View {
        let x = self.solid(view);
        let left: Vec<usize> = extents.iter().map(|n| self.kind(*n)).collect();
        let places: Vec<usize> = (left.len()..left.len() + x.kinds.len()).collect();
        let shape = list(extents.iter().map(|n| *n as f64).collect());
        let value = call("reshape", vec![operand(&x, &places)], vec![("shape", shape)]);
        self.equation(left, x.kinds.clone(), Projection::Sum, value)
    }

    /// Writes the positions `offset + Σ stride · index`; `steps` has the stride and the extent of each index.
    fn places(&mut self, offset: i64, steps: &[(i64, usize)]) -> View {
        let kinds: Vec<usize> = steps.iter().map(|(_, n)| self.kind(*n)).collect();
        let term = |(k, (step, _)): (usize, &(i64, usize))| {
            let index = Kind::Of("index".into(), local(k)).bare();
            if *step == 1 { index } else { Kind::Product(vec![number(*step as f64), index]).bare() }
        };
        let mut terms: Vec<Expr> = steps.iter().enumerate().map(term).collect();
        if offset != 0 || terms.is_empty() {
            terms.push(number(offset as f64));
        }
        let value = if terms.len() == 1 { terms.remove(0) } else { Kind::Sum(terms).bare() };
        self.equation(kinds, Vec::new(), Projection::Sum, value)
    }

    /// Writes `T[a, k, b] = gather(X[a, v, b], I[k], axis=v)`. Each of `a`, `b` and `k` may be several
    /// indices.
    fn gathered(&mut self, x: &View, ids: &View, axis: usize) -> View {
        let (x, ids) = (self.solid(x), self.solid(ids));
        let mut left = x.kinds.clone();
        left.splice(axis..=axis, ids.kinds.iter().copied());
        let (new, at) = (ids.kinds.len(), left.len());
        let place = |a: usize| match a.cmp(&axis) {
            std::cmp::Ordering::Less => a,
            std::cmp::Ordering::Equal => at,
            std::cmp::Ordering::Greater => a + new - 1,
        };
        let own: Vec<usize> = (0..x.kinds.len()).map(place).collect();
        let places: Vec<usize> = (axis..axis + new).collect();
        let value = call("gather", vec![operand(&x, &own), operand(&ids, &places)], vec![axis_called(at)]);
        self.equation(left, vec![x.kinds[axis]], Projection::Sum, value)
    }

    /// Writes `T[a, v, b] = scatter(X[a, v, b], I[k], Y[a, k, b], axis=v)`.
    fn scattered(&mut self, [x, ids, y]: [&View; 3], axis: usize, how: Option<Combine>) -> View {
        let [x, ids, y] = [x, ids, y].map(|s| self.solid(s));
        let (rank, new) = (x.kinds.len(), ids.kinds.len());
        let places: Vec<usize> = (rank..rank + new).collect();
        let there: Vec<usize> =
            (0..axis).chain(places.iter().copied()).chain(axis + 1..rank).collect::<Vec<_>>();
        let own: Vec<usize> = (0..rank).collect();
        let args = vec![operand(&x, &own), operand(&ids, &places), operand(&y, &there)];
        let (function, mut named) = match how {
            None => ("scatter", Vec::new()),
            Some(Combine::Sum) => ("scatter_add", Vec::new()),
            Some(Combine::Prod) => ("scatter_reduce", vec![("reduce", "prod")]),
            Some(Combine::Max) => ("scatter_reduce", vec![("reduce", "amax")]),
            Some(Combine::Min | Combine::LogSumExp) => ("scatter_reduce", vec![("reduce", "amin")]),
        };
        let mut all: Vec<(&str, Expr)> =
            named.drain(..).map(|(k, v)| (k, Kind::Text(v.into()).bare())).collect();
        all.push(axis_called(axis));
        self.equation(x.kinds.clone(), ids.kinds.clone(), Projection::Sum, call(function, args, all))
    }

    /// Crops every axis to its range: from the first index up to, but without, the second.
    pub(super) fn cropped(&mut self, x: &View, extents: &[usize], ranges: &[(i64, i64)]) -> View {
        let x = self.solid(x);
        let Base::Tensor(name, _) = &x.base else { return x };
        let whole = |a: usize| ranges[a] == (0, extents[a] as i64);
        if (0..ranges.len()).all(whole) {
            return x;
        }
        let kinds: Vec<usize> = (0..ranges.len())
            .map(|a| if whole(a) { x.kinds[a] } else { self.kind((ranges[a].1 - ranges[a].0) as usize) })
            .collect();
        let place = |a: usize| {
            let index = match whole(a) {
                true => Index::Named(local(a), 0),
                false => Index::Slice(Some(local(a)), Box::new([Some(ranges[a].0), Some(ranges[a].1), None])),
            };
            Place { index, dotted: false, span: Default::default() }
        };
        let places = (0..ranges.len()).map(place).chain(x.time_place()).collect();
        let r = Ref { name: name.clone(), places, relation: false, span: Default::default() };
        self.equation(kinds, Vec::new(), Projection::Sum, Kind::Ref(r).bare())
    }

    /// Pads every axis with zeros: `by` counts those before, between and after its elements. Negative counts
    /// crop.
    fn padded(&mut self, x: &View, dtype: DType, extents: &[usize], by: &[(i64, usize, i64)]) -> View {
        let (mut x, mut extents) = (self.solid(x), extents.to_vec());
        for (axis, (_, between, _)) in by.iter().enumerate().filter(|(_, b)| b.1 > 0) {
            let n = extents[axis];
            if n == 0 {
                break;
            }
            let wide = (n - 1) * (between + 1) + 1;
            let mut kinds = x.kinds.clone();
            kinds[axis] = self.kind(wide);
            let zeros = self.number(0.0, dtype, kinds);
            let ids = self.places(0, &[(*between as i64 + 1, n)]);
            self.join(ids.kinds[0], x.kinds[axis]);
            x = self.scattered([&zeros, &ids, &x], axis, None);
            extents[axis] = wide;
        }
        let range = |a: usize| (-by[a].0.min(0), extents[a] as i64 + by[a].2.min(0));
        let ranges: Vec<(i64, i64)> = (0..by.len()).map(range).collect();
        // If cropping leaves no elements, all elements of the result are padding.
        if ranges.iter().any(|(from, to)| to <= from) {
            let wide =
                |a: usize| (ranges[a].1 - ranges[a].0 + by[a].0.max(0) + by[a].2.max(0)).max(0) as usize;
            let kinds = (0..by.len()).map(|a| self.kind(wide(a))).collect();
            return self.number(0.0, dtype, kinds);
        }
        x = self.cropped(&x, &extents, &ranges);
        let zeros: Vec<(i64, i64)> = by.iter().map(|b| (b.0.max(0), b.2.max(0))).collect();
        let Some(first) = zeros.iter().position(|z| *z != (0, 0)) else { return x };
        let (mut left, mut more) = (x.kinds.clone(), Vec::new());
        let mut places: Vec<usize> = (0..left.len()).collect();
        for (a, (low, high)) in zeros.iter().enumerate().filter(|(_, z)| **z != (0, 0)) {
            let inner = (ranges[a].1 - ranges[a].0) as usize;
            left[a] = self.kind(inner + (low + high) as usize);
            places[a] = x.kinds.len() + more.len();
            more.push(x.kinds[a]);
        }
        let padding = zeros[first..].iter().rev().flat_map(|(low, high)| [*low as f64, *high as f64]);
        let value = call("pad", vec![operand(&x, &places)], vec![("padding", list(padding.collect()))]);
        self.equation(left, more, Projection::Sum, value)
    }
}

impl Raise<'_> {
    fn from(&self, operand: usize) -> Vec<usize> {
        self.graph.aval(self.node.ins[operand]).shape.to_vec()
    }

    pub(super) fn taken(&self, axis: usize, drafts: &mut Drafts) -> Option<View> {
        let [x, ids] = self.ins else { return None };
        Some(drafts.gathered(x, ids, axis))
    }

    pub(super) fn put(&self, axis: usize, how: Option<Combine>, drafts: &mut Drafts) -> Option<View> {
        let [x, ids, y] = self.ins else { return None };
        let known = !matches!(how, Some(Combine::LogSumExp));
        known.then(|| drafts.scattered([x, ids, y], axis, how))
    }

    pub(super) fn pads(&self, low: &[i64], interior: &[usize], drafts: &mut Drafts) -> Option<View> {
        let (from, to) = (self.from(0), self.extents(0));
        let by = |a: usize| {
            let wide = if from[a] == 0 { 0 } else { (from[a] - 1) * (interior[a] + 1) + 1 };
            (low[a], interior[a], to[a] as i64 - wide as i64 - low[a])
        };
        let by: Vec<(i64, usize, i64)> = (0..from.len()).map(by).collect();
        Some(drafts.padded(&self.ins[0], self.dtype(0), &from, &by))
    }

    /// Raises views in which several axes of the result read one axis of the operand, as windows do.
    pub(super) fn windows(&self, map: &IndexMap, drafts: &mut Drafts) -> Option<View> {
        let (from, to) = (self.from(0), self.extents(0));
        if to.contains(&0) {
            return None;
        }
        let mut x = drafts.solid(&self.ins[0]);
        // The axes of the result that read each axis of the operand. The loop starts at the last axis,
        // because `gathered` can add axes, which moves all later ones.
        let mut are: Vec<Vec<usize>> = Vec::new();
        for axis in (0..from.len()).rev() {
            let readers: Vec<(usize, i64)> = map
                .steps
                .iter()
                .enumerate()
                .filter_map(|(r, s)| s.filter(|(a, _)| *a == axis).map(|(_, step)| (r, step)))
                .collect();
            let whole = matches!(readers[..], [(r, 1)] if map.offset[axis] == 0 && to[r] == from[axis]);
            if !whole {
                let steps: Vec<(i64, usize)> = readers.iter().map(|(r, step)| (*step, to[*r])).collect();
                let ids = drafts.places(map.offset[axis], &steps);
                x = drafts.gathered(&x, &ids, axis);
            }
            are.push(readers.into_iter().map(|(r, _)| r).collect());
        }
        let are: Vec<usize> = are.into_iter().rev().flatten().collect();
        let Base::Tensor(name, _) = &x.base else { return None };
        let kind = |r: usize, drafts: &mut Drafts| match are.iter().position(|a| *a == r) {
            Some(at) => x.kinds[at],
            None => drafts.kind(to[r]),
        };
        let kinds = (0..to.len()).map(|r| kind(r, drafts)).collect();
        let base = Base::Tensor(name.clone(), are.iter().map(|r| Source::Axis(*r)).collect());
        Some(View { base, kinds, when: x.when.clone() })
    }

    /// Raises the sum of overlapping windows: adds each window at the positions that it covers, one axis at a
    /// time.
    pub(super) fn folded(&self, window: &Window, drafts: &mut Drafts) -> Option<View> {
        let (from, to, n) = (self.from(0), self.extents(0), window.size.len());
        let plain = |all: &[i64]| all.iter().all(|p| *p == 0);
        if !plain(&window.low) || !plain(&window.high) || window.base_dilation.iter().any(|d| *d != 1) {
            return None;
        }
        let lead = from.len().checked_sub(2 * n)?;
        let mut y = drafts.solid(&self.ins[0]);
        for i in (0..n).rev() {
            // The axes of `y` are now: lead, P_0 … P_i (number of the window), K_0 … K_i (position in the
            // window), then the finished axes.
            let (p, k) = (lead + i, lead + 2 * i + 1);
            let steps = [
                (window.stride[i] as i64, from[lead + i]),
                (window.window_dilation[i] as i64, from[lead + n + i]),
            ];
            let ids = drafts.places(0, &steps);
            // The result has the new axis last.
            let stay: Vec<usize> = (0..y.kinds.len()).filter(|a| *a != p && *a != k).collect();
            let mut kinds: Vec<usize> = stay.iter().map(|a| y.kinds[*a]).collect();
            kinds.push(drafts.kind(to[lead + i]));
            let zeros = drafts.number(0.0, self.dtype(0), kinds);
            drafts.join(ids.kinds[0], y.kinds[p]);
            drafts.join(ids.kinds[1], y.kinds[k]);
            let order: Vec<usize> = stay.iter().copied().chain([p, k]).collect();
            let moved = permuted(&y, &order);
            y = drafts.scattered([&zeros, &ids, &moved], stay.len(), Some(Combine::Sum));
        }
        // The finished axes are in reverse order.
        let order: Vec<usize> = (0..lead).chain((lead..lead + n).rev()).collect();
        Some(permuted(&y, &order))
    }

    pub(super) fn convolution(&self, window: &Window, drafts: &mut Drafts) -> Option<View> {
        let [x, w] = self.ins else { return None };
        let n = window.stride.len();
        let (xs, ws, out) = (self.from(0), self.from(1), self.extents(0));
        let by = |i: usize| (window.low[i], window.base_dilation[i] - 1, window.high[i]);
        let by: Vec<(i64, usize, i64)> = vec![(0, 0, 0); 3].into_iter().chain((0..n).map(by)).collect();
        let x = drafts.padded(x, self.dtype(0), &xs, &by);
        let Some(function) = n.checked_sub(1).and_then(|n| ["conv1d", "conv2d", "conv3d"].get(n)) else {
            return self.products(window, x, [&ws, &out], drafts);
        };
        let padded: Vec<usize> = x.kinds[3..].iter().map(|k| drafts.extent(*k)).collect();
        let groups = xs[1];
        let flat = |drafts: &mut Drafts, s: &View, axis: usize, e: &[usize], spatial: &[usize]| match groups {
            1 => drop_axis(s, axis),
            _ if axis == 1 => drafts.reshape(s, &[&[e[0], e[1] * e[2]], spatial].concat()),
            _ => drafts.reshape(s, &[&[e[0] * e[1], e[2]], spatial].concat()),
        };
        let x = flat(drafts, &x, 1, &xs, &padded);
        // Convolutions match axes by position.
        let w = drafts.solid(w);
        let w = flat(drafts, &w, 0, &ws, &ws[3..]);
        let spatial: Vec<usize> = out[3..].iter().map(|e| drafts.kind(*e)).collect();
        let left: Vec<usize> = [x.kinds[0], w.kinds[0]].into_iter().chain(spatial).collect();
        let rank = left.len();
        // The indices after those of the result: channels and positions of `x`, then positions in the window.
        let mut more = vec![x.kinds[1]];
        more.extend(&x.kinds[2..]);
        let inputs: Vec<usize> = [0, rank].into_iter().chain(rank + 1..rank + 1 + n).collect();
        let channels = match groups {
            1 => {
                drafts.join(x.kinds[1], w.kinds[1]);
                rank
            }
            _ => {
                more.push(w.kinds[1]);
                rank + 1 + n
            }
        };
        let first = rank + more.len();
        more.extend(&w.kinds[2..]);
        let windows: Vec<usize> = [1, channels].into_iter().chain(first..first + n).collect();
        let mut named = Vec::new();
        for (key, all) in [("stride", &window.stride), ("dilation", &window.window_dilation)] {
            if all.iter().any(|s| *s != 1) {
                named.push((key, wholes(all)));
            }
        }
        if groups != 1 {
            named.push(("groups", number(groups as f64)));
        }
        let value = call(function, vec![operand(&x, &inputs), operand(&w, &windows)], named);
        let y = drafts.equation(left, more, Projection::Sum, value);
        Some(match groups {
            1 => insert_axis(&y, 1, drafts),
            _ => drafts.reshape(&y, &out),
        })
    }

    /// Writes a convolution with 0 or more than 3 spatial axes as a contraction of gathered windows.
    fn products(
        &self,
        window: &Window,
        x: View,
        [ws, out]: [&[usize]; 2],
        drafts: &mut Drafts,
    ) -> Option<View> {
        let n = window.stride.len();
        let mut x = drafts.solid(&x);
        for i in (0..n).rev() {
            let steps =
                [(window.stride[i] as i64, out[3 + i]), (window.window_dilation[i] as i64, ws[3 + i])];
            let ids = drafts.places(0, &steps);
            x = drafts.gathered(&x, &ids, 3 + i);
        }
        let (at, of) = (('A'..='Z').take(n).collect::<Vec<_>>(), ('k'..='z').take(n).collect::<Vec<_>>());
        let both: String = at.iter().zip(&of).flat_map(|(a, k)| [*a, *k]).collect();
        let [at, of] = [at, of].map(|all| all.into_iter().collect::<String>());
        let (from, by, to) = (format!("bgc{both}"), format!("goc{of}"), format!("bgo{at}"));
        let ins = [x, self.ins[1].clone()];
        Some(Raise { ins: &ins, ..*self }.contraction([&from, &by], &to, drafts))
    }

    pub(super) fn ordered(&self, axis: usize, descending: bool, drafts: &mut Drafts) -> Vec<View> {
        let x = drafts.solid(&self.ins[0]);
        let places: Vec<usize> = (0..x.kinds.len()).collect();
        let one = |function: &str, drafts: &mut Drafts| {
            let mut named = vec![axis_called(axis)];
            if descending {
                named.push(("descending", number(1.0)));
            }
            let value = call(function, vec![operand(&x, &places)], named);
            drafts.equation(x.kinds.clone(), Vec::new(), Projection::Sum, value)
        };
        vec![one("sort", drafts), one("argsort", drafts)]
    }

    /// Raises a partial sort: the first `k` elements along an axis, and their positions.
    pub(super) fn first_ordered(
        &self,
        axis: usize,
        largest: bool,
        k: usize,
        drafts: &mut Drafts,
    ) -> Vec<View> {
        let x = drafts.solid(&self.ins[0]);
        let mut left = x.kinds.clone();
        left[axis] = drafts.kind(k);
        let mut places: Vec<usize> = (0..left.len()).collect();
        places[axis] = left.len();
        let one = |part: &str, drafts: &mut Drafts| {
            let mut named = vec![axis_called(left.len()), ("k", number(k as f64))];
            if part == "indices" {
                named.push(("part", Kind::Text(part.into()).bare()));
            }
            if !largest {
                named.push(("largest", number(0.0)));
            }
            let value = call("topk", vec![operand(&x, &places)], named);
            drafts.equation(left.clone(), vec![x.kinds[axis]], Projection::Sum, value)
        };
        vec![one("values", drafts), one("indices", drafts)]
    }

    /// Raises random bits: the words, and the next state.
    pub(super) fn bits(&self, drafts: &mut Drafts) -> Vec<View> {
        let state = drafts.solid(&self.ins[0]);
        let shape = list(self.extents(0).iter().map(|n| *n as f64).collect());
        let one = |(k, part): (usize, &str)| {
            let left: Vec<usize> = self.extents(k).iter().map(|n| drafts.kind(*n)).collect();
            let named = vec![("shape", shape.clone()), ("part", Kind::Text(part.into()).bare())];
            let value = call("random_bits", vec![operand(&state, &[left.len()])], named);
            drafts.equation(left, state.kinds.clone(), Projection::Sum, value)
        };
        ["bits", "state"].into_iter().enumerate().map(one).collect()
    }

    pub(super) fn extreme(&self, largest: bool, axis: usize, drafts: &mut Drafts) -> View {
        let x = drafts.solid(&self.ins[0]);
        let (left, more, places) = self.split(&x, &[axis]);
        let function = if largest { "argmax" } else { "argmin" };
        let value = call(function, vec![operand(&x, &places)], vec![axis_called(left.len())]);
        drafts.equation(left, more, Projection::Sum, value)
    }
}

/// Permutes the axes of a plain tensor.
fn permuted(x: &View, order: &[usize]) -> View {
    let kinds = order.iter().map(|a| x.kinds[*a]).collect();
    x.with_axes(kinds, |a| Source::Axis(order.iter().position(|o| *o == a).unwrap_or(a)))
}
