//! Writes convolutions as tiled products of matrices. Rows are output channels, columns are the output positions of all
//! images, and the summed axis has the channels and the elements of a window. The windows of the operand are gathered
//! when a tile is filled, and never stored.

use super::Call;
use super::convolve::{number, sizes, spread};
use crate::build::{Build, Launch};
use crate::dialect::Unit;
use crate::int::Int;
use crate::memory::{load, store};
use crate::nest::decompose;
use crate::tile::DEPTH;
use gradus_compile::{Access, Inst, Kernel, Layout, Level, Operation, Store};
use gradus_ir::DType;
use gradus_ir::ops::{Combine, Window};

/// Smallest number of terms for which tiles are used even if most of a tile is empty.
const LONG: usize = 1024;
/// Number of tiles that occupy a GPU.
const ENOUGH: usize = 256;

/// The sizes of a convolution as a product.
struct Geometry<'a> {
    window: &'a Window,
    xs: Vec<usize>,
    ws: Vec<usize>,
    os: Vec<usize>,
    side: u32,
    parts: usize,
}

impl Geometry<'_> {
    fn m(&self) -> usize {
        self.ws[1]
    }
    fn n(&self) -> usize {
        self.os[0] * self.positions()
    }
    fn k(&self) -> usize {
        self.ws[2..].iter().product()
    }
    fn positions(&self) -> usize {
        self.os[3..].iter().product()
    }
    fn tiles(&self, side: usize) -> usize {
        self.ws[0] * self.m().div_ceil(side) * self.n().div_ceil(side)
    }
}

/// Returns the kernels of a convolution of floats; `None` if tiles would be mostly empty.
pub(super) fn launches(call: &mut Call<'_>, window: &Window) -> Result<Option<Vec<Launch>>, String> {
    let routine = call.routine;
    let shape = |t: &gradus_ir::Aval| t.shape.to_vec();
    let (xs, ws, os) = (shape(&routine.types[0]), shape(&routine.types[1]), shape(&routine.results[0]));
    let mut g = Geometry { window, xs, ws, os, side: 64, parts: 1 };
    // With few results but long sums, as for gradients of weights, tiles are faster even if they are mostly empty, because
    // the sums are split.
    let few = (g.m() < 16 || g.n() < 16) && g.k() < LONG;
    if few || g.k() < 16 {
        return Ok(None);
    }
    if g.tiles(128) >= 128 && g.m() >= 128 && g.n() >= 128 {
        g.side = 128;
    }
    let tiles = g.tiles(g.side as usize);
    g.parts = (ENOUGH / tiles).min(g.k() / 256).max(1);
    let out = routine.outs[0];
    let (dtype, numel) = (routine.results[0].dtype, routine.results[0].shape.numel());
    if g.parts == 1 && dtype == DType::F32 {
        return Ok(Some(vec![product(call, &g, out)?]));
    }
    // Partial sums, and sums of narrow floats, are first stored as f32.
    let scratch = call.scratch(DType::F32, g.parts * numel);
    let mut all = vec![product(call, &g, scratch)?];
    all.extend(total(call, scratch, g.parts, out)?);
    Ok(Some(all))
}

/// Returns the kernel that adds the partial sums of each result in order, and stores them in its dtype.
pub(super) fn total(
    call: &Call<'_>,
    scratch: usize,
    parts: usize,
    out: usize,
) -> Result<Option<Launch>, String> {
    let numel = call.program.buffers[out].numel;
    let layout = |last: i64| Layout { offset: 0, strides: if parts > 1 { vec![1, last] } else { vec![1] } };
    let load = Operation::Load(Access { buffer: scratch, layout: layout(numel as i64) });
    let mut body = vec![Inst { op: load, args: Vec::new(), dtype: DType::F32, level: Level::Element }];
    let mut axes = vec![numel];
    if parts > 1 {
        axes.push(parts);
        let op = Operation::Reduce(Combine::Sum);
        body.push(Inst { op, args: vec![0], dtype: DType::F32, level: Level::Row });
    }
    let stores = vec![Store { value: body.len() - 1, access: Access { buffer: out, layout: layout(0) } }];
    call.nest(&Kernel { axes, parallel: 1, columns: true, body, stores })
}

/// One column of the product: the start of its image in the operand, and the start of its window along each axis.
struct Column {
    start: Int,
    origin: Vec<Int>,
}

fn product(call: &Call<'_>, g: &Geometry<'_>, to: usize) -> Result<Launch, String> {
    let (x, w) = (call.routine.ins[0], call.routine.ins[1]);
    let mut b = Build::new(call.program, call.dialect, call.text);
    b.bind(x, Unit::Word, false);
    b.bind(w, Unit::Word, false);
    b.bind(to, Unit::Word, true);
    let side = g.side;
    let blocks = side / 64;
    let quads = side / 4;
    let fills = quads * DEPTH / 256;
    let (high, wide) = (g.m().div_ceil(side as usize), g.n().div_ceil(side as usize));
    let (m, n, k) = (b.size(g.m() as i64), b.size(g.n() as i64), b.size(g.k() as i64));
    let (tiles_m, tiles_n, groups) = (b.size(high as i64), b.size(wide as i64), b.size(g.ws[0] as i64));
    for name in ["ta", "tb"] {
        b.shared_array(name, "vec4<f32>", quads * DEPTH);
    }
    let (tile, exists) = b.group_number(g.tiles(side as usize) * g.parts, call.limits);
    let column0 = b.int(tile.modulo(&tiles_n).times(&Int::Literal(side)));
    let rest = b.int(tile.over(&tiles_n));
    let row0 = b.int(rest.modulo(&tiles_m).times(&Int::Literal(side)));
    let rest = b.int(rest.over(&tiles_m));
    let group = b.int(rest.modulo(&groups));
    let part = b.int(rest.over(&groups));
    let (tx, ty) = (b.value("local % 16u"), b.value("local / 16u"));
    // A thread gathers the same columns at all depths, so they are computed once.
    let mut columns: Vec<Vec<Column>> = Vec::new();
    let mut places = Vec::new();
    for fill in 0..fills {
        let item = format!("(local + {}u)", fill * 256);
        let (quad, depth) = (b.value(format!("{item} % {quads}u")), b.value(format!("{item} / {quads}u")));
        let mut four = Vec::new();
        for i in 0..4 {
            let own = b.value(format!("min({} + {quad} * 4u + {i}u, {} - 1u)", column0.text(), n.text()));
            four.push(column(&mut b, g, x, &Int::Text(own), &group));
        }
        columns.push(four);
        places.push((quad, depth));
    }
    let weights = {
        let block = b.size((g.m() * g.k()) as i64);
        let start = b.start(w, 0).plus(&group.times(&block));
        b.int(start)
    };
    let lanes = (4 * blocks) as usize;
    let mut sums: Vec<Vec<String>> = Vec::new();
    for _ in 0..lanes {
        sums.push((0..lanes).map(|_| b.variable("0.0f")).collect());
    }
    let chunk = b.size((g.k().div_ceil(g.parts)).next_multiple_of(DEPTH as usize) as i64);
    let from = b.int(part.times(&chunk));
    let end = b.value(format!("min({} + {}, {})", from.text(), chunk.text(), k.text()));
    let k0 = b.name();
    b.line(format!("for (var {k0} = {}; {k0} < {end}; {k0} = {k0} + {DEPTH}u) {{", from.text()));
    for fill in 0..fills {
        // Neighbouring threads read neighbouring depths of the weights.
        let item = format!("(local + {}u)", fill * 256);
        let (quad, depth) = (b.value(format!("{item} / {DEPTH}u")), b.value(format!("{item} % {DEPTH}u")));
        let at_k = b.value(format!("{k0} + {depth}"));
        let mut four = Vec::new();
        for i in 0..4 {
            let row = b.value(format!("min({} + {quad} * 4u + {i}u, {} - 1u)", row0.text(), m.text()));
            let at = b.int(weights.plus(&Int::Text(format!(
                "({row} * {} + min({at_k}, {} - 1u))",
                k.text(),
                k.text()
            ))));
            let value = load(&b, w, &at);
            four.push(format!("select(0.0f, {value}, {at_k} < {end})"));
        }
        b.line(format!("ta[{depth} * {quads}u + {quad}] = vec4<f32>({});", four.join(", ")));
        let (quad, depth) = &places[fill as usize];
        let at_k = b.value(format!("{k0} + {depth}"));
        let four = gather(&mut b, g, x, &columns[fill as usize], &at_k, &end);
        b.line(format!("tb[{depth} * {quads}u + {quad}] = vec4<f32>({});", four.join(", ")));
    }
    b.line("workgroupBarrier();");
    let d = b.name();
    b.line(format!("for (var {d} = 0u; {d} < {DEPTH}u; {d} = {d} + 1u) {{"));
    let fours = |b: &mut Build<'_>, name: &str, thread: &str| -> Vec<String> {
        let mut all = Vec::new();
        for block in 0..blocks {
            let four = b.value(format!("{name}[{d} * {quads}u + {thread} + {}u]", 16 * block));
            all.extend(["x", "y", "z", "w"].map(|part| format!("{four}.{part}")));
        }
        all
    };
    let (p, q) = (fours(&mut b, "ta", &ty), fours(&mut b, "tb", &tx));
    for (row, x) in sums.iter().zip(&p) {
        for (sum, y) in row.iter().zip(&q) {
            b.line(format!("{sum} = fma({x}, {y}, {sum});"));
        }
    }
    b.line("}\nworkgroupBarrier();\n}");
    if let Some(exists) = &exists {
        b.line(format!("if ({exists}) {{"));
    }
    results(&mut b, g, to, &sums, [&row0, &column0, &group, &part], [&ty, &tx], [&m, &n]);
    if exists.is_some() {
        b.line("}");
    }
    b.finish(g.tiles(side as usize) * g.parts, call.limits.groups, call.limits.bindings)
}

/// Computes the start of a column's window.
fn column(b: &mut Build<'_>, g: &Geometry<'_>, x: usize, own: &Int, group: &Int) -> Column {
    let spatial = sizes(b, &g.os[3..]);
    let places = b.size(g.positions() as i64);
    let image = b.int(own.over(&places));
    let place = b.int(own.modulo(&places));
    let at = decompose(b, &place, &spatial);
    let block: usize = g.xs[2..].iter().product();
    let block = b.size(block as i64);
    let start = number(b, &g.xs[..2], &[image, group.clone()]).times(&block);
    let start = b.start(x, 0).plus(&start);
    let start = b.int(start);
    let mut origin = Vec::new();
    for (i, p) in at.iter().enumerate() {
        let (stride, low) = (b.size(g.window.stride[i] as i64), b.size(-g.window.low[i]));
        let own = p.times(&stride).plus(&low);
        origin.push(b.int(own));
    }
    Column { start, origin }
}

/// Loads the elements of four windows at a depth. Elements outside of the operand are zero.
fn gather(
    b: &mut Build<'_>,
    g: &Geometry<'_>,
    x: usize,
    columns: &[Column],
    at_k: &str,
    end: &str,
) -> Vec<String> {
    let extents = sizes(b, &g.ws[2..]);
    let at = decompose(b, &Int::Text(at_k.to_string()), &extents);
    let x_sizes = sizes(b, &g.xs[3..]);
    let mut reach = Vec::new();
    for (i, place) in at[1..].iter().enumerate() {
        let dilation = b.size(g.window.window_dilation[i] as i64);
        let own = place.times(&dilation);
        reach.push(b.int(own));
    }
    let mut all = Vec::new();
    for column in columns {
        let mut index = vec![at[0].clone()];
        let mut inside = vec![format!("{at_k} < {end}")];
        for (i, r) in reach.iter().enumerate() {
            let (own, condition) =
                spread(b, column.origin[i].plus(r), g.window.base_dilation[i], &x_sizes[i]);
            index.push(own);
            inside.push(condition);
        }
        let inside = b.value(inside.join(" && "));
        let from = number(b, &g.xs[2..], &index);
        let from = column.start.plus(&Int::Text(format!("select(0u, {}, {inside})", from.text())));
        let from = b.int(from);
        let value = load(b, x, &from);
        all.push(format!("select(0.0f, {value}, {inside})"));
    }
    all
}

/// Writes the lines that store the sums of a thread.
fn results(
    b: &mut Build<'_>,
    g: &Geometry<'_>,
    to: usize,
    sums: &[Vec<String>],
    [row0, column0, group, part]: [&Int; 4],
    [ty, tx]: [&str; 2],
    [m, n]: [&Int; 2],
) {
    let (places, groups) = (b.size(g.positions() as i64), b.size(g.ws[0] as i64));
    let numel = b.size(g.os.iter().product::<usize>() as i64);
    let start = b.start(to, 0).plus(&part.times(&numel));
    let start = b.int(start);
    for j in 0..sums.len() {
        let (block, lane) = (j as u32 / 4, j as u32 % 4);
        let column = Int::Text(b.value(format!("{} + {tx} * 4u + {}u", column0.text(), 64 * block + lane)));
        b.line(format!("if ({} < {}) {{", column.text(), n.text()));
        let image = column.over(&places);
        let base = image.times(&groups).plus(group).times(m).times(&places).plus(&column.modulo(&places));
        let base = b.int(start.plus(&base));
        for (i, row) in sums.iter().enumerate() {
            let (block, lane) = (i as u32 / 4, i as u32 % 4);
            let own = Int::Text(b.value(format!("{} + {ty} * 4u + {}u", row0.text(), 64 * block + lane)));
            b.line(format!("if ({} < {}) {{", own.text(), m.text()));
            let at = base.plus(&own.times(&places));
            let at = b.int(at);
            store(b, to, &at, &row[j]);
            b.line("}");
        }
        b.line("}");
    }
}
