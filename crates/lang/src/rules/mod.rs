//! The op `closure`: takes the initial facts of recursive relations, returns all facts that follow by rules.
//!
//! Dense evaluation takes a product of entire relations in every round, and there may be as many rounds as the longest
//! chain of facts. Here the cost of a round is proportional to its new facts.

mod engine;

use engine::Engine;
use gradus_ir::ops::{Declared, Derivative, Form, Primitive, registry};
use gradus_ir::{Aval, DType, Error, Literal, Op, Result, op_struct};
use std::fmt;
use std::sync::Once;

/// A relation applied to variables; both are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Atom {
    pub(crate) relation: usize,
    pub(crate) variables: Vec<usize>,
}

/// A rule: the head holds where all atoms of the body hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) head: Atom,
    pub(crate) body: Vec<Atom>,
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<String> = self.variables.iter().map(usize::to_string).collect();
        write!(f, "r{}({})", self.relation, each.join(","))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} =", self.head)?;
        self.body.iter().try_for_each(|atom| write!(f, " {atom}"))
    }
}

impl Atom {
    fn parse(text: &str) -> Option<Atom> {
        let (relation, variables) = text.strip_prefix('r')?.strip_suffix(')')?.split_once('(')?;
        let numbers = variables.split(',').filter(|v| !v.is_empty()).map(|v| v.parse().ok());
        Some(Atom { relation: relation.parse().ok()?, variables: numbers.collect::<Option<_>>()? })
    }
}

impl Rule {
    fn parse(text: &str) -> Option<Rule> {
        let (head, body) = text.split_once('=')?;
        let body = body.split_whitespace().map(Atom::parse).collect::<Option<Vec<_>>>()?;
        Some(Rule { head: Atom::parse(head.trim())?, body })
    }
}

op_struct! {
    /// All facts that follow by rules. The first `grow` operands are the initial facts of the relations that
    /// grow, and the results are their final facts; the other operands are relations that the rules only
    /// read. In `r0(0,2) = r1(0,1) r0(1,2)`, `r1` is operand 1, and the numbers in parentheses are variables.
    pub struct Closure = "closure" {
        /// The number of relations that grow.
        grow: usize,
        /// The rules, with semicolons between them.
        rules: String,
    }
}

impl Closure {
    pub(crate) fn new(grow: usize, rules: &[Rule]) -> Closure {
        Closure { grow, rules: rules.iter().map(Rule::to_string).collect::<Vec<_>>().join("; ") }
    }

    /// Returns the op; registers it, so that text can name it.
    pub(crate) fn op(self) -> Op {
        register();
        Op::user(self)
    }

    pub(crate) fn parsed(&self) -> Result<Vec<Rule>> {
        let all = self.rules.split(';').map(|r| Rule::parse(r.trim()));
        all.collect::<Option<_>>().ok_or_else(|| Error::value("the rules", "cannot be parsed"))
    }

    /// Checks that every variable of a rule has one extent, and that every atom has distinct variables, one per axis.
    fn check(&self, ins: &[Aval]) -> Result<()> {
        if let Some(other) = ins.iter().find(|a| a.dtype != DType::Bool) {
            return Err(Error::dtype(other.dtype, "relations are boolean"));
        }
        for rule in self.parsed()? {
            let mut extents: Vec<(usize, usize)> = Vec::new();
            let wrong = || Error::value(format!("the rule `{rule}`"), "does not fit the relations");
            for (i, atom) in rule.body.iter().chain([&rule.head]).enumerate() {
                let Some(aval) = ins.get(atom.relation) else { return Err(wrong()) };
                let twice = |v: &usize| atom.variables.iter().filter(|w| *w == v).count() > 1;
                let grows = i < rule.body.len() || atom.relation < self.grow;
                if aval.rank() != atom.variables.len() || atom.variables.iter().any(twice) || !grows {
                    return Err(wrong());
                }
                for (v, n) in atom.variables.iter().zip(aval.shape.iter()) {
                    match extents.iter().find(|(w, _)| w == v) {
                        Some((_, m)) if m != n => return Err(wrong()),
                        Some(_) => {}
                        None => extents.push((*v, *n)),
                    }
                }
            }
        }
        Ok(())
    }
}

/// Registers the op for parsing.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| registry::register(Closure::NAME, |attrs| Closure::from_attrs(attrs).map(Op::user)));
}

impl Primitive for Closure {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        if self.grow == 0 || self.grow > ins.len() {
            return Err(Error::value("the relations that grow", "must be among the operands"));
        }
        self.check(ins)?;
        Ok(ins[..self.grow].to_vec())
    }

    fn derivative(&self) -> Derivative {
        Derivative::Zero
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        let op = self.clone();
        Form::external(move |ins: &[Literal]| {
            let avals: Vec<Aval> = ins.iter().map(|l| l.aval().clone()).collect();
            op.check(&avals)?;
            let shapes: Vec<&[usize]> = avals.iter().map(|a| &a.shape[..]).collect();
            let mut engine = Engine::new(&shapes, op.grow, &op.parsed()?);
            ins.iter().enumerate().for_each(|(i, l)| engine.load(i, l.i()));
            engine.run()?;
            (0..op.grow).map(|g| Literal::new(avals[g].clone(), engine.facts(g))).collect()
        })
    }
}

#[cfg(test)]
mod tests;
