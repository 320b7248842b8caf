//! Compares linear algebra, images and arrays with the tensor crate.

use super::cases::{Case, X, case, ints};
use gradus_ir::DType;
use gradus_tensor::func::{
    AvgPoolOptions, ConvOptions, ConvTransposeOptions, Interpolation, MaxPoolOptions, PadMode, UnfoldOptions,
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d, conv_transpose1d, conv_transpose2d,
    conv_transpose3d, conv1d, conv2d, conv3d, fold, interpolate, max_pool_with_indices, max_pool1d,
    max_pool2d, max_pool3d, pad, pixel_shuffle, pixel_unshuffle, unfold,
};
use gradus_tensor::{AttentionOptions, BatchNormOptions, Each, Reduce, Tensor, Triangular};

type Expected = fn(&[Tensor]) -> Tensor;
type Inputs = &'static [(&'static str, &'static [usize])];

/// Square matrices, two of them, far from singular and from symmetric.
const SQUARE: Inputs = &[("A", &[2, 3, 3])];
const STEEP: &str = "D[i,j] = const([[2, 0, -1], [1, 3, 0], [0, -1, 4]])\n";

fn steep(t: &[Tensor]) -> Tensor {
    &t[0] + &Tensor::from_slice(&[2.0, 0.0, -1.0, 1.0, 3.0, 0.0, 0.0, -1.0, 4.0], [3, 3])
}

/// `f(A + D)` for batches of square matrices.
fn square(name: &'static str, left: &'static str, settings: &str, expected: Expected) -> Case {
    case(name, left, &format!("{name}(A[b,i,j] + D[i,j]{settings})"), SQUARE, expected).after(STEEP)
}

fn symmetric(name: &'static str, left: &'static str, settings: &str, expected: Expected) -> Case {
    let call = format!("{name}(A[b,i,j] + A[b,j,i] + D[i,j] + D[j,i]{settings})");
    case(name, left, &call, SQUARE, expected).after(STEEP)
}

/// Returns the solution for vectors, taken as columns.
fn columns(t: &[Tensor]) -> Tensor {
    steep(t).solve(&t[1].unsqueeze(-1)).squeeze(-1)
}

fn even(t: &[Tensor]) -> Tensor {
    let s = steep(t);
    &s + &s.transpose(-2, -1)
}

pub(crate) fn linalg() -> Vec<Case> {
    let solving: Inputs = &[("A", &[2, 3, 3]), ("Z", &[2, 3, 4])];
    vec![
        case("matmul", "[i,k]", "matmul(X[i,j], Z[j,k])", &[("X", &[3, 4]), ("Z", &[4, 2])], |t| {
            t[0].matmul(&t[1])
        }),
        case("transpose", "[b,j,i]", "transpose(Z[b,i,j])", &[("Z", &[2, 3, 4])], |t| t[0].transpose(-2, -1)),
        case("outer", "[i,j]", "outer(V[i], W[j])", &[("V", &[3]), ("W", &[4])], |t| t[0].outer(&t[1])),
        case("kron", "[a,b]", "kron(X[i,j], Z[k,l])", &[("X", &[3, 4]), ("Z", &[2, 5])], |t| {
            t[0].kron(&t[1])
        }),
        case("cdist", "[n,m]", "cdist(X[n,d], Z[m,d], p=3)", &[("X", &[3, 4]), ("Z", &[2, 4])], |t| {
            gradus_tensor::cdist(&t[0], &t[1], 3.0)
        }),
        square("inv", "[b,i,j]", "", |t| steep(t).inv()),
        case("pinv", "[j,i]", "pinv(X[i,j])", X, |t| t[0].pinv()),
        square("det", "[b]", "", |t| steep(t).det()),
        square("adjugate", "[b,i,j]", "", |t| &steep(t).det().reshape([-1, 1, 1]) * &steep(t).inv()),
        square("slogdet", "[b]", ", part=\"logabsdet\"", |t| steep(t).slogdet().1),
        square("logdet", "[b]", "", |t| steep(t).slogdet().1),
        case("trace", "", "trace(X[i,j])", X, |t| t[0].trace()),
        case("solve", "[b,i,k]", "solve(A[b,i,j] + D[i,j], Z[b,i,k])", solving, |t| steep(t).solve(&t[1]))
            .after(STEEP),
        // One vector per matrix, also if there are as many matrices as rows.
        case(
            "solve",
            "[b,j]",
            "solve(A[b,i,j] + D[i,j], Z[b,i])",
            &[("A", &[2, 3, 3]), ("Z", &[2, 3])],
            columns,
        )
        .after(STEEP),
        case(
            "solve",
            "[b,j]",
            "solve(A[b,i,j] + D[i,j], Z[b,i])",
            &[("A", &[3, 3, 3]), ("Z", &[3, 3])],
            columns,
        )
        .after(STEEP),
        case(
            "solve",
            "[b,j,k]",
            "solve(A[b,i,j] + D[i,j], Z[i,k])",
            &[("A", &[2, 3, 3]), ("Z", &[3, 2])],
            |t| steep(t).solve(&t[1].expand([2, 3, 2])),
        )
        .after(STEEP),
        case(
            "triangular_solve",
            "[b,i,k]",
            "triangular_solve(A[b,i,j] + D[i,j], Z[b,i,k], lower=true)",
            solving,
            |t| steep(t).triangular_solve(&t[1], Triangular { lower: true, adjoint: false, unit: false }),
        )
        .after(STEEP),
        case(
            "triangular_solve",
            "[b,i,k]",
            "triangular_solve(A[b,i,j] + D[i,j], Z[b,i,k], transpose=true, unit=true)",
            solving,
            |t| steep(t).triangular_solve(&t[1], Triangular { lower: false, adjoint: true, unit: true }),
        )
        .after(STEEP),
        case("lstsq", "[j,k]", "lstsq(X[i,j], Z[i,k])", &[("X", &[4, 3]), ("Z", &[4, 2])], |t| {
            t[0].lstsq(&t[1])
        }),
        symmetric("cholesky", "[b,i,j]", "", |t| even(t).cholesky()),
        case("lu", "[k,j]", "lu(X[i,j])", X, |t| t[0].lu().2),
        case("lu", "[i,k]", "lu(X[i,j], part=\"l\")", X, |t| t[0].lu().1),
        case("lu", "[i,k]", "lu(X[i,j], part=\"p\")", X, |t| t[0].lu().0).flat(),
        case("lu", "[i,k]", "lu(X[i,j], part=\"packed\")", &[("X", &[3, 3])], |t| {
            let (_, l, u) = t[0].lu();
            l + u - Tensor::eye(3)
        }),
        case("lu", "[k]", "lu(X[i,j], part=\"rows\")", X, |t| t[0].lu().0.argmax(0).to_dtype(DType::F64))
            .flat(),
        case("qr", "[i,k]", "qr(X[i,j])", &[("X", &[4, 3])], |t| t[0].qr().0),
        case("qr", "[k,j]", "qr(X[i,j], part=\"r\")", &[("X", &[4, 3])], |t| t[0].qr().1),
        case("qr", "[k,j]", "qr(X[i,j], part=\"r\", reflected=true)", &[("X", &[4, 3])], |t| {
            t[0].qr_reflected().1
        }),
        case("svd", "[k]", "svd(X[i,j])", X, |t| t[0].svd().1),
        case("svd", "[i,k]", "svd(X[i,j], part=\"u\")", X, |t| t[0].svd().0),
        case("svd", "[k,j]", "svd(X[i,j], part=\"vh\")", X, |t| t[0].svd().2),
        case("svdvals", "[k]", "svdvals(X[i,j])", X, |t| t[0].svdvals()),
        symmetric("eigh", "[b,k]", "", |t| even(t).eigh().0),
        symmetric("eigh", "[b,i,k]", ", part=\"vectors\"", |t| even(t).eigh().1),
        symmetric("eigvalsh", "[b,k]", "", |t| even(t).eigvalsh()),
        square("eig", "[b,k]", "", |t| steep(t).eig().0.real()),
        square("eig", "[b,k]", ", part=\"imag\"", |t| steep(t).eig().0.imag()),
        square("eig", "[b,i,k]", ", part=\"vectors_real\"", |t| steep(t).eig().1.real()),
        square("eig", "[b,i,k]", ", part=\"vectors_imag\"", |t| steep(t).eig().1.imag()),
        square("eigvals", "[b,k]", "", |t| steep(t).eigvals().real()),
        square("eigvals", "[b,k]", ", part=\"imag\"", |t| steep(t).eigvals().imag()),
        square("matrix_power", "[b,i,j]", ", n=-2", |t| steep(t).matrix_power(-2)),
        square("matrix_exp", "[b,i,j]", "", |t| steep(t).matrix_exp()),
        case("diag", "[k]", "diag(X[i,j], offset=1)", X, |t| t[0].diag(1)),
        case("diag", "[i,j]", "diag(V[i], offset=-1)", &[("V", &[3])], |t| t[0].diag(-1)),
        case("diagonal", "[b,k]", "diagonal(Z[b,i,j], offset=-1)", &[("Z", &[2, 3, 4])], |t| {
            t[0].diagonal(-1, 1, 2)
        }),
        case("diag_embed", "[b,i,j]", "diag_embed(X[b,k], offset=2)", X, |t| t[0].diag_embed(2, -2, -1)),
        case("tril", "[i,j]", "tril(X[i,j], diagonal=1)", X, |t| t[0].tril(1)),
        case("triu", "[i,j]", "triu(X[i,j], diagonal=1)", X, |t| t[0].triu(1)),
        square("slogdet", "[b]", "", |t| steep(t).slogdet().0),
        // With full rank nothing is truncated.
        case("tucker_dense", "[i,j]", "tucker_dense(X[i,j], rank=[3, 4])", X, |t| {
            t[0].gt(0.5).to_dtype(DType::F64)
        })
        .flat(),
    ]
}

const LINES: Inputs = &[("X", &[2, 4, 7]), ("W", &[6, 2, 3]), ("B", &[6])];
const LINE: Inputs = &[("X", &[2, 3, 7])];
const IMAGE: Inputs = &[("X", &[2, 3, 5, 6])];
const VOLUME: Inputs = &[("X", &[1, 2, 3, 4, 5])];

pub(crate) fn images() -> Vec<Case> {
    let affine: Inputs = &[("X", &[2, 6, 3, 4]), ("W", &[6]), ("B", &[6])];
    let norm = |name: &'static str, call: &str, f: Expected| case(name, "[n,c,h,w]", call, affine, f);
    let line = |name: &'static str, call: &str, f: Expected| case(name, "[n,c,u]", call, LINE, f);
    let image = |name: &'static str, call: &str, f: Expected| case(name, "[n,c,u,v]", call, IMAGE, f);
    let volume = |name: &'static str, call: &str, f: Expected| case(name, "[n,c,u,v,w]", call, VOLUME, f);
    vec![
        case(
            "attention",
            "[h,n,e]",
            "attention(Q[h,n,d], K[h,m,d], V[h,m,e], M[n,m] != 0, scale=0.7, causal=true, softcap=2)",
            &[("Q", &[2, 3, 4]), ("K", &[2, 5, 4]), ("V", &[2, 5, 6])],
            |t| {
                let mask =
                    ints(&[1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0], &[3, 5]).to_dtype(DType::Bool);
                let options = AttentionOptions {
                    mask: Some(mask),
                    causal: true,
                    scale: Some(0.7),
                    softcap: Some(2.0),
                    ..AttentionOptions::default()
                };
                gradus_tensor::scaled_dot_product_attention(&t[0], &t[1], &t[2], &options)
            },
        )
        .after("M[n,m] = const([[1,0,1,1,1],[1,1,1,0,1],[1,1,1,1,0]])\n"),
        case(
            "attention",
            "[h,n,e]",
            "attention(Q[h,n,d], K[g,m,d], V[g,m,e], window=2, enable_gqa=true)",
            &[("Q", &[4, 3, 2]), ("K", &[2, 5, 2]), ("V", &[2, 5, 6])],
            |t| {
                let options =
                    AttentionOptions { window: Some(2), enable_gqa: true, ..AttentionOptions::default() };
                gradus_tensor::scaled_dot_product_attention(&t[0], &t[1], &t[2], &options)
            },
        ),
        case("embedding", "[b,d]", "embedding(Ids[b], X[v,d])", X, |t| {
            gradus_tensor::embedding(&ints(&[1, 2, 1, 0, 1], &[5]), &t[0], None)
        })
        .after("Ids[b] = const([1, 2, 1, 0, 1])\n"),
        norm("group_norm", "group_norm(X[n,c,h,w], W[c], B[c], groups=2, eps=0.1)", |t| {
            t[0].group_norm(2, Some(&t[1]), Some(&t[2]), 0.1)
        }),
        norm("instance_norm", "instance_norm(X[n,c,h,w], W[c], B[c])", |t| {
            t[0].instance_norm(Some(&t[1]), Some(&t[2]), 1e-5)
        }),
        norm("batch_norm", "batch_norm(X[n,c,h,w], W[c], B[c], eps=0.1)", |t| {
            let options = BatchNormOptions { training: true, eps: 0.1, ..BatchNormOptions::default() };
            t[0].batch_norm(None, Some(&t[1]), Some(&t[2]), &options).0
        }),
        image("local_response_norm", "local_response_norm(X[n,c,u,v], size=2, alpha=0.5, k=2)", |t| {
            t[0].local_response_norm(2, 0.5, 0.75, 2.0)
        }),
        case(
            "conv1d",
            "[n,o,u]",
            "conv1d(X[n,c,s], W[o,c,k], B[o], stride=2, padding=1, groups=2)",
            LINES,
            |t| {
                let options =
                    ConvOptions { stride: 2.into(), padding: 1.into(), groups: 2, ..ConvOptions::default() };
                conv1d(&t[0], &t[1], Some(&t[2]), &options)
            },
        ),
        case(
            "conv2d",
            "[n,o,u,v]",
            "conv2d(X[n,c,h,w], W[o,c,p,q], padding=\"same\", dilation=[1, 2])",
            &[("X", &[2, 3, 5, 6]), ("W", &[4, 3, 2, 3])],
            |t| {
                let padding = gradus_tensor::func::Padding::Same;
                conv2d(
                    &t[0],
                    &t[1],
                    None,
                    &ConvOptions { padding, dilation: [1, 2].into(), ..ConvOptions::default() },
                )
            },
        ),
        case(
            "conv3d",
            "[n,o,x,y,z]",
            "conv3d(X[n,c,x,y,z], W[o,c,p,q,r])",
            &[("X", &[1, 2, 3, 4, 5]), ("W", &[3, 2, 2, 1, 3])],
            |t| conv3d(&t[0], &t[1], None, &ConvOptions::default()),
        ),
        case(
            "conv_transpose1d",
            "[n,o,u]",
            "conv_transpose1d(X[n,c,s], W[c,o,k], B[o], stride=2, output_padding=1)",
            &[("X", &[2, 3, 4]), ("W", &[3, 5, 2]), ("B", &[5])],
            |t| {
                let options = ConvTransposeOptions {
                    stride: 2.into(),
                    output_padding: 1.into(),
                    ..ConvTransposeOptions::default()
                };
                conv_transpose1d(&t[0], &t[1], Some(&t[2]), &options)
            },
        ),
        case(
            "conv_transpose2d",
            "[n,o,u,v]",
            "conv_transpose2d(X[n,c,h,w], W[c,o,p,q], padding=[1, 0])",
            &[("X", &[1, 2, 3, 4]), ("W", &[2, 3, 3, 2])],
            |t| {
                conv_transpose2d(
                    &t[0],
                    &t[1],
                    None,
                    &ConvTransposeOptions { padding: [1, 0].into(), ..ConvTransposeOptions::default() },
                )
            },
        ),
        case(
            "conv_transpose3d",
            "[n,o,x,y,z]",
            "conv_transpose3d(X[n,c,x,y,z], W[c,o,p,q,r], stride=2)",
            &[("X", &[1, 2, 2, 1, 3]), ("W", &[2, 3, 1, 2, 2])],
            |t| {
                conv_transpose3d(
                    &t[0],
                    &t[1],
                    None,
                    &ConvTransposeOptions { stride: 2.into(), ..ConvTransposeOptions::default() },
                )
            },
        ),
        line("max_pool1d", "max_pool1d(X[n,c,s], kernel=3, stride=2, padding=1)", |t| {
            max_pool1d(
                &t[0],
                3,
                &MaxPoolOptions { stride: Some(2.into()), padding: 1.into(), ..MaxPoolOptions::default() },
            )
        }),
        line("max_pool1d", "max_pool1d(X[n,c,s], ceil_mode=true, part=\"indices\")", |t| {
            max_pool_with_indices(
                &t[0],
                &[2],
                &MaxPoolOptions { ceil_mode: true, ..MaxPoolOptions::default() },
            )
            .1
        })
        .flat(),
        image("max_pool2d", "max_pool2d(X[n,c,h,w], kernel=[2, 3], dilation=[2, 1])", |t| {
            max_pool2d(
                &t[0],
                [2, 3],
                &MaxPoolOptions { dilation: [2, 1].into(), ..MaxPoolOptions::default() },
            )
        }),
        volume("max_pool3d", "max_pool3d(X[n,c,x,y,z], kernel=[1, 2, 3])", |t| {
            max_pool3d(&t[0], [1, 2, 3], &MaxPoolOptions::default())
        }),
        line("avg_pool1d", "avg_pool1d(X[n,c,s], kernel=3, padding=1, count_include_pad=false)", |t| {
            avg_pool1d(
                &t[0],
                3,
                &AvgPoolOptions { padding: 1.into(), count_include_pad: false, ..AvgPoolOptions::default() },
            )
        }),
        image("avg_pool2d", "avg_pool2d(X[n,c,h,w], kernel=[2, 3], stride=2, divisor=5)", |t| {
            avg_pool2d(
                &t[0],
                [2, 3],
                &AvgPoolOptions {
                    stride: Some(Each(vec![2])),
                    divisor_override: Some(5.0),
                    ..AvgPoolOptions::default()
                },
            )
        }),
        volume("avg_pool3d", "avg_pool3d(X[n,c,x,y,z], ceil_mode=true)", |t| {
            avg_pool3d(&t[0], 2, &AvgPoolOptions { ceil_mode: true, ..AvgPoolOptions::default() })
        }),
        line("adaptive_max_pool1d", "adaptive_max_pool1d(X[n,c,s], size=3)", |t| {
            adaptive_max_pool1d(&t[0], 3)
        }),
        image("adaptive_max_pool2d", "adaptive_max_pool2d(X[n,c,h,w], size=[2, 4])", |t| {
            adaptive_max_pool2d(&t[0], [2, 4])
        }),
        volume("adaptive_max_pool3d", "adaptive_max_pool3d(X[n,c,x,y,z], size=[2, 1, 3])", |t| {
            adaptive_max_pool3d(&t[0], [2, 1, 3])
        }),
        line("adaptive_avg_pool1d", "adaptive_avg_pool1d(X[n,c,s], size=3)", |t| {
            adaptive_avg_pool1d(&t[0], 3)
        }),
        image("adaptive_avg_pool2d", "adaptive_avg_pool2d(X[n,c,h,w], size=[2, 4])", |t| {
            adaptive_avg_pool2d(&t[0], [2, 4])
        }),
        volume("adaptive_avg_pool3d", "adaptive_avg_pool3d(X[n,c,x,y,z], size=[2, 1, 3])", |t| {
            adaptive_avg_pool3d(&t[0], [2, 1, 3])
        }),
        image("interpolate", "interpolate(X[n,c,h,w], size=[7, 4])", |t| {
            interpolate(&t[0], &[7, 4], Interpolation::Nearest)
        }),
        image("interpolate", "interpolate(X[n,c,h,w], size=[7, 4], mode=\"nearest_exact\")", |t| {
            interpolate(&t[0], &[7, 4], Interpolation::NearestExact)
        }),
        image(
            "interpolate",
            "interpolate(X[n,c,h,w], size=[7, 4], mode=\"linear\", align_corners=true)",
            |t| interpolate(&t[0], &[7, 4], Interpolation::Linear { align_corners: true }),
        ),
        image("interpolate", "interpolate(X[n,c,h,w], size=[3, 4], mode=\"area\")", |t| {
            interpolate(&t[0], &[3, 4], Interpolation::Area)
        }),
        case(
            "pixel_shuffle",
            "[n,c,h,w]",
            "pixel_shuffle(X[n,k,u,v], factor=2)",
            &[("X", &[1, 8, 2, 3])],
            |t| pixel_shuffle(&t[0], 2),
        ),
        case(
            "pixel_unshuffle",
            "[n,k,u,v]",
            "pixel_unshuffle(X[n,c,h,w], factor=2)",
            &[("X", &[1, 3, 4, 6])],
            |t| pixel_unshuffle(&t[0], 2),
        ),
        case("unfold", "[n,k,l]", "unfold(X[n,c,h,w], kernel=[2, 3], stride=2, padding=1)", IMAGE, |t| {
            unfold(
                &t[0],
                &[2, 3],
                &UnfoldOptions { stride: 2.into(), padding: 1.into(), ..UnfoldOptions::default() },
            )
        }),
        case("fold", "[n,c,h,w]", "fold(X[n,k,l], size=[3, 4], kernel=[2, 3])", &[("X", &[2, 12, 4])], |t| {
            fold(&t[0], &[3, 4], &[2, 3], &UnfoldOptions::default())
        }),
        image("pad", "pad(X[n,c,h,w], padding=[1, 2, -1, 0], value=3)", |t| {
            pad(&t[0], &[1, 2, -1, 0], PadMode::Constant(3.0))
        }),
        image("pad", "pad(X[n,c,h,w], padding=[1, 2], mode=\"reflect\")", |t| {
            pad(&t[0], &[1, 2], PadMode::Reflect)
        }),
        image("pad", "pad(X[n,c,h,w], padding=[1, 2], mode=\"replicate\")", |t| {
            pad(&t[0], &[1, 2], PadMode::Replicate)
        }),
        image("pad", "pad(X[n,c,h,w], padding=[1, 2], mode=\"circular\")", |t| {
            pad(&t[0], &[1, 2], PadMode::Circular)
        }),
    ]
}

const IDS: &str = "Ids[i,k] = const([[1, 3], [0, 0], [2, 1]])\n";

fn ids() -> Tensor {
    ints(&[1, 3, 0, 0, 2, 1], &[3, 2])
}

pub(crate) fn arrays() -> Vec<Case> {
    let put: Inputs = &[("X", &[3, 4]), ("P", &[3, 2])];
    let deep: Inputs = &[("X", &[5, 3, 4]), ("P", &[3, 2, 5])];
    let made = |name: &'static str, left: &'static str, call: &str, f: Expected| {
        case(name, left, call, &[], f).flat()
    };
    vec![
        case("gather", "[i,k]", "gather(X[i,j], Ids[i,k], axis=j)", X, |t| t[0].gather(1, &ids())).after(IDS),
        // Axes are matched by name: each `i` has its own positions, for all `r`, and the left side orders the
        // axes.
        case("gather", "[k,r,i]", "gather(X[r,i,v], Ids[i,k])", &[("X", &[5, 3, 4])], |t| {
            let wide = ids().unsqueeze(0).expand([5, 3, 2]);
            t[0].gather(2, &wide).permute([2, 0, 1])
        })
        .after(IDS),
        case("gather", "[a,b,d]", "gather(X[v,d], Ids[a,b], axis=v)", X, |t| {
            t[0].index_select(0, &ints(&[1, 0, 2, 2, 1, 1], &[6])).reshape([3, 2, 4])
        })
        .after("Ids[a,b] = const([[1, 0], [2, 2], [1, 1]])\n"),
        case("scatter", "[i,j]", "scatter(X[i,j], Ids[i,k], P[i,k], axis=j)", put, |t| {
            t[0].scatter(1, &ints(&[1, 3, 0, 2, 2, 1], &[3, 2]), &t[1])
        })
        .after("Ids[i,k] = const([[1, 3], [0, 2], [2, 1]])\n"),
        case("scatter_add", "[r,i,v]", "scatter_add(X[r,i,v], Ids[i,k], P[i,k,r], axis=v)", deep, |t| {
            let wide = ids().unsqueeze(0).expand([5, 3, 2]);
            t[0].scatter_add(2, &wide, &t[1].permute([2, 0, 1]))
        })
        .after(IDS),
        case(
            "scatter_reduce",
            "[i,j]",
            "scatter_reduce(X[i,j], Ids[i,k], P[i,k], axis=j, reduce=\"prod\")",
            put,
            |t| t[0].scatter_reduce(1, &ids(), &t[1], Reduce::Prod, true),
        )
        .after(IDS),
        case(
            "scatter_reduce",
            "[i,j]",
            "scatter_reduce(X[i,j], Ids[i,k], P[i,k], axis=j, reduce=\"mean\", include_self=false)",
            put,
            |t| t[0].scatter_reduce(1, &ids(), &t[1], Reduce::Mean, false),
        )
        .after(IDS),
        case(
            "scatter_reduce",
            "[i,j]",
            "scatter_reduce(X[i,j], Ids[i,k], P[i,k], axis=j, reduce=\"amax\")",
            put,
            |t| t[0].scatter_reduce(1, &ids(), &t[1], Reduce::Amax, true),
        )
        .after(IDS),
        case(
            "scatter_reduce",
            "[i,j]",
            "scatter_reduce(X[i,j], Ids[i,k], P[i,k], axis=j, reduce=\"amin\")",
            put,
            |t| t[0].scatter_reduce(1, &ids(), &t[1], Reduce::Amin, true),
        )
        .after(IDS),
        case("scatter_reduce", "[i,j]", "scatter_reduce(X[i,j], Ids[i,k], P[i,k], axis=j)", put, |t| {
            t[0].scatter_reduce(1, &ids(), &t[1], Reduce::Sum, true)
        })
        .after(IDS),
        case("stack", "[k,i,j]", "stack(X[i,j], V[j], 2 X[i,j])", &[("X", &[3, 4]), ("V", &[4])], |t| {
            Tensor::stack(&[&t[0], &t[1].expand([3, 4]), &(&t[0] * 2.0)], 0)
        }),
        case(
            "stack",
            "[i]",
            "stack(X[i,j], V[j], axis=k) W[k,j]",
            &[("X", &[3, 4]), ("V", &[4]), ("W", &[2, 4])],
            |t| Tensor::einsum("ij,j->i", &[&t[0], &t[2].at((0, ..))]) + (&t[1] * &t[2].at((1, ..))).sum(()),
        ),
        case("concat", "[i,k]", "concat(X[i,j], Z[i,l], axis=1)", &[("X", &[3, 4]), ("Z", &[3, 2])], |t| {
            Tensor::cat(&[&t[0], &t[1]], 1)
        }),
        case("concat", "[k]", "concat(X[i,j])", X, |t| t[0].reshape([-1])),
        made("one_hot", "[c,a]", "one_hot(Ids[a], classes=4)", |_| {
            ints(&[1, 3, 1], &[3]).one_hot(4).to_dtype(DType::F64).transpose(0, 1)
        })
        .after("Ids[a] = const([1, 3, 1])\n"),
        case("slice", "[s]", "slice(X[i,j], at=\"1, s=::2\")", X, |t| {
            t[0].at((1, gradus_tensor::step(.., 2)))
        }),
        case("windows", "[i,n,k]", "windows(X[i,j], size=2)", X, |t| t[0].unfold(1, 2, 1)),
        case("windows", "[n,j,k]", "windows(X[i,j], size=2, step=1, axis=i)", X, |t| t[0].unfold(0, 2, 1)),
        case("reshape", "[a,b]", "reshape(X[i,j], shape=[2, 6])", X, |t| t[0].reshape([2, 6])),
        case("flatten", "[a]", "flatten(X[i,j])", X, |t| t[0].reshape([-1])),
        made("causal_mask", "[i,j]", "causal_mask(n=3)", |_| {
            Tensor::ones([3, 3]).to_dtype(DType::F64).tril(0)
        }),
        made("eye", "[i,j]", "eye(n=3)", |_| Tensor::eye(3).to_dtype(DType::F64)),
        made("arange", "[i]", "arange(n=3)", |_| Tensor::from_slice(&[0.0, 1.0, 2.0], [3])),
        made("linspace", "[i]", "linspace(start=1, stop=2, n=3)", |_| {
            Tensor::from_slice(&[1.0, 1.5, 2.0], [3])
        }),
        case(
            "graph",
            "[i,j]",
            "graph(X[i,j], text=\"gradus graph 1 graph (x: f64[3,4]) { %1 = sin(x) : f64[3,4] return %1 }\")",
            X,
            |t| t[0].sin(),
        ),
        made("even", "[i]", "even(i)", |_| Tensor::from_slice(&[1.0, 0.0, 1.0], [3])).after("axis i = 3\n"),
        made("odd", "[i]", "odd(i)", |_| Tensor::from_slice(&[0.0, 1.0, 0.0], [3])).after("axis i = 3\n"),
        made("index", "[i]", "index(i)", |_| Tensor::from_slice(&[0.0, 1.0, 2.0], [3])).after("axis i = 3\n"),
        made("size", "", "size(i)", |_| Tensor::from_slice(&[3.0], [])).after("axis i = 3\n"),
    ]
}
