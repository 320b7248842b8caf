//! Reorders chains of contractions to `(A B) C` or `A (B C)`, whichever needs fewer multiplications.
//!
//! The rule is disabled by default, because the two orders round differently. The caller may have chosen an order for its
//! accuracy, as for a projector applied twice or a product of ill-conditioned factors. If enabled, the rule exchanges the
//! order of two products as long as that reduces the cost of a chain. The result is not always the best order, but never
//! worse than the original.

use super::{Expr, PartialGraph, Rule};
use gradus_ir::graph::{Id, Node};
use gradus_ir::ops::Op;
use gradus_ir::ops::dot::Dot;

pub(super) fn rules() -> Vec<Rule> {
    vec![Rule::rounding("order of products", "(A B) C = A (B C), whichever multiplies less", reordered)]
}

/// An operand of a product of three, with its labels.
type Factor = (Id, String);

fn reordered(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Dot(dot) = &node.op else { return None };
    let (operand, inner) = (0..2).find_map(|operand| match graph.op(node.ins[operand]) {
        Op::Dot(inner) if graph.read_once(node.ins[operand]) => Some((operand, inner)),
        _ => None,
    })?;
    let below = graph.node(node.ins[operand]);
    let (own, other) = if operand == 0 { (&dot.lhs, &dot.rhs) } else { (&dot.rhs, &dot.lhs) };
    // Gives the labels of the inner product the names that the outer product uses, and new names to the labels that it
    // sums.
    let used: String = [own, other, &dot.out].into_iter().flat_map(|s| s.chars()).collect();
    let mut fresh = ('a'..='z').chain('A'..='Z').chain('\u{100}'..='\u{2ff}').filter(|c| !used.contains(*c));
    let mut names: Vec<(char, char)> = inner.out.chars().zip(own.chars()).collect();
    for l in inner.lhs.chars().chain(inner.rhs.chars()) {
        if !names.iter().any(|(old, _)| *old == l) {
            names.push((l, fresh.next()?));
        }
    }
    let name = |labels: &str| -> Option<String> {
        labels.chars().map(|l| names.iter().find(|(old, _)| *old == l).map(|(_, new)| *new)).collect()
    };
    let a: Factor = (below.ins[0], name(&inner.lhs)?);
    let b: Factor = (below.ins[1], name(&inner.rhs)?);
    let c: Factor = (node.ins[1 - operand], other.clone());
    let now = Order::new(graph, &a, &b, &c, &dot.out).cost();
    let ways = [Order::new(graph, &b, &c, &a, &dot.out), Order::new(graph, &a, &c, &b, &dot.out)];
    let best = ways.into_iter().min_by(|x, y| x.cost().total_cmp(&y.cost()))?;
    (best.cost() < now).then(|| best.build())
}

/// An order of multiplying three factors: first two of them, then their product and the last. `between` holds the
/// labels of the intermediate result, and `work` the number of multiplications of each product.
struct Order {
    first: (Factor, Factor),
    last: Factor,
    between: String,
    out: String,
    work: [f64; 2],
}

impl Order {
    fn new(graph: &PartialGraph<'_>, x: &Factor, y: &Factor, z: &Factor, out: &str) -> Order {
        let mut both: String = x.1.clone();
        both.extend(y.1.chars().filter(|l| !x.1.contains(*l)));
        let between: String = both.chars().filter(|l| out.contains(*l) || z.1.contains(*l)).collect();
        let mut after = between.clone();
        after.extend(z.1.chars().filter(|l| !between.contains(*l)));
        let extent = |l: char| {
            let of = |f: &Factor| f.1.chars().position(|m| m == l).map(|a| graph.shape(f.0)[a]);
            of(x).or_else(|| of(y)).or_else(|| of(z)).unwrap_or(1) as f64
        };
        let work = [both.chars().map(extent).product(), after.chars().map(extent).product()];
        Order { first: (x.clone(), y.clone()), last: z.clone(), between, out: out.into(), work }
    }

    /// Returns the number of multiplications of both products.
    fn cost(&self) -> f64 {
        self.work[0] + self.work[1]
    }

    fn build(self) -> Expr {
        let ((x, xl), (y, yl)) = self.first;
        let inner = Expr::apply(Dot::new(xl, yl, self.between.clone()), [Expr::Value(x), Expr::Value(y)]);
        Expr::apply(Dot::new(self.between, self.last.1, self.out), [inner, Expr::Value(self.last.0)])
    }
}
