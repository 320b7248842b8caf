//! Rules over relations, after names, symbols and sizes are resolved. A rule has a head, conditions, and for tensors
//! the number that each solution contributes. `compile` makes rules from equations, `magic` specialises them for a
//! query, and `engine` runs them.

use crate::syntax::ast::{Comparison, Projection};

/// An argument of an atom: a variable plus an offset, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arg {
    Var(usize, i64),
    At(u32),
}

/// A relation, or a tensor of numbers, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Atom {
    pub(super) of: usize,
    pub(super) args: Vec<Arg>,
}

impl Atom {
    /// Returns the variables of its arguments.
    pub(super) fn variables(&self) -> impl Iterator<Item = usize> + '_ {
        self.args.iter().filter_map(|a| if let Arg::Var(v, _) = a { Some(*v) } else { None })
    }
}

/// A numeric expression over variables and elements of tensors.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number {
    Constant(f64),
    /// The value of a variable: `index(x)`.
    Index(usize),
    /// 1 if the value of a variable is odd, else 0.
    Odd(usize),
    /// An element of a tensor; 0 if out of range.
    Read(Atom),
    Sum(Vec<Number>),
    Product(Vec<Number>),
    Negative(Box<Number>),
}

impl Number {
    /// Returns true if the expression is monotonically increasing in each element that it reads of the predicates in
    /// `group`: such a read is the entire expression or a term of a sum.
    pub(super) fn grows(&self, group: &[usize]) -> bool {
        let mut reads = false;
        self.reads(&mut |r| reads |= group.contains(&r.of));
        match self {
            Number::Read(_) => true,
            Number::Sum(terms) => terms.iter().all(|t| t.grows(group)),
            _ => !reads,
        }
    }

    /// Calls `f` with every tensor that is read.
    pub(super) fn reads<'a>(&'a self, f: &mut impl FnMut(&'a Atom)) {
        match self {
            Number::Constant(_) | Number::Index(_) | Number::Odd(_) => {}
            Number::Read(atom) => f(atom),
            Number::Sum(parts) | Number::Product(parts) => parts.iter().for_each(|p| p.reads(f)),
            Number::Negative(one) => one.reads(f),
        }
    }

    pub(super) fn variables(&self, out: &mut Vec<usize>) {
        match self {
            Number::Constant(_) => {}
            Number::Index(v) | Number::Odd(v) => out.push(*v),
            Number::Read(atom) => out.extend(atom.variables()),
            Number::Sum(parts) | Number::Product(parts) => parts.iter().for_each(|p| p.variables(out)),
            Number::Negative(one) => one.variables(out),
        }
    }
}

/// One condition in the body of a rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    /// The relation holds.
    Holds(Atom),
    /// The relation does not hold.
    Not(Atom),
    /// The comparison holds.
    Compare(Comparison, Number, Number),
}

impl Literal {
    pub(super) fn variables(&self) -> Vec<usize> {
        let mut out = Vec::new();
        match self {
            Literal::Holds(atom) | Literal::Not(atom) => out.extend(atom.variables()),
            Literal::Compare(_, a, b) => {
                a.variables(&mut out);
                b.variables(&mut out);
            }
        }
        out
    }

    /// Returns the atom of a literal and whether it is negated; `None` for a comparison.
    pub(super) fn atom(&self) -> Option<(&Atom, bool)> {
        match self {
            Literal::Holds(atom) => Some((atom, false)),
            Literal::Not(atom) => Some((atom, true)),
            _ => None,
        }
    }
}

/// The head holds, or receives `value`, for every solution of the body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) head: Atom,
    pub(super) body: Vec<Literal>,
    /// The value that a solution contributes to a tensor; `None` in a rule for a relation.
    pub(super) value: Option<Number>,
    /// The size of the domain of each variable.
    pub(super) sizes: Vec<u32>,
}

/// The kind of a predicate, with its initial facts or values.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A relation with its initial facts: the arguments of all facts in one list, one fact after the other.
    Relation(Vec<u32>),
    /// A tensor whose elements combine by a reduction.
    Reduced(Projection),
    /// A tensor whose elements are known.
    Array(Vec<f64>),
}

/// A relation or tensor that rules define or read: the sizes of its argument domains, and its kind.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub(super) sizes: Vec<u32>,
    pub(super) kind: Kind,
}

/// All rules that are solved together.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) predicates: Vec<Predicate>,
    pub(super) rules: Vec<Rule>,
}

impl Rules {
    /// Returns, for each predicate, the predicates that its rules read, without repetitions.
    pub(super) fn needs(&self) -> Vec<Vec<usize>> {
        let mut needs = vec![Vec::new(); self.predicates.len()];
        for rule in &self.rules {
            let own = &mut needs[rule.head.of];
            for literal in &rule.body {
                own.extend(literal.atom().map(|(a, _)| a.of));
                if let Literal::Compare(_, a, b) = literal {
                    a.reads(&mut |r| own.push(r.of));
                    b.reads(&mut |r| own.push(r.of));
                }
            }
            rule.value.iter().for_each(|v| v.reads(&mut |r| own.push(r.of)));
        }
        needs.iter_mut().for_each(|n| {
            n.sort_unstable();
            n.dedup();
        });
        needs
    }
}
