//! Tests that invalid units are rejected and that units print as text.

#[path = "../../tests/common/profile.rs"]
mod device;

use super::{Lowered, Unit};
use crate::lower::lower;
use crate::profile as limits;
use device::PROFILE;
use gradus_ir::graph::Builder;
use gradus_ir::{Aval, DType};
use std::sync::Arc;

/// Returns the units of a product, a function of it, and a sum along its rows.
fn lowered() -> Lowered {
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [2, 3]));
    let w = b.input("w", Aval::new(DType::F32, [3, 4]));
    let h = x.dot(w, "ij", "jk", "ik").tanh();
    lower(&b.finish(&[(h * h).sum(&[1])]).expect("a graph"), &[], &PROFILE).expect("units")
}

/// Returns the error for units changed by `change`.
fn error_of(change: impl FnOnce(&mut Lowered)) -> String {
    let mut broken = lowered();
    change(&mut broken);
    broken.verify().expect_err("broken units are refused").to_string()
}

#[test]
fn units_print_as_text() {
    let text = "\
v0: f32[2,3] = input 0
v1: f32[3,4] = input 1
unit 0 after []
  v2: f32[2,4] = v0 · v1, 2×4×3
unit 1 after [0]
  for 2×Σ4
    v3: f32[2,4] = tanh v2[4·i0 + i1]
    v4: f32[2,4] = mul v3[4·i0 + i1], v3[4·i0 + i1]
    v5: f32[2] = sum v4[4·i0 + i1]
return v5
";
    assert_eq!(lowered().to_string(), text);
    lowered().verify().expect("unchanged units are valid");
}

#[test]
fn a_value_that_no_unit_computes() {
    let why = error_of(|l| l.units[0] = Unit::Gone);
    assert!(why.contains("no unit computes v2 for unit 1"), "{why}");
    let why = error_of(|l| l.outputs.push(5));
    assert!(why.contains("output 1 is not computed, or is the value of another output"), "{why}");
}

#[test]
fn a_value_computed_twice() {
    let why = error_of(|l| {
        let again = l.units[1].clone();
        l.units.push(again);
        l.depend.new_unit(&[0]);
    });
    assert!(
        why.contains(
            "v3 is computed by unit 2, but is also an input, a constant or a result of another unit"
        ),
        "{why}"
    );
}

#[test]
fn a_unit_without_a_dependency_on_its_operand() {
    let why = error_of(|l| {
        l.depend = [vec![], vec![]].iter().fold(Default::default(), |mut d: crate::depend::Depend, n| {
            d.new_unit(n);
            d
        })
    });
    assert!(why.contains("unit 1 reads v2 but does not depend on unit 0"), "{why}");
}

#[test]
fn members_that_do_not_fit() {
    let group = |l: &mut Lowered, change: &dyn Fn(&mut crate::group::Group)| match &mut l.units[1] {
        Unit::Group(g) => change(g),
        other => panic!("{other:?}"),
    };
    let why = error_of(|l| group(l, &|g| g.members.swap(0, 1)));
    assert!(why.contains("v4 uses a later value"), "{why}");
    let why = error_of(|l| group(l, &|g| g.space = vec![8, 1]));
    assert!(why.contains("the layout of an operand does not fit the axes of the group"), "{why}");
    let why = error_of(|l| group(l, &|g| Arc::make_mut(&mut g.members[0].0).args[0].layout.offset = 1));
    assert!(why.contains("v2: f32[8] is accessed as f32 at 1..=8 for v3"), "{why}");
}
