//! Compares sparse relations with two other evaluations: Boolean tensors, and sets of tuples by the
//! definition of rules.

use gradus_ir::DType;
use gradus_lang::ast::Name;
use gradus_lang::{Facts, Program, Settings, Source, Table};
use gradus_tensor::Tensor;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::sync::Arc;

/// A deterministic generator of pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn load(text: &str) -> Program {
    Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{text}\n{f}"))
}

fn settings(sparse: bool) -> Settings {
    Settings { float: DType::F64, sparse, ..Settings::default() }
}

fn run(text: &str, name: &str, settings: &Settings) -> Tensor {
    let found = load(text).run(&BTreeMap::new(), settings, &[name.into()]);
    found.unwrap_or_else(|f| panic!("{text}\n{f}")).remove(name).unwrap()
}

fn facts(text: &str, name: &str, settings: &Settings) -> Facts {
    let found = load(text).facts(settings, &HashSet::new(), &[name.into()]);
    let mut found = found.unwrap_or_else(|f| panic!("{text}\n{f}"));
    found.remove(name).unwrap_or_else(|| panic!("{text}\n`{name}` is not solved over tuples"))
}

/// An argument of an atom: a variable with an offset, or a constant.
#[derive(Clone, Copy)]
enum Arg {
    Var(usize, i64),
    At(usize),
}

#[derive(Clone)]
struct Atom {
    name: &'static str,
    args: Vec<Arg>,
}

/// A condition of a rule.
#[derive(Clone)]
enum Part {
    Holds(Atom),
    Not(Atom),
    /// A comparison of two variables.
    Compare(usize, &'static str, usize),
}

struct Rule {
    head: Atom,
    body: Vec<Part>,
}

const VARIABLES: [&str; 4] = ["x", "y", "z", "w"];

impl Atom {
    fn text(&self) -> String {
        let arg = |a: &Arg| match a {
            Arg::Var(v, 0) => VARIABLES[*v].to_string(),
            Arg::Var(v, by) => format!("{}{by:+}", VARIABLES[*v]),
            Arg::At(x) => x.to_string(),
        };
        format!("{}({})", self.name, self.args.iter().map(arg).collect::<Vec<_>>().join(","))
    }

    /// Returns the tuple under an assignment; `None` outside of the domain.
    fn tuple(&self, bound: &[usize], n: usize) -> Option<Vec<usize>> {
        let value = |a: &Arg| match a {
            Arg::Var(v, by) => usize::try_from(bound[*v] as i64 + by).ok().filter(|x| *x < n),
            Arg::At(x) => Some(*x),
        };
        self.args.iter().map(value).collect()
    }
}

impl Rule {
    fn text(&self) -> String {
        let part = |p: &Part| match p {
            Part::Holds(atom) => atom.text(),
            Part::Not(atom) => format!("!{}", atom.text()),
            Part::Compare(a, sign, b) => format!("({} {sign} {})", VARIABLES[*a], VARIABLES[*b]),
        };
        format!("{} = {}", self.head.text(), self.body.iter().map(part).collect::<Vec<_>>().join(" "))
    }

    /// Returns the variables that appear, in order.
    fn variables(&self) -> Vec<usize> {
        let mut all = BTreeSet::new();
        let mut note = |atom: &Atom| {
            all.extend(atom.args.iter().filter_map(|a| if let Arg::Var(v, _) = a { Some(*v) } else { None }))
        };
        note(&self.head);
        for part in &self.body {
            match part {
                Part::Holds(atom) | Part::Not(atom) => note(atom),
                Part::Compare(..) => {}
            }
        }
        all.into_iter().collect()
    }
}

type Sets = BTreeMap<&'static str, BTreeSet<Vec<usize>>>;

/// Calls `f` with every assignment of some variables.
fn assignments(variables: &[usize], n: usize, f: &mut impl FnMut(&[usize])) {
    let mut bound = vec![0; VARIABLES.len()];
    for mut at in 0..n.pow(variables.len() as u32) {
        for v in variables {
            (bound[*v], at) = (at % n, at / n);
        }
        f(&bound);
    }
}

fn holds(body: &[Part], bound: &[usize], n: usize, sets: &Sets) -> bool {
    let has = |atom: &Atom| atom.tuple(bound, n).is_some_and(|t| sets[atom.name].contains(&t));
    body.iter().all(|part| match part {
        Part::Holds(atom) => has(atom),
        Part::Not(atom) => !has(atom),
        Part::Compare(a, "!=", b) => bound[*a] != bound[*b],
        Part::Compare(a, "<", b) => bound[*a] < bound[*b],
        Part::Compare(a, _, b) => bound[*a] >= bound[*b],
    })
}

/// Applies rules until no new fact follows.
fn by_definition(rules: &[&Rule], n: usize, sets: &mut Sets) {
    loop {
        let mut more = Vec::new();
        for rule in rules {
            assignments(&rule.variables(), n, &mut |bound| {
                if holds(&rule.body, bound, n, sets)
                    && let Some(t) = rule.head.tuple(bound, n)
                    && !sets[rule.head.name].contains(&t)
                {
                    more.push((rule.head.name, t));
                }
            });
        }
        if more.is_empty() {
            return;
        }
        for (name, t) in more {
            sets.get_mut(name).unwrap().insert(t);
        }
    }
}

/// A random program: facts `E`, `F` and `U`, the recursive `P` and `Q`, and `R`, which negates them.
struct Random {
    text: String,
    sets: Sets,
    n: usize,
}

impl Random {
    fn atom(dice: &mut Dice, name: &'static str, rank: usize, n: usize) -> Atom {
        let arg = |dice: &mut Dice| match dice.roll(12) {
            0 => Arg::At(dice.roll(n)),
            1 => Arg::Var(dice.roll(4), [1, -1][dice.roll(2)]),
            _ => Arg::Var(dice.roll(4), 0),
        };
        Atom { name, args: (0..rank).map(|_| arg(dice)).collect() }
    }

    fn new(dice: &mut Dice) -> Random {
        let n = 3 + dice.roll(3);
        let mut text = String::new();
        VARIABLES.iter().for_each(|v| writeln!(text, "axis {v} = {n}").unwrap());
        let mut sets: Sets = BTreeMap::new();
        for (name, rank) in [("E", 2), ("F", 3), ("U", 1)] {
            let count = n.pow(rank as u32);
            let own: Vec<usize> =
                (0..count).filter(|_| dice.roll(if rank == 3 { 8 } else { 3 }) == 0).collect();
            let tuple = |mut at: usize| {
                let mut t = vec![0; rank];
                for x in t.iter_mut().rev() {
                    (*x, at) = (at % n, at / n);
                }
                t
            };
            let tuples: BTreeSet<Vec<usize>> = own.into_iter().map(tuple).collect();
            let index = &VARIABLES[..rank].join(",");
            if rank == 2 && dice.roll(2) == 0 {
                let row = |x: usize| {
                    let cell = |y: usize| u8::from(tuples.contains(&vec![x, y])).to_string();
                    format!("[{}]", (0..n).map(cell).collect::<Vec<_>>().join(", "))
                };
                let rows: Vec<String> = (0..n).map(row).collect();
                writeln!(text, "{name}({index}) = const([{}])", rows.join(", ")).unwrap();
            } else {
                // A relation without facts still has its arguments.
                writeln!(text, "{name}({index}) = false").unwrap();
                for t in &tuples {
                    let t: Vec<String> = t.iter().map(usize::to_string).collect();
                    writeln!(text, "{name}({})", t.join(", ")).unwrap();
                }
            }
            sets.insert(name, tuples);
        }
        let ranks = [("P", 2), ("Q", 1), ("R", 2)];
        ranks.iter().for_each(|(name, _)| drop(sets.insert(name, BTreeSet::new())));
        let mut first: Vec<Rule> = Vec::new();
        let mut last: Vec<Rule> = Vec::new();
        for i in 0..6 {
            let (name, rank) = ranks[[0, 1, 0, 1, 2, 2][i]];
            let late = name == "R";
            let known: &[(&'static str, usize)] = if late {
                &[("P", 2), ("Q", 1), ("E", 2), ("R", 2)]
            } else {
                &[("P", 2), ("Q", 1), ("E", 2), ("F", 3), ("U", 1)]
            };
            let negated: &[(&'static str, usize)] =
                if late { &[("P", 2), ("Q", 1), ("E", 2)] } else { &[("E", 2), ("U", 1)] };
            let mut body = Vec::new();
            // Each relation starts from facts.
            if i < 2 || i == 4 {
                body.push(Part::Holds(Self::atom(dice, "E", 2, n)));
            }
            for _ in 0..1 + dice.roll(2) {
                let (name, rank) = known[dice.roll(known.len())];
                body.push(Part::Holds(Self::atom(dice, name, rank, n)));
            }
            if dice.roll(3) == 0 {
                let (name, rank) = negated[dice.roll(negated.len())];
                body.push(Part::Not(Self::atom(dice, name, rank, n)));
            }
            let head = Self::atom(dice, name, rank, n);
            let rule = Rule { head, body };
            let own = rule.variables();
            let mut rule = rule;
            if own.len() > 1 && dice.roll(3) == 0 {
                rule.body.push(Part::Compare(own[0], ["!=", "<", ">="][dice.roll(3)], own[1]));
            }
            writeln!(text, "{}", rule.text()).unwrap();
            if late { last.push(rule) } else { first.push(rule) }
        }
        by_definition(&first.iter().collect::<Vec<_>>(), n, &mut sets);
        by_definition(&last.iter().collect::<Vec<_>>(), n, &mut sets);
        Random { text, sets, n }
    }
}

fn dense(set: &BTreeSet<Vec<usize>>, rank: usize, n: usize) -> Vec<bool> {
    let mut out = vec![false; n.pow(rank as u32)];
    set.iter().for_each(|t| out[t.iter().fold(0, |at, x| at * n + x)] = true);
    out
}

#[test]
fn random_rules_have_the_facts_of_their_definition() {
    let mut dice = Dice(5);
    for case in 0..300 {
        let random = Random::new(&mut dice);
        for (name, rank) in [("P", 2), ("Q", 1), ("R", 2)] {
            let expected = &random.sets[name];
            let found = facts(&random.text, name, &settings(true));
            let tuples: Vec<Vec<usize>> =
                found.tuples.chunks(rank).map(|t| t.iter().map(|x| *x as usize).collect()).collect();
            assert!(
                tuples.iter().eq(expected),
                "case {case}, {name}\n{}\n{tuples:?}\n{expected:?}",
                random.text
            );
            let tensor = run(&random.text, name, &settings(true)).to_vec::<bool>().unwrap();
            assert_eq!(tensor, dense(expected, rank, random.n), "case {case}, {name}\n{}", random.text);
        }
    }
}

#[test]
fn boolean_tensors_hold_the_same() {
    let mut dice = Dice(11);
    for case in 0..60 {
        let random = Random::new(&mut dice);
        for (name, rank) in [("P", 2), ("Q", 1), ("R", 2)] {
            let found = run(&random.text, name, &settings(false)).to_vec::<bool>().unwrap();
            assert_eq!(
                found,
                dense(&random.sets[name], rank, random.n),
                "case {case}, {name}\n{}",
                random.text
            );
        }
    }
}

/// A query finds the same facts as the entire relation has, for every choice of known arguments.
#[test]
fn queries_find_the_matching_facts() {
    let mut dice = Dice(23);
    for case in 0..150 {
        let random = Random::new(&mut dice);
        let program = load(&random.text);
        for (name, rank) in [("P", 2), ("Q", 1), ("R", 2)] {
            for known in 0..1 << rank {
                let goal: Vec<Option<u32>> =
                    (0..rank).map(|p| (known >> p & 1 == 1).then(|| dice.roll(random.n) as u32)).collect();
                let found = program.facts_matching(&settings(true), &HashSet::new(), &name.into(), &goal);
                let found = found.unwrap_or_else(|f| panic!("{f}")).unwrap();
                let fits =
                    |t: &&Vec<usize>| t.iter().zip(&goal).all(|(x, g)| g.is_none_or(|g| g as usize == *x));
                let expected: Vec<u32> =
                    random.sets[name].iter().filter(fits).flatten().map(|x| *x as u32).collect();
                assert_eq!(found.tuples, expected, "case {case}, {name} {goal:?}\n{}", random.text);
            }
        }
    }
}

/// Compares counts, sums, minima, maxima, means and products of groups with loops and with dense evaluation.
#[test]
fn groups_are_reduced_over_their_facts() {
    let mut dice = Dice(3);
    for case in 0..60 {
        let n = 4;
        let mut pairs: BTreeSet<(usize, usize)> = (0..8).map(|_| (dice.roll(n), dice.roll(n))).collect();
        pairs.insert((0, 1));
        let values: Vec<f64> = (0..n).map(|_| dice.roll(9) as f64 - 3.0).collect();
        let mut text = format!("axis x = {n}\naxis y = {n}\nV[y] = const({values:?})\n");
        pairs.iter().for_each(|(x, y)| writeln!(text, "E({x}, {y})").unwrap());
        text.push_str("N[x] = E(x,y)\nS[x] = E(x,y) V[y]\nB[y] = 2 E(x,y) !E(y,x) V[y]\nAll = E(x,y)\n");
        text.push_str("Low[x] min= V[y] when E(x,y)\nTop[x] max= V[y] + index(x) when E(x,y)\n");
        text.push_str("Mean[x] avg= V[y] when E(x,y)\nPart[x] prod= V[y] when E(x,y) && x != y\n");
        text.push_str("Two(x) = N[x] > 1\nMany[x] = E(x,y) (N[y] >= 2)\n");
        let near = |x: usize| pairs.iter().filter(move |p| p.0 == x).map(|p| p.1);
        let count: Vec<f64> = (0..n).map(|x| near(x).count() as f64).collect();
        let mean = |x: usize| near(x).map(|y| values[y]).sum::<f64>() / near(x).count() as f64;
        let expected: [(&str, Vec<f64>); 10] = [
            ("N", count.clone()),
            ("S", (0..n).map(|x| near(x).map(|y| values[y]).sum()).collect()),
            (
                "B",
                (0..n)
                    .map(|y| {
                        let own = pairs.iter().filter(|p| p.1 == y && !pairs.contains(&(y, p.0)));
                        2.0 * values[y] * own.count() as f64
                    })
                    .collect(),
            ),
            ("All", vec![pairs.len() as f64]),
            ("Low", (0..n).map(|x| near(x).map(|y| values[y]).fold(f64::INFINITY, f64::min)).collect()),
            (
                "Top",
                (0..n)
                    .map(|x| near(x).map(|y| values[y] + x as f64).fold(f64::NEG_INFINITY, f64::max))
                    .collect(),
            ),
            ("Mean", (0..n).map(mean).collect()),
            ("Part", (0..n).map(|x| near(x).filter(|y| *y != x).map(|y| values[y]).product()).collect()),
            ("Two", count.iter().map(|c| f64::from(*c > 1.0)).collect()),
            ("Many", (0..n).map(|x| near(x).filter(|y| count[*y] >= 2.0).count() as f64).collect()),
        ];
        for (name, expected) in expected {
            for sparse in [true, false] {
                let found = run(&text, name, &settings(sparse)).to_dtype(DType::F64).to_vec::<f64>().unwrap();
                let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() < 1e-12;
                let equal = found.len() == expected.len() && found.iter().zip(&expected).all(same);
                assert!(equal, "case {case}, {name}, sparse {sparse}: {found:?}, not {expected:?}\n{text}");
            }
        }
    }
}

/// Compares shortest paths as recursive minima with the Bellman-Ford algorithm.
#[test]
fn shortest_paths_are_recursive_minima() {
    let mut dice = Dice(9);
    for _ in 0..20 {
        let n = 12;
        let edges: Vec<(usize, usize, usize)> =
            (0..30).map(|_| (dice.roll(n), dice.roll(n), dice.roll(10))).collect();
        let mut text = format!(
            "axis x = {n}\naxis y = {n}\naxis w = 10\nD[0] min= 0\nD[y] min= D[x] + index(w) when E(x,y,w)\n"
        );
        edges.iter().for_each(|(a, b, w)| writeln!(text, "E({a}, {b}, {w})").unwrap());
        let mut expected = vec![f64::INFINITY; n];
        expected[0] = 0.0;
        for _ in 0..n {
            for (a, b, w) in &edges {
                expected[*b] = expected[*b].min(expected[*a] + *w as f64);
            }
        }
        assert_eq!(run(&text, "D", &settings(true)).to_vec::<f64>().unwrap(), expected, "{text}");
        assert_eq!(run(&text, "D", &settings(false)).to_vec::<f64>().unwrap(), expected, "{text}");
    }
}

#[test]
fn elements_before_the_first_count_as_zero() {
    let text = "Node(0)\nNode(1)\nNode(2)\nL[x] max= L[x-1] + 1 when Node(x)\n";
    for sparse in [true, false] {
        assert_eq!(run(text, "L", &settings(sparse)).to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0]);
    }
}

#[test]
fn symbols_are_arguments() {
    let text = "Parent(\"ann\", \"bob\")\nParent(\"ann\", \"cid\") = true\nParent(\"bob\", \"dan\")\n\
        Anc(x,y) = Parent(x,y)\nAnc(x,z) = Parent(x,y) Anc(y,z)\n\
        Sibling(x,y) = Parent(p,x) Parent(p,y) (x != y)\n\
        Age[\"ann\"] = 60\nAge[\"bob\"] = 34\nAge[\"cid\"] = 31\nAge[\"dan\"] = 2\n\
        Youngest[p] min= Age[c] when Parent(p,c)\nChildren[p] = Parent(p,c)\nOlder[p] = Age[p] - 30\n\
        OfAnn(y) = Anc(\"ann\", y)\n";
    let program = load(text);
    let symbols = program.symbols(&settings(true));
    let names: Vec<&str> = symbols.of("Anc", 1).unwrap().iter().map(|s| &**s).collect();
    assert_eq!(names, ["ann", "bob", "cid", "dan"]);
    for sparse in [true, false] {
        let numbers =
            |name: &str| run(text, name, &settings(sparse)).to_dtype(DType::F64).to_vec::<f64>().unwrap();
        assert_eq!(numbers("OfAnn"), [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(numbers("Youngest"), [31.0, 2.0, f64::INFINITY, f64::INFINITY]);
        assert_eq!(numbers("Children"), [2.0, 1.0, 0.0, 0.0]);
        assert_eq!(numbers("Older"), [30.0, 4.0, 1.0, -28.0]);
    }
    assert_eq!(facts(text, "Sibling", &settings(true)).tuples, [1, 2, 2, 1]);
    let unknown = symbols.code("Anc", 0, "bop").unwrap_err();
    assert!(unknown.message.contains("\"bop\""), "{unknown:?}");
    let mixed = Program::parse(Source::new("test", "P(\"a\", 1)\nQ(x) = P(x, y) P(y, x)"));
    let said = mixed.unwrap_err().to_string();
    assert!(
        said.contains("positions that share a domain have a symbol and an integer as arguments"),
        "{said}"
    );
}

/// Indices that are compared have the same symbols, numbered in order of first appearance.
#[test]
fn compared_indices_share_their_symbols() {
    let text = "Likes(\"ann\",\"beer\")\nLikes(\"bob\",\"bob\")\nOld(\"cid\")\nEq(x,y) = Likes(x,y) (x == y)\n\
        Ne(x,y) = Likes(x,y) (x != y)\nBefore(x,y) = Likes(x,y) (x < y)\nMost(x) = Old(y) Likes(x,z) (x < y)\n\
        Count = 1 when Likes(x,y) && x == y\n";
    let symbols = load(text).symbols(&settings(true));
    let names: Vec<&str> = symbols.of("Eq", 1).unwrap().iter().map(|s| &**s).collect();
    assert_eq!(names, ["ann", "beer", "bob", "cid"]);
    for (name, tuples) in [("Eq", &[2u32, 2][..]), ("Ne", &[0, 1]), ("Before", &[0, 1]), ("Most", &[0, 2])] {
        assert_eq!(facts(text, name, &settings(true)).tuples, tuples, "{name}");
        let dense = run(text, name, &settings(false)).to_dtype(DType::F64).to_vec::<f64>().unwrap();
        let at =
            if name == "Most" { [tuples[0], tuples[1]].to_vec() } else { vec![tuples[0] * 4 + tuples[1]] };
        let expected: Vec<f64> = (0..dense.len()).map(|i| f64::from(at.contains(&(i as u32)))).collect();
        assert_eq!(dense, expected, "{name}");
    }
    for sparse in [true, false] {
        assert_eq!(run(text, "Count", &settings(sparse)).item::<f64>().unwrap(), 1.0);
    }
    // Comparisons leave the sizes of integers as they are.
    let sizes = "axis x = 2\naxis y = 5\nP(x,y) = A(x) B(y) (x < y)\nA(1)\nB(4)\nB(1)\nN[x] = P(x,y)";
    assert_eq!(facts(sizes, "P", &settings(true)).tuples, [1, 4]);
    assert_eq!(run(sizes, "N", &settings(true)).to_vec::<f64>().unwrap(), [0.0, 1.0]);
}

#[test]
fn tables_give_relations() {
    let text = "Parent(x,y) = table(\"family.tsv\", header=true)\nAnc(x,y) = Parent(x,y)\n\
        Anc(x,z) = Anc(x,y) Parent(y,z)\nN[x] = Anc(x,y)\nAnn(y) = Anc(\"ann\", y)";
    let cells = ["bob", "dan", "ann", "bob", "dan", "eva"];
    let table = Table::from_cells(cells.into_iter(), 2).unwrap();
    let tables = Arc::new(BTreeMap::from([(Name::from("Parent"), table)]));
    for sparse in [true, false] {
        let settings = Settings { tables: tables.clone(), ..settings(sparse) };
        // Symbols of the program come first, then those of the table, row by row within a column.
        assert_eq!(run(text, "N", &settings).to_vec::<f64>().unwrap(), [3.0, 2.0, 1.0, 0.0]);
        assert_eq!(run(text, "Ann", &settings).to_vec::<bool>().unwrap(), [false, true, true, true]);
    }
    let mixed = Table::from_cells(["1", "a", "b", "c"].into_iter(), 2).unwrap_err();
    assert!(mixed.contains("column 1 has the symbol `b` and the integer 1"), "{mixed}");
    let fractions = Table::from_cells(["a", "0", "b", "2.5"].into_iter(), 2).unwrap_err();
    assert!(fractions.contains("column 2 has the number 2.5"), "{fractions}");
}

/// Memory and time are proportional to the facts: a dense tensor of this relation would be refused.
#[test]
fn large_domains_need_no_tensor() {
    let n = 20_000u32;
    let edges: Vec<usize> = (0..n as usize - 1).filter(|x| x % 10 != 9).flat_map(|x| [x, x + 1]).collect();
    let table = Table::from_numbers(&edges, 2).unwrap();
    let tables = Arc::new(BTreeMap::from([(Name::from("E"), table)]));
    let settings = Settings { tables, ..settings(true) };
    let text =
        "E(x,y) = table(\"e.tsv\")\nT(x,y) = E(x,y)\nT(x,z) = E(x,y) T(y,z)\nCount = T(x,y)\nOut[x] = T(x,y)";
    // Chains of ten nodes have 45 pairs each.
    assert_eq!(run(text, "Count", &settings).item::<f64>().unwrap(), 90_000.0);
    assert_eq!(facts(text, "T", &settings).len(), 90_000);
    let each = run(text, "Out", &settings).to_vec::<f64>().unwrap();
    assert!(each.iter().enumerate().all(|(x, count)| *count == (9 - x % 10) as f64));
    let goal = [Some(17), None];
    let found = load(text).facts_matching(&settings, &HashSet::new(), &"T".into(), &goal).unwrap().unwrap();
    assert_eq!(found.tuples, [17, 18, 17, 19]);
}
