//! Einsum: parse the equation, take diagonals, then contract pairs in a greedy order of cost.

use crate::contract::{Term, spare, spare_labels};
use crate::tensor::Tensor;
use gradus_ir::{Error, Result, Shape};

fn bad(why: impl Into<String>) -> Error {
    Error::value("the equation", why)
}

/// Labels of every operand and of the result, with `...` spelled out.
fn parse(equation: &str, shapes: &[Shape]) -> Result<(Vec<String>, String)> {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((l, r)) => (l, Some(r)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != shapes.len() {
        return Err(bad(format!("has {} terms for {} tensors", terms.len(), shapes.len())));
    }
    let named: Vec<String> = terms.iter().map(|t| t.replace("...", "")).collect();
    for term in named.iter().map(String::as_str).chain(right.map(|r| r.replace("...", "")).as_deref()) {
        if let Some(c) = term.chars().find(|c| !c.is_ascii_alphabetic()) {
            return Err(bad(format!("has `{c}`; labels are letters")));
        }
    }
    // How many axes `...` stands for: the most of any operand.
    let hidden = |i: usize| shapes[i].rank().checked_sub(named[i].len());
    let mut most = 0;
    for (i, term) in terms.iter().enumerate() {
        match hidden(i) {
            Some(n) if n == 0 || term.contains("...") => most = most.max(n),
            _ => {
                return Err(bad(format!(
                    "names {} axes in `{term}` of a tensor of shape {}",
                    named[i].len(),
                    shapes[i]
                )));
            }
        }
    }
    let mut spares = spare_labels("");
    let dots = (0..most).map(|_| spare(&mut spares)).collect::<Result<String>>()?;
    let spell = |i: usize| {
        let own: String = dots.chars().skip(most - hidden(i).unwrap_or(0)).collect();
        terms[i].replace("...", &own)
    };
    let spelled: Vec<String> = (0..terms.len()).map(spell).collect();
    let out = match right {
        Some(r) => r.replace("...", &dots),
        None => {
            let all: String = named.concat();
            let mut once: Vec<char> = all.chars().filter(|c| all.matches(*c).count() == 1).collect();
            once.sort_unstable();
            dots.chars().chain(once).collect()
        }
    };
    for (i, c) in out.chars().enumerate() {
        if out.chars().take(i).any(|d| d == c) || !spelled.iter().any(|t| t.contains(c)) {
            return Err(bad(format!(
                "has `{c}` in the result, which must be in a term, and once in the result"
            )));
        }
    }
    Ok((spelled, out))
}

/// A term with every label once: diagonals taken where a label repeats.
fn diagonals(mut t: Tensor, labels: &str) -> Result<Term> {
    let mut own = labels.to_string();
    while let Some((i, c)) = own.chars().enumerate().find(|(i, c)| own.chars().take(*i).any(|d| d == *c)) {
        let first = own.chars().position(|d| d == c).unwrap_or(0);
        let (n, m) = (t.dim(first as isize), t.dim(i as isize));
        if n != m {
            return Err(Error::shape(format!("label {c}"), format!("is {n} and {m} in `{labels}`")));
        }
        t = t.diagonal(0, first as isize, i as isize);
        let rest: String =
            own.chars().enumerate().filter(|(k, _)| *k != i && *k != first).map(|(_, d)| d).collect();
        own = format!("{rest}{c}");
    }
    t.check()?;
    Ok((t, own))
}

/// Sums away the labels of a term that nothing else needs, and drops broadcast axes of extent 1.
fn trimmed((t, labels): Term, needed: &str) -> Term {
    let gone: Vec<isize> =
        labels.chars().enumerate().filter(|(_, c)| !needed.contains(*c)).map(|(i, _)| i as isize).collect();
    let left = labels.chars().filter(|c| needed.contains(*c)).collect();
    if gone.is_empty() { (t, labels) } else { (t.sum(gone), left) }
}

pub(crate) fn einsum(equation: &str, tensors: &[&Tensor]) -> Result<Tensor> {
    let shapes: Vec<Shape> = tensors.iter().map(|t| t.shape()).collect();
    let (terms, out) = parse(equation, &shapes)?;
    let mut work: Vec<Term> = Vec::new();
    for (t, labels) in tensors.iter().zip(&terms) {
        work.push(diagonals((*t).clone(), labels)?);
    }
    // One extent per label; an axis of extent 1 beside a larger one is dropped, so that it broadcasts.
    let extent = |work: &[Term], c: char| {
        work.iter()
            .filter_map(|(t, l)| l.chars().position(|d| d == c).map(|i| t.dim(i as isize)))
            .max()
            .unwrap_or(1)
    };
    for i in 0..work.len() {
        let (t, labels) = work[i].clone();
        let ones =
            |(k, c): (usize, char)| (t.dim(k as isize) == 1 && extent(&work, c) != 1).then_some(k as isize);
        let drop: Vec<isize> = labels.chars().enumerate().filter_map(ones).collect();
        let left = labels
            .chars()
            .enumerate()
            .filter(|(k, _)| !drop.contains(&(*k as isize)))
            .map(|(_, c)| c)
            .collect();
        if !drop.is_empty() {
            work[i] = (t.squeeze(drop), left);
        }
    }
    while work.len() > 1 {
        let (i, j) = cheapest(&work, &out);
        let b = work.remove(j);
        let a = work.remove(i);
        let needed: String = work.iter().map(|(_, l)| l.as_str()).chain([out.as_str()]).collect();
        let (a, b) = (trimmed(a, &format!("{needed}{}", b.1)), b);
        let b = trimmed(b, &format!("{needed}{}", a.1));
        let left: String =
            a.1.chars()
                .chain(b.1.chars().filter(|c| !a.1.contains(*c)))
                .filter(|c| needed.contains(*c))
                .collect();
        let product = a.0.dot_labels(&b.0, &a.1, &b.1, &left);
        product.check()?;
        work.push((product, left));
    }
    let (t, labels) = work.pop().map(|term| trimmed(term, &out)).ok_or_else(|| bad("has no terms"))?;
    let order: Vec<isize> =
        out.chars().filter_map(|c| labels.chars().position(|d| d == c)).map(|i| i as isize).collect();
    Ok(t.permute(order))
}

/// The pair whose contraction makes the result grow least: smallest (result size - operand sizes), then flops.
fn cheapest(work: &[Term], out: &str) -> (usize, usize) {
    let size = |labels: &str, extents: &dyn Fn(char) -> f64| labels.chars().map(extents).product::<f64>();
    let mut best = ((f64::INFINITY, f64::INFINITY), (0, 1));
    for j in 1..work.len() {
        for i in 0..j {
            let (a, b) = (&work[i], &work[j]);
            let extent = |c: char| {
                let of = |(t, l): &Term| l.chars().position(|d| d == c).map(|k| t.dim(k as isize) as f64);
                of(a).or_else(|| of(b)).unwrap_or(1.0)
            };
            let others: String = work
                .iter()
                .enumerate()
                .filter(|(k, _)| *k != i && *k != j)
                .map(|(_, t)| t.1.as_str())
                .chain([out])
                .collect();
            let all: String = a.1.chars().chain(b.1.chars().filter(|c| !a.1.contains(*c))).collect();
            let left: String = all.chars().filter(|c| others.contains(*c)).collect();
            let growth = size(&left, &extent) - size(&a.1, &extent) - size(&b.1, &extent);
            let cost = (growth, size(&all, &extent));
            if cost < best.0 {
                best = (cost, (i, j));
            }
        }
    }
    best.1
}
