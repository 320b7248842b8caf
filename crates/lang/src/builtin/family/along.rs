//! Functions along an axis.

use crate::builtin::param::{
    Is, Takes, VALUES_OR_INDICES, flag, integer, needed, number, tensor, truth, whole,
};
use crate::builtin::table::{ANY, NO, X, XY, along, resize};
use crate::builtin::{Builtin, Derivative, Settings};
use gradus_ir::Error;
use gradus_tensor::Tensor;
use gradus_tensor::func::softmax::{log_softmax_grad, softmax_grad};

pub(crate) static TABLE: &[Builtin] = &[
    along("softmax", X, NO, |a, s| a[0].softmax(s.axis())).with(Derivative::OfResult),
    along("softmax_grad", &[tensor("y"), tensor("g")], NO, |a, s| softmax_grad(a[0], a[1], s.axis())),
    along("log_softmax", X, NO, |a, s| a[0].log_softmax(s.axis())).with(Derivative::OfResult),
    along("log_softmax_grad", &[tensor("y"), tensor("g")], NO, |a, s| log_softmax_grad(a[0], a[1], s.axis())),
    along("softmin", X, NO, |a, s| a[0].softmin(s.axis())),
    along(
        "masked_softmax",
        &[tensor("x"), truth("mask")],
        &[number("fill", f64::NEG_INFINITY)],
        masked_softmax,
    ),
    along("lnorm", X, NO, |a, s| standardized(a[0], s, 1e-5)),
    along(
        "layer_norm",
        &[tensor("x"), tensor("weight").maybe(), tensor("bias").maybe()],
        &[number("eps", 1e-5)],
        |a, s| affine(standardized(a[0], s, s.number("eps")), &a[1..]),
    ),
    along("rms_norm", &[tensor("x"), tensor("weight").maybe()], &[number("eps", 1e-6)], |a, s| {
        let power = a[0].square().mean_keepdim(s.axes()) + s.number("eps");
        affine(a[0] * &power.rsqrt(), &a[1..])
    }),
    along("normalize", X, &[number("p", 2.0), number("eps", 1e-12)], |a, s| {
        a[0].normalize(s.number("p"), s.axis(), s.number("eps"))
    }),
    along("cumsum", ANY, NO, |a, s| a[0].cumsum(s.axis())),
    along("cumprod", ANY, NO, |a, s| a[0].cumprod(s.axis())),
    along("cummax", ANY, NO, |a, s| a[0].cummax(s.axis())),
    along("cummin", ANY, NO, |a, s| a[0].cummin(s.axis())),
    along("logcumsumexp", X, NO, |a, s| a[0].logcumsumexp(s.axis())),
    along("sort", ANY, &[flag("descending", false)], |a, s| a[0].sort(s.axis(), s.flag("descending")).0),
    along("argsort", ANY, &[flag("descending", false)], |a, s| a[0].argsort(s.axis(), s.flag("descending")))
        .with(Derivative::None),
    along("flip", ANY, NO, |a, s| a[0].flip(s.axes())),
    along("roll", ANY, &[integer("shift", 1)], |a, s| a[0].roll(&[s.integer("shift")], &[s.axis()])),
    along("cross", XY, NO, |a, s| a[0].cross(a[1], s.axis())),
    along(
        "rope",
        &[tensor("x"), tensor("pos").taking(Takes::Still).maybe()],
        &[number("base", 10000.0)],
        rope,
    ),
    resize("topk", ANY, &[whole("k", 5), VALUES_OR_INDICES, flag("largest", true)], |a, s| {
        let (k, n) = (s.whole("k"), a[0].dim(s.axis()));
        if k > n {
            return Tensor::failed(Error::value(
                "topk",
                format!("cannot select {k} of {n} elements: k={k} is too large"),
            ));
        }
        let (values, ids) = a[0].topk(k, s.axis(), s.flag("largest"));
        if s.word("part") == "indices" { ids } else { values }
    }),
    resize("glu", X, NO, |a, s| a[0].glu(s.axis())),
    resize("tile", ANY, &[needed("repeats", Is::Whole)], |a, s| {
        let at = s.axis() as usize;
        let repeats: Vec<usize> =
            (0..a[0].rank()).map(|i| if i == at { s.whole("repeats") } else { 1 }).collect();
        a[0].tile(&repeats)
    }),
    resize("repeat_interleave", ANY, &[needed("repeats", Is::Wholes)], |a, s| {
        a[0].repeat_interleave(s.each("repeats"), Some(s.axis()))
    }),
];

/// Softmax over the elements that the mask keeps; 0 elsewhere, also if nothing along the axis is kept. Masked elements
/// count as `fill` in the sum; the default of −inf contributes nothing.
fn masked_softmax(a: &[&Tensor], s: &Settings) -> Tensor {
    let (x, keep) = (a[0], a[1]);
    let shown = keep.select(x, &x.full_like(s.number("fill")));
    let most = shown.max_keepdim([s.axis()]).stop_gradient();
    let most = most.is_finite().select(&most, &most.zeros_like());
    let e = (&shown - &most).exp();
    let total = e.sum_keepdim([s.axis()]);
    keep.select(&(&e / &total.eq(0.0).select(&total.ones_like(), &total)), &x.zeros_like())
}

fn standardized(x: &Tensor, s: &Settings, eps: f64) -> Tensor {
    let axes = s.axes();
    let centred = x - &x.mean_keepdim(&axes);
    &centred * &(centred.square().mean_keepdim(&axes) + eps).rsqrt()
}

/// Multiplies by the weight and adds the bias, if they are given.
fn affine(x: Tensor, by: &[&Tensor]) -> Tensor {
    let scaled = by.first().map_or_else(|| x.clone(), |w| &x * *w);
    by.get(1).map_or_else(|| scaled.clone(), |b| &scaled + *b)
}

/// Rotary position embedding along the feature axis. Positions are the second argument, or those along the axis before
/// it.
fn rope(a: &[&Tensor], s: &Settings) -> Tensor {
    let x = a[0].movedim(s.axis(), -1);
    let base = s.number("base");
    let turned = match a.get(1) {
        // Broadcast to the axes of x, the positions are constant along the features, so the first one is taken.
        Some(pos) => x.rope_at(&pos.movedim(s.axis(), -1).narrow(-1, 0, 1).squeeze([-1]), base),
        None => x.rope(base, 0),
    };
    turned.movedim(-1, s.axis())
}
