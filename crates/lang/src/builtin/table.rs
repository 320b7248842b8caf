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
        about: "Operands are matched by the names of their indices. Every pointwise function of the core can be called by its name as well",
        table: numbers::TABLE,
    },
    Family {
        title: "Along an axis",
        about: "These functions work along `axis=`, else the dotted index of the left side, else the last index of the first argument. If the size of the axis changes, the left side gives it a new name",
        table: along::TABLE,
    },
    Family {
        title: "Over axes",
        about: "These functions reduce the axes given by `axis=`. Without it, `argmax`, `argmin`, `cosine_similarity` and `pairwise_distance` reduce one axis, chosen as above, and the others reduce all axes",
        table: reductions::TABLE,
    },
    Family {
        title: "Losses",
        about: "The result is one number, unless `reduction=\"none\"`. `axis=` is the axis of classes or rows; targets without this axis are class numbers",
        table: losses::TABLE,
    },
    Family {
        title: "Fourier transforms",
        about: "A spectrum has a real and an imaginary part, each a tensor of its own: `part=` selects the part of a result, and arguments take both parts in order",
        table: fourier::TABLE,
    },
    Family {
        title: "Linear algebra",
        about: "These functions work on the last two axes of each argument. Their results have named axes: `matmul(A[i,k], B[k,j])` is `[i,j]`, `solve(A[i,j], B[i])` is `[j]`, and `inv`, `cholesky`, `tril`, `triu`, `matrix_power` and `matrix_exp` keep the names of their argument, so that `Y[l,k] = inv(B[k,l])` is the transposed inverse. The second argument of `solve` holds vectors if it has one axis, or the axes and sizes of the first argument without the last axis; otherwise it holds matrices. New axes (of `transpose`, `qr`, `svd`, `eigh`, …) get, in order, the names of the left side that are not used otherwise. If the left side has other names for the axes of the right side, all of them are matched by position. If there are several results, `part=` selects one; it also selects the parts of complex results",
        table: linalg::TABLE,
    },
    Family {
        title: "Networks and images",
        about: "Axes are matched by position: items, channels, then the axes of the image; the left side names new axes. The mask of `attention` is a condition that is true for keys that may be attended to, as in `attention(Q[n,d], K[m,d], V[m,e], M[n,m] != 0)`; a mask of numbers is an error",
        table: images::TABLE,
    },
    Family {
        title: "Arrays",
        about: "`gather` reads the elements at the positions `ids` along `axis=`, and `scatter` writes to them. A new axis has the name that the left side or `axis=` gives it; all others are matched by position",
        table: arrays::TABLE,
    },
    Family {
        title: "Kinds of numbers",
        about: "Complex numbers, conversions between dtypes, and random bits that are a function of a state",
        table: kinds::TABLE,
    },
    Family {
        title: "Of an index",
        about: "These functions take an index itself, as in `even(i)`",
        table: arrays::OF_INDEX,
    },
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
