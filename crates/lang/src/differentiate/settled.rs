//! Writes out the settings that a call inherits from its equation, so that it means the same on another line.

use crate::builtin::{self, Callee};
use crate::elaborate::scope::{Names, kept_within, key, keys, names_of, occurrences};
use crate::program::Program;
use crate::syntax::ast::{Call, Equation, Expr, Function, Kind, Name};
use crate::syntax::indices::moving;

fn text(t: &str) -> Expr {
    Kind::Text(t.into()).bare()
}

/// The settings of a call in an equation, including its axis and the name whose temperature it uses. `keep` are the
/// indices kept around the call; they decide which indices its arguments have.
pub(super) fn settled(
    program: &Program,
    equation: &Equation,
    callee: &Callee,
    c: &Call,
    keep: &Names,
) -> Vec<(Name, Expr)> {
    let mut named = c.named.clone();
    if let Some(axis) = axis(program, equation, callee, c, keep) {
        // `axis` comes before `wrt`.
        let at = named.iter().position(|(k, _)| &**k == "wrt").unwrap_or(named.len());
        named.insert(at, ("axis".into(), axis));
    }
    if follows(callee, c) {
        named.push(("like".into(), text(&equation.target.name)));
    }
    named
}

/// An expression whose calls mean the same on another line: they name the equation whose temperature they use, and the
/// axis, unless it is the last axis of a tensor in any case.
pub(super) fn movable(program: &Program, equation: &Equation, e: &Expr, keep: &Names) -> Expr {
    fn calls(e: &Expr) -> bool {
        matches!(e.kind, Kind::Call(_)) || e.any_part(calls)
    }
    if !calls(e) {
        return e.clone();
    }
    let mut kept = kept_within(e, keep).into_iter();
    let mut out = e.map_parts(&mut |p| movable(program, equation, p, &kept.next().unwrap_or_default()));
    let (Kind::Call(new), Kind::Call(old)) = (&mut out.kind, &e.kind) else { return out };
    let Some(callee) = builtin::find(&old.function, program) else { return out };
    let dotted = equation.target.places.iter().any(|p| p.dotted);
    let tensor = matches!(old.args.first().map(|a| &a.kind), Some(Kind::Ref(_)));
    let open = || dotted || !tensor || step_of(program, equation).is_some();
    let keeps = |key: &str| key != "axis" || callee.shape().has_one_axis() && open();
    let all = settled(program, equation, &callee, old, keep);
    let more = all.into_iter().filter(|(k, _)| !old.named.iter().any(|(own, _)| own == k) && keeps(k));
    for (key, value) in more {
        let at = new.named.iter().position(|(k, _)| &**k == "wrt").unwrap_or(new.named.len());
        new.named.insert(at, (key, value));
    }
    out
}

/// An equation whose parts mean the same on other lines.
pub(super) fn movable_equation(program: &Program, e: &Equation) -> Equation {
    let left: Names = keys(&e.target).into_iter().collect();
    let mut keep = left.clone();
    keep.extend(e.guard.iter().flat_map(occurrences));
    let kept_by = || left.union(&occurrences(&e.value)).cloned().collect();
    let guard = e.guard.as_ref().map(|g| movable(program, e, g, &kept_by()));
    Equation { target: e.target.clone(), guard, value: movable(program, e, &e.value, &keep), ..*e }
}

/// True if a call uses the temperature of its equation and has neither its own nor `like`.
fn follows(callee: &Callee, c: &Call) -> bool {
    callee.has_temperature(c) && !c.named.iter().any(|(k, _)| &**k == "like")
}

/// The time of an equation that is evaluated step by step; it is not an axis then.
pub(super) fn step_of<'a>(program: &Program, equation: &'a Equation) -> Option<&'a Name> {
    let (time, _) = moving(&equation.target.places)?;
    let reads = || -> Vec<Name> { equation.reads().iter().map(|r| r.name.clone()).collect() };
    let loops = || program.needed(&reads()).contains(&equation.target.name);
    (program.is_by_moment(equation) || loops()).then_some(time)
}

/// The index names of an argument when its equation is evaluated.
pub(super) fn names_in(
    program: &Program,
    equation: &Equation,
    c: &Call,
    arg: &Expr,
    keep: &Names,
) -> Vec<Name> {
    let mut names = names_of(arg, &c.args, &keys(&equation.target), keep, program);
    if let Some(time) = step_of(program, equation) {
        names.retain(|n| n != time);
    }
    names
}

/// The result axes of a program's own function in an equation: their names according to the function, and the left
/// side. Neither has time if the function is called at every step.
pub(super) fn own_result(
    program: &Program,
    equation: &Equation,
    f: &Function,
    c: &Call,
    keep: &Names,
) -> Option<(Vec<Name>, Vec<Name>)> {
    let mut left = keys(&equation.target);
    let names = |a: &Expr| names_of(a, &c.args, &left, keep, program);
    let mut args: Vec<Vec<Name>> = c.args.iter().map(names).collect();
    if let Some(time) = step_of(program, equation) {
        args.iter_mut().chain([&mut left]).for_each(|names| names.retain(|n| n != time));
    }
    Some((builtin::own_names(f, &args)?, left))
}

/// The axis of a call that does not state it.
fn axis(program: &Program, equation: &Equation, callee: &Callee, c: &Call, keep: &Names) -> Option<Expr> {
    if !callee.shape().has_axes() || c.named.iter().any(|(k, _)| &**k == "axis") {
        return None;
    }
    let dotted = equation.target.places.iter().find(|p| p.dotted).and_then(key);
    let own = c.args.first().map(|a| names_in(program, equation, c, a, keep)).unwrap_or_default();
    Some(match dotted.filter(|d| own.is_empty() || own.contains(d)) {
        Some(d) => text(&d),
        None if callee.shape().has_one_axis() => own.last().map_or(Kind::Number(-1.0).bare(), |l| text(l)),
        None => match &own[..] {
            [] => return None,
            [one] => text(one),
            all => Kind::List(all.iter().map(|n| text(n)).collect()).bare(),
        },
    })
}
