//! Simplifies a graph: returns a graph of the same values that costs less.
//!
//! A [`Rule`] inspects one value and its operands, and returns a replacement; it does not change the graph. The pass rebuilds
//! the graph, operands before results, and tries every rule on every value, including values that rules introduce. The
//! builder merges equal values, and its `finish` drops unused ones. README.md in this folder states what rules must satisfy.

mod algebra;
mod constants;
mod contract;
mod labels;
mod movement;
mod pattern;
mod pieces;
mod reduce;

use gradus_ir::graph::{Builder, Id, Node};
use gradus_ir::ops::movement::{Broadcast, Reshape};
use gradus_ir::ops::source::Constant;
use gradus_ir::{Aval, Error, Graph, Literal, Op, Result, Shape, stop};
use std::cell::RefCell;
use std::collections::HashMap;

/// Largest number of rounds over the graph. The first round applies almost all rules. Later rounds apply rules that
/// were refused because a value had other readers: the earlier rounds may have removed these readers.
const ROUNDS: usize = 4;
/// Largest nesting of replacements within replacements. Beyond it, a value is kept as it is, which is always correct.
const DEPTH: usize = 32;

/// Options of the simplifier. By default only rules that keep every bit are enabled.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names of additional rules to enable, which round differently; see [`rules`].
    pub also: Vec<&'static str>,
}

/// A simplified graph, with statistics.
#[derive(Clone, Debug)]
pub struct Simplified {
    /// The graph.
    pub graph: Graph,
    /// The rules that fired and the number of times, in the order of the table.
    pub fired: Vec<(&'static str, usize)>,
    /// The number of rounds.
    pub rounds: usize,
}

/// A rewrite rule: computes a replacement for a value.
pub struct Rule {
    /// The name that reports and options use.
    pub name: &'static str,
    /// The law, as text for documentation.
    pub law: &'static str,
    /// If true, the replacement has the same bits for all operands, including ±0, infinities, NaN and subnormals.
    pub exact: bool,
    /// Returns the replacement if the law applies.
    rewrite: Rewrite,
}

/// The implementation of a rule.
enum Rewrite {
    /// Matches the pattern of a law.
    Pattern(&'static pattern::PatternRule),
    /// Calls a function.
    Function(fn(&PartialGraph<'_>, &Node) -> Option<Expr>),
}

impl Rule {
    const fn exact(
        name: &'static str,
        law: &'static str,
        rewrite: fn(&PartialGraph<'_>, &Node) -> Option<Expr>,
    ) -> Rule {
        Rule { name, law, exact: true, rewrite: Rewrite::Function(rewrite) }
    }

    const fn rounding(
        name: &'static str,
        law: &'static str,
        rewrite: fn(&PartialGraph<'_>, &Node) -> Option<Expr>,
    ) -> Rule {
        Rule { name, law, exact: false, rewrite: Rewrite::Function(rewrite) }
    }
}

/// Returns all rules, in the order in which they are tried.
pub fn rules() -> Vec<Rule> {
    let mut all = constants::cheap_rules();
    all.extend(algebra::rules());
    all.extend(movement::rules());
    all.extend(pieces::rules());
    all.extend(reduce::rules());
    all.extend(labels::rules());
    all.extend(contract::rules());
    all.extend(constants::costly_rules());
    all
}

/// Simplifies a graph. Inputs and outputs stay the same.
pub fn simplify(graph: &Graph, options: &Options) -> Result<Simplified> {
    let rules = rules();
    if let Some(name) = options.also.iter().find(|n| !rules.iter().any(|r| r.name == **n)) {
        return Err(Error::value(format!("the rule `{name}`"), "is not a rule of the simplifier"));
    }
    let on: Vec<&Rule> = rules.iter().filter(|r| r.exact || options.also.contains(&r.name)).collect();
    let mut fired = vec![0; on.len()];
    let mut simpler: Option<Graph> = None;
    let mut rounds = 0;
    while rounds < ROUNDS {
        rounds += 1;
        let graph = simpler.as_ref().unwrap_or(graph);
        let round = Pass::new(&on, graph).run(graph)?;
        fired.iter_mut().zip(&round.fired).for_each(|(all, now)| *all += now);
        if round.fired.iter().all(|&n| n == 0) {
            break;
        }
        simpler = Some(round.graph);
        if !round.again {
            break;
        }
    }
    let fired = on.iter().zip(fired).filter(|(_, n)| *n > 0).map(|(r, n)| (r.name, n)).collect();
    Ok(Simplified { graph: simpler.unwrap_or_else(|| graph.clone()), fired, rounds })
}

/// The nodes that the builder holds so far, with the queries that rules use.
struct PartialGraph<'a> {
    nodes: &'a [Node],
    uses: &'a [usize],
    /// Values that a rule required to be read once, but that have more readers.
    refused: &'a RefCell<Vec<Id>>,
}

impl<'a> PartialGraph<'a> {
    fn node(&self, id: Id) -> &'a Node {
        &self.nodes[id.node as usize]
    }

    fn op(&self, id: Id) -> &'a Op {
        &self.node(id).op
    }

    fn aval(&self, id: Id) -> &'a Aval {
        &self.node(id).outs[id.out as usize]
    }

    fn shape(&self, id: Id) -> &'a Shape {
        &self.aval(id).shape
    }

    /// Returns true if the examined node is the only reader of the value. Otherwise records the value in `refused`.
    /// Rules therefore check this condition last.
    fn read_once(&self, id: Id) -> bool {
        let once = self.uses.get(id.node as usize).is_none_or(|&n| n <= 1);
        if !once {
            self.refused.borrow_mut().push(id);
        }
        once
    }

    /// Returns the element that a value repeats, if known.
    fn scalar(&self, id: Id) -> Option<&'a Literal> {
        let mut node = self.node(id);
        loop {
            match &node.op {
                Op::Constant(c) => return (c.value.data().len() == 1).then_some(&c.value),
                Op::Broadcast(_) | Op::Reshape(_) => node = self.node(node.ins[0]),
                _ => return None,
            }
        }
    }

    /// Returns the element that a value repeats as a real number. Returns `None` for complex values, because both parts of a
    /// complex zero have a sign.
    fn splat(&self, id: Id) -> Option<f64> {
        self.scalar(id).filter(|l| !l.dtype().is_complex()).and_then(Literal::splat)
    }
}

/// A replacement of a value.
#[derive(Clone, Debug)]
enum Expr {
    /// An existing value.
    Value(Id),
    /// An application of an op.
    Apply(Op, Vec<Expr>),
}

impl Expr {
    fn apply(op: impl Into<Op>, ins: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::Apply(op.into(), ins.into_iter().collect())
    }

    fn constant(value: Literal) -> Expr {
        Expr::apply(Constant { value }, [])
    }

    /// Returns an expression with the same element at every index.
    fn splat(value: Literal, shape: &Shape) -> Expr {
        Expr::constant(value.first()).broadcast(shape)
    }

    fn full(aval: &Aval, value: f64) -> Expr {
        Expr::splat(Literal::scalar(aval.dtype, value), &aval.shape)
    }

    fn reshape(self, shape: &Shape) -> Expr {
        Expr::apply(Reshape { shape: shape.clone() }, [self])
    }

    fn broadcast(self, shape: &Shape) -> Expr {
        Expr::apply(Broadcast { shape: shape.clone() }, [self])
    }
}

/// One round over the graph.
struct Pass<'r> {
    rules: &'r [&'r Rule],
    b: Builder,
    /// The replacement of each node that was examined.
    replacements: HashMap<u32, Id>,
    /// Number of readers of each new node, estimated from the old graph.
    uses: Vec<usize>,
    fired: Vec<usize>,
    refused: RefCell<Vec<Id>>,
}

/// The result of a round.
struct Round {
    graph: Graph,
    fired: Vec<usize>,
    /// If true, another round may apply more rules.
    again: bool,
}

impl<'r> Pass<'r> {
    fn new(rules: &'r [&'r Rule], graph: &Graph) -> Pass<'r> {
        let nodes = graph.nodes().len();
        let (replacements, fired, refused) = (HashMap::new(), vec![0; rules.len()], RefCell::default());
        // Reserves space for the nodes that rules add.
        let b = Builder::with_capacity(nodes + nodes / 4);
        Pass { rules, b, replacements, uses: Vec::with_capacity(nodes), fired, refused }
    }

    fn run(mut self, graph: &Graph) -> Result<Round> {
        let mut readers = vec![0usize; graph.nodes().len()];
        let read = graph.nodes().iter().flat_map(|n| &n.ins).chain(graph.outputs());
        read.for_each(|id| readers[id.node as usize] += 1);
        let mut new: Vec<(Id, usize)> = Vec::with_capacity(readers.len());
        let mut inputs = graph.inputs().iter();
        for (node, readers) in graph.nodes().iter().zip(readers) {
            stop::poll()?;
            let id = if let Op::Input(_) = &node.op {
                let name = inputs.next().map_or("", |(name, _)| name.as_str());
                self.b.input(name, node.outs[0].clone()).id()
            } else {
                let ins = node.ins.iter().map(|id| new_id(&new, *id)).collect();
                let before = self.b.set_origin(node.origin.clone());
                let id = self.build(node.op.clone(), ins, 0)?;
                self.b.set_origin(before);
                id
            };
            let at = id.node as usize;
            self.uses.resize(self.uses.len().max(at + 1), 0);
            self.uses[at] += readers;
            new.push((id, node.outs.len()));
        }
        let outputs: Vec<Id> = graph.outputs().iter().map(|id| new_id(&new, *id)).collect();
        let again = self.refusal_is_lifted(&outputs);
        Ok(Round { graph: self.b.into_graph(&outputs)?, fired: self.fired, again })
    }

    /// Returns true if a value for which a rule was refused now has one reader.
    fn refusal_is_lifted(&self, outputs: &[Id]) -> bool {
        let refused = self.refused.borrow();
        if refused.is_empty() {
            return false;
        }
        self.b.with_nodes(|nodes| {
            let mut readers = vec![0usize; nodes.len()];
            outputs.iter().for_each(|id| readers[id.node as usize] += 1);
            for (at, node) in nodes.iter().enumerate().rev() {
                if readers[at] > 0 {
                    node.ins.iter().for_each(|id| readers[id.node as usize] += 1);
                }
            }
            refused.iter().any(|id| readers[id.node as usize] == 1)
        })
    }

    /// Adds an application of an op, or the replacement that a rule returns for it.
    fn build(&mut self, op: Op, ins: Vec<Id>, depth: usize) -> Result<Id> {
        let (at, outs) = self.b.try_apply_ids(op, ins)?;
        let own = Id { node: at, out: 0 };
        if outs > 1 || depth > DEPTH {
            return Ok(own);
        }
        if let Some(known) = self.replacements.get(&at) {
            return Ok(*known);
        }
        let found = self.b.with_nodes(|nodes| {
            let (graph, node) =
                (PartialGraph { nodes, uses: &self.uses, refused: &self.refused }, &nodes[at as usize]);
            let try_rule = |(i, rule): (usize, &&Rule)| {
                let expr = match rule.rewrite {
                    Rewrite::Pattern(law) => law.rewrite(&graph, node),
                    Rewrite::Function(rewrite) => rewrite(&graph, node),
                };
                expr.map(|e| (i, e))
            };
            self.rules.iter().enumerate().find_map(try_rule)
        });
        let id = match found {
            None => own,
            Some((rule, expr)) => {
                self.fired[rule] += 1;
                let id = self.build_expr(expr, depth + 1)?;
                let (found, expected) = (self.b.aval(id), self.b.aval(own));
                if found != expected {
                    let what = format!("rule `{}` replaces {expected} by {found}", self.rules[rule].name);
                    return Err(Error::verify(what));
                }
                id
            }
        };
        self.replacements.insert(at, id);
        Ok(id)
    }

    /// Builds an expression. Rules are applied to each of its ops.
    fn build_expr(&mut self, expr: Expr, depth: usize) -> Result<Id> {
        let (op, ins) = match expr {
            Expr::Value(id) => return Ok(id),
            Expr::Apply(op, ins) => (op, ins),
        };
        let ins = ins.into_iter().map(|e| self.build_expr(e, depth)).collect::<Result<Vec<Id>>>()?;
        self.build(op, ins, depth)
    }
}

/// Returns the new id of an old value. A node with one result may be replaced by any result of another node. The results of
/// other nodes keep their order.
fn new_id(new: &[(Id, usize)], old: Id) -> Id {
    let (id, outs) = new[old.node as usize];
    if outs == 1 { id } else { Id { node: id.node, out: old.out } }
}
