//! Recursive rules: evaluated fact by fact if all factors are Boolean, else by dense products. Both have the
//! same values.

use gradus_ir::{Aval, DType};
use gradus_lang::{Program, Settings, Source};
use gradus_tensor::Tensor;
use std::collections::BTreeMap;
use std::fmt::Write;

fn load(text: &str) -> Program {
    Program::parse(Source::new("test", text)).unwrap_or_else(|f| panic!("{text}\n{f}"))
}

fn truths(text: &str, inputs: &BTreeMap<gradus_lang::ast::Name, Tensor>, name: &str) -> Vec<bool> {
    let found = load(text).run(inputs, &Settings::default(), &[name.into()]);
    found.unwrap_or_else(|f| panic!("{text}\n{f}"))[name].to_vec::<bool>().unwrap()
}

/// Returns true if a program with the input `G` is lowered to the op `closure`.
fn by_facts(text: &str, name: &str) -> bool {
    let inputs = BTreeMap::from([("G".into(), Aval::new(DType::F32, [4, 4]))]);
    let lowered = load(text).lower(&inputs, &Settings::default(), &[name.into()]);
    lowered.unwrap_or_else(|f| panic!("{text}\n{f}")).graph.to_string().contains("closure")
}

/// A generator of pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    /// Returns a matrix with few ones, as text.
    fn matrix(&mut self, rows: usize, columns: usize) -> String {
        let one =
            |_| format!("{:?}", (0..columns).map(|_| usize::from(self.roll(4) == 0)).collect::<Vec<_>>());
        format!("[{}]", (0..rows).map(one).collect::<Vec<_>>().join(", "))
    }
}

/// Random relations and rules, once with relations as factors and once with tensors of the same numbers,
/// which are multiplied.
#[test]
fn facts_and_products_say_the_same() {
    let mut dice = Dice(7);
    let bodies = [
        "E(x,y) P(y,z)",
        "P(x,y) E(y,z)",
        "P(x,y) P(y,z)",
        "E(x,y) Q(y) P(y,z)",
        "F(x,u) E(y,x) P(y,z) F(z,u)",
        "E(y,x) P(y,w) E(w,z)",
        "Q(x) Q(z) P(z,x)",
        "P(z,x)",
        "E(x,z) Any()",
    ];
    let singles = ["P(x,y) E(y,x)", "Q(y) E(x,y)", "F(x,u) P(y,x)", "Q(y) P(y,x) F(y,u) F(x,u)"];
    for case in 0..60 {
        let mut facts = String::from("axis x = 6\naxis y = 6\naxis z = 6\naxis u = 3\n");
        for (name, columns) in [("E", 6), ("F", 3), ("S", 6)] {
            let index = if columns == 3 { "u" } else { "y" };
            writeln!(facts, "{name}0[x,{index}] = const({})", dice.matrix(6, columns)).unwrap();
        }
        let mut rules = String::from("P(x,z) = S0[x,z]\nQ(x) = S0[x,x]\nAny() = Q(x) S0[x,x]\n");
        for _ in 0..1 + dice.roll(2) {
            writeln!(rules, "P(x,z) = {}", bodies[dice.roll(bodies.len())]).unwrap();
        }
        writeln!(rules, "Q(x) = {}", singles[dice.roll(singles.len())]).unwrap();
        if case % 3 == 0 {
            rules = rules.replacen("P(x,z) = S0[x,z]\n", "P(x,z) = (S0[x,z] > 0) + E(x,y) P(y,z)\n", 1);
        }
        let truth = format!("{facts}E(x,y) = E0[x,y]\nF(x,u) = F0[x,u]\n{rules}");
        let mut products = rules.clone();
        for (a, b) in "xyzwu".chars().flat_map(|a| "xyzwu".chars().map(move |b| (a, b))) {
            for name in ["E", "F"] {
                products = products.replace(&format!("{name}({a},{b})"), &format!("{name}0[{a},{b}]"));
            }
        }
        for name in ["P", "Q"] {
            let (a, b) = (format!("{truth}export {name}"), format!("{facts}{products}export {name}"));
            assert_eq!(truths(&a, &BTreeMap::new(), name), truths(&b, &BTreeMap::new(), name), "{a}\n{b}");
        }
    }
}

#[test]
fn what_is_looked_at_fact_by_fact() {
    let with = |rules: &str| format!("axis x = 4\naxis y = 4\nE(x,y) = G[x,y]\n{rules}");
    let links = [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0].map(|x| x as f32);
    let inputs = BTreeMap::from([("G".into(), Tensor::from_slice(&links, [4, 4]))]);
    for rules in [
        "A(x,y) = E(x,y)\nA(x,z) = E(x,y) A(y,z)",
        "A(x,y) = E(x,y) + E(x,z) A(z,y)",
        "A(x,y) = E(x,y)\nA(x,z) = A(x,y) A(y,z) (index(x) != index(z))",
        "A(x,y) = E(x,y)\nA(x,z) = B(x,y) E(y,z)\nB(x,y) = A(x,y) !E(y,x)",
    ] {
        let expected = [0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0].map(|x| x == 1);
        assert_eq!(truths(&with(rules), &inputs, "A"), expected, "{rules}");
        assert!(by_facts(&with(rules), "A"), "{rules}");
    }
    // A negative factor can remove facts, so facts do not follow independently.
    let weighed = with(
        "W[x,y] = const([[0,-1,0,0],[0,0,1,0],[0,0,0,1],[0,0,0,0]])\nA(x,y) = E(x,y)\nA(x,z) = W[x,y] A(y,z)",
    );
    assert!(!by_facts(&weighed, "A"));
    let expected = [0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0].map(|x| x == 1);
    assert_eq!(truths(&weighed, &inputs, "A"), expected);
    // Rules with offsets are evaluated by products as well.
    let moved = "axis x = 5\nP(0) = 1\nP(x+2) = P(x)";
    assert_eq!(truths(moved, &BTreeMap::new(), "P"), [true, false, true, false, true]);
    // Different sizes are reported as in other equations.
    let text = with("F(u,x) = const([[1,0,1]])\nA(x,y) = E(x,y)\nA(x,z) = F(x,y) A(y,z)");
    let said = load(&text).run(&inputs, &Settings::default(), &["A".into()]).unwrap_err().to_string();
    assert!(said.contains("has size 1 in `F`, but 4") || said.contains("has size"), "{said}");
}

/// A chain needs as many rounds as it has links; the cost of each is proportional to its new facts.
#[test]
fn a_long_chain_ends_soon() {
    let n = 1000;
    let mut links = vec![false; n * n];
    (0..n - 1).for_each(|i| links[i * n + i + 1] = true);
    let inputs = BTreeMap::from([("Par".into(), Tensor::from_slice(&links, [n, n]))]);
    for rule in ["Par(x,y) Anc(y,z)", "Anc(x,y) Par(y,z)", "Anc(x,y) Anc(y,z)"] {
        let text = format!("Anc(x,y) = Par(x,y)\nAnc(x,z) = {rule}");
        let found = truths(&text, &inputs, "Anc");
        assert!(found.iter().enumerate().all(|(at, holds)| *holds == (at % n > at / n)), "{rule}");
    }
}

/// The program raised from the graph has the same values.
#[test]
fn they_are_raised() {
    let text = "A(x,y) = G[x,y]\nE(x,y) = G[x,y]\nA(x,z) = E(x,y) A(y,z)\nN[x] = A(x,y)";
    let inputs = BTreeMap::from([("G".into(), Aval::new(DType::F32, [3, 3]))]);
    let lowered = load(text).lower(&inputs, &Settings::default(), &["N".into()]).unwrap();
    let raised = gradus_lang::raise(&lowered.graph, &["N"]).unwrap();
    // The text has rules, not the graph of the op.
    assert!(!raised.contains("graph("), "{raised}");
    let again = load(&raised);
    let given = again.inputs().next().unwrap().clone();
    let links = Tensor::from_slice(&[0.0f32, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [3, 3]);
    let values = again.run(&BTreeMap::from([(given, links)]), &Settings::default(), &["N".into()]);
    let values = values.unwrap_or_else(|f| panic!("{raised}\n{f}"));
    assert_eq!(values["N"].to_vec::<f32>().unwrap(), [2.0, 1.0, 0.0], "{raised}");
}
