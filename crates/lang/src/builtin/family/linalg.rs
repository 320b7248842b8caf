//! Linear algebra on the last two axes.

use super::fourier::{PART, part};
use crate::builtin::param::{Is, any, flag, integer, needed, number, optional, word};
use crate::builtin::table::{ANY, NO, SAME, X, XY, positional};
use crate::builtin::{Builtin, Derivative, Settings};
use gradus_ir::ops::linalg::{Adjugate, Lu};
use gradus_tensor::{Tensor, Triangular, apply_n, apply1};

pub(crate) static TABLE: &[Builtin] = &[
    positional("matmul", &[any("x"), any("y")], NO, |a, _| a[0].matmul(a[1]))
        .giving("ij,jk->ik|ij,j->i|i,ij->j|i,i->"),
    positional("transpose", ANY, NO, |a, _| a[0].transpose(-2, -1)).giving("ij->ab"),
    positional("outer", XY, NO, |a, _| a[0].outer(a[1])).giving("i,j->ij"),
    positional("kron", XY, NO, |a, _| a[0].kron(a[1])).giving("ij,kl->ab"),
    positional("cdist", XY, &[number("p", 2.0)], |a, s| gradus_tensor::cdist(a[0], a[1], s.number("p")))
        .giving("nd,md->nm"),
    positional("inv", X, NO, |a, _| a[0].inv()).giving(SAME),
    positional("pinv", X, NO, |a, _| a[0].pinv()).giving("ij->ab"),
    positional("det", X, NO, |a, _| a[0].det()).giving("ij->"),
    positional("adjugate", X, NO, |a, _| apply1(Adjugate {}, &[a[0]])).giving(SAME),
    positional("slogdet", X, &[word("part", &["sign", "logabsdet"])], |a, s| {
        let (sign, log) = a[0].slogdet();
        chosen(s, [("sign", sign), ("logabsdet", log)])
    })
    .giving("ij->"),
    positional("logdet", X, NO, |a, _| a[0].slogdet().1).giving("ij->"),
    positional("trace", X, NO, |a, _| a[0].trace()).giving("ij->"),
    positional("solve", XY, NO, |a, _| a[0].solve(a[1])).giving("ij,ik->jk|ij,i->j"),
    positional(
        "triangular_solve",
        XY,
        &[flag("lower", false), flag("transpose", false), flag("unit", false)],
        |a, s| {
            let how =
                Triangular { lower: s.flag("lower"), adjoint: s.flag("transpose"), unit: s.flag("unit") };
            a[0].triangular_solve(a[1], how)
        },
    )
    .giving("ij,ik->jk|ij,i->j"),
    positional("lstsq", XY, NO, |a, _| a[0].lstsq(a[1])).giving("ij,ik->jk|ij,i->j"),
    positional("cholesky", X, NO, |a, _| a[0].cholesky()).giving(SAME),
    positional("lu", X, &[word("part", &["u", "l", "p", "packed", "rows"])], |a, s| {
        let [packed, rows] = apply_n(Lu {}, &[a[0]]);
        let (p, l, u) = a[0].lu();
        chosen(s, [("u", u), ("l", l), ("p", p), ("packed", packed), ("rows", rows.to_dtype(s.float))])
    })
    .giving("ij->k|ij->ab"),
    positional("qr", X, &[word("part", &["q", "r"]), flag("reflected", false)], |a, s| {
        let (q, r) = if s.flag("reflected") { a[0].qr_reflected() } else { a[0].qr() };
        chosen(s, [("q", q), ("r", r)])
    })
    .giving("ij->ab"),
    positional("svd", X, &[word("part", &["s", "u", "vh"])], |a, s| {
        let (u, values, v) = a[0].svd();
        chosen(s, [("s", values), ("u", u), ("vh", v)])
    })
    .giving("ij->k|ij->ab"),
    positional("svdvals", X, NO, |a, _| a[0].svdvals()).giving("ij->k"),
    positional("eigh", X, &[word("part", &["values", "vectors"])], |a, s| {
        let (values, vectors) = a[0].eigh();
        chosen(s, [("values", values), ("vectors", vectors)])
    })
    .giving("ij->k|ij->ab"),
    positional("eigvalsh", X, NO, |a, _| a[0].eigvalsh()).giving("ij->k").real(),
    positional("eig", X, &[word("part", &["real", "imag", "vectors_real", "vectors_imag"])], |a, s| {
        let (values, vectors) = a[0].eig();
        chosen(
            s,
            [
                ("real", values.real()),
                ("imag", values.imag()),
                ("vectors_real", vectors.real()),
                ("vectors_imag", vectors.imag()),
            ],
        )
    })
    .giving("ij->k|ij->ab")
    .real(),
    positional("eigvals", X, &[PART], |a, s| part(&a[0].eigvals(), s)).giving("ij->k").real(),
    positional("matrix_power", X, &[needed("n", Is::Integer)], |a, s| a[0].matrix_power(s.integer("n")))
        .giving(SAME),
    positional("matrix_exp", X, NO, |a, _| a[0].matrix_exp()).giving(SAME),
    positional("diag", ANY, &[integer("offset", 0)], |a, s| a[0].diag(s.integer("offset") as isize))
        .giving("ij->k|i->ab"),
    positional("diagonal", ANY, &[integer("offset", 0)], |a, s| {
        a[0].diagonal(s.integer("offset") as isize, -2, -1)
    })
    .giving("ij->k"),
    positional("diag_embed", ANY, &[integer("offset", 0)], |a, s| {
        a[0].diag_embed(s.integer("offset") as isize, -2, -1)
    })
    .giving("k->ab"),
    positional("tril", ANY, &[integer("diagonal", 0)], |a, s| a[0].tril(s.integer("diagonal") as isize))
        .giving(SAME),
    positional("triu", ANY, &[integer("diagonal", 0)], |a, s| a[0].triu(s.integer("diagonal") as isize))
        .giving(SAME),
    positional("tucker_dense", X, &[optional("rank", Is::Wholes), number("threshold", 0.5)], tucker_dense)
        .with(Derivative::None),
];

/// Returns the result that the setting `part` selects.
fn chosen<const N: usize>(s: &Settings, parts: [(&str, Tensor); N]) -> Tensor {
    let asked = parts.iter().position(|p| p.0 == s.word("part")).unwrap_or(0);
    parts[asked].1.clone()
}

/// Truncated higher-order singular value decomposition: reconstructs the tensor and returns 1 where it exceeds the
/// threshold, else 0.
fn tucker_dense(a: &[&Tensor], s: &Settings) -> Tensor {
    let mut out = a[0].clone();
    for axis in 0..out.rank() {
        let n = out.dim(axis as isize);
        let default = (n as f64).sqrt().ceil() as usize;
        let rank =
            s.wholes("rank").and_then(|r| r.get(axis).or(r.first()).copied()).unwrap_or(default).min(n);
        let moved = out.movedim(axis as isize, 0);
        let flat = moved.reshape([n as i64, -1]);
        let (u, _, _) = flat.svd();
        let u = u.narrow(1, 0, rank.min(u.dim(1)));
        out = u.matmul(&u.t().matmul(&flat)).reshape_as(&moved).movedim(0, axis as isize);
    }
    out.gt(s.number("threshold")).to_dtype(a[0].dtype())
}
