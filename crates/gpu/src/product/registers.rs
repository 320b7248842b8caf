//! Products without shared memory: a thread computes four rows by four columns, each sum in a separate variable.
//! For adapters with expensive barriers, and for products that no tile fits.

use super::{Along, BLOCK, Operand, Request, Sizes, epilogue, operands};
use crate::build::{Build, GROUP, GROUP_NUMBER, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::memory::{load, load_four};

/// Declares the operands of a template that reads four elements at a time along these axes.
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
    let (blocks_m, blocks_n) = (c.m.0.div_ceil(BLOCK), c.n.0.div_ceil(BLOCK));
    let items = c.products() * blocks_m * blocks_n;
    let sizes = Sizes::of(&mut b, c);
    let most = b.size(items as i64);
    let (high, wide) = (b.size(blocks_m as i64), b.size(blocks_n as i64));
    let item = b.value(format!("{GROUP_NUMBER} * {GROUP}u + local"));
    b.line(format!("if ({item} >= {}) {{\nreturn;\n}}", most.text()));
    let item = Int::Text(item);
    let column = b.int(item.modulo(&wide).times(&Int::Literal(4)));
    let rest = b.int(item.over(&wide));
    let row = b.int(rest.modulo(&high).times(&Int::Literal(4)));
    let batch = b.int(rest.over(&high));
    let ([first, second], place) = operands(&mut b, c, &batch);
    let stride = b.size(c.m.1[1]);
    // Rows and columns beyond the last repeat the last, and are not stored.
    let rows = lanes(&mut b, &row, &sizes.m, c.m.0);
    let columns = lanes(&mut b, &column, &sizes.n, c.n.0);
    let mut sums: Vec<Vec<String>> = Vec::new();
    for _ in 0..4 {
        sums.push((0..4).map(|_| b.variable("0.0f")).collect());
    }
    let step = if first.along == Along::Depth || second.along == Along::Depth { 4 } else { 1 };
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
    let left = b.value(format!("{} - {}", sizes.n.text(), column.text()));
    for (i, row_sums) in sums.iter().enumerate() {
        let own = row.plus(&Int::Literal(i as u32));
        let to = place.plus(&own.times(&stride)).plus(&column);
        let guard = !c.m.0.is_multiple_of(4) && i > 0;
        if guard {
            b.line(format!("if ({} < {}) {{", own.text(), sizes.m.text()));
        }
        b.line(format!("finish({}, {}, {left});", row_sums.join(", "), to.text()));
        if guard {
            b.line("}");
        }
    }
    b.finish(items.div_ceil(GROUP as usize), request.limits.groups, request.limits.bindings)
}

/// Four neighbouring indices from the first, clamped to the last.
fn lanes(b: &mut Build<'_>, first: &Int, extent: &Int, known: usize) -> Vec<Int> {
    let one = |k: u32| {
        let own = first.plus(&Int::Literal(k));
        if k == 0 || known.is_multiple_of(4) {
            return own;
        }
        Int::Text(b.value(format!("min({}, {} - 1u)", own.text(), extent.text())))
    };
    (0..4).map(one).collect()
}

/// The elements of an operand at four lanes and `step` depths: for each depth, those of the lanes.
fn block(b: &mut Build<'_>, o: &Operand, lanes: &[Int], depth: &Int, step: u32) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new(); step as usize];
    match o.along {
        Along::Lanes => {
            for (s, row) in all.iter_mut().enumerate() {
                let at = b.int(o.at(&lanes[0], &depth.plus(&Int::Literal(s as u32))));
                *row = load_four(b, o.buffer, &at).map(|v| b.value(v)).to_vec();
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
