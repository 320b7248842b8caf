//! Runs rules: predicates in the order they need each other, recursive relations by semi-naive evaluation, recursive minima
//! and maxima by the elements that changed. Takes `Rules`; returns the tuples and numbers of every predicate.

use super::plan::{Level, Plan, Step};
use super::rule::{Arg, Atom, Kind, Literal, Number, Rule, Rules};
use super::trie::{Node, Trie};
use crate::syntax::ast::Projection;
use crate::syntax::order::components;
use gradus_ir::{Error, Result, stop};

/// Most columns of tuples that one relation may hold.
const MAX_CELLS: usize = 1 << 30;
/// Length of a buffer of results, in columns, at which repetitions are first removed.
const MAX_BUFFERED: usize = 1 << 20;

/// The tuples or numbers of a predicate.
#[derive(Debug)]
pub(super) enum Store {
    /// Tuples by several orders of columns, and those found in the last round.
    Relation { tries: Vec<Trie>, new: Vec<u32> },
    /// Elements, row-major.
    Numbers(Vec<f64>),
}

/// The reason why rules were not solved.
pub(super) enum Stopped {
    /// A recursion of numbers that only the dense evaluation supports, or reports as not converging.
    Unsupported,
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(e: Error) -> Stopped {
        Stopped::Failed(e)
    }
}

pub(super) struct Engine<'a> {
    rules: &'a Rules,
    pub(super) stores: Vec<Store>,
    /// If true, numbers are rounded to `f32`.
    narrow: bool,
    rounds: usize,
}

/// Returns the offset of an element, or `None` if it is outside.
fn flat(sizes: &[u32], at: &[i64]) -> Option<usize> {
    let inside = |(n, x): (&u32, &i64)| (0..i64::from(*n)).contains(x).then_some(*x as usize);
    sizes.iter().zip(at).try_fold(0, |sum, (n, x)| Some(sum * *n as usize + inside((n, x))?))
}

impl<'a> Engine<'a> {
    pub(super) fn new(rules: &'a Rules, narrow: bool, rounds: usize) -> Engine<'a> {
        let store = |p: &super::rule::Predicate| match &p.kind {
            Kind::Relation(facts) => {
                let mut trie = Trie::new(&p.sizes, &(0..p.sizes.len()).collect::<Vec<_>>());
                // A relation without arguments that holds is stored as one cell.
                let width = p.sizes.len();
                for tuple in facts.chunks_exact(width.max(1)) {
                    trie.insert(&tuple[..width]);
                }
                Store::Relation { tries: vec![trie], new: Vec::new() }
            }
            Kind::Reduced(how) => {
                let count = p.sizes.iter().map(|n| *n as usize).product();
                Store::Numbers(vec![how.of_nothing(); count])
            }
            Kind::Array(numbers) => Store::Numbers(numbers.clone()),
        };
        Engine { rules, stores: rules.predicates.iter().map(store).collect(), narrow, rounds }
    }

    /// Solves all predicates.
    pub(super) fn run(&mut self) -> std::result::Result<(), Stopped> {
        let needs = self.rules.needs();
        for group in components(&needs) {
            let own: Vec<&Rule> = self.rules.rules.iter().filter(|r| group.contains(&r.head.of)).collect();
            let recursive = group.len() > 1 || needs[group[0]].contains(&group[0]);
            let is_relation = |p: &usize| matches!(self.rules.predicates[*p].kind, Kind::Relation(_));
            match (recursive, is_relation(&group[0])) {
                (_, true) if group.iter().all(is_relation) => self.facts(&own, &group, recursive)?,
                (false, false) => self.reduce(&own, group[0])?,
                (true, false) if !group.iter().any(is_relation) => self.extremes(&own, &group)?,
                _ => return Err(Stopped::Unsupported),
            }
        }
        Ok(())
    }

    pub(super) fn trie(&self, of: usize) -> Option<&Trie> {
        match &self.stores[of] {
            Store::Relation { tries, .. } => tries.first(),
            Store::Numbers(_) => None,
        }
    }

    fn count(&self, of: usize) -> usize {
        self.trie(of).map_or(0, Trie::len)
    }

    /// Returns a plan, with the tries that it reads.
    fn plan(&mut self, rule: &Rule, start: Option<&Atom>, skip: Option<usize>) -> Plan {
        let plan = Plan::new(rule, start, skip, |of| self.count(of));
        for step in &plan.steps {
            let Step::Find { of, order, .. } = step else { continue };
            let sizes = &self.rules.predicates[*of].sizes;
            let Store::Relation { tries, .. } = &mut self.stores[*of] else { continue };
            if !order.is_empty() && !tries.iter().any(|t| t.order == *order) {
                let mut trie = Trie::new(sizes, order);
                for tuple in tries[0].tuples().chunks_exact(order.len()) {
                    trie.insert(tuple);
                }
                tries.push(trie);
            }
        }
        plan
    }

    /// Adds tuples of a relation; those that are new are kept for the next round.
    fn add(&mut self, of: usize, found: &[u32]) -> Result<()> {
        let width = self.rules.predicates[of].sizes.len();
        let Store::Relation { tries, new } = &mut self.stores[of] else { return Ok(()) };
        for tuple in found.chunks_exact(width.max(1)) {
            let tuple = &tuple[..width];
            if tries[0].insert(tuple) {
                for trie in &mut tries[1..] {
                    trie.insert(tuple);
                }
                new.extend_from_slice(if width == 0 { &[0] } else { tuple });
            }
        }
        if tries[0].len().saturating_mul(width) > MAX_CELLS {
            return Err(too_many(width));
        }
        Ok(())
    }

    /// Finds all facts of relations that depend on each other.
    fn facts(&mut self, rules: &[&Rule], group: &[usize], recursive: bool) -> Result<()> {
        for rule in rules {
            let plan = self.plan(rule, None, None);
            let found = self.follow(&plan, &[])?;
            self.add(rule.head.of, &found)?;
        }
        if !recursive {
            group.iter().for_each(|g| drop(self.take_new(*g)));
            return Ok(());
        }
        let mut plans = Vec::new();
        for rule in rules {
            for (at, literal) in rule.body.iter().enumerate() {
                if let Literal::Holds(atom) = literal
                    && group.contains(&atom.of)
                {
                    plans.push(self.plan(rule, Some(atom), Some(at)));
                }
            }
        }
        // Initial facts take part in the first round as well.
        for g in group {
            let all = self.trie(*g).map(Trie::tuples).unwrap_or_default();
            let holds = self.count(*g) > 0 && self.rules.predicates[*g].sizes.is_empty();
            if let Store::Relation { new, .. } = &mut self.stores[*g] {
                *new = if holds { vec![0] } else { all };
            }
        }
        loop {
            let new: Vec<(usize, Vec<u32>)> = group.iter().map(|g| (*g, self.take_new(*g))).collect();
            if new.iter().all(|(_, tuples)| tuples.is_empty()) {
                return Ok(());
            }
            for plan in &plans {
                let Some((of, _)) = &plan.start else { continue };
                for (_, tuples) in new.iter().filter(|(g, _)| g == of) {
                    let found = self.follow(plan, tuples)?;
                    self.add(plan.rule.head.of, &found)?;
                }
            }
        }
    }

    fn take_new(&mut self, of: usize) -> Vec<u32> {
        match &mut self.stores[of] {
            Store::Relation { new, .. } => std::mem::take(new),
            Store::Numbers(_) => Vec::new(),
        }
    }

    /// Returns the tuples of a rule's head that are not known yet, from these new tuples, or from everything.
    fn follow(&self, plan: &Plan, new: &[u32]) -> Result<Vec<u32>> {
        let mut walk = Walk::new(self, plan);
        walk.start(new)?;
        Ok(walk.found)
    }

    /// Evaluates a tensor that does not depend on itself.
    fn reduce(&mut self, rules: &[&Rule], of: usize) -> Result<()> {
        let Kind::Reduced(how) = self.rules.predicates[of].kind else { return Ok(()) };
        let Store::Numbers(mut sums) = std::mem::replace(&mut self.stores[of], Store::Numbers(Vec::new()))
        else {
            return Ok(());
        };
        let mut counts = vec![0u32; if how == Projection::Avg { sums.len() } else { 0 }];
        if how == Projection::Avg {
            sums.fill(0.0);
        }
        for rule in rules {
            let plan = self.plan(rule, None, None);
            let mut walk = Walk::new(self, &plan);
            walk.sums = std::mem::take(&mut sums);
            walk.counts = std::mem::take(&mut counts);
            walk.how = Some(how);
            walk.start(&[])?;
            (sums, counts) = (walk.sums, walk.counts);
        }
        // The mean of nothing is NaN.
        sums.iter_mut().zip(&counts).for_each(|(sum, n)| *sum /= f64::from(*n));
        self.stores[of] = Store::Numbers(sums);
        Ok(())
    }

    /// Evaluates minima or maxima that depend on each other: rules that read an improved element run again.
    fn extremes(&mut self, rules: &[&Rule], group: &[usize]) -> std::result::Result<(), Stopped> {
        let how = |p: &usize| match self.rules.predicates[*p].kind {
            Kind::Reduced(how @ (Projection::Min | Projection::Max)) => Some(how),
            _ => None,
        };
        let Some(one) = how(&group[0]) else { return Err(Stopped::Unsupported) };
        if group.iter().any(|g| how(g) != Some(one)) {
            return Err(Stopped::Unsupported);
        }
        let (mut first, mut plans) = (Vec::new(), Vec::new());
        for rule in rules {
            let Some(value) = &rule.value else { continue };
            let mut own: Vec<&Atom> = Vec::new();
            value.reads(&mut |r| {
                if group.contains(&r.of) {
                    own.push(r);
                }
            });
            let tests = rule.body.iter().any(|l| match l {
                Literal::Compare(_, a, b) => {
                    let mut reads = false;
                    [a, b].iter().for_each(|n| n.reads(&mut |r| reads |= group.contains(&r.of)));
                    reads
                }
                _ => false,
            });
            // An element out of range is 0 and never changes, so no plan would start from it.
            let is_shifted = |a: &&Atom| a.args.iter().any(|x| matches!(x, Arg::Var(_, by) if *by != 0));
            if tests || own.iter().any(is_shifted) || !value.grows(group) {
                return Err(Stopped::Unsupported);
            }
            if own.is_empty() {
                first.push(self.plan(rule, None, None));
            }
            let own: Vec<Atom> = own.into_iter().cloned().collect();
            for atom in own {
                plans.push(self.plan(rule, Some(&atom), None));
            }
        }
        let mut changed: Vec<Vec<u32>> = vec![Vec::new(); group.len()];
        for plan in &first {
            self.improve(plan, &[], one, group, &mut changed)?;
        }
        for _ in 0..self.rounds {
            if changed.iter().all(Vec::is_empty) {
                return Ok(());
            }
            let mut next = vec![Vec::new(); group.len()];
            for plan in &plans {
                let Some((of, _)) = &plan.start else { continue };
                let Some(at) = group.iter().position(|g| g == of) else { continue };
                self.improve(plan, &changed[at], one, group, &mut next)?;
            }
            for (tuples, g) in next.iter_mut().zip(group) {
                dedup(tuples, self.rules.predicates[*g].sizes.len());
            }
            changed = next;
        }
        Err(Stopped::Unsupported)
    }

    /// Runs a plan from changed elements, and collects the elements that improve.
    fn improve(
        &mut self,
        plan: &Plan,
        new: &[u32],
        how: Projection,
        group: &[usize],
        changed: &mut [Vec<u32>],
    ) -> Result<()> {
        if new.is_empty() && plan.start.is_some() {
            return Ok(());
        }
        let mut walk = Walk::new(self, plan);
        walk.how = Some(how);
        walk.apart = true;
        walk.start(new)?;
        let better = walk.better;
        let of = plan.rule.head.of;
        let Some(at) = group.iter().position(|g| *g == of) else { return Ok(()) };
        let sizes = &self.rules.predicates[of].sizes;
        let Store::Numbers(own) = &mut self.stores[of] else { return Ok(()) };
        for (element, x) in better {
            if is_better(how, x, own[element]) {
                own[element] = x;
                let (mut left, from) = (element, changed[at].len());
                for n in sizes.iter().rev() {
                    changed[at].insert(from, (left % *n as usize) as u32);
                    left /= *n as usize;
                }
                // A scalar's only element is represented by one cell.
                changed[at].extend(sizes.is_empty().then_some(0));
            }
        }
        Ok(())
    }
}

fn is_better(how: Projection, x: f64, than: f64) -> bool {
    if how == Projection::Min { x < than } else { x > than }
}

/// Sorts tuples and removes repetitions.
pub(super) fn dedup(tuples: &mut Vec<u32>, width: usize) {
    match width {
        0 => tuples.truncate(1),
        1 => {
            tuples.sort_unstable();
            tuples.dedup();
        }
        2 => {
            let pack = |t: &[u32]| u64::from(t[0]) << 32 | u64::from(t[1]);
            let mut pairs: Vec<u64> = tuples.chunks_exact(2).map(pack).collect();
            pairs.sort_unstable();
            pairs.dedup();
            tuples.clear();
            tuples.extend(pairs.iter().flat_map(|p| [(p >> 32) as u32, *p as u32]));
        }
        _ => {
            let mut all: Vec<&[u32]> = tuples.chunks_exact(width).collect();
            all.sort_unstable();
            all.dedup();
            *tuples = all.concat();
        }
    }
}

/// Returns the error of a relation with more cells than [`MAX_CELLS`].
fn too_many(width: usize) -> Error {
    Error::value("a relation", format!("has more than {} facts", MAX_CELLS / width.max(1)))
}

/// Steps of a join between two polls for a stop, a few milliseconds.
const STEPS_PER_POLL: usize = 1 << 14;

/// One run of a plan: the variables so far, and the results.
struct Walk<'a> {
    engine: &'a Engine<'a>,
    plan: &'a Plan,
    /// The trie of each step that reads a relation.
    tries: Vec<Option<&'a Trie>>,
    bound: Vec<u32>,
    head: Vec<u32>,
    found: Vec<u32>,
    /// Length of `found` at which repetitions are removed.
    limit: usize,
    /// The reduction of a tensor, its elements so far, and how many values each has.
    how: Option<Projection>,
    sums: Vec<f64>,
    counts: Vec<u32>,
    /// If true, improved elements are listed instead of written, because the rule reads them.
    apart: bool,
    better: Vec<(usize, f64)>,
    /// The error that ended the run early.
    ended: Option<Error>,
    /// The number of steps run.
    steps: usize,
}

impl<'a> Walk<'a> {
    fn new(engine: &'a Engine<'a>, plan: &'a Plan) -> Walk<'a> {
        let trie = |step: &Step| match step {
            Step::Find { of, order, .. } => match &engine.stores[*of] {
                Store::Relation { tries, .. } => tries.iter().find(|t| t.order == *order),
                Store::Numbers(_) => None,
            },
            _ => None,
        };
        Walk {
            engine,
            plan,
            tries: plan.steps.iter().map(trie).collect(),
            bound: vec![0; plan.rule.sizes.len()],
            head: vec![0; plan.rule.head.args.len()],
            found: Vec::new(),
            limit: MAX_BUFFERED,
            how: None,
            sums: Vec::new(),
            counts: Vec::new(),
            apart: false,
            better: Vec::new(),
            ended: None,
            steps: 0,
        }
    }

    /// Runs the plan for each new tuple, or once if it starts from everything.
    fn start(&mut self, new: &[u32]) -> Result<()> {
        let plan = self.plan;
        stop::poll()?;
        let Some((_, levels)) = &plan.start else {
            self.walk(0);
            return self.ended.take().map_or(Ok(()), Err);
        };
        for tuple in new.chunks_exact(levels.len().max(1)) {
            let fits = levels.iter().zip(tuple).all(|(level, x)| match level {
                Level::Key(arg) => self.value(*arg) == Some(*x),
                Level::Bind(v, by) => self.bind(*v, i64::from(*x) - by),
            });
            if fits {
                self.walk(0);
            }
            if let Some(e) = self.ended.take() {
                return Err(e);
            }
        }
        Ok(())
    }

    /// Returns the value of an argument whose variable is known; `None` if it is negative.
    fn value(&self, arg: Arg) -> Option<u32> {
        match arg {
            Arg::At(x) => Some(x),
            Arg::Var(v, 0) => Some(self.bound[v]),
            Arg::Var(v, by) => u32::try_from(i64::from(self.bound[v]) + by).ok(),
        }
    }

    /// Binds a variable to a value, unless the value is out of its domain.
    fn bind(&mut self, v: usize, x: i64) -> bool {
        let inside = (0..i64::from(self.plan.rule.sizes[v])).contains(&x);
        if inside {
            self.bound[v] = x as u32;
        }
        inside
    }

    /// Runs step `at` and those after it. Returns true if no more solutions are needed: one suffices and was found, or there are too
    /// many.
    fn walk(&mut self, at: usize) -> bool {
        if at != self.plan.closed {
            return self.step(at);
        }
        let sizes = &self.engine.rules.predicates[self.plan.rule.head.of].sizes;
        for (i, n) in sizes.iter().enumerate() {
            match self.value(self.plan.rule.head.args[i]) {
                Some(x) if x < *n => self.head[i] = x,
                _ => return false,
            }
        }
        let is_known = self.engine.trie(self.plan.rule.head.of).is_some_and(|t| t.contains(&self.head));
        if !is_known && self.step(at) {
            self.found.extend_from_slice(&self.head);
            if self.head.is_empty() {
                self.found.push(0);
            }
            if self.found.len() >= self.limit {
                dedup(&mut self.found, self.head.len());
                if self.found.len() > MAX_CELLS {
                    self.ended = Some(too_many(self.head.len()));
                }
                self.limit = MAX_BUFFERED.max(2 * self.found.len());
            }
        }
        self.ended.is_some()
    }

    fn step(&mut self, at: usize) -> bool {
        let plan = self.plan;
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_PER_POLL)
            && let Err(e) = stop::poll()
        {
            self.ended = Some(e);
            return true;
        }
        match plan.steps.get(at) {
            None if self.how.is_some() => {
                self.contribute();
                false
            }
            None => true,
            Some(Step::Find { levels, .. }) => match self.tries[at] {
                Some(trie) => match trie.root() {
                    Some(root) => self.descend(root, levels, at),
                    None => trie.len() > 0 && self.walk(at + 1),
                },
                None => false,
            },
            Some(Step::Absent(atom)) => {
                let tuple: Option<Vec<u32>> = atom.args.iter().map(|a| self.value(*a)).collect();
                let holds = tuple.is_some_and(|t| self.engine.trie(atom.of).is_some_and(|r| r.contains(&t)));
                !holds && self.walk(at + 1)
            }
            Some(Step::Test(c, a, b)) => {
                let (a, b) = (self.number(a), self.number(b));
                c.holds(a, b) && self.walk(at + 1)
            }
            Some(Step::Any(v)) => (0..plan.rule.sizes[*v]).any(|x| {
                self.bound[*v] = x;
                self.walk(at + 1)
            }),
        }
    }

    fn descend(&mut self, node: &'a Node, levels: &'a [Level], at: usize) -> bool {
        let Some((level, rest)) = levels.split_first() else { return self.walk(at + 1) };
        match *level {
            Level::Key(arg) => match self.value(arg).and_then(|x| node.at(x)) {
                None => false,
                Some(None) => self.walk(at + 1),
                Some(Some(below)) => self.descend(below, rest, at),
            },
            Level::Bind(v, by) => node.each(|x, below| {
                self.bind(v, i64::from(x) - by)
                    && match below {
                        Some(below) => self.descend(below, rest, at),
                        None => self.walk(at + 1),
                    }
            }),
        }
    }

    fn round(&self, x: f64) -> f64 {
        if self.engine.narrow { f64::from(x as f32) } else { x }
    }

    fn number(&self, n: &Number) -> f64 {
        match n {
            Number::Constant(x) => self.round(*x),
            Number::Index(v) => f64::from(self.bound[*v]),
            Number::Odd(v) => f64::from(self.bound[*v] % 2),
            Number::Negative(one) => -self.number(one),
            Number::Sum(parts) => {
                parts.iter().map(|p| self.number(p)).reduce(|a, b| self.round(a + b)).unwrap_or(0.0)
            }
            Number::Product(parts) => {
                parts.iter().map(|p| self.number(p)).reduce(|a, b| self.round(a * b)).unwrap_or(1.0)
            }
            Number::Read(atom) => {
                let sizes = &self.engine.rules.predicates[atom.of].sizes;
                let at = |a: &Arg| match *a {
                    Arg::At(x) => i64::from(x),
                    Arg::Var(v, by) => i64::from(self.bound[v]) + by,
                };
                let at: Vec<i64> = atom.args.iter().map(at).collect();
                let Store::Numbers(own) = &self.engine.stores[atom.of] else { return 0.0 };
                flat(sizes, &at).and_then(|i| own.get(i)).map_or(0.0, |x| self.round(*x))
            }
        }
    }

    /// Adds the value of a solution to its element of the head.
    fn contribute(&mut self) {
        let (Some(how), Some(value)) = (self.how, &self.plan.rule.value) else { return };
        let at = |a: &Arg| match *a {
            Arg::At(x) => i64::from(x),
            Arg::Var(v, by) => i64::from(self.bound[v]) + by,
        };
        let at: Vec<i64> = self.plan.rule.head.args.iter().map(at).collect();
        let of = self.plan.rule.head.of;
        let Some(element) = flat(&self.engine.rules.predicates[of].sizes, &at) else { return };
        let x = self.number(value);
        if self.apart {
            if let Store::Numbers(own) = &self.engine.stores[of]
                && is_better(how, x, own[element])
            {
                self.better.push((element, x));
            }
            return;
        }
        let sum = &mut self.sums[element];
        match how {
            Projection::Sum => *sum += x,
            Projection::Prod => *sum *= x,
            Projection::Min | Projection::Max => {
                if x.is_nan() || is_better(how, x, *sum) {
                    *sum = x;
                }
            }
            Projection::Avg => {
                *sum += x;
                self.counts[element] += 1;
            }
        }
    }
}
