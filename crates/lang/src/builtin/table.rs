//! The table of builtins: constructors of its entries, families, and aliases. Pointwise ops of the catalog (`exp`,
//! `tanh`, `erf`, …) that are not listed here can be called by their names there.

use super::family::{along, arrays, fourier, images, kinds, linalg, losses, numbers, reductions};
use super::param::{Keys, Params, any, tensor};
use super::{Builtin, Derivative, Family, Settings, Shape};
use gradus_tensor::Tensor;

/// Other names of builtins.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("amax", "max"),
    ("amin", "min"),
    ("avg", "mean"),
    ("reduce_max", "max"),
    ("reduce_min", "min"),
    ("reduce_mean", "mean"),
    ("reduce_sum", "sum"),
    ("layernorm", "layer_norm"),
    ("select", "where"),
    ("cat", "concat"),
    ("swish", "silu"),
    ("ln", "log"),
    ("detach", "stop_gradient"),
    ("ravel", "flatten"),
    ("scaled_dot_product_attention", "attention"),
    ("nll", "nll_loss"),
    ("isclose", "is_close"),
];

/// All builtins.
pub(super) static FAMILIES: &[Family] = &[
    Family {
        title: "Number by number",
        about: "Arguments meet by the names of their indices. Every pointwise function of the core can be called by its name as well",
        table: numbers::TABLE,
    },
    Family {
        title: "Along an axis",
        about: "Along `axis=`, else the dotted index of the left side, else the last index of the first argument. Where the axis comes out longer or shorter, the left side gives it a new name",
        table: along::TABLE,
    },
    Family {
        title: "Over axes",
        about: "Over the axes that `axis=` names, which go away; `argmax`, `argmin`, `cosine_similarity` and `pairwise_distance` over one axis as above, the others over all without it",
        table: reductions::TABLE,
    },
    Family {
        title: "Losses",
        about: "One number, unless `reduction=\"none\"`. Classes and rows lie along `axis=`; targets that lack it are classes",
        table: losses::TABLE,
    },
    Family {
        title: "Fourier transforms",
        about: "Spectra have a real and an imaginary part, each a tensor of its own: a result's are chosen by `part=`, an argument's stand one after the other",
        table: fourier::TABLE,
    },
    Family {
        title: "Linear algebra",
        about: "Of the last two axes of each argument. What comes out has names, and goes by them as everything else does: `matmul(A[i,k], B[k,j])` is `[i,j]`, `solve(A[i,j], B[i])` is `[j]` (its second argument is vectors where it has one axis, or as many axes and sizes as the first without the last; else matrices), and `inv`, `cholesky`, `tril`, `triu`, `matrix_power` and `matrix_exp` keep the names of their argument, so that `Y[l,k] = inv(B[k,l])` is the inverse, transposed. Axes that are new (of `transpose`, `qr`, `svd`, `eigh`, …) are called, in order, as the left side calls what else it has, and so is all of the right side where the left side has other names for it. Of several results one is chosen by `part=`, and so are the parts of complex ones",
        table: linalg::TABLE,
    },
    Family {
        title: "Networks and images",
        about: "By place: items, channels, then the axes of the image; the left side names those that are new. The mask of `attention` is a condition that holds where a key is seen, as in `attention(Q[n,d], K[m,d], V[m,e], M[n,m] != 0)`; a mask of numbers is refused",
        table: images::TABLE,
    },
    Family {
        title: "Arrays",
        about: "`gather` takes what stands at the places in `ids` along `axis=`, `scatter` puts something there; a new axis is called as the left side or `axis=` calls it; the others go by place",
        table: arrays::TABLE,
    },
    Family {
        title: "Kinds of numbers",
        about: "Complex numbers, numbers held as another kind, and bits that look random and follow from a state",
        table: kinds::TABLE,
    },
    Family { title: "Of an index", about: "Of an index itself, `even(i)`", table: arrays::OF_INDEX },
];

type Apply = fn(&[&Tensor], &Settings) -> Tensor;

pub(super) const fn builtin(
    shape: Shape,
    name: &'static str,
    params: Params,
    settings: Keys,
    apply: Apply,
) -> Builtin {
    Builtin { name, params, settings, shape, gives: "", derivative: Derivative::Core, real: false, apply }
}

pub(super) const fn pointwise(name: &'static str, params: Params, settings: Keys, apply: Apply) -> Builtin {
    builtin(Shape::Pointwise, name, params, settings, apply)
}

pub(super) const fn along(name: &'static str, params: Params, settings: Keys, apply: Apply) -> Builtin {
    builtin(Shape::Along, name, params, settings, apply)
}

pub(super) const fn resize(name: &'static str, params: Params, settings: Keys, apply: Apply) -> Builtin {
    builtin(Shape::Resize, name, params, settings, apply)
}

pub(super) const fn reduce(name: &'static str, params: Params, settings: Keys, apply: Apply) -> Builtin {
    builtin(Shape::Reduce, name, params, settings, apply)
}

pub(super) const fn reduce_one(name: &'static str, params: Params, settings: Keys, apply: Apply) -> Builtin {
    builtin(Shape::ReduceOne, name, params, settings, apply)
}

pub(super) const fn positional(name: &'static str, params: Params, settings: Keys, apply: Apply) -> Builtin {
    builtin(Shape::Positional, name, params, settings, apply)
}

impl Builtin {
    pub(super) const fn giving(self, gives: &'static str) -> Builtin {
        Builtin { gives, ..self }
    }

    pub(super) const fn with(self, derivative: Derivative) -> Builtin {
        Builtin { derivative, ..self }
    }

    pub(super) const fn real(self) -> Builtin {
        Builtin { real: true, ..self }
    }
}

pub(super) const X: Params = &[tensor("x")];
/// Floats or integers.
pub(super) const ANY: Params = &[any("x")];
pub(super) const XY: Params = &[tensor("x"), tensor("y")];
/// The result has the axes of the first argument.
pub(super) const SAME: &str = "->";
pub(super) const NONE: Params = &[];
pub(super) const NO: Keys = &[];
