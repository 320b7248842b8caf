//! Evaluates einsum equations: parses them, takes diagonals, multiplies terms of equal labels, then contracts
//! pairs greedily.
//! Takes an equation and its operands; returns one tensor. `contract.rs` runs each contraction.

use crate::contract::{Term, spare, spare_labels};
use crate::tensor::Tensor;
use gradus_ir::{Error, Result, Shape};
use std::collections::HashMap;

fn invalid(why: impl Into<String>) -> Error {
    Error::value("the equation", why.into())
}

/// Returns the labels of every operand and of the result, with `...` expanded.
fn parse(equation: &str, shapes: &[Shape]) -> Result<(Vec<String>, String)> {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((l, r)) => (l, Some(r)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != shapes.len() {
        return Err(invalid(format!("has {} terms for {} tensors", terms.len(), shapes.len())));
    }
    let named: Vec<String> = terms.iter().map(|t| t.replace("...", "")).collect();
    for term in named.iter().map(String::as_str).chain(right.map(|r| r.replace("...", "")).as_deref()) {
        if let Some(c) = term.chars().find(|c| !c.is_ascii_alphabetic()) {
            return Err(invalid(format!("has `{c}`; labels are letters")));
        }
    }
    // `...` stands for as many axes as the operand with the most unnamed axes has.
    let unnamed = |i: usize| shapes[i].rank().checked_sub(named[i].len());
    let mut most = 0;
    for (i, term) in terms.iter().enumerate() {
        match unnamed(i) {
            Some(n) if n == 0 || term.contains("...") => most = most.max(n),
            _ => {
                return Err(invalid(format!(
                    "names {} axes in `{term}` of a tensor of shape {}",
                    named[i].len(),
                    shapes[i]
                )));
            }
        }
    }
    let mut spares = spare_labels("");
    let dots = (0..most).map(|_| spare(&mut spares)).collect::<Result<String>>()?;
    let expand = |i: usize| {
        let own: String = dots.chars().skip(most - unnamed(i).unwrap_or(0)).collect();
        terms[i].replace("...", &own)
    };
    let expanded: Vec<String> = (0..terms.len()).map(expand).collect();
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
        if out.chars().take(i).any(|d| d == c) || !expanded.iter().any(|t| t.contains(c)) {
            return Err(invalid(format!(
                "has `{c}` in the result; each label there must be in a term and occur once"
            )));
        }
    }
    Ok((expanded, out))
}

/// Takes diagonals until every label of the term is unique.
fn take_diagonals(mut t: Tensor, labels: &str) -> Result<Term> {
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

/// Sums over the axes whose labels are not in `needed`.
fn sum_unneeded((t, labels): Term, needed: &str) -> Term {
    let gone: Vec<isize> =
        labels.chars().enumerate().filter(|(_, c)| !needed.contains(*c)).map(|(i, _)| i as isize).collect();
    let left = labels.chars().filter(|c| needed.contains(*c)).collect();
    if gone.is_empty() { (t, labels) } else { (t.sum(gone), left) }
}

/// Evaluates an einsum. Returns an error if one contraction visits more than `most` combinations of indices.
pub(crate) fn einsum(equation: &str, tensors: &[&Tensor], most: f64) -> Result<Tensor> {
    let shapes: Vec<Shape> = tensors.iter().map(|t| t.shape()).collect();
    let (terms, out) = parse(equation, &shapes)?;
    let mut work: Vec<Term> = Vec::new();
    for (t, labels) in tensors.iter().zip(&terms) {
        work.push(take_diagonals((*t).clone(), labels)?);
    }
    // Each label has one extent. An axis of extent 1 with the label of a larger axis is dropped, so that it
    // broadcasts.
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
    let mut work = multiply_alike(work);
    while work.len() > 1 {
        let (i, j) = cheapest_pair(&work, &out);
        check_work(&work[i], &work[j], most)?;
        let b = work.remove(j);
        let a = work.remove(i);
        let needed: String = work.iter().map(|(_, l)| l.as_str()).chain([out.as_str()]).collect();
        let (a, b) = (sum_unneeded(a, &format!("{needed}{}", b.1)), b);
        let b = sum_unneeded(b, &format!("{needed}{}", a.1));
        let left: String =
            a.1.chars()
                .chain(b.1.chars().filter(|c| !a.1.contains(*c)))
                .filter(|c| needed.contains(*c))
                .collect();
        let product = product(&a, &b, &left);
        product.check()?;
        work.push((product, left));
    }
    let (t, labels) =
        work.pop().map(|term| sum_unneeded(term, &out)).ok_or_else(|| invalid("has no terms"))?;
    let order: Vec<isize> =
        out.chars().filter_map(|c| labels.chars().position(|d| d == c)).map(|i| i as isize).collect();
    Ok(t.permute(order))
}

/// Returns an error if the product of two terms visits more than `most` combinations of indices.
fn check_work(a: &Term, b: &Term, most: f64) -> Result<()> {
    let of = |(t, labels): &Term| labels.chars().zip(t.shape().to_vec()).collect::<Vec<_>>();
    let own = of(a);
    let more = of(b).into_iter().filter(|(c, _)| !a.1.contains(*c));
    let extents: Vec<usize> = own.iter().copied().chain(more).map(|(_, n)| n).collect();
    if extents.iter().map(|n| *n as f64).product::<f64>() <= most {
        return Ok(());
    }
    let each: Vec<String> = extents.iter().map(usize::to_string).collect();
    let why = format!("is more work than the {most} combinations of indices that are allowed");
    Err(Error::value(format!("a product over {} index combinations", each.join("×")), why))
}

/// Combines two terms into one with the labels `left`. If no label is summed out, multiplies elementwise,
/// which fuses with surrounding ops.
fn product(a: &Term, b: &Term, left: &str) -> Tensor {
    if !a.1.chars().chain(b.1.chars()).all(|c| left.contains(c)) {
        return a.0.dot_labels(&b.0, &a.1, &b.1, left);
    }
    let aligned = |(t, labels): &Term| {
        let order: Vec<isize> =
            left.chars().filter_map(|c| labels.chars().position(|d| d == c)).map(|i| i as isize).collect();
        let missing = left.chars().enumerate().filter(|(_, c)| !labels.contains(*c));
        missing.fold(t.permute(order), |t, (axis, _)| t.unsqueeze(axis as isize))
    };
    &aligned(a) * &aligned(b)
}

/// Multiplies terms with equal labels elementwise until at most two of them are left. Their contraction then
/// sums labels without another pass. Takes linear time.
fn multiply_alike(work: Vec<Term>) -> Vec<Term> {
    let mut alike: HashMap<Vec<char>, usize> = HashMap::new();
    let mut groups: Vec<Vec<Term>> = Vec::new();
    for term in work {
        let mut key: Vec<char> = term.1.chars().collect();
        key.sort_unstable();
        let at = *alike.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(term);
    }
    let mut out = Vec::new();
    for mut group in groups {
        let last = if group.len() > 2 { group.pop() } else { None };
        let mut each = group.into_iter();
        let first = each.next();
        match (first, last) {
            (Some((t, labels)), Some(last)) => {
                let all = each.fold((t, labels), |t, u| (product(&t, &u, &t.1), t.1));
                out.extend([all, last]);
            }
            (first, _) => out.extend(first.into_iter().chain(each)),
        }
    }
    out
}

/// Above this number of terms, only the smallest term searches for a partner, which keeps the search cheaper
/// than the products.
const MAX_FULL_SEARCH: usize = 64;

/// Returns the pair whose contraction grows the result least: minimal (result size - operand sizes), then
/// minimal flops.
fn cheapest_pair(work: &[Term], out: &str) -> (usize, usize) {
    // Labels as bits of a `u128`: there are fewer than 128 (`spare_labels`).
    let mut names: Vec<char> = Vec::new();
    let mut extents: Vec<f64> = Vec::new();
    let mut bits = |labels: &str, t: Option<&Tensor>| {
        labels.chars().enumerate().fold(0u128, |set, (axis, c)| {
            let at = names.iter().position(|n| *n == c).unwrap_or_else(|| {
                names.push(c);
                extents.push(1.0);
                names.len() - 1
            });
            if let Some(t) = t {
                extents[at] = t.dim(axis as isize) as f64;
            }
            set | 1 << at
        })
    };
    let sets: Vec<u128> = work.iter().map(|(t, labels)| bits(labels, Some(t))).collect();
    let out = bits(out, None);
    let (mut twice, mut thrice, mut once) = (0, 0, 0);
    for set in &sets {
        thrice |= twice & set;
        twice |= once & set;
        once |= set;
    }
    let size = |set: u128| {
        let (mut left, mut product) = (set, 1.0);
        while left != 0 {
            product *= extents[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        product
    };
    let sizes: Vec<f64> = sets.iter().map(|s| size(*s)).collect();
    let smallest = (0..sets.len()).min_by(|i, j| sizes[*i].total_cmp(&sizes[*j])).unwrap_or(0);
    let mut best = ((f64::INFINITY, f64::INFINITY), (0, 1));
    for j in 0..sets.len() {
        let few = sets.len() <= MAX_FULL_SEARCH || j == smallest;
        let partners = if few { 0..j } else { smallest..(smallest + 1).min(j) };
        for i in partners {
            // A label of one of the two survives if another term has it; a label of both, if a third term has
            // it.
            let (a, b) = (sets[i], sets[j]);
            let left = ((a ^ b) & (out | twice)) | (a & b & (out | thrice));
            let cost = (size(left) - sizes[i] - sizes[j], size(a | b));
            if cost < best.0 {
                best = (cost, (i, j));
            }
        }
    }
    best.1
}
