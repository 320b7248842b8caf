//! Tiles of operands in shared memory: the threads of a group load a part of a matrix together, and read it many times.
//! A tile consists of vectors of four lanes; for each depth (a position along the summed axis) it has all lanes.

use crate::build::Build;
use crate::int::Int;
use crate::memory::{load, load_four};
use crate::product::{Along, Operand};

/// Elements of the summed axis in a tile.
pub(crate) const DEPTH: u32 = 16;

/// A tile, and the part of its operand that it holds.
pub(crate) struct Tile<'a> {
    /// The array in shared memory.
    pub(crate) name: &'a str,
    pub(crate) operand: &'a Operand,
    /// The first lane of the tile, and the number of lanes of the operand.
    pub(crate) first: &'a Int,
    pub(crate) extent: &'a Int,
    /// If true, all lanes of all tiles exist.
    pub(crate) full: bool,
    /// Number of lanes of the tile, a multiple of four, and number of depths.
    pub(crate) side: u32,
    pub(crate) depth: u32,
    /// Number of threads that fill it.
    pub(crate) threads: u32,
    /// If true, all depths of all tiles exist.
    pub(crate) even: bool,
}

impl Tile<'_> {
    /// Returns the four lanes with number `quad` at a depth, as an expression.
    pub(crate) fn four(&self, depth: &str, quad: &str) -> String {
        let quads = self.side / 4;
        match self.operand.along {
            // Vectors are stored in the order that `fill_by_depth` chooses.
            Along::Depth => format!("{}[{depth} * {quads}u + (({quad}) ^ ({depth} / 4u * 2u))]", self.name),
            _ => format!("{}[{depth} * {quads}u + {quad}]", self.name),
        }
    }

    /// Writes the lines that load the tile from depth `k0` on. Depths from `k` on are zero. Lanes after the last are copies of
    /// existing ones.
    pub(crate) fn fill(&self, b: &mut Build<'_>, k0: &Int, k: &Int) {
        match self.operand.along {
            Along::Depth => {
                self.each(b, self.side / 4 * (self.depth / 4), |b, item| self.fill_by_depth(b, item, k0, k));
            }
            _ => self.each(b, self.side / 4 * self.depth, |b, item| self.fill_by_lane(b, item, k0, k)),
        }
    }

    /// Distributes items over the threads.
    fn each(&self, b: &mut Build<'_>, items: u32, mut one: impl FnMut(&mut Build<'_>, &str)) {
        for part in 0..items.div_ceil(self.threads) {
            let item = match part {
                0 => "local".to_string(),
                _ => format!("(local + {}u)", part * self.threads),
            };
            let ragged = (part + 1) * self.threads > items;
            if ragged {
                b.line(format!("if ({item} < {items}u) {{"));
            }
            one(b, &item);
            if ragged {
                b.line("}");
            }
        }
    }

    /// Returns the depth to load for depth `at`, and the condition that `at` exists. If it does not, the depth to load
    /// is the first of the last `step`, which are loaded together.
    fn inside(&self, b: &mut Build<'_>, at: &Int, k: &Int, step: u32) -> (Int, Option<String>) {
        if self.even {
            return (at.clone(), None);
        }
        let inside = b.value(format!("min({}, {} - {step}u)", at.text(), k.text()));
        (Int::Text(inside), Some(format!("{} < {}", at.text(), k.text())))
    }

    /// Returns `lane`, or the first of the last `step` lanes if `lane` does not exist.
    fn clamped(&self, b: &mut Build<'_>, lane: Int, step: u32) -> Int {
        match self.full {
            true => lane,
            false => Int::Text(b.value(format!("min({}, {} - {step}u)", lane.text(), self.extent.text()))),
        }
    }

    /// Loads four lanes at one depth.
    fn fill_by_lane(&self, b: &mut Build<'_>, item: &str, k0: &Int, k: &Int) {
        let quads = self.side / 4;
        // Neighbouring threads load neighbouring lanes.
        let (quad, depth) = (b.value(format!("{item} % {quads}u")), b.value(format!("{item} / {quads}u")));
        let lane = b.int(self.first.plus(&Int::Text(format!("({quad} * 4u)"))));
        let at_k = b.int(k0.plus(&Int::Text(depth.clone())));
        let (inside, exists) = self.inside(b, &at_k, k, 1);
        let mut four: Vec<String> = if self.operand.along == Along::Lanes {
            // The number of lanes is a multiple of four, so all four exist.
            let lane = self.clamped(b, lane, 4);
            let at = b.int(self.operand.at(&lane, &inside));
            load_four(b, self.operand.buffer, &at).to_vec()
        } else {
            let mut all = Vec::new();
            for i in 0..4 {
                let own = self.clamped(b, lane.plus(&Int::Literal(i)), 1);
                let at = b.int(self.operand.at(&own, &inside));
                all.push(load(b, self.operand.buffer, &at));
            }
            all
        };
        if let Some(exists) = exists {
            four = four.iter().map(|v| format!("select(0.0f, {v}, {exists})")).collect();
        }
        b.line(format!("{}[{depth} * {quads}u + {quad}] = vec4<f32>({});", self.name, four.join(", ")));
    }

    /// Loads four depths of four lanes, and transposes them. The vectors of a depth are stored in an order in which
    /// neighbouring threads write to different banks of shared memory.
    fn fill_by_depth(&self, b: &mut Build<'_>, item: &str, k0: &Int, k: &Int) {
        let (quads, blocks) = (self.side / 4, self.depth / 4);
        // Neighbouring threads load neighbouring depths.
        let (quad, block) = (b.value(format!("{item} / {blocks}u")), b.value(format!("{item} % {blocks}u")));
        let lane = b.int(self.first.plus(&Int::Text(format!("({quad} * 4u)"))));
        let at_k = b.int(k0.plus(&Int::Text(format!("({block} * 4u)"))));
        // The number of depths is a multiple of four, so all four exist or none.
        let (inside, exists) = self.inside(b, &at_k, k, 4);
        let mut rows: Vec<[String; 4]> = Vec::new();
        for i in 0..4 {
            let own = self.clamped(b, lane.plus(&Int::Literal(i)), 1);
            let at = b.int(self.operand.at(&own, &inside));
            let four = load_four(b, self.operand.buffer, &at);
            rows.push(four.map(|v| match &exists {
                Some(exists) => b.value(format!("select(0.0f, {v}, {exists})")),
                None => b.value(v),
            }));
        }
        let at = b.value(format!("{block} * {}u + ({quad} ^ ({block} * 2u))", 4 * quads));
        for depth in 0..4 {
            let four: Vec<&str> = rows.iter().map(|row| row[depth].as_str()).collect();
            b.line(format!(
                "{}[{at} + {}u] = vec4<f32>({});",
                self.name,
                depth as u32 * quads,
                four.join(", ")
            ));
        }
    }
}
