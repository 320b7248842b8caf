//! Writes attention, forward and backward, as kernels that do not store the scores. A row is a query in the forward pass,
//! and a query or a key in the backward pass. A few threads share a row. Each of them loops over a part of the keys (or
//! queries) with a running maximum, and a fixed tree in shared memory combines the parts. The number of threads per row
//! depends on the sizes only. If barriers are expensive, a row has one thread, and there are no barriers.

use super::Call;
use crate::build::{Build, GROUP, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::limits::{Barriers, Limits};
use crate::memory::{load, load_four, store, store_four};
use crate::program::Word;
use gradus_compile::{Claim, Profile};
use gradus_ir::attr::Attr;
use gradus_ir::ops::call::Call as Region;
use gradus_ir::{Aval, DType};

/// Regions that are run as one step.
pub(crate) const CLAIMS: &[Claim] = &[
    claim(FORWARD, |profile, call, types| Attention::claimed(profile, call, types, 1)),
    claim(BACKWARD, |profile, call, types| Attention::claimed(profile, call, types, 2)),
];
const fn claim(name: &'static str, fits: fn(&Profile, &Region, &[Aval]) -> bool) -> Claim {
    Claim { name, fits, overwrites: None, can_fail: true }
}

const FORWARD: &str = "scaled_dot_product_attention";
const BACKWARD: &str = "scaled_dot_product_attention_vjp";

/// Largest number of features that a thread holds in registers.
const REGISTERS: usize = 192;
/// Smallest number of rows. With fewer rows, as when one token is generated, products are faster, because more threads
/// share the work of a row.
const FEWEST: usize = 1024;
/// Number of threads that occupy a GPU, and largest number of threads that share a row.
const ENOUGH: usize = 1 << 16;
const MOST_LANES: usize = 16;
/// Largest number of rows that a thread loops over, because software adapters end loops after 65,535 iterations.
const LONGEST: usize = 1 << 15;
/// Number of keys or queries processed together.
const STEP: usize = 4;
/// The initial maximum: less than every useful score, but finite, because WGSL has no infinite literals.
const LOWEST: &str = "-3.0e38f";

/// The parameters of a call of attention.
struct Attention {
    /// Number of query heads in all batches.
    heads: usize,
    /// Number of query heads that share a head of keys.
    group: usize,
    queries: usize,
    keys: usize,
    /// Features of queries and keys.
    width: usize,
    /// Features of values.
    values: usize,
    causal: bool,
    window: Option<usize>,
    scale: f64,
    softcap: Option<f64>,
}

impl Attention {
    /// Returns the parameters of a call, or `None` if kernels cannot run it. Threads of the kernels hold `times` rows of
    /// queries and one row of values in registers.
    fn of(call: &Region, types: &[Aval], times: usize) -> Option<Attention> {
        let arg = |name: &str| call.args.iter().find(|(n, _)| n == name).map(|(_, a)| a);
        let float = |name: &str| match arg(name) {
            Some(Attr::Float(bits)) => Some(f64::from_bits(*bits)),
            _ => None,
        };
        let int = |name: &str| match arg(name) {
            Some(Attr::Int(n)) => usize::try_from(*n).ok(),
            _ => None,
        };
        let is = |name: &str| matches!(arg(name), Some(Attr::Bool(true)));
        // A backward pass for only some operands is inlined, because the call does not state which operands these are.
        let results = call.body.outputs().len();
        let operands = if times == 1 { (3, 1) } else { (4, 3) };
        if is("mask") || float("dropout") != Some(0.0) || (types.len(), results) != operands {
            return None;
        }
        let [q, k, v] = [&types[0], &types[1], &types[2]];
        let shared = matches!(q.dtype, DType::F32 | DType::BF16 | DType::F16);
        if !shared || types.iter().any(|t| t.dtype != q.dtype) || q.rank() < 3 {
            return None;
        }
        let group = int("group")?;
        let (lead, own) = q.shape.split_at(q.rank() - 2);
        let mut fewer = lead.to_vec();
        *fewer.last_mut()? /= group;
        let fits = |t: &Aval| t.rank() == q.rank() && t.shape[..q.rank() - 2] == fewer;
        if !fits(k) || !fits(v) {
            return None;
        }
        let (queries, width) = (own[0], own[1]);
        let (keys, values) = (k.shape[q.rank() - 2], v.shape[q.rank() - 1]);
        let window = int("window");
        let a = Attention {
            heads: lead.iter().product(),
            group,
            queries,
            keys,
            width,
            values,
            causal: is("causal") || window.is_some(),
            window,
            scale: float("scale").unwrap_or(1.0 / (width.max(1) as f64).sqrt()),
            softcap: float("softcap"),
        };
        let long = keys.max(queries * group);
        let narrow = times * width + values <= REGISTERS && width > 0 && values > 0 && keys > 0;
        (narrow && long <= LONGEST && a.heads * queries >= FEWEST).then_some(a)
    }

    /// Returns true if kernels can run a call, and products that store the scores are not expected to be faster.
    fn claimed(profile: &Profile, call: &Region, types: &[Aval], times: usize) -> bool {
        Attention::of(call, types, times).is_some_and(|a| {
            let scores = a.heads.saturating_mul(a.queries).saturating_mul(a.keys);
            let seen = a.window.unwrap_or(a.keys).min(a.keys);
            seen < profile.scores.keys || scores > profile.scores.most
        })
    }

    /// Returns the unit of reads and writes: one element or four.
    fn unit(&self) -> Unit {
        if self.width.is_multiple_of(4) && self.values.is_multiple_of(4) { Unit::Four } else { Unit::Word }
    }
}

/// Returns the kernels of a claimed region.
pub(super) fn launches(call: &mut Call<'_>, region: &Region) -> Result<Vec<Launch>, String> {
    let types = &call.routine.types;
    let unfit = || format!("there is no kernel for {}", region.name);
    if &*region.name == FORWARD {
        let a = Attention::of(region, types, 1).ok_or_else(unfit)?;
        return Ok(vec![forward(call, &a)?]);
    }
    let a = Attention::of(region, types, 2).ok_or_else(unfit)?;
    // For each query row: the logarithm of the sum of exponentials, and the dot product of the result with its cotangent.
    let statistics = call.scratch(DType::F32, a.heads * a.queries * 4);
    Ok(vec![
        row_statistics(call, &a, statistics)?,
        query_gradient(call, &a, statistics)?,
        key_gradient(call, &a, statistics, true)?,
        key_gradient(call, &a, statistics, false)?,
    ])
}

/// A kernel under construction, with the sizes that all passes use.
struct Kernel<'a> {
    b: Build<'a>,
    a: &'a Attention,
    buffers: Vec<usize>,
    rows: usize,
    /// Number of threads that share a row, and the index of this thread among them.
    lanes: usize,
    lane: String,
    /// The condition under which this thread writes its row.
    writes: Option<String>,
    scale: String,
    softcap: Option<String>,
    queries: Int,
    keys: Int,
}

impl<'a> Kernel<'a> {
    /// Starts a kernel that reads the first buffers and writes the last `outs`, with a thread for each row.
    fn new(
        call: &'a Call<'_>,
        a: &'a Attention,
        buffers: Vec<usize>,
        rows: usize,
        outs: usize,
    ) -> (Self, Int) {
        let mut b = Build::new(call.program, call.dialect, call.text);
        let first = buffers.len() - outs;
        for (i, buffer) in buffers.iter().enumerate() {
            let unit = match (b.dtype(*buffer).size(), a.unit()) {
                (4, unit) => unit,
                // Threads write parts of words.
                (_, Unit::Word) if i >= first => Unit::Atomic,
                _ => Unit::Word,
            };
            b.bind(*buffer, unit, i >= first);
        }
        let number = |b: &mut Build<'_>, x: f64| {
            let bits = b.parameter(Word::Value((x as f32).to_bits()));
            b.constant(format!("bitcast<f32>({bits})"))
        };
        let scale = number(&mut b, a.scale);
        let softcap = a.softcap.map(|c| number(&mut b, c));
        let (queries, keys) = (b.size(a.queries as i64), b.size(a.keys as i64));
        let lanes = match call.limits.barriers {
            Barriers::Dear => 1,
            Barriers::Cheap => (ENOUGH / rows).next_power_of_two().clamp(1, MOST_LANES),
        };
        let most = b.size(rows as i64);
        if lanes == 1 {
            b.without_barriers(call.limits, rows);
        }
        let item = b.value(b.thread());
        let mut k = Kernel {
            b,
            a,
            buffers,
            rows,
            lanes,
            lane: "0u".into(),
            writes: None,
            scale,
            softcap,
            queries,
            keys,
        };
        if lanes == 1 {
            k.b.line(format!("if ({item} >= {}) {{\nreturn;\n}}", most.text()));
            return (k, Int::Text(item));
        }
        // All threads must reach the barriers, so threads after the last row compute the last row and write nothing.
        k.lane = k.b.value(format!("{item} % {lanes}u"));
        let own = k.b.value(format!("{item} / {lanes}u"));
        k.writes = Some(k.b.value(format!("{} == 0u && {own} < {}", k.lane, most.text())));
        let row = k.b.value(format!("min({own}, {} - 1u)", most.text()));
        k.b.shared_array("parts", "vec4<f32>", GROUP);
        (k, Int::Text(row))
    }

    fn finish(self, limits: &Limits) -> Result<Launch, String> {
        self.b.finish_threads(self.rows * self.lanes, limits)
    }

    /// Combines variables of the threads of a row by a fixed tree. Afterwards all these threads have the results.
    fn combine(&mut self, variables: &[String], two: impl Fn(&str, &str) -> String) {
        if self.lanes == 1 {
            return;
        }
        let (b, lane) = (&mut self.b, self.lane.clone());
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

    /// Adds variables of all threads of a row.
    fn total(&mut self, variables: &[String]) {
        self.combine(variables, |a, b| format!("({a} + {b})"));
    }

    /// Starts a loop over this thread's share of a range, `step` items at a time. Returns its variable.
    fn share(&mut self, first: &str, end: &str, step: usize) -> String {
        let j = self.b.name();
        let stride = step * self.lanes;
        let from = match self.lanes {
            1 => first.to_string(),
            _ => format!("{first} + {} * {step}u", self.lane),
        };
        self.b.line(format!("for (var {j} = {from}; {j} < {end}; {j} = {j} + {stride}u) {{"));
        j
    }

    /// Returns the position of the first element of a row.
    fn at(&mut self, operand: usize, row: &Int, width: usize) -> Int {
        let start = self.b.start(self.buffers[operand], 0);
        self.b.int(start.plus(&row.times(&Int::Literal(width as u32))))
    }

    /// Loads the elements of a row.
    fn row(&mut self, operand: usize, row: &Int, width: usize) -> Vec<String> {
        let at = self.at(operand, row, width);
        self.elements(operand, &at, width)
    }

    fn elements(&mut self, operand: usize, at: &Int, width: usize) -> Vec<String> {
        let (b, buffer) = (&mut self.b, self.buffers[operand]);
        let mut all = Vec::with_capacity(width);
        while all.len() < width {
            let next = b.int(at.plus(&Int::Literal(all.len() as u32)));
            let found = match self.a.unit() {
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
            self.b.line(format!("if ({writes}) {{"));
        }
        let at = self.at(operand, row, values.len());
        let (b, buffer) = (&mut self.b, self.buffers[operand]);
        let step = if self.a.unit() == Unit::Four { 4 } else { 1 };
        for (i, part) in values.chunks(step).enumerate() {
            let at = b.int(at.plus(&Int::Literal((i * step) as u32)));
            match part {
                [one] => store(b, buffer, &at, one),
                four => store_four(b, buffer, &at, four),
            }
        }
        if writes.is_some() {
            self.b.line("}");
        }
    }

    /// Declares variables that are zero.
    fn zeros(&mut self, n: usize) -> Vec<String> {
        (0..n).map(|_| self.b.variable("0.0f")).collect()
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
        let chains: Vec<String> = chains.into_iter().map(|c| self.b.value(c)).collect();
        self.b.value(chains.join(" + "))
    }

    /// Returns the score for the dot product of a query and a key. Also returns the derivative of the soft cap, if there is
    /// one: the gradient of the score is multiplied by it.
    fn score(&mut self, product: &str) -> (String, Option<String>) {
        let scaled = self.b.value(format!("{product} * {}", self.scale));
        let Some(c) = self.softcap.clone() else { return (scaled, None) };
        let bent = self.b.value(format!("f_tanh({scaled} / {c})"));
        let slope = self.b.value(format!("1.0f - {bent} * {bent}"));
        (self.b.value(format!("{bent} * {c}")), Some(slope))
    }

    /// Returns the range of keys that a query sees: the first, and the one after the last.
    fn seen(&mut self, query: &Int) -> (String, String) {
        let next = query.plus(&Int::Literal(1));
        let end = match self.a.causal {
            true => format!("min({}, {})", next.text(), self.keys.text()),
            false => self.keys.text(),
        };
        let first = match self.a.window {
            Some(w) => {
                let w = self.b.size(w as i64);
                format!("max({}, {}) - {}", next.text(), w.text(), w.text())
            }
            None => "0u".into(),
        };
        (self.b.value(first), self.b.value(end))
    }

    /// Returns the range of queries that see a key: the first, and the one after the last.
    fn seeing(&mut self, key: &Int) -> (String, String) {
        let first = if self.a.causal { key.text() } else { "0u".into() };
        let end = match self.a.window {
            Some(w) => {
                let w = self.b.size(w as i64);
                format!("min({}, {})", key.plus(&w).text(), self.queries.text())
            }
            None => self.queries.text(),
        };
        (self.b.value(first), self.b.value(end))
    }

    /// Returns the head of keys that a row of queries reads, and the position of the query in its head.
    fn query(&mut self, row: &Int) -> (Int, Int) {
        let head = self.b.int(row.over(&self.queries.times(&Int::Literal(self.a.group as u32))));
        let own = self.b.int(row.modulo(&self.queries));
        (head, own)
    }

    /// Loops over the keys of a query with a running maximum. Returns the maximum, the sum of exponentials, and the sum of
    /// values weighted by their exponentials. Operands 0, 1 and 2 are queries, keys and values.
    fn walk(&mut self, row: &Int) -> (String, String, Vec<String>) {
        let a = self.a;
        let q = self.row(0, row, a.width);
        let (head, own) = self.query(row);
        let (first, end) = self.seen(&own);
        let (top, total) = (self.b.variable(LOWEST), self.b.variable("0.0f"));
        let sums = self.zeros(a.values);
        let base = self.b.int(head.times(&self.keys.clone()));
        let j = self.share(&first, &end, STEP);
        let (mut keys, mut scores) = (Vec::new(), Vec::new());
        for s in 0..STEP {
            // Keys after the last are replaced by the last, with a weight of zero.
            let key = match s {
                0 => Int::Text(j.clone()),
                _ => Int::Text(self.b.value(format!("min({j} + {s}u, {end} - 1u)"))),
            };
            let at = self.b.int(base.plus(&key));
            let k = self.row(1, &at, a.width);
            let product = self.product(&q, &k);
            let (score, _) = self.score(&product);
            let score = match s {
                0 => score,
                _ => self.b.value(format!("select({LOWEST}, {score}, {j} + {s}u < {end})")),
            };
            keys.push(at);
            scores.push(score);
        }
        let next = scores.iter().fold(top.clone(), |top, s| format!("f_maximum({top}, {s})"));
        let next = self.b.value(next);
        let factor = self.b.value(format!("f_exp({top} - {next})"));
        self.b.line(format!("{top} = {next};\n{total} = {total} * {factor};"));
        sums.iter().for_each(|x| self.b.line(format!("{x} = {x} * {factor};")));
        for (s, (at, score)) in keys.iter().zip(&scores).enumerate() {
            let weight = match s {
                0 => format!("f_exp({score} - {next})"),
                _ => format!("select(0.0f, f_exp({score} - {next}), {j} + {s}u < {end})"),
            };
            let weight = self.b.value(weight);
            self.b.line(format!("{total} = {total} + {weight};"));
            let v = self.row(2, at, a.values);
            for (sum, v) in sums.iter().zip(&v) {
                self.b.line(format!("{sum} = fma({weight}, {v}, {sum});"));
            }
        }
        self.b.line("}");
        if self.lanes > 1 {
            let own = self.b.value(&top);
            self.combine(std::slice::from_ref(&top), |a, b| format!("f_maximum({a}, {b})"));
            let factor = self.b.value(format!("f_exp({own} - {top})"));
            for x in sums.iter().chain([&total]) {
                self.b.line(format!("{x} = {x} * {factor};"));
            }
            self.total(&[std::slice::from_ref(&total), &sums[..]].concat());
        }
        (top, total, sums)
    }

    /// Returns the gradient of the dot product of a query and a key. Takes the query's statistics and `dp`, the gradient of
    /// the weight.
    fn score_gradient(&mut self, product: &str, statistics: &[String], dp: &str) -> String {
        let (score, slope) = self.score(product);
        let weight = self.b.value(format!("f_exp({score} - {})", statistics[0]));
        let slope = slope.map_or(String::new(), |s| format!(" * {s}"));
        self.b.value(format!("{weight} * ({dp} - {}){slope} * {}", statistics[1], self.scale))
    }
}

/// Returns the kernel of the forward pass.
fn forward(call: &Call<'_>, a: &Attention) -> Result<Launch, String> {
    let routine = call.routine;
    let rows = a.heads * a.queries;
    let buffers = [&routine.ins[..3], &routine.outs[..1]].concat();
    let (mut k, row) = Kernel::new(call, a, buffers, rows, 1);
    let (_, total, sums) = k.walk(&row);
    // If all scores are minus infinity, the sum is zero, and so is the result.
    let whole = k.b.value(format!("1.0f / select({total}, 1.0f, {total} == 0.0f)"));
    let values: Vec<String> = sums.iter().map(|x| k.b.value(format!("{x} * {whole}"))).collect();
    k.put(3, &row, &values);
    k.finish(call.limits)
}

/// Returns the kernel that writes the statistics of each query row: the logarithm of the sum of exponentials, and the dot
/// product of the result with its cotangent.
fn row_statistics(call: &Call<'_>, a: &Attention, to: usize) -> Result<Launch, String> {
    let ins = &call.routine.ins;
    let rows = a.heads * a.queries;
    let (mut k, row) = Kernel::new(call, a, vec![ins[0], ins[1], ins[2], ins[3], to], rows, 1);
    let (top, total, sums) = k.walk(&row);
    let whole = k.b.value(format!("select({total}, 1.0f, {total} == 0.0f)"));
    let g = k.row(3, &row, a.values);
    let product = k.product(&sums, &g);
    let log = k.b.value(format!("{top} + f_log({whole})"));
    let mean = k.b.value(format!("{product} / {whole}"));
    k.put(4, &row, &[log, mean, "0.0f".into(), "0.0f".into()]);
    k.finish(call.limits)
}

/// Returns the kernel that computes the gradient of queries.
fn query_gradient(call: &Call<'_>, a: &Attention, statistics: usize) -> Result<Launch, String> {
    let (ins, out) = (&call.routine.ins, call.routine.outs[0]);
    let rows = a.heads * a.queries;
    let buffers = vec![ins[0], ins[1], ins[2], ins[3], statistics, out];
    let (mut k, row) = Kernel::new(call, a, buffers, rows, 1);
    let (q, g) = (k.row(0, &row, a.width), k.row(3, &row, a.values));
    let known = k.row(4, &row, 4);
    let (head, own) = k.query(&row);
    let (first, end) = k.seen(&own);
    let sums = k.zeros(a.width);
    let base = k.b.int(head.times(&k.keys.clone()));
    let j = k.share(&first, &end, 1);
    let at = k.b.int(base.plus(&Int::Text(j)));
    let (key, value) = (k.row(1, &at, a.width), k.row(2, &at, a.values));
    let (product, dp) = (k.product(&q, &key), k.product(&g, &value));
    let ds = k.score_gradient(&product, &known, &dp);
    for (sum, key) in sums.iter().zip(&key) {
        k.b.line(format!("{sum} = fma({ds}, {key}, {sum});"));
    }
    k.b.line("}");
    k.total(&sums);
    k.put(5, &row, &sums);
    k.finish(call.limits)
}

/// Returns the kernel that computes the gradient of keys, or of values if `keys` is false. It sums over the queries of all
/// heads that share the key.
fn key_gradient(call: &Call<'_>, a: &Attention, statistics: usize, keys: bool) -> Result<Launch, String> {
    let ins = &call.routine.ins;
    let out = call.routine.outs[if keys { 1 } else { 2 }];
    let rows = a.heads / a.group * a.keys;
    let buffers = vec![ins[0], ins[1], ins[2], ins[3], statistics, out];
    let (mut k, row) = Kernel::new(call, a, buffers, rows, 1);
    let key = k.row(1, &row, a.width);
    let value = if keys { k.row(2, &row, a.values) } else { Vec::new() };
    let head = k.b.int(row.over(&k.keys.clone()));
    let own = k.b.int(row.modulo(&k.keys.clone()));
    let (first, end) = k.seeing(&own);
    let sums = k.zeros(if keys { a.width } else { a.values });
    let head = k.b.int(head.times(&Int::Literal(a.group as u32)));
    let h = k.b.name();
    k.b.line(format!("for (var {h} = 0u; {h} < {}u; {h} = {h} + 1u) {{", a.group));
    let i = k.share(&first, &end, 1);
    let at = head.plus(&Int::Text(h)).times(&k.queries.clone()).plus(&Int::Text(i));
    let at = k.b.int(at);
    let (q, g) = (k.row(0, &at, a.width), k.row(3, &at, a.values));
    let known = k.row(4, &at, 4);
    let product = k.product(&q, &key);
    let (factor, terms) = if keys {
        let dp = k.product(&g, &value);
        (k.score_gradient(&product, &known, &dp), &q)
    } else {
        let (score, _) = k.score(&product);
        (k.b.value(format!("f_exp({score} - {})", known[0])), &g)
    };
    for (sum, x) in sums.iter().zip(terms) {
        k.b.line(format!("{sum} = fma({factor}, {x}, {sum});"));
    }
    k.b.line("}\n}");
    k.total(&sums);
    k.put(5, &row, &sums);
    k.finish(call.limits)
}
