//! Evaluates rules over relations stored as rows of bits. Each round joins the new facts of one relation with
//! all known facts of the others. One variable of each join, the lane, varies along the rows, so that 64 of
//! its values are tested at once; the other variables are bound one by one. Takes shapes, rules and initial
//! facts; returns all facts. The rules are checked by the op.

use super::{Atom, Rule};
use gradus_ir::{Result, stop};

/// A relation as rows of bits, one bit per fact: the last of its axes, in some order, varies along a row.
struct Rows {
    order: Vec<usize>,
    /// The extents of the axes, in that order.
    extents: Vec<usize>,
    words: usize,
    bits: Vec<u64>,
    /// The rows that may contain facts.
    touched: Vec<usize>,
    is_touched: Vec<bool>,
}

impl Rows {
    fn new(shape: &[usize], order: &[usize]) -> Rows {
        let extents: Vec<usize> = order.iter().map(|a| shape[*a]).collect();
        let (last, before) = extents.split_last().map_or((1, 1), |(n, all)| (*n, all.iter().product()));
        let words = last.div_ceil(64);
        Rows {
            order: order.to_vec(),
            extents,
            words,
            bits: vec![0; before * words],
            touched: Vec::new(),
            is_touched: vec![false; before],
        }
    }

    fn row(&self, at: usize) -> &[u64] {
        &self.bits[at * self.words..(at + 1) * self.words]
    }

    fn touch(&mut self, row: usize) {
        if !std::mem::replace(&mut self.is_touched[row], true) {
            self.touched.push(row);
        }
    }

    /// Returns the row of a fact and its bit in the row. `fact` has the index along each axis of the
    /// relation.
    fn locate(&self, fact: &[usize]) -> (usize, usize) {
        let (last, before) = self.order.split_last().map_or((0, &[][..]), |(l, b)| (*l, b));
        let row = before.iter().zip(&self.extents).fold(0, |at, (axis, n)| at * n + fact[*axis]);
        (row, fact[last])
    }

    fn has(&self, fact: &[usize]) -> bool {
        let (row, at) = self.locate(fact);
        self.row(row)[at / 64] >> (at % 64) & 1 == 1
    }

    fn insert(&mut self, fact: &[usize]) {
        let (row, at) = self.locate(fact);
        self.bits[row * self.words + at / 64] |= 1 << (at % 64);
        self.touch(row);
    }

    /// Calls `put` with each axis before the last and the index of a row along it.
    fn unfold(&self, mut row: usize, mut put: impl FnMut(usize, usize)) {
        for (axis, n) in self.order.iter().zip(&self.extents).rev().skip(1) {
            put(*axis, row % n);
            row /= n;
        }
    }

    fn clear(&mut self) {
        for row in std::mem::take(&mut self.touched) {
            self.bits[row * self.words..(row + 1) * self.words].fill(0);
            self.is_touched[row] = false;
        }
    }
}

/// Returns the positions of the bits that are set.
fn ones(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(w, word)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let at = (left != 0).then(|| w * 64 + left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(at)
        })
    })
}

/// Makes a row of `n` set bits.
fn fill(row: &mut Vec<u64>, n: usize) {
    row.clear();
    row.resize(n / 64, u64::MAX);
    row.extend((!n.is_multiple_of(64)).then(|| (1u64 << (n % 64)) - 1));
}

fn keep(row: &mut [u64], other: &[u64]) {
    row.iter_mut().zip(other).for_each(|(a, b)| *a &= b);
}

/// A read of a relation: the variables that select a row, each with its extent, and the variable along the
/// row.
struct Reading {
    relation: usize,
    view: usize,
    row: Vec<(usize, usize)>,
    along: usize,
}

impl Reading {
    fn row(&self, bound: &[usize]) -> usize {
        self.row.iter().fold(0, |at, (v, n)| at * n + bound[*v])
    }
}

/// A variable that a loop binds to each value for which all `readings` hold; to all values if there are none.
struct Level {
    variable: usize,
    extent: usize,
    readings: Vec<Reading>,
}

/// The evaluation of one rule for the new facts of one relation that it reads.
struct Plan {
    new: Reading,
    variables: usize,
    /// Reads whose variables are all bound by the new fact.
    tests: Vec<Reading>,
    levels: Vec<Level>,
    /// The variable along the rows, its extent, and the reads that have it.
    lane: usize,
    lane_extent: usize,
    rows: Vec<Reading>,
    head: Reading,
}

/// All relations, each stored once per axis order that the plans read.
pub(super) struct Engine {
    grow: usize,
    shapes: Vec<Vec<usize>>,
    known: Vec<Vec<Rows>>,
    new: Vec<Vec<Rows>>,
    found: Vec<Vec<Rows>>,
    plans: Vec<Plan>,
}

/// The axis orders of each relation that the plans read.
struct Orders {
    shapes: Vec<Vec<usize>>,
    all: Vec<Vec<Vec<usize>>>,
}

impl Orders {
    /// Returns a read of a relation with `along` as the variable along its rows.
    fn reading(&mut self, atom: &Atom, along: usize) -> Reading {
        let last = atom.variables.iter().position(|v| *v == along).unwrap_or(0);
        let order: Vec<usize> = (0..atom.variables.len()).filter(|a| *a != last).chain([last]).collect();
        let row = order[..order.len() - 1].iter();
        let row = row.map(|a| (atom.variables[*a], self.shapes[atom.relation][*a])).collect();
        let all = &mut self.all[atom.relation];
        let view = all.iter().position(|o| *o == order).unwrap_or_else(|| {
            all.push(order);
            all.len() - 1
        });
        Reading { relation: atom.relation, view, row, along }
    }

    fn plan(&mut self, rule: &Rule, at: usize) -> Plan {
        let (head, new) = (&rule.head, &rule.body[at]);
        let others: Vec<&Atom> =
            rule.body.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, a)| a).collect();
        let mut extents: Vec<usize> = Vec::new();
        for atom in rule.body.iter().chain([head]) {
            for (v, n) in atom.variables.iter().zip(&self.shapes[atom.relation]) {
                extents.resize(extents.len().max(v + 1), 0);
                extents[*v] = *n;
            }
        }
        let used = |v: &usize| rule.body.iter().chain([head]).any(|a| a.variables.contains(v));
        let all: Vec<usize> = (0..extents.len()).filter(used).collect();
        // The best lane is a variable of both the new facts and the head: then entire rows are combined at
        // once.
        let score = |v: &&usize| {
            let (ends, begins) = (head.variables.contains(v), new.variables.contains(v));
            (ends, begins, extents[**v])
        };
        let lane = all.iter().max_by_key(score).copied().unwrap_or(0);
        let first = |a: &Atom| a.variables.last().copied().unwrap_or(0);
        let along = if new.variables.contains(&lane) { lane } else { first(new) };
        let mut bound: Vec<usize> = new.variables.iter().copied().filter(|v| *v != lane).collect();
        let is_bound = |a: &Atom, bound: &[usize]| a.variables.iter().all(|v| bound.contains(v));
        let tests =
            others.iter().filter(|a| is_bound(a, &bound)).map(|a| self.reading(a, first(a))).collect();
        let mut levels = Vec::new();
        loop {
            let left: Vec<usize> = all.iter().copied().filter(|v| *v != lane && !bound.contains(v)).collect();
            let says = |a: &&&Atom, v: usize| {
                let others = a.variables.iter().filter(|w| **w != v);
                a.variables.contains(&v) && others.into_iter().all(|w| bound.contains(w))
            };
            let best = |v: &usize| {
                let saying = others.iter().filter(|a| says(a, *v)).count();
                (saying, others.iter().filter(|a| a.variables.contains(v)).count())
            };
            let Some(variable) = left.into_iter().max_by_key(best) else { break };
            let saying: Vec<&Atom> = others.iter().filter(|a| says(a, variable)).copied().collect();
            let readings = saying.into_iter().map(|a| self.reading(a, variable)).collect();
            levels.push(Level { variable, extent: extents[variable], readings });
            bound.push(variable);
        }
        let with_lane = others.iter().filter(|a| a.variables.contains(&lane));
        let rows = with_lane.map(|a| self.reading(a, lane)).collect();
        let ends = if head.variables.contains(&lane) { lane } else { first(head) };
        Plan {
            new: self.reading(new, along),
            variables: extents.len(),
            tests,
            levels,
            lane,
            lane_extent: extents.get(lane).copied().unwrap_or(0),
            rows,
            head: self.reading(head, ends),
        }
    }
}

/// Adds a variable of extent 1 to every atom without variables.
fn with_variables(rule: &Rule) -> Rule {
    let mut rule = rule.clone();
    let all = rule.body.iter().chain([&rule.head]).flat_map(|a| &a.variables);
    let next = all.max().map_or(0, |v| v + 1)..;
    let without = rule.body.iter_mut().chain([&mut rule.head]).filter(|a| a.variables.is_empty());
    without.zip(next).for_each(|(atom, new)| atom.variables.push(new));
    rule
}

impl Engine {
    pub(super) fn new(shapes: &[&[usize]], grow: usize, rules: &[Rule]) -> Engine {
        let one = |s: &&[usize]| if s.is_empty() { vec![1] } else { s.to_vec() };
        let shapes: Vec<Vec<usize>> = shapes.iter().map(one).collect();
        let natural: Vec<Vec<Vec<usize>>> = shapes.iter().map(|s| vec![(0..s.len()).collect()]).collect();
        let mut orders = Orders { shapes: shapes.clone(), all: natural };
        let mut plans = Vec::new();
        for rule in rules.iter().map(with_variables) {
            for at in (0..rule.body.len()).filter(|i| rule.body[*i].relation < grow) {
                plans.push(orders.plan(&rule, at));
            }
        }
        let rows = |count: usize| -> Vec<Vec<Rows>> {
            let of = |r: usize| orders.all[r].iter().map(|o| Rows::new(&shapes[r], o)).collect();
            (0..count).map(of).collect()
        };
        Engine { grow, known: rows(shapes.len()), new: rows(grow), found: rows(grow), plans, shapes }
    }

    /// Sets the initial facts of a relation, from its elements in row-major order.
    pub(super) fn load(&mut self, relation: usize, truths: &[i64]) {
        let shape = self.shapes[relation].clone();
        let mut fact = vec![0; shape.len()];
        for (at, _) in truths.iter().enumerate().filter(|(_, t)| **t != 0) {
            let mut left = at;
            for (place, n) in fact.iter_mut().zip(&shape).rev() {
                (*place, left) = (left % n, left / n);
            }
            self.known[relation].iter_mut().for_each(|rows| rows.insert(&fact));
            if let Some(new) = self.new.get_mut(relation) {
                new.iter_mut().for_each(|rows| rows.insert(&fact));
            }
        }
    }

    /// Returns the elements of a relation in row-major order, 0 or 1.
    pub(super) fn facts(&self, relation: usize) -> Vec<i64> {
        let rows = &self.known[relation][0];
        let n = rows.extents.last().copied().unwrap_or(1);
        let truths = |row: usize| {
            let bits = rows.row(row);
            (0..n).map(move |at| (bits[at / 64] >> (at % 64) & 1) as i64)
        };
        (0..rows.is_touched.len()).flat_map(truths).collect()
    }

    /// Runs rounds until one finds no new facts.
    pub(super) fn run(&mut self) -> Result<()> {
        while self.new.iter().any(|views| !views[0].touched.is_empty()) {
            let Engine { plans, known, new, found, .. } = self;
            for plan in plans.iter() {
                plan.follow(known, new, found)?;
            }
            self.end_round();
        }
        Ok(())
    }

    /// Makes the facts that this round found the new ones, in all axis orders.
    fn end_round(&mut self) {
        for g in 0..self.grow {
            let mut fact = vec![0; self.shapes[g].len()];
            let (known, new) = (&mut self.known[g], &mut self.new[g]);
            new.iter_mut().for_each(Rows::clear);
            for rows in &mut self.found[g] {
                let last = rows.order.last().copied().unwrap_or(0);
                for &row in &rows.touched {
                    rows.unfold(row, |axis, at| fact[axis] = at);
                    for at in ones(rows.row(row)) {
                        fact[last] = at;
                        // Several rules may find the same fact.
                        if !known[0].has(&fact) {
                            known.iter_mut().chain(&mut *new).for_each(|rows| rows.insert(&fact));
                        }
                    }
                }
                rows.clear();
            }
        }
    }
}

/// The state of a walk over the variables of a rule.
struct Walk<'a> {
    plan: &'a Plan,
    known: &'a [Vec<Rows>],
    found: &'a mut Rows,
    bound: Vec<usize>,
    row: Vec<u64>,
    steps: usize,
}

/// Steps of a walk between two polls for a stop.
const STEPS_PER_POLL: usize = 1 << 10;

impl Plan {
    fn follow(&self, known: &[Vec<Rows>], new: &[Vec<Rows>], found: &mut [Vec<Rows>]) -> Result<()> {
        let rows = &new[self.new.relation][self.new.view];
        let found = &mut found[self.head.relation][self.head.view];
        let (bound, row) = (vec![0; self.variables], Vec::new());
        let mut walk = Walk { plan: self, known, found, bound, row, steps: 0 };
        let mut scratch = vec![Vec::new(); self.levels.len()];
        for &row in &rows.touched {
            stop::poll()?;
            let mut left = row;
            for (v, n) in self.new.row.iter().rev() {
                (walk.bound[*v], left) = (left % n, left / n);
            }
            if self.new.along == self.lane {
                walk.down(&self.levels, &mut scratch, Some(rows.row(row)))?;
                continue;
            }
            for at in ones(rows.row(row)) {
                walk.bound[self.new.along] = at;
                walk.down(&self.levels, &mut scratch, None)?;
            }
        }
        Ok(())
    }
}

impl Walk<'_> {
    fn rows_of(&self, reading: &Reading) -> &[u64] {
        self.known[reading.relation][reading.view].row(reading.row(&self.bound))
    }

    fn holds(&self, reading: &Reading) -> bool {
        let at = self.bound[reading.along];
        self.rows_of(reading)[at / 64] >> (at % 64) & 1 == 1
    }

    fn down(&mut self, levels: &[Level], scratch: &mut [Vec<u64>], new: Option<&[u64]>) -> Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_PER_POLL) {
            stop::poll()?;
        }
        // The tests are evaluated once, before the first level.
        if levels.len() == self.plan.levels.len() && !self.plan.tests.iter().all(|t| self.holds(t)) {
            return Ok(());
        }
        let (Some((level, levels)), Some((places, scratch))) =
            (levels.split_first(), scratch.split_first_mut())
        else {
            self.conclude(new);
            return Ok(());
        };
        fill(places, level.extent);
        level.readings.iter().for_each(|r| keep(places, self.rows_of(r)));
        for at in ones(places) {
            self.bound[level.variable] = at;
            self.down(levels, scratch, new)?;
        }
        Ok(())
    }

    /// Adds the facts of the head that are not known yet, for the bound variables and all values of the lane.
    fn conclude(&mut self, new: Option<&[u64]>) {
        let plan = self.plan;
        let mut row = std::mem::take(&mut self.row);
        fill(&mut row, plan.lane_extent);
        new.into_iter().for_each(|new| keep(&mut row, new));
        plan.rows.iter().for_each(|r| keep(&mut row, self.rows_of(r)));
        let at = plan.head.row(&self.bound);
        if plan.head.along == plan.lane {
            row.iter_mut().zip(self.rows_of(&plan.head)).for_each(|(a, known)| *a &= !known);
            if row.iter().any(|w| *w != 0) {
                let words = self.found.words;
                let own = &mut self.found.bits[at * words..(at + 1) * words];
                own.iter_mut().zip(&row).for_each(|(a, b)| *a |= b);
                self.found.touch(at);
            }
        } else if row.iter().any(|w| *w != 0) && !self.holds(&plan.head) {
            let place = self.bound[plan.head.along];
            self.found.bits[at * self.found.words + place / 64] |= 1 << (place % 64);
            self.found.touch(at);
        }
        self.row = row;
    }
}
