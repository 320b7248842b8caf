//! Writes attention as kernels in which a few threads share a row: a query in the forward pass, and a query or a key in the
//! backward pass. Each thread loops over a part of the keys (or queries) with a running maximum, and a fixed tree in shared
//! memory combines the parts. If barriers are expensive, a row has one thread, and there are no barriers.

use super::super::Call;
use super::frame::Frame;
use super::{Attention, LOWEST};
use crate::build::{GROUP, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::limits::{Barriers, Limits};
use crate::memory::{load, load_four, store, store_four};

/// Number of threads that occupy a GPU, and largest number of threads that share a row.
const ENOUGH: usize = 1 << 16;
const MAX_LANES: usize = 16;
/// Number of keys or queries processed together.
const STEP: usize = 4;

/// A kernel under construction.
struct Kernel<'a> {
    frame: Frame<'a>,
    rows: usize,
    /// Number of threads that share a row, and the index of this thread among them.
    lanes: usize,
    lane: String,
    /// The condition under which this thread writes its row.
    writes: Option<String>,
}

impl<'a> Kernel<'a> {
    /// Starts a kernel that reads the first buffers and writes the last `outs`, with one or several threads for each row.
    /// Also returns the row of this thread.
    fn new(
        call: &'a Call<'_>,
        a: &'a Attention,
        buffers: Vec<usize>,
        rows: usize,
        outs: usize,
    ) -> (Self, Int) {
        let mut frame = Frame::new(call, a, buffers, outs);
        let b = &mut frame.b;
        let lanes = match call.limits.barriers {
            Barriers::Expensive => 1,
            Barriers::Cheap => (ENOUGH / rows).next_power_of_two().clamp(1, MAX_LANES),
        };
        let most = b.size(rows as i64);
        if lanes == 1 {
            b.without_barriers(call.limits, rows);
        }
        let item = b.value(b.thread());
        let mut k = Kernel { frame, rows, lanes, lane: "0u".into(), writes: None };
        if lanes == 1 {
            k.frame.b.line(format!("if ({item} >= {}) {{\nreturn;\n}}", most.text()));
            return (k, Int::Text(item));
        }
        // All threads must reach the barriers, so threads after the last row compute the last row and write nothing.
        k.lane = k.frame.b.value(format!("{item} % {lanes}u"));
        let own = k.frame.b.value(format!("{item} / {lanes}u"));
        k.writes = Some(k.frame.b.value(format!("{} == 0u && {own} < {}", k.lane, most.text())));
        let row = k.frame.b.value(format!("min({own}, {} - 1u)", most.text()));
        k.frame.b.shared_array("parts", "vec4<f32>", GROUP);
        (k, Int::Text(row))
    }

    fn finish(self, limits: &Limits) -> Result<Launch, String> {
        self.frame.b.finish_threads(self.rows * self.lanes, limits)
    }

    /// Combines variables of the threads of a row by a fixed tree. Afterwards all these threads have the results.
    fn combine(&mut self, variables: &[String], two: impl Fn(&str, &str) -> String) {
        if self.lanes == 1 {
            return;
        }
        let (b, lane) = (&mut self.frame.b, self.lane.clone());
        let components = ["x", "y", "z", "w"];
        for four in variables.chunks(4) {
            let value = |i: usize| four.get(i).map_or("0.0f", String::as_str);
            let all: Vec<&str> = (0..4).map(value).collect();
            b.line(format!("parts[local] = vec4<f32>({});\nworkgroupBarrier();", all.join(", ")));
            let mut half = self.lanes / 2;
            while half > 0 {
                b.line(format!("if ({lane} < {half}u) {{"));
                let (mine, other) = (b.value("parts[local]"), b.value(format!("parts[local + {half}u]")));
                let sums = components.map(|c| two(&format!("{mine}.{c}"), &format!("{other}.{c}")));
                b.line(format!("parts[local] = vec4<f32>({});\n}}\nworkgroupBarrier();", sums.join(", ")));
                half /= 2;
            }
            let found = b.value(format!("parts[local - {lane}]"));
            for (variable, c) in four.iter().zip(components) {
                b.line(format!("{variable} = {found}.{c};"));
            }
            b.line("workgroupBarrier();");
        }
    }

    /// Replaces each variable by its sum over all threads of the row.
    fn total(&mut self, variables: &[String]) {
        self.combine(variables, |a, b| format!("({a} + {b})"));
    }

    /// Starts a loop over this thread's share of a range, `step` items at a time. Returns its variable.
    fn share(&mut self, first: &str, end: &str, step: usize) -> String {
        let j = self.frame.b.name();
        let stride = step * self.lanes;
        let from = match self.lanes {
            1 => first.to_string(),
            _ => format!("{first} + {} * {step}u", self.lane),
        };
        self.frame.b.line(format!("for (var {j} = {from}; {j} < {end}; {j} = {j} + {stride}u) {{"));
        j
    }

    /// Loads the elements of a row.
    fn row(&mut self, operand: usize, row: &Int, width: usize) -> Vec<String> {
        let at = self.frame.at(operand, row, width);
        self.elements(operand, &at, width)
    }

    fn elements(&mut self, operand: usize, at: &Int, width: usize) -> Vec<String> {
        let (b, buffer) = (&mut self.frame.b, self.frame.buffers[operand]);
        let mut all = Vec::with_capacity(width);
        while all.len() < width {
            let next = b.int(at.plus(&Int::Literal(all.len() as u32)));
            let found = match self.frame.a.unit() {
                Unit::Four => load_four(b, buffer, &next).to_vec(),
                _ => vec![load(b, buffer, &next)],
            };
            all.extend(found.into_iter().map(|v| b.value(v)));
        }
        all
    }

    /// Stores a row.
    fn put(&mut self, operand: usize, row: &Int, values: &[String]) {
        let writes = self.writes.clone();
        if let Some(writes) = &writes {
            self.frame.b.line(format!("if ({writes}) {{"));
        }
        let at = self.frame.at(operand, row, values.len());
        let (b, buffer) = (&mut self.frame.b, self.frame.buffers[operand]);
        let step = if self.frame.a.unit() == Unit::Four { 4 } else { 1 };
        for (i, part) in values.chunks(step).enumerate() {
            let at = b.int(at.plus(&Int::Literal((i * step) as u32)));
            match part {
                [one] => store(b, buffer, &at, one),
                four => store_four(b, buffer, &at, four),
            }
        }
        if writes.is_some() {
            self.frame.b.line("}");
        }
    }

    /// Declares variables that are zero.
    fn zeros(&mut self, n: usize) -> Vec<String> {
        (0..n).map(|_| self.frame.b.variable("0.0f")).collect()
    }

    /// Returns the dot product of two rows, summed in four independent chains.
    fn product(&mut self, x: &[String], y: &[String]) -> String {
        let mut chains: Vec<String> = Vec::new();
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            match chains.get_mut(i % 4) {
                Some(sum) => *sum = format!("fma({x}, {y}, {sum})"),
                None => chains.push(format!("({x} * {y})")),
            }
        }
        let chains: Vec<String> = chains.into_iter().map(|c| self.frame.b.value(c)).collect();
        self.frame.b.value(chains.join(" + "))
    }

    /// Returns the head of keys that a row of queries reads, and the position of the query in its head.
    fn query(&mut self, row: &Int) -> (Int, Int) {
        let head =
            self.frame.b.int(row.over(&self.frame.queries.times(&Int::Literal(self.frame.a.group as u32))));
        let own = self.frame.b.int(row.modulo(&self.frame.queries));
        (head, own)
    }

    /// Loops over the keys of a query with a running maximum. Returns the maximum, the sum of exponentials, and the sum of
    /// values weighted by their exponentials. Operands 0, 1 and 2 are queries, keys and values.
    fn walk(&mut self, row: &Int) -> (String, String, Vec<String>) {
        let a = self.frame.a;
        let q = self.row(0, row, a.width);
        let (head, own) = self.query(row);
        let (first, end) = self.frame.seen(&own);
        let (top, total) = (self.frame.b.variable(LOWEST), self.frame.b.variable("0.0f"));
        let sums = self.zeros(a.values);
        let base = self.frame.b.int(head.times(&self.frame.keys.clone()));
        let j = self.share(&first, &end, STEP);
        let (mut keys, mut scores) = (Vec::new(), Vec::new());
        for s in 0..STEP {
            // Keys after the last are replaced by the last, with a weight of zero.
            let key = match s {
                0 => Int::Text(j.clone()),
                _ => Int::Text(self.frame.b.value(format!("min({j} + {s}u, {end} - 1u)"))),
            };
            let at = self.frame.b.int(base.plus(&key));
            let k = self.row(1, &at, a.width);
            let product = self.product(&q, &k);
            let (score, _) = self.frame.score(&product);
            let score = match s {
                0 => score,
                _ => self.frame.b.value(format!("select({LOWEST}, {score}, {j} + {s}u < {end})")),
            };
            keys.push(at);
            scores.push(score);
        }
        let next = scores.iter().fold(top.clone(), |top, s| format!("f_maximum({top}, {s})"));
        let next = self.frame.b.value(next);
        let factor = self.frame.b.value(format!("f_exp({top} - {next})"));
        self.frame.b.line(format!("{top} = {next};\n{total} = {total} * {factor};"));
        sums.iter().for_each(|x| self.frame.b.line(format!("{x} = {x} * {factor};")));
        for (s, (at, score)) in keys.iter().zip(&scores).enumerate() {
            let weight = match s {
                0 => format!("f_exp({score} - {next})"),
                _ => format!("select(0.0f, f_exp({score} - {next}), {j} + {s}u < {end})"),
            };
            let weight = self.frame.b.value(weight);
            self.frame.b.line(format!("{total} = {total} + {weight};"));
            let v = self.row(2, at, a.values);
            for (sum, v) in sums.iter().zip(&v) {
                self.frame.b.line(format!("{sum} = fma({weight}, {v}, {sum});"));
            }
        }
        self.frame.b.line("}");
        if self.lanes > 1 {
            let own = self.frame.b.value(&top);
            self.combine(std::slice::from_ref(&top), |a, b| format!("f_maximum({a}, {b})"));
            let factor = self.frame.b.value(format!("f_exp({own} - {top})"));
            for x in sums.iter().chain([&total]) {
                self.frame.b.line(format!("{x} = {x} * {factor};"));
            }
            self.total(&[std::slice::from_ref(&total), &sums[..]].concat());
        }
        (top, total, sums)
    }
}

/// Returns the kernel of the forward pass.
pub(super) fn forward(call: &Call<'_>, a: &Attention) -> Result<Launch, String> {
    let routine = call.routine;
    let rows = a.heads * a.queries;
    let buffers = [&routine.ins[..3], &routine.outs[..1]].concat();
    let (mut k, row) = Kernel::new(call, a, buffers, rows, 1);
    let (_, total, sums) = k.walk(&row);
    // If all scores are minus infinity, the sum is zero, and so is the result.
    let whole = k.frame.b.value(format!("1.0f / select({total}, 1.0f, {total} == 0.0f)"));
    let values: Vec<String> = sums.iter().map(|x| k.frame.b.value(format!("{x} * {whole}"))).collect();
    k.put(3, &row, &values);
    k.finish(call.limits)
}

/// Returns the kernel that writes the statistics of each query row: the logarithm of the sum of exponentials, and the dot
/// product of the result with its cotangent.
pub(super) fn row_statistics(call: &Call<'_>, a: &Attention, to: usize) -> Result<Launch, String> {
    let ins = &call.routine.ins;
    let rows = a.heads * a.queries;
    let (mut k, row) = Kernel::new(call, a, vec![ins[0], ins[1], ins[2], ins[3], to], rows, 1);
    let (top, total, sums) = k.walk(&row);
    let whole = k.frame.b.value(format!("select({total}, 1.0f, {total} == 0.0f)"));
    let g = k.row(3, &row, a.values);
    let product = k.product(&sums, &g);
    let log = k.frame.b.value(format!("{top} + f_log({whole})"));
    let mean = k.frame.b.value(format!("{product} / {whole}"));
    k.put(4, &row, &[log, mean, "0.0f".into(), "0.0f".into()]);
    k.finish(call.limits)
}

/// Returns the kernel that computes the gradient of queries.
pub(super) fn query_gradient(call: &Call<'_>, a: &Attention, statistics: usize) -> Result<Launch, String> {
    let (ins, out) = (&call.routine.ins, call.routine.outs[0]);
    let rows = a.heads * a.queries;
    let buffers = vec![ins[0], ins[1], ins[2], ins[3], statistics, out];
    let (mut k, row) = Kernel::new(call, a, buffers, rows, 1);
    let (q, g) = (k.row(0, &row, a.width), k.row(3, &row, a.values));
    let known = k.row(4, &row, 4);
    let (head, own) = k.query(&row);
    let (first, end) = k.frame.seen(&own);
    let sums = k.zeros(a.width);
    let base = k.frame.b.int(head.times(&k.frame.keys.clone()));
    let j = k.share(&first, &end, 1);
    let at = k.frame.b.int(base.plus(&Int::Text(j)));
    let (key, value) = (k.row(1, &at, a.width), k.row(2, &at, a.values));
    let (product, dp) = (k.product(&q, &key), k.product(&g, &value));
    let (_, ds) = k.frame.score_gradient(&product, &known, &dp);
    for (sum, key) in sums.iter().zip(&key) {
        k.frame.b.line(format!("{sum} = fma({ds}, {key}, {sum});"));
    }
    k.frame.b.line("}");
    k.total(&sums);
    k.put(5, &row, &sums);
    k.finish(call.limits)
}

/// Returns the kernel that computes the gradient of keys, or of values if `keys` is false. It sums over the queries of all
/// heads that share the key.
pub(super) fn key_gradient(
    call: &Call<'_>,
    a: &Attention,
    statistics: usize,
    keys: bool,
) -> Result<Launch, String> {
    let ins = &call.routine.ins;
    let out = call.routine.outs[if keys { 1 } else { 2 }];
    let rows = a.heads / a.group * a.keys;
    let buffers = vec![ins[0], ins[1], ins[2], ins[3], statistics, out];
    let (mut k, row) = Kernel::new(call, a, buffers, rows, 1);
    let key = k.row(1, &row, a.width);
    let value = if keys { k.row(2, &row, a.values) } else { Vec::new() };
    let head = k.frame.b.int(row.over(&k.frame.keys.clone()));
    let own = k.frame.b.int(row.modulo(&k.frame.keys.clone()));
    let (first, end) = k.frame.seeing(&own);
    let sums = k.zeros(if keys { a.width } else { a.values });
    let head = k.frame.b.int(head.times(&Int::Literal(a.group as u32)));
    let h = k.frame.b.name();
    k.frame.b.line(format!("for (var {h} = 0u; {h} < {}u; {h} = {h} + 1u) {{", a.group));
    let i = k.share(&first, &end, 1);
    let at = head.plus(&Int::Text(h)).times(&k.frame.queries.clone()).plus(&Int::Text(i));
    let at = k.frame.b.int(at);
    let (q, g) = (k.row(0, &at, a.width), k.row(3, &at, a.values));
    let known = k.row(4, &at, 4);
    let product = k.product(&q, &key);
    let (factor, terms) = if keys {
        let dp = k.product(&g, &value);
        (k.frame.score_gradient(&product, &known, &dp).1, &q)
    } else {
        let (score, _) = k.frame.score(&product);
        (k.frame.b.value(format!("f_exp({score} - {})", known[0])), &g)
    };
    for (sum, x) in sums.iter().zip(terms) {
        k.frame.b.line(format!("{sum} = fma({factor}, {x}, {sum});"));
    }
    k.frame.b.line("}\n}");
    k.total(&sums);
    k.put(5, &row, &sums);
    k.finish(call.limits)
}
