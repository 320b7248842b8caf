//! Functions on other dtypes than the program's own: complex numbers, casts, random bits.

use crate::builtin::param::{Is, Key, Params, Takes, needed, tensor, word};
use crate::builtin::table::{NO, XY, pointwise, positional};
use crate::builtin::{Builtin, Derivative, Part, Settings};
use crate::syntax::limit::bounded;
use gradus_ir::DType;
use gradus_ir::ops::source::RandomBits;
use gradus_tensor::{Tensor, apply_n};

/// The dtypes of `cast`. Casts to integers and booleans are piecewise constant, so they have no derivative.
const HELD: Key = Key {
    flat: &["i8", "u8", "i32", "u32", "i64", "bool"],
    ..needed("to", Is::Word(&["f32", "f64", "bf16", "f16", "i8", "u8", "i32", "u32", "i64", "bool"]))
};

pub(crate) static TABLE: &[Builtin] = &[
    pointwise("complex", XY, NO, |a, _| a[0].real().complex(&a[1].real()))
        .with(Derivative::Parts(Part::Both)),
    pointwise("real", Z, NO, |a, _| a[0].real()).with(Derivative::Parts(Part::Real)).real(),
    pointwise("imag", Z, NO, |a, _| a[0].imag()).with(Derivative::Parts(Part::Imag)).real(),
    pointwise("conj", Z, NO, |a, _| a[0].conj()).with(Derivative::Parts(Part::Conjugate)),
    pointwise("cast", &[tensor("x").taking(Takes::AsIs)], &[HELD], |a, s| {
        DType::parse(s.word("to")).map_or_else(|| a[0].clone(), |to| a[0].to_dtype(to))
    })
    .real(),
    positional(
        "random_bits",
        &[tensor("state").taking(Takes::AsIs)],
        &[needed("shape", Is::Wholes), word("part", &["bits", "state"])],
        random_bits,
    )
    .with(Derivative::Stop),
];

const Z: Params = &[tensor("z")];

/// Philox random words for a state (two words of key, two of offset), or the state that follows.
fn random_bits(a: &[&Tensor], s: &Settings) -> Tensor {
    let shape = s.wholes("shape").unwrap_or_default();
    let state = a[0].to_dtype(DType::I64).to_dtype(DType::U32);
    bounded(&shape, || {
        let [bits, next] = apply_n(RandomBits { shape: shape[..].into() }, &[&state]);
        if s.word("part") == "state" { next } else { bits }
    })
}
