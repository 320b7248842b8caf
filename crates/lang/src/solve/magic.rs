//! Specialises rules for a goal with known arguments, by magic sets: a rule for `T` is evaluated only for arguments that the
//! goal, or a rule on the way to it, asks for. Takes rules and a goal; returns rules and the predicate that answers it.
//!
//! A recursion that hands its free arguments on unchanged (`T(x,z) = E(x,y) T(y,z)` asked for `T(17,z)`) needs no facts of
//! `T` in between: the bound arguments that are reached suffice.

use super::rule::{Arg, Atom, Kind, Literal, Predicate, Rule, Rules};
use crate::syntax::order::components;
use std::collections::HashMap;

/// True for each argument of a call that is known.
type Pattern = Vec<bool>;

/// Rules being specialised.
struct Magic<'a> {
    rules: &'a Rules,
    out: Rules,
    /// The predicates that answer a call, and those that hold the arguments it asks for.
    made: HashMap<(usize, Pattern), (usize, usize)>,
    work: Vec<(usize, Pattern)>,
    /// The predicates that calls are specialised for; others are solved completely.
    open: Vec<bool>,
}

/// Specialises rules for facts of `goal` with these arguments.
pub(super) fn specialise(rules: &Rules, goal: usize, args: &[Option<u32>]) -> (Rules, usize) {
    let pattern: Pattern = args.iter().map(Option::is_some).collect();
    let negated = completely(rules);
    let open: Vec<bool> = (0..rules.predicates.len())
        .map(|p| {
            let ruled = rules.rules.iter().any(|r| r.head.of == p);
            ruled && !negated[p] && matches!(rules.predicates[p].kind, Kind::Relation(_))
        })
        .collect();
    if !open[goal] || !pattern.contains(&true) {
        return (rules.clone(), goal);
    }
    let mut magic = Magic { rules, out: Rules::default(), made: HashMap::new(), work: Vec::new(), open };
    // Predicates that are solved completely keep their numbers.
    magic.out.predicates = rules.predicates.clone();
    magic.out.rules = rules.rules.iter().filter(|r| !magic.open[r.head.of]).cloned().collect();
    let (answer, asked) = magic.call(goal, &pattern);
    let seed: Vec<u32> = args.iter().flatten().copied().collect();
    if let Kind::Relation(facts) = &mut magic.out.predicates[asked].kind {
        *facts = seed;
    }
    let asked_for = (goal, pattern);
    while let Some((of, pattern)) = magic.work.pop() {
        magic.define(of, &pattern, &asked_for);
    }
    // Open predicates have been replaced by specialised ones.
    for p in 0..rules.predicates.len() {
        if magic.open[p]
            && let Kind::Relation(facts) = &mut magic.out.predicates[p].kind
        {
            facts.clear();
        }
    }
    (magic.out, answer)
}

/// Returns the predicates that must be solved completely: those that are negated, read as numbers or counted,
/// and all they depend on.
fn completely(rules: &Rules) -> Vec<bool> {
    let needs = rules.needs();
    let mut all = vec![false; rules.predicates.len()];
    let mut work = Vec::new();
    for rule in &rules.rules {
        if rule.value.is_some() {
            work.push(rule.head.of);
        }
        for literal in &rule.body {
            match literal {
                Literal::Not(atom) => work.push(atom.of),
                Literal::Compare(_, a, b) => [a, b].iter().for_each(|n| n.reads(&mut |r| work.push(r.of))),
                _ => {}
            }
        }
    }
    while let Some(p) = work.pop() {
        if !std::mem::replace(&mut all[p], true) {
            work.extend(&needs[p]);
        }
    }
    all
}

impl Magic<'_> {
    fn add(&mut self, sizes: Vec<u32>) -> usize {
        self.out.predicates.push(Predicate { sizes, kind: Kind::Relation(Vec::new()) });
        self.out.predicates.len() - 1
    }

    /// Returns the predicates of a call: its answers, and the arguments that are requested.
    fn call(&mut self, of: usize, pattern: &Pattern) -> (usize, usize) {
        if let Some(made) = self.made.get(&(of, pattern.clone())) {
            return *made;
        }
        let sizes = self.rules.predicates[of].sizes.clone();
        let known = sizes.iter().zip(pattern).filter(|(_, k)| **k).map(|(n, _)| *n).collect();
        let made = (self.add(sizes), self.add(known));
        self.made.insert((of, pattern.clone()), made);
        self.work.push((of, pattern.clone()));
        made
    }

    /// The rules of a call.
    fn define(&mut self, of: usize, pattern: &Pattern, goal: &(usize, Pattern)) {
        let (answer, asked) = self.call(of, pattern);
        // Initial facts are read from a predicate of their own.
        if let Kind::Relation(facts) = &self.rules.predicates[of].kind
            && !facts.is_empty()
        {
            let sizes = self.rules.predicates[of].sizes.clone();
            let known = self.add(sizes.clone());
            self.out.predicates[known].kind = Kind::Relation(facts.clone());
            let args: Vec<Arg> = (0..sizes.len()).map(|v| Arg::Var(v, 0)).collect();
            let body = vec![
                Literal::Holds(Atom { of: asked, args: chosen(&args, pattern) }),
                Literal::Holds(Atom { of: known, args: args.clone() }),
            ];
            self.out.rules.push(Rule { head: Atom { of: answer, args }, body, value: None, sizes });
        }
        let rules = self.rules;
        // Other calls of the relation may have other free arguments than the goal.
        let passes = (of, pattern) == (goal.0, &goal.1) && self.passes_on(of, pattern);
        for rule in rules.rules.iter().filter(|r| r.head.of == of) {
            self.specialise(rule, pattern, answer, asked, passes);
        }
    }

    fn specialise(&mut self, rule: &Rule, pattern: &Pattern, answer: usize, asked: usize, passes: bool) {
        let bound = chosen(&rule.head.args, pattern);
        let first = Literal::Holds(Atom { of: asked, args: bound.clone() });
        let mut known = vec![false; rule.sizes.len()];
        bound.iter().for_each(|a| note(a, &mut known));
        let mut body = vec![first];
        let mut left: Vec<&Literal> = rule.body.iter().collect();
        let mut ends = false;
        while !left.is_empty() {
            // A recursion that passes its arguments on comes last, when those it needs are known.
            let own = |l: &&Literal| l.atom().is_some_and(|(a, _)| a.of == rule.head.of);
            let at = match left.iter().position(own) {
                Some(own) if passes && left.len() > 1 => {
                    let others: Vec<usize> = (0..left.len()).filter(|i| *i != own).collect();
                    let among: Vec<&Literal> = others.iter().map(|i| left[*i]).collect();
                    others[next(&among, &known, &self.open)]
                }
                _ => next(&left, &known, &self.open),
            };
            let literal = left.remove(at);
            let Literal::Holds(atom) = literal else {
                body.push(literal.clone());
                continue;
            };
            if !self.open[atom.of] {
                atom.args.iter().for_each(|a| note(a, &mut known));
                body.push(literal.clone());
                continue;
            }
            let own: Pattern = atom.args.iter().map(|a| !matches!(a, Arg::Var(v, _) if !known[*v])).collect();
            let (found, wanted) = self.call(atom.of, &own);
            let head = Atom { of: wanted, args: chosen(&atom.args, &own) };
            let trivial = matches!(&body[..], [Literal::Holds(only)] if *only == head);
            if !trivial {
                let body = body.clone();
                self.out.rules.push(Rule { head, body, value: None, sizes: rule.sizes.clone() });
            }
            ends |= passes && atom.of == rule.head.of;
            atom.args.iter().for_each(|a| note(a, &mut known));
            body.push(Literal::Holds(Atom { of: found, args: atom.args.clone() }));
        }
        // The requested arguments lead to answers of the goal, so the head has the goal's bound arguments.
        let head = match (ends, passes) {
            (true, _) => return,
            (false, true) => self.goal_head(rule, pattern, answer, asked),
            (false, false) => None,
        };
        let head = head.unwrap_or(Atom { of: answer, args: rule.head.args.clone() });
        self.out.rules.push(Rule { head, body, value: None, sizes: rule.sizes.clone() });
    }

    /// Returns the head of a rule that answers the goal itself: its bound arguments are those of the goal.
    fn goal_head(&self, rule: &Rule, pattern: &Pattern, answer: usize, asked: usize) -> Option<Atom> {
        let Kind::Relation(seed) = &self.out.predicates[asked].kind else { return None };
        let mut seed = seed.iter();
        let arg =
            |(a, known): (&Arg, &bool)| if *known { seed.next().map(|x| Arg::At(*x)) } else { Some(*a) };
        let args = rule.head.args.iter().zip(pattern).map(arg).collect::<Option<_>>()?;
        Some(Atom { of: answer, args })
    }

    /// Returns true if every rule of a predicate reads it at most once, with the free arguments of its head and nothing
    /// else that reads them, and no other predicate takes part in the recursion.
    fn passes_on(&self, of: usize, pattern: &Pattern) -> bool {
        let needs = self.rules.needs();
        let alone = components(&needs).iter().any(|g| g[..] == [of]);
        let facts = matches!(&self.rules.predicates[of].kind, Kind::Relation(facts) if !facts.is_empty());
        alone
            && !facts
            && self.rules.rules.iter().filter(|r| r.head.of == of).all(|rule| {
                let own: Vec<&Atom> =
                    rule.body.iter().filter_map(Literal::atom).map(|a| a.0).filter(|a| a.of == of).collect();
                let [call] = own[..] else { return own.is_empty() };
                let free = |args: &[Arg]| -> Option<Vec<usize>> {
                    let own = args.iter().zip(pattern).filter(|(_, known)| !**known);
                    own.map(|(a, _)| if let Arg::Var(v, 0) = a { Some(*v) } else { None }).collect()
                };
                let (Some(head), Some(read)) = (free(&rule.head.args), free(&call.args)) else {
                    return false;
                };
                let distinct = (1..head.len()).all(|i| !head[..i].contains(&head[i]));
                let others = rule.body.iter().filter(|l| l.atom().is_none_or(|(a, _)| a != call));
                let mut elsewhere: Vec<usize> = others.flat_map(Literal::variables).collect();
                elsewhere.extend(chosen(&rule.head.args, pattern).iter().filter_map(variable));
                elsewhere.extend(chosen(&call.args, pattern).iter().filter_map(variable));
                // The bound arguments of the call must be known from the rest of the rule.
                let mut known = vec![false; rule.sizes.len()];
                chosen(&rule.head.args, pattern).iter().for_each(|a| note(a, &mut known));
                let rest = rule.body.iter().filter_map(Literal::atom).filter(|(a, no)| !no && *a != call);
                rest.for_each(|(a, _)| a.args.iter().for_each(|a| note(a, &mut known)));
                let bound = chosen(&call.args, pattern).iter().filter_map(variable).all(|v| known[v]);
                distinct && head == read && bound && head.iter().all(|v| !elsewhere.contains(v))
            })
    }
}

fn variable(a: &Arg) -> Option<usize> {
    if let Arg::Var(v, _) = a { Some(*v) } else { None }
}

fn note(a: &Arg, known: &mut [bool]) {
    if let Arg::Var(v, _) = a {
        known[*v] = true;
    }
}

/// Returns the arguments at known positions.
fn chosen(args: &[Arg], pattern: &[bool]) -> Vec<Arg> {
    args.iter().zip(pattern).filter(|(_, k)| **k).map(|(a, _)| *a).collect()
}

/// Returns the literal to read next: a condition on known variables, then what has the most known arguments,
/// solved relations first.
fn next(left: &[&Literal], known: &[bool], open: &[bool]) -> usize {
    let score = |l: &Literal| {
        let all = l.variables().iter().all(|v| known[*v]);
        match l {
            Literal::Holds(atom) => {
                let bound = atom.args.iter().filter(|a| !matches!(a, Arg::Var(v, _) if !known[*v])).count();
                (usize::from(bound > 0), usize::from(!open[atom.of]), bound)
            }
            _ if all => (2, 0, 0),
            _ => (0, 0, 0),
        }
    };
    (0..left.len()).rev().max_by_key(|i| score(left[*i])).unwrap_or(0)
}
