//! Writes attention as kernels that compute tiles of scores in shared memory. A group has a tile of rows (queries, or keys
//! for the gradients of keys and values), and loops over tiles of columns (keys, or queries). A thread computes 4×4 scores,
//! and for its four rows a part of the features of the result.

use super::super::Call;
use super::frame::Frame;
use super::{Attention, LOWEST};
use crate::build::Launch;
use crate::dialect::Unit;
use crate::int::Int;
use crate::limits::{Barriers, Limits};
use crate::memory::{load_four, store_four};
use crate::product::{Along, Operand};
use crate::tile::{DEPTH, Tile};

/// Rows and columns of a tile of scores.
const ROWS: u32 = 64;
const COLUMNS: u32 = 32;
/// Threads along a row of a tile, and threads of a group.
const WIDE: u32 = COLUMNS / 4;
const THREADS: u32 = ROWS / 4 * WIDE;
/// Numbers of vectors of the tiles `ta` and `tb`.
const FIRST: u32 = ROWS / 4 * DEPTH;
const SECOND: u32 = COLUMNS / 4 * DEPTH;
/// Smallest number of queries and of keys. With fewer, most of a tile would be empty.
const FEWEST: usize = 32;

/// Returns true if kernels with tiles fit the adapter and the sizes.
pub(super) fn fits(a: &Attention, limits: &Limits) -> bool {
    let shared = 16 * (FIRST + SECOND + COLUMNS * ROWS / 4);
    limits.barriers == Barriers::Cheap
        && limits.shared >= shared
        && limits.group >= THREADS
        && a.unit() == Unit::Four
        && a.queries.min(a.keys) >= FEWEST
}

/// A matrix of a head: the operand, its first element, and its number of rows and of features.
struct Matrix<'m> {
    operand: usize,
    base: Int,
    rows: &'m Int,
    width: usize,
}

/// The values of a thread: for each of its four rows, a list of columns or of features.
type Block = Vec<Vec<String>>;

/// A kernel under construction.
struct Tiles<'a> {
    frame: Frame<'a>,
    /// Number of groups, and the condition that this group has a tile of its own.
    groups: usize,
    exists: Option<String>,
    /// The head, the first row of the tile in its head, and the position of the thread in the tile.
    head: Int,
    row0: Int,
    tx: String,
    ty: String,
    /// The four rows of the thread in its head, the number of rows of a head, and true if tiles divide it.
    rows: Vec<Int>,
    extent: Int,
    full: bool,
}

impl<'a> Tiles<'a> {
    /// Starts a kernel that reads the first buffers and writes the last `outs`, with `rows` rows in each of `heads` heads.
    fn new(
        call: &'a Call<'_>,
        a: &'a Attention,
        buffers: Vec<usize>,
        outs: usize,
        [heads, rows]: [usize; 2],
    ) -> Tiles<'a> {
        let mut frame = Frame::new(call, a, buffers, outs);
        let b = &mut frame.b;
        b.group_of(THREADS);
        b.shared_array("ta", "vec4<f32>", FIRST);
        b.shared_array("tb", "vec4<f32>", SECOND);
        b.shared_array("weights", "vec4<f32>", COLUMNS * ROWS / 4);
        let tiles = rows.div_ceil(ROWS as usize);
        let groups = heads * tiles;
        let (number, exists) = b.group_number(groups, call.limits);
        let tiles = b.size(tiles as i64);
        let head = b.int(number.over(&tiles));
        let row0 = b.int(number.modulo(&tiles).times(&Int::Literal(ROWS)));
        let (tx, ty) = (b.value(format!("local % {WIDE}u")), b.value(format!("local / {WIDE}u")));
        let row = |i| Int::Text(b.value(format!("{} + {ty} * 4u + {i}u", row0.text())));
        let rows_of_thread = (0..4).map(row).collect();
        let (extent, full) = (b.size(rows as i64), rows.is_multiple_of(ROWS as usize));
        Tiles { frame, groups, exists, head, row0, tx, ty, rows: rows_of_thread, extent, full }
    }

    fn finish(self, limits: &Limits) -> Result<Launch, String> {
        self.frame.b.finish(self.groups, limits.groups, limits.bindings)
    }

    /// Returns a matrix of a head.
    fn matrix<'m>(&mut self, operand: usize, head: &Int, rows: &'m Int, width: usize) -> Matrix<'m> {
        let base = self.frame.at(operand, &head.times(rows), width);
        Matrix { operand, base, rows, width }
    }

    /// Returns the dot products of the rows of the tile and the columns from `column0` on.
    fn product(&mut self, rows: &Matrix<'_>, columns: &Matrix<'_>, column0: &Int) -> Block {
        let full = self.full;
        let b = &mut self.frame.b;
        let sums: Block = (0..4).map(|_| (0..4).map(|_| b.variable("0.0f")).collect()).collect();
        let width = Int::Literal(rows.width as u32);
        let operand = |m: &Matrix<'_>| Operand {
            buffer: self.frame.buffers[m.operand],
            start: m.base.clone(),
            lane: width.clone(),
            depth: Int::Literal(1),
            along: Along::Depth,
        };
        let (first, second) = (operand(rows), operand(columns));
        let tile = |name, operand, first, extent, full, side| Tile {
            name,
            operand,
            first,
            extent,
            full,
            side,
            depth: DEPTH,
            threads: THREADS,
            even: rows.width.is_multiple_of(DEPTH as usize),
        };
        let ta = tile("ta", &first, &self.row0, rows.rows, full, ROWS);
        let tb = tile("tb", &second, column0, columns.rows, false, COLUMNS);
        let k0 = b.name();
        b.line(format!("for (var {k0} = 0u; {k0} < {}; {k0} = {k0} + {DEPTH}u) {{", width.text()));
        let k0 = Int::Text(k0);
        ta.fill(b, &k0, &width);
        tb.fill(b, &k0, &width);
        b.line("workgroupBarrier();");
        let k = b.name();
        b.line(format!("for (var {k} = 0u; {k} < {DEPTH}u; {k} = {k} + 1u) {{"));
        let (x, y) = (b.value(ta.four(&k, &self.ty)), b.value(tb.four(&k, &self.tx)));
        for (row, x) in sums.iter().zip(parts(&x)) {
            for (sum, y) in row.iter().zip(parts(&y)) {
                b.line(format!("{sum} = fma({x}, {y}, {sum});"));
            }
        }
        b.line("}\nworkgroupBarrier();\n}");
        sums
    }

    /// Declares the sums of the features of this thread, for each of its rows.
    fn zeros(&mut self, width: usize) -> Block {
        let features = 4 * width.div_ceil(4 * WIDE as usize);
        let b = &mut self.frame.b;
        (0..4).map(|_| (0..features).map(|_| b.variable("0.0f")).collect()).collect()
    }

    /// Adds the rows of a matrix from `column0` on, weighted by the weights of the columns, to the sums of each row.
    fn accumulate(&mut self, weights: &Block, matrix: &Matrix<'_>, column0: &Int, sums: &Block) {
        let (tx, ty) = (self.tx.clone(), self.ty.clone());
        let b = &mut self.frame.b;
        // The vectors of a column are stored in an order in which neighbouring threads write to different banks.
        let across = ROWS / 4;
        for c in 0..4 {
            let four: Vec<&str> = weights.iter().map(|row| row[c].as_str()).collect();
            let place = format!("({tx} * 4u + {c}u) * {across}u + ({ty} ^ {tx})");
            b.line(format!("weights[{place}] = vec4<f32>({});", four.join(", ")));
        }
        let quads = matrix.width as u32 / 4;
        let most = (FIRST / quads).min(COLUMNS);
        let depth = 1 << most.ilog2();
        let operand = Operand {
            buffer: self.frame.buffers[matrix.operand],
            start: matrix.base.clone(),
            lane: Int::Literal(1),
            depth: Int::Literal(matrix.width as u32),
            along: Along::Lanes,
        };
        let (first, extent) = (Int::Literal(0), Int::Literal(matrix.width as u32));
        let tile = Tile {
            name: "ta",
            operand: &operand,
            first: &first,
            extent: &extent,
            full: true,
            side: 4 * quads,
            depth,
            threads: THREADS,
            even: false,
        };
        let c0 = b.name();
        b.line(format!("for (var {c0} = 0u; {c0} < {COLUMNS}u; {c0} = {c0} + {depth}u) {{"));
        let from = b.int(column0.plus(&Int::Text(c0.clone())));
        tile.fill(b, &from, matrix.rows);
        b.line("workgroupBarrier();");
        let k = b.name();
        b.line(format!("for (var {k} = 0u; {k} < {depth}u; {k} = {k} + 1u) {{"));
        let column = b.value(format!("{c0} + {k}"));
        let weight = b.value(format!("weights[{column} * {across}u + ({ty} ^ ({column} / 4u))]"));
        for block in 0..sums[0].len() / 4 {
            let quad = feature(&tx, block, quads);
            let value = b.value(tile.four(&k, &quad));
            for (row, w) in sums.iter().zip(parts(&weight)) {
                for (sum, v) in row[4 * block..].iter().zip(parts(&value)) {
                    b.line(format!("{sum} = fma({w}, {v}, {sum});"));
                }
            }
        }
        b.line("}\nworkgroupBarrier();\n}");
    }

    /// Combines, for each row of this thread, the values of all threads that share the row, in the order of the
    /// threads.
    fn combine(&mut self, values: &[String], two: impl Fn(&str, &str) -> String) -> Vec<String> {
        let (tx, ty) = (&self.tx, &self.ty);
        let b = &mut self.frame.b;
        let place = |x: &str| format!("tb[{ty} * {WIDE}u + ({x} ^ ({ty} & {}u))]", WIDE - 1);
        b.line(format!("{} = vec4<f32>({});\nworkgroupBarrier();", place(tx), values.join(", ")));
        let mut all: Vec<String> = Vec::new();
        for x in 0..WIDE {
            let own = b.value(place(&format!("{x}u")));
            all = match all.is_empty() {
                true => parts(&own).to_vec(),
                false => all.iter().zip(parts(&own)).map(|(a, x)| b.value(two(a, &x))).collect(),
            };
        }
        b.line("workgroupBarrier();");
        all
    }

    /// Returns, for each row of the thread, the range of columns that it sees.
    fn ranges(&mut self, range: impl Fn(&mut Frame<'a>, &Int) -> (String, String)) -> Vec<(String, String)> {
        let rows = self.rows.clone();
        rows.iter().map(|row| range(&mut self.frame, row)).collect()
    }

    /// Starts a loop over tiles of the columns that any row of the tile sees. Returns the first column of the column
    /// tile.
    fn columns(&mut self, range: impl Fn(&mut Frame<'a>, &Int) -> (String, String)) -> Int {
        let b = &mut self.frame.b;
        let last = format!("min({} + {}u, {} - 1u)", self.row0.text(), ROWS - 1, self.extent.text());
        let last = Int::Text(b.value(last));
        let (first, _) = range(&mut self.frame, &self.row0);
        let (_, end) = range(&mut self.frame, &last);
        let b = &mut self.frame.b;
        let j = b.name();
        b.line(format!("for (var {j} = {first}; {j} < {end}; {j} = {j} + {COLUMNS}u) {{"));
        Int::Text(j)
    }

    /// Returns, for each row and column of the thread, the condition that the row sees the column.
    fn seen(&mut self, column0: &Int, ranges: &[(String, String)]) -> Block {
        let b = &mut self.frame.b;
        let column = |c| b.value(format!("{} + {} * 4u + {c}u", column0.text(), self.tx));
        let columns: Vec<String> = (0..4).map(column).collect();
        let one = |(first, end): &(String, String)| {
            columns.iter().map(|c| b.value(format!("{c} >= {first} && {c} < {end}"))).collect()
        };
        ranges.iter().map(one).collect()
    }

    /// Loops over the keys with a running maximum. Returns, for each row, the maximum, the sum of exponentials, and the sums of
    /// values weighted by their exponentials. Operands 0, 1 and 2 are queries, keys and values.
    fn walk(&mut self) -> (Vec<String>, Vec<String>, Block) {
        let a = self.frame.a;
        let (queries, keys) = (self.frame.queries.clone(), self.frame.keys.clone());
        let head = self.head.clone();
        let shared = self.frame.b.int(head.over(&Int::Literal(a.group as u32)));
        let q = self.matrix(0, &head, &queries, a.width);
        let k = self.matrix(1, &shared, &keys, a.width);
        let v = self.matrix(2, &shared, &keys, a.values);
        let ranges = self.ranges(Frame::seen);
        let b = &mut self.frame.b;
        let tops: Vec<String> = (0..4).map(|_| b.variable(LOWEST)).collect();
        let totals: Vec<String> = (0..4).map(|_| b.variable("0.0f")).collect();
        let sums = self.zeros(a.values);
        let column0 = self.columns(Frame::seen);
        let products = self.product(&q, &k, &column0);
        let seen = self.seen(&column0, &ranges);
        let mut scores: Block = Vec::new();
        for (row, seen) in products.iter().zip(&seen) {
            let mut own = Vec::new();
            for (product, seen) in row.iter().zip(seen) {
                let (score, _) = self.frame.score(product);
                own.push(self.frame.b.value(format!("select({LOWEST}, {score}, {seen})")));
            }
            scores.push(own);
        }
        let larger = |a: &str, b: &str| format!("f_maximum({a}, {b})");
        let b = &mut self.frame.b;
        let best = |row: &Vec<String>| {
            let pairs = (larger(&row[0], &row[1]), larger(&row[2], &row[3]));
            b.value(larger(&pairs.0, &pairs.1))
        };
        let best: Vec<String> = scores.iter().map(best).collect();
        let best = self.combine(&best, larger);
        let b = &mut self.frame.b;
        let mut weights: Block = Vec::new();
        for r in 0..4 {
            let next = b.value(larger(&tops[r], &best[r]));
            let factor = b.value(format!("f_exp({} - {next})", tops[r]));
            b.line(format!("{} = {next};", tops[r]));
            let exponential =
                |(s, seen): (&String, &String)| b.value(format!("select(0.0f, f_exp({s} - {next}), {seen})"));
            let own: Vec<String> = scores[r].iter().zip(&seen[r]).map(exponential).collect();
            let total = format!("({} + {}) + ({} + {})", own[0], own[1], own[2], own[3]);
            b.line(format!("{0} = {0} * {factor} + ({total});", totals[r]));
            sums[r].iter().for_each(|x| b.line(format!("{x} = {x} * {factor};")));
            weights.push(own);
        }
        self.accumulate(&weights, &v, &column0, &sums);
        self.frame.b.line("}");
        let totals = self.combine(&totals, |a, b| format!("({a} + {b})"));
        (tops, totals, sums)
    }

    /// Writes lines for each row of the thread, under the condition that the row exists.
    fn each_row(&mut self, mut lines: impl FnMut(&mut Tiles<'a>, usize, &Int)) {
        let (ragged, exists) = (!self.full, self.exists.clone());
        for (r, row) in self.rows.clone().iter().enumerate() {
            let inside = ragged.then(|| format!("{} < {}", row.text(), self.extent.text()));
            let conditions: Vec<String> = inside.into_iter().chain(exists.clone()).collect();
            if !conditions.is_empty() {
                self.frame.b.line(format!("if ({}) {{", conditions.join(" && ")));
            }
            lines(self, r, row);
            if !conditions.is_empty() {
                self.frame.b.line("}");
            }
        }
    }

    /// Stores sums in the rows of a matrix.
    fn put(&mut self, matrix: &Matrix<'_>, sums: &Block) {
        let quads = matrix.width as u32 / 4;
        self.each_row(|own, r, row| {
            let (tx, buffer) = (own.tx.clone(), own.frame.buffers[matrix.operand]);
            let b = &mut own.frame.b;
            let start = b.int(matrix.base.plus(&row.times(&Int::Literal(matrix.width as u32))));
            for (block, four) in sums[r].chunks(4).enumerate() {
                let quad = b.value(format!("{tx} + {}u", WIDE * block as u32));
                let ragged = (block as u32 + 1) * WIDE > quads;
                if ragged {
                    b.line(format!("if ({quad} < {quads}u) {{"));
                }
                let at = b.int(start.plus(&Int::Text(format!("({quad} * 4u)"))));
                store_four(b, buffer, &at, four);
                if ragged {
                    b.line("}");
                }
            }
        });
    }

    /// Loads the statistics of a query: the logarithm of its sum of exponentials, and the dot product of its result with the
    /// cotangent. For a query after the last, loads those of the last.
    fn statistics(&mut self, operand: usize, head: &Int, query: &Int) -> [String; 2] {
        let queries = self.frame.queries.clone();
        let own = Int::Text(self.frame.b.value(format!("min({}, {} - 1u)", query.text(), queries.text())));
        let row = self.frame.b.int(head.times(&queries).plus(&own));
        let at = self.frame.at(operand, &row, 4);
        let buffer = self.frame.buffers[operand];
        let b = &mut self.frame.b;
        let [log, mean, ..] = load_four(b, buffer, &at);
        [b.value(log), b.value(mean)]
    }
}

/// Returns the four components of a vector.
fn parts(name: &str) -> [String; 4] {
    ["x", "y", "z", "w"].map(|part| format!("{name}.{part}"))
}

/// Returns the number of the four features that a thread computes as its block `block`. Threads without features compute the
/// last ones again, and do not store them.
fn feature(tx: &str, block: usize, quads: u32) -> String {
    let first = WIDE * block as u32;
    match first + WIDE > quads {
        true => format!("min({tx} + {first}u, {}u)", quads - 1),
        false => format!("{tx} + {first}u"),
    }
}

/// Returns the kernel of the forward pass.
pub(super) fn forward(call: &Call<'_>, a: &Attention) -> Result<Launch, String> {
    let routine = call.routine;
    let buffers = [&routine.ins[..3], &routine.outs[..1]].concat();
    let mut t = Tiles::new(call, a, buffers, 1, [a.heads, a.queries]);
    let (_, totals, sums) = t.walk();
    let mut values: Block = Vec::new();
    for (total, row) in totals.iter().zip(&sums) {
        let b = &mut t.frame.b;
        // If all scores are minus infinity, the sum is zero, and so is the result.
        let factor = b.value(format!("1.0f / select({total}, 1.0f, {total} == 0.0f)"));
        values.push(row.iter().map(|x| b.value(format!("{x} * {factor}"))).collect());
    }
    let (head, queries) = (t.head.clone(), t.frame.queries.clone());
    let out = t.matrix(3, &head, &queries, a.values);
    t.put(&out, &values);
    t.finish(call.limits)
}

/// Returns the kernel that writes the statistics of each query row: the logarithm of the sum of exponentials, and the dot
/// product of the result with its cotangent.
pub(super) fn row_statistics(call: &Call<'_>, a: &Attention, to: usize) -> Result<Launch, String> {
    let ins = &call.routine.ins;
    let buffers = vec![ins[0], ins[1], ins[2], ins[3], to];
    let mut t = Tiles::new(call, a, buffers, 1, [a.heads, a.queries]);
    let (tops, totals, sums) = t.walk();
    let (head, queries) = (t.head.clone(), t.frame.queries.clone());
    let g = t.matrix(3, &head, &queries, a.values);
    let (tx, buffer, quads) = (t.tx.clone(), t.frame.buffers[g.operand], a.values as u32 / 4);
    let mut products = Vec::new();
    for (r, row) in t.rows.clone().iter().enumerate() {
        let b = &mut t.frame.b;
        let row = Int::Text(b.value(format!("min({}, {} - 1u)", row.text(), queries.text())));
        let start = b.int(g.base.plus(&row.times(&Int::Literal(a.values as u32))));
        let product = b.variable("0.0f");
        for (block, four) in sums[r].chunks(4).enumerate() {
            let at = b.int(start.plus(&Int::Text(format!("(({}) * 4u)", feature(&tx, block, quads)))));
            let values = load_four(b, buffer, &at);
            let first = WIDE * block as u32;
            let exists = format!("{tx} + {first}u < {quads}u");
            for (sum, g) in four.iter().zip(values) {
                b.line(match first + WIDE > quads {
                    true => format!("{product} = select({product}, fma({sum}, {g}, {product}), {exists});"),
                    false => format!("{product} = fma({sum}, {g}, {product});"),
                });
            }
        }
        products.push(product);
    }
    let products = t.combine(&products, |a, b| format!("({a} + {b})"));
    let out = t.matrix(4, &head, &queries, 4);
    t.each_row(|own, r, row| {
        let buffer = own.frame.buffers[out.operand];
        let b = &mut own.frame.b;
        let total = b.value(format!("select({0}, 1.0f, {0} == 0.0f)", totals[r]));
        let log = b.value(format!("{} + f_log({total})", tops[r]));
        let mean = b.value(format!("{} / {total}", products[r]));
        let at = b.int(out.base.plus(&row.times(&Int::Literal(4))));
        b.line(format!("if ({} == 0u) {{", own.tx));
        store_four(b, buffer, &at, &[log, mean, "0.0f".into(), "0.0f".into()]);
        b.line("}");
    });
    t.finish(call.limits)
}

/// Returns the kernel that computes the gradient of queries.
pub(super) fn query_gradient(call: &Call<'_>, a: &Attention, statistics: usize) -> Result<Launch, String> {
    let (ins, out) = (&call.routine.ins, call.routine.outs[0]);
    let buffers = vec![ins[0], ins[1], ins[2], ins[3], statistics, out];
    let mut t = Tiles::new(call, a, buffers, 1, [a.heads, a.queries]);
    let (queries, keys, head) = (t.frame.queries.clone(), t.frame.keys.clone(), t.head.clone());
    let shared = t.frame.b.int(head.over(&Int::Literal(a.group as u32)));
    let (q, k) = (t.matrix(0, &head, &queries, a.width), t.matrix(1, &shared, &keys, a.width));
    let (v, g) = (t.matrix(2, &shared, &keys, a.values), t.matrix(3, &head, &queries, a.values));
    let ranges = t.ranges(Frame::seen);
    let known: Vec<[String; 2]> = t.rows.clone().iter().map(|row| t.statistics(4, &head, row)).collect();
    let sums = t.zeros(a.width);
    let column0 = t.columns(Frame::seen);
    let (products, dps) = (t.product(&q, &k, &column0), t.product(&g, &v, &column0));
    let seen = t.seen(&column0, &ranges);
    let mut gradients: Block = Vec::new();
    for r in 0..4 {
        let mut own = Vec::new();
        for c in 0..4 {
            let (_, gradient) = t.frame.score_gradient(&products[r][c], &known[r], &dps[r][c]);
            own.push(t.frame.b.value(format!("select(0.0f, {gradient}, {})", seen[r][c])));
        }
        gradients.push(own);
    }
    t.accumulate(&gradients, &k, &column0, &sums);
    t.frame.b.line("}");
    let to = t.matrix(5, &head, &queries, a.width);
    t.put(&to, &sums);
    t.finish(call.limits)
}

/// Returns the kernel that computes the gradients of keys and values. It sums over the queries of all heads that share the
/// key.
pub(super) fn key_gradients(call: &Call<'_>, a: &Attention, statistics: usize) -> Result<Launch, String> {
    let (ins, outs) = (&call.routine.ins, &call.routine.outs);
    let buffers = vec![ins[0], ins[1], ins[2], ins[3], statistics, outs[1], outs[2]];
    let mut t = Tiles::new(call, a, buffers, 2, [a.heads / a.group, a.keys]);
    let (queries, keys, shared) = (t.frame.queries.clone(), t.frame.keys.clone(), t.head.clone());
    let (k, v) = (t.matrix(1, &shared, &keys, a.width), t.matrix(2, &shared, &keys, a.values));
    let ranges = t.ranges(Frame::seeing);
    let (sums_k, sums_v) = (t.zeros(a.width), t.zeros(a.values));
    let h = t.frame.b.name();
    t.frame.b.line(format!("for (var {h} = 0u; {h} < {}u; {h} = {h} + 1u) {{", a.group));
    let head = shared.times(&Int::Literal(a.group as u32)).plus(&Int::Text(h));
    let head = t.frame.b.int(head);
    let (q, g) = (t.matrix(0, &head, &queries, a.width), t.matrix(3, &head, &queries, a.values));
    let column0 = t.columns(Frame::seeing);
    let (products, dps) = (t.product(&k, &q, &column0), t.product(&v, &g, &column0));
    let seen = t.seen(&column0, &ranges);
    let mut known: Vec<[String; 2]> = Vec::new();
    for c in 0..4 {
        let query = Int::Text(format!("({} + {} * 4u + {c}u)", column0.text(), t.tx));
        known.push(t.statistics(4, &head, &query));
    }
    let (mut weights, mut gradients): (Block, Block) = (Vec::new(), Vec::new());
    for r in 0..4 {
        let (mut own, mut slopes) = (Vec::new(), Vec::new());
        for c in 0..4 {
            let (weight, gradient) = t.frame.score_gradient(&products[r][c], &known[c], &dps[r][c]);
            own.push(t.frame.b.value(format!("select(0.0f, {weight}, {})", seen[r][c])));
            slopes.push(t.frame.b.value(format!("select(0.0f, {gradient}, {})", seen[r][c])));
        }
        weights.push(own);
        gradients.push(slopes);
    }
    t.accumulate(&weights, &g, &column0, &sums_v);
    t.accumulate(&gradients, &q, &column0, &sums_k);
    t.frame.b.line("}\n}");
    for (operand, sums, width) in [(5, &sums_k, a.width), (6, &sums_v, a.values)] {
        let to = t.matrix(operand, &shared, &keys, width);
        t.put(&to, sums);
    }
    t.finish(call.limits)
}
