//! Compares closures with their definition: all combinations of all variables, until nothing changes.

use super::*;

/// A generator of pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn place(shape: &[usize], atom: &Atom, bound: &[usize]) -> usize {
    atom.variables.iter().zip(shape).fold(0, |at, (v, n)| at * n + bound[*v])
}

fn by_definition(shapes: &[Vec<usize>], rules: &[Rule], sizes: &[usize], facts: &mut [Vec<i64>]) {
    loop {
        let mut changed = false;
        for rule in rules {
            let count: usize = sizes.iter().product();
            for mut at in 0..count {
                let mut bound = vec![0; sizes.len()];
                for (b, n) in bound.iter_mut().zip(sizes) {
                    (*b, at) = (at % n, at / n);
                }
                let is = |a: &Atom, facts: &[Vec<i64>]| {
                    facts[a.relation][place(&shapes[a.relation], a, &bound)] != 0
                };
                if rule.body.iter().all(|a| is(a, facts)) && !is(&rule.head, facts) {
                    facts[rule.head.relation][place(&shapes[rule.head.relation], &rule.head, &bound)] = 1;
                    changed = true;
                }
            }
        }
        if !changed {
            return;
        }
    }
}

#[test]
fn random_rules_have_the_facts_of_their_definition() {
    let mut dice = Dice(1);
    for case in 0..400 {
        // Most variables have different extents, so that swapped axes are detected.
        let sizes = [3, 4, 2, 5, 3];
        let kinds: Vec<Vec<usize>> = (0..4)
            .map(|_| {
                let mut all = vec![0, 1, 2, 3, 4];
                (0..dice.roll(4)).map(|_| all.swap_remove(dice.roll(all.len()))).collect()
            })
            .collect();
        // Variable 4 has the extent of variable 0, so that a relation can be joined with itself.
        let like = |v: usize| if v == 4 { 0 } else { v };
        let shapes: Vec<Vec<usize>> = kinds.iter().map(|k| k.iter().map(|v| sizes[*v]).collect()).collect();
        let mut atom = |relation: usize| {
            let mut taken = Vec::new();
            for v in &kinds[relation] {
                let twins: Vec<usize> =
                    (0..5).filter(|w| like(*w) == like(*v) && !taken.contains(w)).collect();
                taken.push(twins[dice.roll(twins.len())]);
            }
            Atom { relation, variables: taken }
        };
        let mut rules = Vec::new();
        for r in 0..3 {
            let body = (0..=r).map(|i| atom((case + r + i) % 4)).collect();
            rules.push(Rule { head: atom((case + r) % 2), body });
        }
        let fact = |dice: &mut Dice, n: usize| (0..n).map(|_| i64::from(dice.roll(4) == 0)).collect();
        let mut facts: Vec<Vec<i64>> = shapes.iter().map(|s| fact(&mut dice, s.iter().product())).collect();
        let borrowed: Vec<&[usize]> = shapes.iter().map(|s| &s[..]).collect();
        let mut engine = Engine::new(&borrowed, 2, &rules);
        facts.iter().enumerate().for_each(|(i, f)| engine.load(i, f));
        // The engine does not run rules that read no growing relation, so the test runs them first.
        by_first_round(&shapes, &rules, &sizes, &mut engine, &facts);
        engine.run().unwrap();
        by_definition(&shapes, &rules, &sizes, &mut facts);
        assert_eq!([0, 1].map(|g| engine.facts(g))[..], facts[..2], "case {case}: {rules:?}");
    }
}

/// Loads the facts that follow by the rules that read no growing relation.
fn by_first_round(
    shapes: &[Vec<usize>],
    rules: &[Rule],
    sizes: &[usize],
    engine: &mut Engine,
    facts: &[Vec<i64>],
) {
    let still: Vec<Rule> = rules.iter().filter(|r| r.body.iter().all(|a| a.relation >= 2)).cloned().collect();
    let mut first = facts.to_vec();
    by_definition(shapes, &still, sizes, &mut first);
    (0..2).for_each(|g| engine.load(g, &first[g]));
}

#[test]
fn rules_are_read_as_they_are_written() {
    let rule = Rule {
        head: Atom { relation: 0, variables: vec![0, 12] },
        body: vec![
            Atom { relation: 3, variables: vec![0, 1] },
            Atom { relation: 0, variables: vec![1, 12] },
            Atom { relation: 2, variables: vec![] },
        ],
    };
    assert_eq!(rule.to_string(), "r0(0,12) = r3(0,1) r0(1,12) r2()");
    assert_eq!(Rule::parse(&rule.to_string()), Some(rule));
    assert_eq!(Rule::parse("r0(0) r1(0)"), None);
}
