//! Computes the positions of boxes and the paths of wires, for one level of a drawing.
//!
//! `dagre` chooses the row of each box, the order in each row, and the columns. This module chooses the
//! heights, so that wires do not cross boxes. Within a row of boxes, a wire goes straight down in its own
//! column; it goes sideways only between rows.

use dagre::graph::{Graph, GraphOptions};
use dagre::layout::types::LabelPos;
use dagre::{EdgeLabel, LayoutOptions, NodeLabel};
use std::collections::BTreeMap;

/// Largest number of boxes on one level for `dagre`, and of rows that its wires pass in total. Larger levels
/// are placed in simple rows, because `dagre` would take minutes, and drawings of this size are unreadable
/// anyway.
const MAX: usize = 1200;
const MAX_PASSES: usize = 60_000;
/// Horizontal distance between boxes of a row.
const BOX_GAP: f64 = 26.0;
/// Horizontal distance between wires, and between a wire and a box.
const WIRE_GAP: f64 = 14.0;
/// Smallest and largest distance between rows; wires that go far sideways need more.
const GAP: (f64, f64) = (34.0, 130.0);

/// Length of the straight part at both ends of a wire, which gives its arrow a direction.
const STUB: f64 = 8.0;

/// A wire from the lower side of a box to the upper side of another. Its ends are relative to the boxes.
pub(crate) struct Wire {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) start: (f64, f64),
    pub(crate) end: (f64, f64),
}

/// A level of boxes and wires, starting at (0, 0).
pub(crate) struct Placement {
    /// The upper left corner of every box.
    pub(crate) corners: Vec<(f64, f64)>,
    /// The path of every wire. From a point with an even index it goes straight down to the next point, from
    /// one with an odd index it goes sideways.
    pub(crate) wire_points: Vec<Vec<(f64, f64)>>,
    pub(crate) size: (f64, f64),
}

/// Row and column of each box, and the columns in which a wire passes the rows between its ends.
struct Columns {
    rows: Vec<usize>,
    centres: Vec<f64>,
    passes: Vec<Vec<(usize, f64)>>,
}

/// Places boxes of these sizes; wires go from earlier boxes to later ones.
pub(crate) fn place(sizes: &[(f64, f64)], wires: &[Wire]) -> Placement {
    let rows = plain_rows(sizes.len(), wires);
    let passes: usize = wires.iter().map(|wire| rows[wire.to] - rows[wire.from]).sum();
    let columns = match sizes.len() > MAX || passes > MAX_PASSES {
        true => simple_columns(rows, sizes, wires),
        false => layered_columns(sizes, wires),
    };
    let count = columns.rows.iter().max().map_or(0, |row| row + 1);
    let mut heights = vec![0.0_f64; count];
    for (row, size) in columns.rows.iter().zip(sizes) {
        heights[*row] = heights[*row].max(size.1);
    }
    let left = |i: usize| columns.centres[i] - sizes[i].0 / 2.0;
    // The column of each wire in each row from its start to its end.
    let stops = |(k, wire): (usize, &Wire)| {
        let mut stops = vec![(columns.rows[wire.from], left(wire.from) + wire.start.0)];
        stops.extend(&columns.passes[k]);
        stops.push((columns.rows[wire.to], left(wire.to) + wire.end.0));
        stops
    };
    let stops: Vec<Vec<(usize, f64)>> = wires.iter().enumerate().map(stops).collect();
    let mut gaps = vec![GAP.0; count];
    for pair in stops.iter().flat_map(|s| s.windows(2)) {
        let aside = (pair[1].1 - pair[0].1).abs();
        gaps[pair[0].0] = gaps[pair[0].0].max(GAP.0 + 0.12 * aside).min(GAP.1);
    }
    let mut tops = vec![0.0; count];
    for row in 1..count {
        tops[row] = tops[row - 1] + heights[row - 1] + gaps[row - 1];
    }
    let bottom = |row: usize| tops[row] + heights[row];
    let corner = |i: usize| {
        let row = columns.rows[i];
        (left(i), tops[row] + (heights[row] - sizes[i].1) / 2.0)
    };
    let mut corners: Vec<(f64, f64)> = (0..sizes.len()).map(corner).collect();
    let points = |(wire, stops): (&Wire, &Vec<(usize, f64)>)| {
        let last = stops.len() - 1;
        let at = |(k, &(row, x)): (usize, &(usize, f64))| match k {
            0 => [(x, corners[wire.from].1 + wire.start.1), (x, bottom(row) + STUB)],
            _ if k == last => [(x, tops[row] - STUB), (x, corners[wire.to].1 + wire.end.1)],
            _ => [(x, tops[row]), (x, bottom(row))],
        };
        stops.iter().enumerate().flat_map(at).collect()
    };
    let mut wire_points: Vec<Vec<(f64, f64)>> = wires.iter().zip(&stops).map(points).collect();
    // Shifts the columns so that the leftmost item is at 0.
    let right = (0..sizes.len()).map(|i| corners[i].0 + sizes[i].0);
    let xs: Vec<f64> =
        wire_points.iter().flatten().map(|p| p.0).chain(corners.iter().map(|c| c.0)).chain(right).collect();
    let (low, high) = xs.iter().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
    for point in corners.iter_mut().chain(wire_points.iter_mut().flatten()) {
        point.0 -= low;
    }
    let height = count.checked_sub(1).map_or(0.0, bottom);
    Placement { corners, wire_points, size: ((high - low).max(0.0), height) }
}

/// Computes rows and columns with few crossings.
fn layered_columns(sizes: &[(f64, f64)], wires: &[Wire]) -> Columns {
    let mut g: Graph<NodeLabel, EdgeLabel> =
        Graph::with_options(GraphOptions { directed: true, multigraph: true, compound: false });
    for (i, &(width, height)) in sizes.iter().enumerate() {
        g.set_node(i.to_string(), Some(NodeLabel { width, height, ..NodeLabel::default() }));
    }
    for (k, wire) in wires.iter().enumerate() {
        let label = EdgeLabel { labelpos: LabelPos::Center, ..EdgeLabel::default() };
        let (from, to, name) = (wire.from.to_string(), wire.to.to_string(), k.to_string());
        g.set_edge(from, to, Some(label), Some(name.as_str()));
    }
    let options =
        LayoutOptions { nodesep: BOX_GAP, edgesep: WIRE_GAP, ranksep: 50.0, ..LayoutOptions::default() };
    dagre::layout(&mut g, Some(options));
    let at =
        |i: usize| g.node(&i.to_string()).map_or((0.0, 0.0), |n| (n.x.unwrap_or(0.0), n.y.unwrap_or(0.0)));
    let centres: Vec<(f64, f64)> = (0..sizes.len()).map(at).collect();
    let mut heights: Vec<f64> = centres.iter().map(|c| c.1).collect();
    heights.sort_by(f64::total_cmp);
    heights.dedup_by(|a, b| (*a - *b).abs() < 0.5);
    let row = |y: f64| heights.iter().position(|h| (h - y).abs() < 0.5);
    let rows: Vec<usize> = centres.iter().map(|c| row(c.1).unwrap_or(0)).collect();
    let passes = |(k, wire): (usize, &Wire)| -> Vec<(usize, f64)> {
        let between = rows[wire.from] + 1..rows[wire.to];
        let name = k.to_string();
        let label = g.edge(&wire.from.to_string(), &wire.to.to_string(), Some(name.as_str()));
        let points = label.map_or(&[][..], |l| &l.points);
        let pass = |p: &dagre::Point| row(p.y).filter(|r| between.contains(r)).map(|r| (r, p.x));
        points.iter().filter_map(pass).collect()
    };
    let mut passes: Vec<Vec<(usize, f64)>> = wires.iter().enumerate().map(passes).collect();
    let mut columns: Vec<f64> = centres.iter().map(|c| c.0).collect();
    // `dagre` may return the mirror image of a drawing. Chooses the image in which more operands are in
    // order.
    if order_score(wires, &columns, &passes) < 0 {
        columns.iter_mut().chain(passes.iter_mut().flatten().map(|p| &mut p.1)).for_each(|x| *x = -*x);
    }
    untwist(wires, &mut passes);
    Columns { rows, centres: columns, passes }
}

/// Returns the number of pairs of neighbouring operands that arrive in order, minus the number of those that
/// do not.
fn order_score(wires: &[Wire], columns: &[f64], passes: &[Vec<(usize, f64)>]) -> i64 {
    let arrival = |k: usize| passes[k].last().map_or(columns[wires[k].from], |p| p.1);
    let mut into: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (k, wire) in wires.iter().enumerate() {
        into.entry(wire.to).or_default().push(k);
    }
    let mut total = 0;
    for group in into.values() {
        for pair in group.windows(2).filter(|pair| wires[pair[0]].end.0 < wires[pair[1]].end.0) {
            let aside = arrival(pair[1]) - arrival(pair[0]);
            total += i64::from(aside > 0.5) - i64::from(aside < -0.5);
        }
    }
    total
}

/// Reorders wires between the same two boxes so that they have the order of their ends along the complete
/// path.
fn untwist(wires: &[Wire], passes: &mut [Vec<(usize, f64)>]) {
    let mut parallel: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (k, wire) in wires.iter().enumerate() {
        parallel.entry((wire.from, wire.to)).or_default().push(k);
    }
    for mut group in parallel.into_values().filter(|group| group.len() > 1) {
        group.sort_by(|a, b| wires[*a].end.0.total_cmp(&wires[*b].end.0));
        let mut stops: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (row, x) in group.iter().flat_map(|k| &passes[*k]) {
            stops.entry(*row).or_default().push(*x);
        }
        stops.values_mut().for_each(|xs| xs.sort_by(|a, b| b.total_cmp(a)));
        for k in group {
            for (row, x) in &mut passes[k] {
                *x = stops.get_mut(row).and_then(Vec::pop).unwrap_or(*x);
            }
        }
    }
}

/// Assigns rows by the longest path from a source.
fn plain_rows(boxes: usize, wires: &[Wire]) -> Vec<usize> {
    let mut rows = vec![0; boxes];
    let mut by_source: Vec<&Wire> = wires.iter().collect();
    by_source.sort_by_key(|wire| wire.from);
    for wire in by_source {
        rows[wire.to] = rows[wire.to].max(rows[wire.from] + 1);
    }
    rows
}

/// Places the boxes of each row next to each other, in their order. Wires get no columns between their ends.
fn simple_columns(rows: Vec<usize>, sizes: &[(f64, f64)], wires: &[Wire]) -> Columns {
    let mut ends: BTreeMap<usize, f64> = BTreeMap::new();
    let mut next = |(row, size): (&usize, &(f64, f64))| {
        let end = ends.entry(*row).or_insert(0.0);
        let centre = *end + size.0 / 2.0;
        *end += size.0 + BOX_GAP;
        centre
    };
    let centres = rows.iter().zip(sizes).map(&mut next).collect();
    Columns { rows, centres, passes: vec![Vec::new(); wires.len()] }
}
