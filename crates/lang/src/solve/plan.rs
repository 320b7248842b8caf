//! Orders the literals of a rule for a join: which one is read next, and by which columns.
//! Takes a rule and the atom whose new tuples start it; returns the steps and the orders of columns they read.
//! `engine` runs the steps.

use super::rule::{Arg, Atom, Literal, Number, Rule};
use crate::syntax::ast::Comparison;

/// The way in which a column is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    /// Its value is known.
    Key(Arg),
    /// It binds a variable, whose value is smaller by this offset.
    Bind(usize, i64),
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Goes through the matching tuples of a relation, by a trie of this order of columns.
    Find { of: usize, order: Vec<usize>, levels: Vec<Level> },
    /// Continues if the relation does not hold.
    Absent(Atom),
    /// Continues if the comparison holds.
    Test(Comparison, Number, Number),
    /// Goes through the domain of a variable.
    Any(usize),
}

/// The steps of one rule.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The predicate of a new tuple, and how its columns are read.
    pub(super) start: Option<(usize, Vec<Level>)>,
    pub(super) steps: Vec<Step>,
    /// From this step on the head is known, so one solution of the rest suffices.
    pub(super) closed: usize,
    pub(super) rule: Rule,
}

/// Reads the columns of an atom in some order, and notes which variables are known after it.
fn levels(atom: &Atom, order: &[usize], known: &mut [bool]) -> Vec<Level> {
    let level = |c: &usize| match atom.args[*c] {
        Arg::Var(v, by) if !known[v] => {
            known[v] = true;
            Level::Bind(v, by)
        }
        arg => Level::Key(arg),
    };
    order.iter().map(level).collect()
}

impl Plan {
    /// Returns a plan that starts at new tuples of `start`. If that is a literal of the body, `skip` is its
    /// position. `count` returns how many tuples a relation has.
    pub(super) fn new(
        rule: &Rule,
        start: Option<&Atom>,
        skip: Option<usize>,
        count: impl Fn(usize) -> usize,
    ) -> Plan {
        let mut known = vec![false; rule.sizes.len()];
        let begin = start.map(|atom| {
            let all: Vec<usize> = (0..atom.args.len()).collect();
            (atom.of, levels(atom, &all, &mut known))
        });
        let body = rule.body.iter().enumerate().filter(|(i, _)| Some(*i) != skip);
        let mut left: Vec<&Literal> = body.map(|(_, l)| l).collect();
        let mut more: Vec<usize> = rule.head.variables().collect();
        left.iter().for_each(|l| more.extend(l.variables()));
        rule.value.iter().for_each(|v| v.variables(&mut more));
        let mut steps = Vec::new();
        let is_head_known = |known: &[bool]| rule.head.variables().all(|v| known[v]);
        let mut closed = None;
        loop {
            // Conditions on known variables come first: they are cheapest.
            let ready = |l: &&Literal, known: &[bool]| {
                !matches!(l, Literal::Holds(_)) && l.variables().iter().all(|v| known[*v])
            };
            while let Some(at) = left.iter().position(|l| ready(l, &known)) {
                match left.remove(at) {
                    Literal::Not(atom) => steps.push(Step::Absent(atom.clone())),
                    Literal::Compare(c, a, b) => steps.push(Step::Test(*c, a.clone(), b.clone())),
                    Literal::Holds(_) => {}
                }
            }
            if closed.is_none() && is_head_known(&known) {
                closed = Some(steps.len());
            }
            let score = |l: &Literal| {
                let Literal::Holds(atom) = l else { return None };
                let bound = atom.args.iter().filter(|a| !matches!(a, Arg::Var(v, _) if !known[*v])).count();
                let open = atom.args.len() - bound;
                Some((open == 0, bound > 0, usize::MAX - open, usize::MAX - count(atom.of)))
            };
            let best = (0..left.len()).filter_map(|i| Some((score(left[i])?, i))).max();
            if let Some((_, at)) = best
                && let Literal::Holds(atom) = left.remove(at)
            {
                let is_known = |c: &usize| !matches!(atom.args[*c], Arg::Var(v, _) if !known[v]);
                let (mut order, open): (Vec<usize>, Vec<usize>) = (0..atom.args.len()).partition(is_known);
                // Columns that the head needs come first; for the others, existence is enough.
                let (early, late): (Vec<usize>, Vec<usize>) = open.into_iter().partition(
                    |c| matches!(atom.args[*c], Arg::Var(v, _) if rule.head.variables().any(|h| h == v)),
                );
                order.extend(early.into_iter().chain(late));
                let levels = levels(atom, &order, &mut known);
                steps.push(Step::Find { of: atom.of, order, levels });
                continue;
            }
            let Some(v) = more.iter().copied().find(|v| !known[*v]) else { break };
            known[v] = true;
            steps.push(Step::Any(v));
        }
        let closed = if rule.value.is_some() { usize::MAX } else { closed.unwrap_or(steps.len()) };
        Plan { start: begin, steps, closed, rule: rule.clone() }
    }
}
