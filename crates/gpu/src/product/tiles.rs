//! Writes products by tiles in shared memory: 256 threads compute 64×64 or 128×128 outputs, and load 16 elements of the
//! summed axis at a time. Each sum is a separate variable, because an array indexed in a loop would be stored in memory.

use super::{Along, Operand, Request, Sizes, epilogue, operands, registers};
use crate::build::{Build, GROUP_NUMBER, Launch};
use crate::int::Int;
use crate::memory::{load, load_four};

/// Elements of the summed axis in a tile.
const DEPTH: u32 = 16;

/// Returns the kernel for tiles of `side` by `side` outputs, and its launch.
pub(super) fn launch(request: &Request<'_>, side: u32) -> Result<Launch, String> {
    let c = request.c;
    let mut b = Build::new(request.program, request.dialect, request.text);
    registers::bind(&mut b, request, &[Along::Lanes]);
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
    let number = Int::Text(b.value(GROUP_NUMBER));
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
    let even = c.k.0.is_multiple_of(DEPTH as usize);
    let tile = |name, operand, first, extent, full| Fill { name, operand, first, extent, full, side, even };
    tile("ta", &first, &row0, &sizes.m, c.m.0.is_multiple_of(side as usize)).lines(&mut b, &k0, &sizes.k);
    tile("tb", &second, &column0, &sizes.n, c.n.0.is_multiple_of(side as usize)).lines(&mut b, &k0, &sizes.k);
    b.line("workgroupBarrier();");
    let k = b.name();
    b.line(format!("for (var {k} = 0u; {k} < {DEPTH}u; {k} = {k} + 1u) {{"));
    let fours = |b: &mut Build<'_>, name: &str, thread: &str| -> Vec<String> {
        let mut all = Vec::new();
        for block in 0..blocks {
            let four = b.value(format!("{name}[{k} * {}u + {thread} + {}u]", side / 4, 16 * block));
            all.extend(["x", "y", "z", "w"].map(|part| format!("{four}.{part}")));
        }
        all
    };
    let (a, d) = (fours(&mut b, "ta", &ty), fours(&mut b, "tb", &tx));
    for (row, x) in sums.iter().zip(&a) {
        for (sum, y) in row.iter().zip(&d) {
            b.line(format!("{sum} = fma({x}, {y}, {sum});"));
        }
    }
    b.line("}\nworkgroupBarrier();\n}");
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
    b.finish(tiles, request.limits.groups, request.limits.bindings)
}

/// The assignment of a tile's elements to the threads that load them. The tile has a row for each depth, and a thread
/// writes vectors of four lanes.
struct Fill<'a> {
    name: &'a str,
    operand: &'a Operand,
    first: &'a Int,
    extent: &'a Int,
    /// If true, the number of lanes is a multiple of the side, so all lanes of all tiles exist.
    full: bool,
    side: u32,
    /// If true, the summed axis is a multiple of [`DEPTH`], so all depths of all tiles exist.
    even: bool,
}

impl Fill<'_> {
    fn lines(&self, b: &mut Build<'_>, k0: &Int, k: &Int) {
        let quads = self.side / 4;
        for part in 0..quads * DEPTH / 256 {
            let item = if part == 0 { "local".to_string() } else { format!("(local + {}u)", part * 256) };
            // Neighbouring threads load neighbouring elements.
            let (quad, depth) = match self.operand.along {
                Along::Depth => {
                    (b.value(format!("{item} / {DEPTH}u")), b.value(format!("{item} % {DEPTH}u")))
                }
                _ => (b.value(format!("{item} % {quads}u")), b.value(format!("{item} / {quads}u"))),
            };
            let lane = b.int(self.first.plus(&Int::Text(format!("({quad} * 4u)"))));
            let at_k = b.int(k0.plus(&Int::Text(depth.clone())));
            let inside = match self.even {
                true => at_k.clone(),
                false => Int::Text(b.value(format!("min({}, {} - 1u)", at_k.text(), k.text()))),
            };
            let mut four: Vec<String> = if self.operand.along == Along::Lanes {
                // The number of lanes is a multiple of four, so all four exist.
                let lane = match self.full {
                    true => lane.clone(),
                    false => Int::Text(b.value(format!("min({}, {} - 4u)", lane.text(), self.extent.text()))),
                };
                let at = b.int(self.operand.at(&lane, &inside));
                load_four(b, self.operand.buffer, &at).to_vec()
            } else {
                let mut all = Vec::new();
                for i in 0..4 {
                    let own = lane.plus(&Int::Literal(i));
                    let own = match self.full {
                        true => own,
                        false => {
                            Int::Text(b.value(format!("min({}, {} - 1u)", own.text(), self.extent.text())))
                        }
                    };
                    let at = b.int(self.operand.at(&own, &inside));
                    all.push(load(b, self.operand.buffer, &at));
                }
                all
            };
            if !self.even {
                let exists = format!("{} < {}", at_k.text(), k.text());
                four = four.iter().map(|v| format!("select(0.0f, {v}, {exists})")).collect();
            }
            b.line(format!("{}[{depth} * {quads}u + {quad}] = vec4<f32>({});", self.name, four.join(", ")));
        }
    }
}
