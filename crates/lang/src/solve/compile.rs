//! Compiles equations to rules. Takes a program and the domains of its positions; returns the names that can be solved
//! sparsely, with their rules. A name that reads anything else is left to the dense evaluation, which also reports
//! errors.

use super::rule::{Arg, Atom, Kind as Known, Literal, Number, Predicate, Rule, Rules};
use crate::elaborate::{Domains, list_of};
use crate::program::Program;
use crate::program::{Column, Table};
use crate::syntax::ast::{Comparison, Equation, Expr, Index, Kind, Name, Projection, Ref};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most alternatives that the right side of one rule may have: `(A + B) (C + D)` has 4.
const MAX_ALTERNATIVES: usize = 64;
/// Most elements of a tensor that rules may read.
const MAX_ELEMENTS: usize = 1 << 26;

/// The inputs of the compilation.
pub(super) struct Source<'a> {
    pub(super) program: &'a Program,
    pub(super) domains: &'a Domains,
    pub(super) tables: &'a BTreeMap<Name, Table>,
    pub(super) numbers: &'a HashMap<Name, f64>,
    pub(super) axes: &'a dyn Fn(&Name) -> Option<usize>,
    /// True for names that have a value from elsewhere, or none.
    pub(super) excluded: &'a dyn Fn(&Name) -> bool,
}

/// Rules, and the number of each name that has any.
pub(super) struct Compiled {
    pub(super) names: HashMap<Name, usize>,
    pub(super) rules: Rules,
}

/// The kind of a name in rules.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Relation,
    Array,
    Reduced(Projection),
}

/// The kinds of the names that take part.
type Sorts = HashMap<Name, Sort>;

impl<'a> Source<'a> {
    /// Compiles the needed names all of whose equations can be made rules.
    pub(super) fn compile(&self, needed: &HashSet<Name>) -> Option<Compiled> {
        let mut sorts: Sorts = HashMap::new();
        for name in self.program.names.iter().filter(|n| needed.contains(*n)) {
            sorts.extend(self.sort(name).map(|s| (name.clone(), s)));
        }
        loop {
            if !sorts.values().any(|s| *s == Sort::Relation) {
                return None;
            }
            let names: Vec<Name> =
                self.program.names.iter().filter(|n| sorts.contains_key(*n)).cloned().collect();
            let at: HashMap<Name, usize> = names.iter().enumerate().map(|(i, n)| (n.clone(), i)).collect();
            let (mut rules, mut bad) = (Rules::default(), Vec::new());
            for name in &names {
                match self.predicate(name, &sorts, &at) {
                    Some((predicate, own)) => {
                        rules.predicates.push(predicate);
                        rules.rules.extend(own);
                    }
                    None => bad.push(name.clone()),
                }
            }
            if bad.is_empty() {
                return Some(Compiled { names: at, rules });
            }
            for name in &bad {
                sorts.remove(name);
            }
        }
    }

    fn own(&self, name: &str) -> impl Iterator<Item = &'a Equation> + use<'a> {
        let program = self.program;
        let own = program.definition(name).map(|d| &d.equations[..]).unwrap_or_default();
        own.iter().map(|i| &program.equations[*i])
    }

    /// Returns the kind of a name, by the form of its equations.
    fn sort(&self, name: &Name) -> Option<Sort> {
        let d = self.program.definition(name)?;
        if d.equations.is_empty() || d.time.is_some() || (self.excluded)(name) {
            return None;
        }
        if self.program.per_step.contains_key(name) {
            return None;
        }
        if d.relation {
            return Some(Sort::Relation);
        }
        let constant = |e: &Equation| list_of(e).is_some() || number_of(&e.value).is_some();
        if self.own(name).all(constant) {
            return Some(Sort::Array);
        }
        let how = self.own(name).next()?.projection;
        // A name whose lines read no relation is better evaluated as a tensor.
        let reads =
            |e: &Equation| e.any_read(&mut |r| self.program.definition(&r.name).is_some_and(|d| d.relation));
        let all = self.own(name).all(|e| e.projection == how) && self.own(name).any(reads);
        all.then_some(Sort::Reduced(how))
    }

    fn size(&self, name: &str, position: usize) -> Option<u32> {
        let domain = self.domains.number(name, position)?;
        self.domains.size(domain, self.axes).and_then(|n| u32::try_from(n).ok())
    }

    fn predicate(
        &self,
        name: &Name,
        sorts: &Sorts,
        at: &HashMap<Name, usize>,
    ) -> Option<(Predicate, Vec<Rule>)> {
        let rank = self.program.definition(name)?.rank;
        let sizes: Vec<u32> = (0..rank).map(|p| self.size(name, p)).collect::<Option<_>>()?;
        let count = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s as usize));
        let small = count.filter(|n| *n <= MAX_ELEMENTS);
        let (mut facts, mut rules) = (Vec::new(), Vec::new());
        match *sorts.get(name)? {
            Sort::Array => {
                let numbers = self.array(name, &sizes, small?)?;
                return Some((Predicate { sizes, kind: Known::Array(numbers) }, rules));
            }
            Sort::Reduced(how) => {
                small?;
                for e in self.own(name) {
                    rules.push(Line::new(self, e, sorts, at).reduced()?);
                }
                return Some((Predicate { sizes, kind: Known::Reduced(how) }, rules));
            }
            Sort::Relation => {}
        }
        for e in self.own(name) {
            if e.projection != Projection::Sum {
                return None;
            }
            if e.file().is_some() {
                self.table_facts(name, &sizes, &mut facts)?;
            } else if let Some(list) = list_of(e) {
                let plain = plain(&e.target)? && e.guard.is_none();
                if !plain
                    || list.shape.len() != sizes.len()
                    || list.shape.iter().zip(&sizes).any(|(a, b)| *a != *b as usize)
                {
                    return None;
                }
                for at in (0..list.numbers.len()).filter(|i| list.numbers[*i] > 0.0) {
                    push_unravelled(at, &sizes, &mut facts);
                }
            } else {
                for rule in Line::new(self, e, sorts, at).rules()? {
                    match fact(&rule) {
                        Some(tuple) => facts.extend(tuple),
                        None => rules.push(rule),
                    }
                }
            }
        }
        Some((Predicate { sizes, kind: Known::Relation(facts) }, rules))
    }

    /// Collects the facts of a relation that a table gives.
    fn table_facts(&self, name: &Name, sizes: &[u32], facts: &mut Vec<u32>) -> Option<()> {
        let table = self.tables.get(name)?;
        if table.columns.len() != sizes.len() && table.rows() > 0 {
            return None;
        }
        let mut columns: Vec<Vec<u32>> = Vec::new();
        for (at, column) in table.columns.iter().enumerate() {
            let domain = self.domains.domain(name, at)?;
            columns.push(match column {
                Column::Numbers(all) if domain.symbols.is_empty() => all.clone(),
                Column::Numbers(_) => return None,
                Column::Words(all) => all.iter().map(|w| domain.find(w)).collect::<Option<_>>()?,
            });
            if columns[at].iter().any(|x| *x >= sizes[at]) {
                return None;
            }
        }
        for row in 0..table.rows() {
            facts.extend(columns.iter().map(|c| c[row]));
        }
        Some(())
    }

    /// Returns the elements of a tensor that is given by constants.
    fn array(&self, name: &Name, sizes: &[u32], count: usize) -> Option<Vec<f64>> {
        let mut numbers = vec![0.0; count];
        for (i, e) in self.own(name).enumerate() {
            if e.guard.is_some() || e.projection != Projection::Sum {
                return None;
            }
            if let Some(list) = list_of(e) {
                let fits = list.shape.iter().zip(sizes).all(|(a, b)| *a == *b as usize);
                if i > 0 || !plain(&e.target)? || list.shape.len() != sizes.len() || !fits {
                    return None;
                }
                numbers = list.numbers.to_vec();
                continue;
            }
            let x = number_of(&e.value)?;
            let mut at = 0;
            for (place, n) in e.target.places.iter().zip(sizes) {
                at = at * *n as usize + constant(&place.index, *n)? as usize;
            }
            *numbers.get_mut(at)? += x;
        }
        (numbers.len() == count).then_some(numbers)
    }
}

/// Returns the head of a rule that holds without conditions, as a tuple; one cell if it has no arguments.
fn fact(rule: &Rule) -> Option<Vec<u32>> {
    if !rule.body.is_empty() {
        return None;
    }
    let at = |a: &Arg| if let Arg::At(x) = a { Some(*x) } else { None };
    let tuple: Vec<u32> = rule.head.args.iter().map(at).collect::<Option<_>>()?;
    Some(if tuple.is_empty() { vec![0] } else { tuple })
}

fn push_unravelled(at: usize, sizes: &[u32], out: &mut Vec<u32>) {
    let mut stride: usize = sizes.iter().map(|n| *n as usize).product();
    let mut left = at;
    for n in sizes {
        stride /= (*n as usize).max(1);
        out.push((left / stride.max(1)) as u32);
        left %= stride.max(1);
    }
    if sizes.is_empty() {
        out.push(0);
    }
}

/// Returns true if the indices of a left side are distinct; `None` if some are not plain.
fn plain(r: &Ref) -> Option<bool> {
    let named = |p: &crate::syntax::ast::Place| {
        if let Index::Named(n, 0) = &p.index { Some(n.clone()) } else { None }
    };
    let all: Vec<Name> = r.places.iter().map(named).collect::<Option<_>>()?;
    Some((1..all.len()).all(|i| !all[..i].contains(&all[i])))
}

/// Returns the value of an index that is a constant.
fn constant(index: &Index, size: u32) -> Option<u32> {
    match index {
        Index::At(x) => {
            let x = if *x < 0 { *x + i64::from(size) } else { *x };
            u32::try_from(x).ok().filter(|x| *x < size)
        }
        Index::Symbol(_, code) => u32::try_from(*code).ok().filter(|x| *x < size),
        _ => None,
    }
}

/// Returns the value of a numeric literal.
fn number_of(e: &Expr) -> Option<f64> {
    match &e.kind {
        Kind::Number(x) => Some(*x),
        Kind::Negative(one) => number_of(one).map(|x| -x),
        Kind::Call(call) if &*call.function == "const" => number_of(call.args.first()?),
        _ => None,
    }
}

/// Alternatives, each a list of conditions that hold together.
type Alternatives = Vec<Vec<Literal>>;

/// One equation being compiled to rules.
struct Line<'s, 'a> {
    source: &'s Source<'a>,
    equation: &'a Equation,
    sorts: &'s Sorts,
    at: &'s HashMap<Name, usize>,
    variables: Vec<Name>,
    sizes: Vec<u32>,
}

impl<'s, 'a> Line<'s, 'a> {
    fn new(
        source: &'s Source<'a>,
        equation: &'a Equation,
        sorts: &'s Sorts,
        at: &'s HashMap<Name, usize>,
    ) -> Self {
        Line { source, equation, sorts, at, variables: Vec::new(), sizes: Vec::new() }
    }

    /// Returns the number of a variable; its size is `size`, or the declared one.
    fn variable(&mut self, name: &Name, size: Option<u32>) -> Option<usize> {
        if let Some(at) = self.variables.iter().position(|v| v == name) {
            return size.is_none_or(|n| n == self.sizes[at]).then_some(at);
        }
        let declared = || (self.source.axes)(name).and_then(|n| u32::try_from(n).ok());
        self.sizes.push(size.or_else(declared)?);
        self.variables.push(name.clone());
        Some(self.variables.len() - 1)
    }

    fn atom(&mut self, r: &Ref) -> Option<Atom> {
        let of = *self.at.get(&r.name)?;
        let mut args = Vec::with_capacity(r.places.len());
        for (at, place) in r.places.iter().enumerate() {
            let size = self.source.size(&r.name, at)?;
            args.push(match &place.index {
                Index::Named(name, by) => Arg::Var(self.variable(name, Some(size))?, *by),
                index => Arg::At(constant(index, size)?),
            });
        }
        Some(Atom { of, args })
    }

    fn sort(&self, r: &Ref) -> Option<Sort> {
        self.sorts.get(&r.name).copied()
    }

    /// Returns the rules of an equation of a relation: one per alternative.
    fn rules(mut self) -> Option<Vec<Rule>> {
        let equation = self.equation;
        let head = self.atom(&equation.target)?;
        let value = self.conditions(&equation.value)?;
        let guard = match &equation.guard {
            Some(guard) => self.conditions(guard)?,
            None => vec![Vec::new()],
        };
        let all = both(value, &guard)?;
        all.iter().all(|body| self.closes(&head, body, None)).then_some(())?;
        Some(all.into_iter().map(|body| self.rule(&head, body, None)).collect())
    }

    fn rule(&self, head: &Atom, body: Vec<Literal>, value: Option<Number>) -> Rule {
        Rule { head: head.clone(), body, value, sizes: self.sizes.clone() }
    }

    /// Returns true if every sum is around all conditions. An index that occurs several times in one number, and
    /// nowhere else, is summed inside that number, which rules cannot express.
    fn closes(&self, head: &Atom, body: &[Literal], value: Option<&Number>) -> bool {
        let mut bound: Vec<usize> = head.variables().collect();
        let mut numbers: Vec<Vec<usize>> = Vec::new();
        for literal in body {
            match literal {
                Literal::Holds(atom) | Literal::Not(atom) => bound.extend(atom.variables()),
                Literal::Compare(..) => numbers.push(literal.variables()),
            }
        }
        numbers.extend(value.map(|v| {
            let mut own = Vec::new();
            v.variables(&mut own);
            own
        }));
        let twice = |own: &[usize], v: usize| own.iter().filter(|w| **w == v).count() > 1;
        let outside = |i: usize, v: usize| {
            bound.contains(&v) || numbers.iter().enumerate().any(|(j, other)| j != i && other.contains(&v))
        };
        numbers.iter().enumerate().all(|(i, own)| own.iter().all(|v| !twice(own, *v) || outside(i, *v)))
    }

    /// Returns the conditions under which an expression is greater than 0, if it cannot be less.
    fn conditions(&mut self, e: &Expr) -> Option<Alternatives> {
        match &e.kind {
            Kind::Number(x) => match *x {
                x if x > 0.0 => Some(vec![Vec::new()]),
                0.0 => Some(Vec::new()),
                _ => None,
            },
            Kind::Ref(r) if self.sort(r) == Some(Sort::Relation) => {
                Some(vec![vec![Literal::Holds(self.atom(r)?)]])
            }
            Kind::Ref(r) if self.sort(r) == Some(Sort::Array) => {
                let Kind::Ref(_) = &e.kind else { return None };
                // A negative number could cancel others in a sum.
                let small = self.source.own(&r.name).all(|own| match list_of(own) {
                    Some(list) => list.numbers.iter().all(|x| *x >= 0.0 && x.is_finite()),
                    None => number_of(&own.value).is_some_and(|x| x >= 0.0 && x.is_finite()),
                });
                let read = Number::Read(self.atom(r)?);
                small.then(|| vec![vec![Literal::Compare(Comparison::Gt, read, Number::Constant(0.0))]])
            }
            Kind::Ref(r) if r.places.is_empty() => match self.source.numbers.get(&r.name) {
                Some(x) if *x > 0.0 => Some(vec![Vec::new()]),
                Some(0.0) => Some(Vec::new()),
                _ => None,
            },
            Kind::Of(function, index) if matches!(&**function, "even" | "odd") => {
                let v = self.variable(index, None)?;
                let wanted = if &**function == "odd" { 1.0 } else { 0.0 };
                let test = Literal::Compare(Comparison::Eq, Number::Odd(v), Number::Constant(wanted));
                Some(vec![vec![test]])
            }
            Kind::Product(parts) => {
                let mut all = vec![Vec::new()];
                for part in parts {
                    let own = self.conditions(part)?;
                    all = both(all, &own)?;
                }
                Some(all)
            }
            Kind::And(two) => {
                let first = self.conditions(&two[0])?;
                let second = self.conditions(&two[1])?;
                both(first, &second)
            }
            Kind::Sum(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.conditions(part)?);
                }
                (all.len() <= MAX_ALTERNATIVES).then_some(all)
            }
            Kind::Or(two) => {
                let mut all = self.conditions(&two[0])?;
                all.extend(self.conditions(&two[1])?);
                (all.len() <= MAX_ALTERNATIVES).then_some(all)
            }
            Kind::Not(one) => match &one.kind {
                Kind::Ref(r) if self.sort(r) == Some(Sort::Relation) => {
                    Some(vec![vec![Literal::Not(self.atom(r)?)]])
                }
                _ => None,
            },
            Kind::Compare(c, two) => {
                let (a, b) = (self.number(&two[0])?, self.number(&two[1])?);
                if let (Number::Constant(a), Number::Constant(b)) = (&a, &b) {
                    return Some(if c.holds(*a, *b) { vec![Vec::new()] } else { Vec::new() });
                }
                Some(vec![vec![Literal::Compare(*c, a, b)]])
            }
            _ => None,
        }
    }

    fn number(&mut self, e: &Expr) -> Option<Number> {
        match &e.kind {
            Kind::Number(x) => Some(Number::Constant(*x)),
            Kind::Call(_) => number_of(e).map(Number::Constant),
            Kind::Ref(r) => match self.sort(r) {
                Some(Sort::Array | Sort::Reduced(_)) => Some(Number::Read(self.atom(r)?)),
                Some(Sort::Relation) => None,
                None => self
                    .source
                    .numbers
                    .get(&r.name)
                    .filter(|_| r.places.is_empty())
                    .map(|x| Number::Constant(*x)),
            },
            Kind::Of(function, index) => {
                let v = self.variable(index, None)?;
                match &**function {
                    "index" => Some(Number::Index(v)),
                    "odd" => Some(Number::Odd(v)),
                    "size" => Some(Number::Constant(f64::from(self.sizes[v]))),
                    _ => None,
                }
            }
            Kind::Sum(parts) => {
                Some(Number::Sum(parts.iter().map(|p| self.number(p)).collect::<Option<_>>()?))
            }
            Kind::Product(parts) => {
                let mut all: Vec<Number> = parts.iter().map(|p| self.number(p)).collect::<Option<_>>()?;
                // `terms` wraps the right side of a maximum in a product.
                Some(if all.len() == 1 { all.remove(0) } else { Number::Product(all) })
            }
            Kind::Negative(one) => Some(Number::Negative(Box::new(self.number(one)?))),
            _ => None,
        }
    }

    /// Returns the rule of an equation of a tensor: the value that each solution contributes.
    fn reduced(mut self) -> Option<Rule> {
        let equation = self.equation;
        let head = self.atom(&equation.target)?;
        let mut body = Vec::new();
        if let Some(guard) = &equation.guard {
            let mut all = self.conditions(guard)?;
            // Indices that only the guard has are summed inside it if they appear twice.
            let counted = !matches!(equation.projection, Projection::Min | Projection::Max);
            if all.len() != 1 || counted && self.sums_inside(guard) {
                return None;
            }
            body = all.remove(0);
        }
        let factors = match &equation.value.kind {
            Kind::Product(parts) if equation.projection == Projection::Sum => &parts[..],
            _ => std::slice::from_ref(&equation.value),
        };
        let mut values = Vec::new();
        for factor in factors {
            let logical = match &factor.kind {
                Kind::Ref(r) => self.sort(r) == Some(Sort::Relation),
                Kind::Not(_) | Kind::Compare(..) => true,
                Kind::Of(function, _) => matches!(&**function, "even" | "odd"),
                _ => false,
            };
            if !logical {
                values.push(self.number(factor)?);
                continue;
            }
            let mut all = self.conditions(factor)?;
            if equation.projection != Projection::Sum || all.len() != 1 {
                return None;
            }
            body.append(&mut all.remove(0));
        }
        let holds = |l: &Literal| matches!(l, Literal::Holds(_));
        let value = match values.len() {
            0 => Number::Constant(1.0),
            1 => values.remove(0),
            _ => Number::Product(values),
        };
        let mut reads = false;
        value.reads(&mut |r| reads |= r.of == head.of);
        // The start of a recursion may be a constant.
        let starts = self.own_is_recursive() && matches!(value, Number::Constant(_));
        (body.iter().any(holds) || starts).then_some(())?;
        self.closes(&head, &body, Some(&value)).then(|| self.rule(&head, body, Some(value)))
    }

    fn own_is_recursive(&self) -> bool {
        let name = &self.equation.target.name;
        self.source.own(name).any(|e| e.any_read(&mut |r| r.name == *name))
    }

    /// Returns true if an index that the rest of the line lacks appears twice in the guard.
    fn sums_inside(&self, guard: &Expr) -> bool {
        let outside = |n: &Name| {
            crate::elaborate::scope::keys(&self.equation.target).contains(n)
                || crate::elaborate::scope::occurrences(&self.equation.value).contains(n)
        };
        let all: Vec<Name> = guard
            .refs()
            .iter()
            .flat_map(|r| r.places.iter().filter_map(crate::elaborate::scope::key))
            .collect();
        (1..all.len()).any(|i| all[..i].contains(&all[i]) && !outside(&all[i]))
    }
}

/// Returns every alternative of the first with every one of the second.
fn both(first: Alternatives, second: &Alternatives) -> Option<Alternatives> {
    if first.len() * second.len() > MAX_ALTERNATIVES {
        return None;
    }
    let one = |a: &Vec<Literal>, b: &Vec<Literal>| a.iter().chain(b).cloned().collect();
    Some(first.iter().flat_map(|a| second.iter().map(move |b| one(a, b))).collect())
}
