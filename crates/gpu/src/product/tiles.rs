//! Writes products by tiles in shared memory: 256 threads compute 64×64 or 128×128 outputs, and load 16 elements of the
//! summed axis at a time. Each sum is a separate variable, because an array indexed in a loop would be stored in memory.

use super::{Along, Request, Sizes, epilogue, operands, registers};
use crate::build::{Build, GROUP, Launch};
use crate::int::Int;
use crate::tile::{DEPTH, Tile};

/// Returns the kernel for tiles of `side` by `side` outputs, and its launch.
pub(super) fn launch(request: &Request<'_>, side: u32) -> Result<Launch, String> {
    let c = request.c;
    let mut b = Build::new(request.program, request.dialect, request.text);
    registers::bind(&mut b, request, &[Along::Lanes, Along::Depth]);
    epilogue::bind(&mut b, request);
    epilogue::function(&mut b, request)?;
    // A thread computes 4×4 outputs, or 8×8: in each direction two blocks of four that are half a tile apart.
    let blocks = side / 64;
    let (high, wide) = (c.m.0.div_ceil(side as usize), c.n.0.div_ceil(side as usize));
    let tiles = c.products() * high * wide;
    let sizes = Sizes::of(&mut b, c);
    let (tiles_m, tiles_n) = (b.size(high as i64), b.size(wide as i64));
    for name in ["ta", "tb"] {
        b.shared_array(name, "vec4<f32>", side / 4 * DEPTH);
    }
    let (number, exists) = b.group_number(tiles, request.limits);
    let tile_n = number.modulo(&tiles_n);
    let column0 = b.int(tile_n.times(&Int::Literal(side)));
    let rest = b.int(number.over(&tiles_n));
    let tile_m = rest.modulo(&tiles_m);
    let row0 = b.int(tile_m.times(&Int::Literal(side)));
    let batch = b.int(rest.over(&tiles_m));
    let ([first, second], place) = operands(&mut b, c, &batch);
    let stride = b.size(c.m.1[1]);
    let (tx, ty) = (b.value("local % 16u"), b.value("local / 16u"));
    let lanes = (4 * blocks) as usize;
    let mut sums: Vec<Vec<String>> = Vec::new();
    for _ in 0..lanes {
        sums.push((0..lanes).map(|_| b.variable("0.0f")).collect());
    }
    let k0 = b.name();
    b.line(format!("for (var {k0} = 0u; {k0} < {}; {k0} = {k0} + {DEPTH}u) {{", sizes.k.text()));
    let k0 = Int::Text(k0);
    let tile = |name, operand, first, extent, full| Tile {
        name,
        operand,
        first,
        extent,
        full,
        side,
        depth: DEPTH,
        threads: GROUP,
        even: c.k.0.is_multiple_of(DEPTH as usize),
    };
    let ta = tile("ta", &first, &row0, &sizes.m, c.m.0.is_multiple_of(side as usize));
    let tb = tile("tb", &second, &column0, &sizes.n, c.n.0.is_multiple_of(side as usize));
    ta.fill(&mut b, &k0, &sizes.k);
    tb.fill(&mut b, &k0, &sizes.k);
    b.line("workgroupBarrier();");
    let k = b.name();
    b.line(format!("for (var {k} = 0u; {k} < {DEPTH}u; {k} = {k} + 1u) {{"));
    let fours = |b: &mut Build<'_>, tile: &Tile<'_>, thread: &str| -> Vec<String> {
        let mut all = Vec::new();
        for block in 0..blocks {
            let four = b.value(tile.four(&k, &format!("{thread} + {}u", 16 * block)));
            all.extend(["x", "y", "z", "w"].map(|part| format!("{four}.{part}")));
        }
        all
    };
    let (a, d) = (fours(&mut b, &ta, &ty), fours(&mut b, &tb, &tx));
    for (row, x) in sums.iter().zip(&a) {
        for (sum, y) in row.iter().zip(&d) {
            b.line(format!("{sum} = fma({x}, {y}, {sum});"));
        }
    }
    b.line("}\nworkgroupBarrier();\n}");
    if let Some(exists) = &exists {
        b.line(format!("if ({exists}) {{"));
    }
    for (i, row_sums) in sums.iter().enumerate() {
        let (block, part) = (i as u32 / 4, i as u32 % 4);
        let row = b.value(format!("{} + {ty} * 4u + {}u", row0.text(), 64 * block + part));
        b.line(format!("if ({row} < {}) {{", sizes.m.text()));
        for (block, four) in row_sums.chunks(4).enumerate() {
            let column = b.value(format!("{} + {tx} * 4u + {}u", column0.text(), 64 * block));
            let to = place.plus(&Int::Text(row.clone()).times(&stride)).plus(&Int::Text(column.clone()));
            b.line(format!("if ({column} < {}) {{", sizes.n.text()));
            let left = format!("{} - {column}", sizes.n.text());
            b.line(format!("finish({}, {}, {left});\n}}", four.join(", "), to.text()));
        }
        b.line("}");
    }
    if exists.is_some() {
        b.line("}");
    }
    b.finish(tiles, request.limits.groups, request.limits.bindings)
}
