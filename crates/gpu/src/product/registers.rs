//! Writes products without shared memory: a thread computes a block of rows and columns, each sum in a separate variable.
//! For adapters with expensive barriers, and for products that no tile fits.

use super::{Along, BLOCK, Operand, Request, Sizes, epilogue, operands};
use crate::build::{Build, Launch};
use crate::dialect::{Dialect, Unit};
use crate::int::Int;
use crate::limits::Barriers;
use crate::memory::{load, load_four};
use gradus_compile::Contraction;

/// Number of rows and of columns of a large block.
const LARGE: usize = 2 * BLOCK;
/// Smallest number of threads for which blocks are large.
const FEWEST: usize = 32;

/// Returns the number of rows and of columns that a thread computes. On software adapters a load costs several times as
/// much as a multiplication, so large blocks are faster although their sums do not fit in registers.
fn block_of(request: &Request<'_>) -> [usize; 2] {
    let c = request.c;
    let small = [BLOCK, BLOCK];
    if request.limits.barriers == Barriers::Cheap {
        return small;
    }
    // Large blocks may exceed the extent by at most a quarter of it.
    let side = |n: usize| if 4 * n.next_multiple_of(LARGE) <= 5 * n { LARGE } else { BLOCK };
    let threads = |[m, n]: [usize; 2]| c.products() * c.m.0.div_ceil(m) * c.n.0.div_ceil(n);
    let fits = |b: &[usize; 2]| threads(*b) >= FEWEST;
    let large = [side(c.m.0), side(c.n.0)];
    [large, [BLOCK, large[1]]].into_iter().find(fits).unwrap_or(small)
}

/// Declares the operands of a template that reads four elements at a time along the axes `by`.
pub(super) fn bind(b: &mut Build<'_>, request: &Request<'_>, by: &[Along]) {
    for o in 0..2 {
        let four = by.contains(&super::along(request.c, o)) && request.c.operands.size() == 4;
        b.bind(request.c.buffers[o], if four { Unit::Four } else { Unit::Word }, false);
    }
}

/// Returns the kernel and its launch.
pub(super) fn launch(request: &Request<'_>) -> Result<Launch, String> {
    let c = request.c;
    let mut b = Build::new(request.program, request.dialect, request.text);
    bind(&mut b, request, &[Along::Lanes, Along::Depth]);
    epilogue::bind(&mut b, request);
    epilogue::function(&mut b, request)?;
    let [high, wide] = block_of(request);
    let (blocks_m, blocks_n) = (c.m.0.div_ceil(high), c.n.0.div_ceil(wide));
    let items = c.products() * blocks_m * blocks_n;
    b.without_barriers(request.limits, items);
    let sizes = Sizes::of(&mut b, c);
    let most = b.size(items as i64);
    let (down, across) = (b.size(blocks_m as i64), b.size(blocks_n as i64));
    let item = b.value(b.thread());
    b.line(format!("if ({item} >= {}) {{\nreturn;\n}}", most.text()));
    let item = Int::Text(item);
    let column = b.int(item.modulo(&across).times(&Int::Literal(wide as u32)));
    let rest = b.int(item.over(&across));
    let row = b.int(rest.modulo(&down).times(&Int::Literal(high as u32)));
    let batch = b.int(rest.over(&down));
    let ([first, second], place) = operands(&mut b, c, &batch);
    let stride = b.size(c.m.1[1]);
    let rows = lanes(&mut b, &first, &row, &sizes.m, (c.m.0, high));
    let columns = lanes(&mut b, &second, &column, &sizes.n, (c.n.0, wide));
    let mut sums: Vec<Vec<String>> = Vec::new();
    for _ in 0..high {
        sums.push((0..wide).map(|_| b.variable("0.0f")).collect());
    }
    // Software adapters copy all sums in every iteration, so an iteration has four depths.
    let software = request.limits.barriers == Barriers::Expensive && c.k.0.is_multiple_of(4);
    let step = if software || [&first, &second].iter().any(|o| o.along == Along::Depth) { 4 } else { 1 };
    let k = b.name();
    b.line(format!("for (var {k} = 0u; {k} < {}; {k} = {k} + {step}u) {{", sizes.k.text()));
    let depth = Int::Text(k);
    let a = block(&mut b, &first, &rows, &depth, step);
    let d = block(&mut b, &second, &columns, &depth, step);
    for s in 0..step as usize {
        for (i, row) in sums.iter().enumerate() {
            for (j, sum) in row.iter().enumerate() {
                b.line(format!("{sum} = fma({}, {}, {sum});", a[s][i], d[s][j]));
            }
        }
    }
    b.line("}");
    let write = Results { row: &row, column: &column, place: &place, stride: &stride, sizes: &sizes };
    if high * wide > BLOCK * BLOCK && request.dialect == Dialect::Wgsl {
        write.in_loop(&mut b, c, &sums);
    } else {
        write.unrolled(&mut b, c, &sums);
    }
    b.finish_threads(items, request.limits)
}

/// The location in the result to which a thread writes its sums.
struct Results<'a> {
    row: &'a Int,
    column: &'a Int,
    place: &'a Int,
    stride: &'a Int,
    sizes: &'a Sizes,
}

impl Results<'_> {
    /// Passes all sums to `finish`, four at a time.
    fn unrolled(&self, b: &mut Build<'_>, c: &Contraction, sums: &[Vec<String>]) {
        let (high, wide) = (sums.len(), sums[0].len());
        for (i, row_sums) in sums.iter().enumerate() {
            let own = self.row.plus(&Int::Literal(i as u32));
            for (j, four) in row_sums.chunks(4).enumerate() {
                let at = self.column.plus(&Int::Literal(4 * j as u32));
                let guards = [i > 0 && !c.m.0.is_multiple_of(high), j > 0 && !c.n.0.is_multiple_of(wide)];
                self.finish(b, four, &own, &at, guards);
            }
        }
    }

    /// Does the same as [`Results::unrolled`] in a loop over an array of the sums, because software adapters take seconds to
    /// compile many copies of a long epilogue. The array costs little, because each sum is written to it once.
    fn in_loop(&self, b: &mut Build<'_>, c: &Contraction, sums: &[Vec<String>]) {
        let (high, wide) = (sums.len(), sums[0].len());
        let all: Vec<&str> = sums.iter().flatten().map(String::as_str).collect();
        let array = b.variable(format!("array<f32, {}>({})", all.len(), all.join(", ")));
        let number = b.name();
        b.line(format!(
            "for (var {number} = 0u; {number} < {}u; {number} = {number} + 1u) {{",
            all.len() / 4
        ));
        let four: Vec<String> = (0..4).map(|k| b.value(format!("{array}[{number} * 4u + {k}u]"))).collect();
        let (number, fours) = (Int::Text(number), Int::Literal(wide as u32 / 4));
        let own = b.int(self.row.plus(&number.over(&fours)));
        let at = b.int(self.column.plus(&number.modulo(&fours).times(&Int::Literal(4))));
        let guards = [!c.m.0.is_multiple_of(high), !c.n.0.is_multiple_of(wide)];
        self.finish(b, &four, &own, &at, guards);
        b.line("}");
    }

    /// Passes four sums of a row to `finish`. If `guards[0]` is true, the row may not exist; if `guards[1]` is true, the
    /// columns may not exist.
    fn finish(&self, b: &mut Build<'_>, four: &[String], row: &Int, column: &Int, guards: [bool; 2]) {
        let (m, n) = (self.sizes.m.text(), self.sizes.n.text());
        let inside = [(row, &m), (column, &n)].into_iter().zip(guards).filter(|(_, guard)| *guard);
        let inside: Vec<String> = inside.map(|((i, end), _)| format!("{} < {end}", i.text())).collect();
        if !inside.is_empty() {
            b.line(format!("if ({}) {{", inside.join(" && ")));
        }
        let to = self.place.plus(&row.times(self.stride)).plus(column);
        b.line(format!("finish({}, {}, {n} - {});", four.join(", "), to.text(), column.text()));
        if !inside.is_empty() {
            b.line("}");
        }
    }
}

/// Returns neighbouring rows or columns of an operand from `first` on. Those after the last are replaced by the last;
/// their sums are not stored.
fn lanes(
    b: &mut Build<'_>,
    o: &Operand,
    first: &Int,
    extent: &Int,
    (known, count): (usize, usize),
) -> Vec<Int> {
    let mut all: Vec<Int> = Vec::with_capacity(count);
    for k in 0..count as u32 {
        let own = first.plus(&Int::Literal(k));
        // Loads along lanes read four lanes at a time. All four exist, because the operand's number of lanes is then a
        // multiple of four.
        let (clamped, last) = match o.along {
            Along::Lanes => (k >= 4 && k % 4 == 0, 4),
            _ => (k > 0, 1),
        };
        all.push(match clamped && !known.is_multiple_of(count) {
            true => Int::Text(b.value(format!("min({}, {} - {last}u)", own.text(), extent.text()))),
            false => own,
        });
    }
    all
}

/// Loads the elements of an operand at some lanes and `step` depths. Returns, for each depth, the elements of the lanes.
fn block(b: &mut Build<'_>, o: &Operand, lanes: &[Int], depth: &Int, step: u32) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new(); step as usize];
    match o.along {
        Along::Lanes => {
            for (s, row) in all.iter_mut().enumerate() {
                for four in lanes.chunks(4) {
                    let at = b.int(o.at(&four[0], &depth.plus(&Int::Literal(s as u32))));
                    row.extend(load_four(b, o.buffer, &at).map(|v| b.value(v)));
                }
            }
        }
        Along::Depth => {
            for lane in lanes {
                let at = b.int(o.at(lane, depth));
                let four = load_four(b, o.buffer, &at);
                for (row, v) in all.iter_mut().zip(four) {
                    row.push(b.value(v));
                }
            }
        }
        Along::Neither => {
            for (s, row) in all.iter_mut().enumerate() {
                for lane in lanes {
                    let at = b.int(o.at(lane, &depth.plus(&Int::Literal(s as u32))));
                    let v = load(b, o.buffer, &at);
                    row.push(b.value(v));
                }
            }
        }
    }
    all
}
