//! The catalog: the trait by which a primitive describes itself, and the list of all primitives.
//!
//! All passes walk this list. A pointwise op is one block in `pointwise/`, a structural op one file here and one name
//! in `catalog!`. Composites are functions over tensors, in `gradus-tensor`.

pub mod bitcast;
pub mod call;
pub mod complex;
pub mod conv;
pub mod cumulate;
pub mod dot;
mod external;
pub mod fft;
pub mod index;
pub mod linalg;
pub mod movement;
pub mod pointwise;
pub mod reduce;
pub mod registry;
pub mod samples;
pub mod scan;
pub mod select;
pub mod sort;
pub mod source;
mod sums;
pub mod switch;
pub mod while_loop;
pub mod window;

pub use external::{External, Routine};
pub use pointwise::{Map, Pointwise};
pub use samples::{ErrorSample, Sample, Samples};

use crate::attr::{Attr, Attrs};
use crate::graph::{Builder, Var};
use crate::{Aval, Error, Graph, Literal, Result};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A primitive: everything the system knows about an op, declared by the op itself.
///
/// The kind of derivative determines which of [`partials`](Primitive::partials),
/// [`transpose`](Primitive::transpose), [`jvp`](Primitive::jvp) and [`vjp`](Primitive::vjp) the op provides.
/// Each derivative has one rule. A rule that the kind requires but the op lacks is an error where it is
/// needed, not a zero.
pub trait Primitive: Named + Debug + Send + Sync + 'static {
    /// Returns the types of the results, or an error if the operands do not fit.
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>>;

    /// Returns the kind of derivative of the op.
    fn derivative(&self) -> Derivative;

    /// Returns the partial derivative for each operand, in terms of operands and result. Required
    /// for kind `Pointwise`.
    fn partials<'g>(&self, _rule: &Rule<'_, 'g>) -> Vec<Option<Var<'g>>> {
        Vec::new()
    }

    /// Applies the adjoint for one operand to the result's cotangent. Required for kinds `Linear`,
    /// `Multilinear` and `LinearJvp`.
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, _ct: Var<'g>) -> Option<Var<'g>> {
        None
    }

    /// Returns tangents of the results, linear in the operands' tangents (`None` is zero). Required for kinds
    /// `Jvp`, `LinearJvp` and `Structural`.
    fn jvp<'g>(&self, _rule: &Rule<'_, 'g>, _tangents: &[Option<Var<'g>>]) -> Vec<Option<Var<'g>>> {
        Vec::new()
    }

    /// Returns cotangents of the operands that are needed, from those of the results (`None` is zero).
    /// Required for kind `Structural`.
    fn vjp<'g>(
        &self,
        _rule: &Rule<'_, 'g>,
        _cts: &[Option<Var<'g>>],
        _needs: &[bool],
    ) -> Vec<Option<Var<'g>>> {
        Vec::new()
    }

    /// Applies the op to a batch: batched operands have a leading axis, and every result must have one too.
    /// By default applies the op once per element of the batch.
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.unrolled()
    }

    /// Returns the computation of the op, in one of the few forms that evaluators and compilers support.
    fn form(&self, ins: &[Aval]) -> Form;

    /// Returns the largest allowed difference between another evaluation and the reference.
    fn bound(&self) -> Bound {
        Bound::Exact
    }
}

/// Name, documentation and attributes of a primitive.
pub trait Named {
    /// Returns the name in graph text.
    fn name(&self) -> &str;
    /// Returns the documentation.
    fn docs(&self) -> &str;
    /// Returns the attributes, in order.
    fn attrs(&self) -> Attrs;
}

/// The items that [`op_struct!`](crate::op_struct) generates for a struct of attributes.
pub trait Declared: Sized {
    /// The name in graph text.
    const NAME: &'static str;
    /// The documentation.
    const DOCS: &'static str;
    /// Returns the attributes, in order.
    fn to_attrs(&self) -> Attrs;
    /// Rebuilds the struct from attributes looked up by name.
    fn from_attrs(attrs: &dyn Fn(&str) -> Option<Attr>) -> Option<Self>;
}

impl<T: Declared> Named for T {
    fn name(&self) -> &str {
        T::NAME
    }
    fn docs(&self) -> &str {
        T::DOCS
    }
    fn attrs(&self) -> Attrs {
        self.to_attrs()
    }
}

/// Sample operands, from which all generic checks of an op are generated.
pub trait Sampled {
    /// Adds cases and error cases.
    fn samples(s: &mut Samples);
}

/// The arguments of a derivative rule: the values of one application of the op.
pub struct Rule<'a, 'g> {
    /// The operands.
    pub ins: &'a [Var<'g>],
    /// The results.
    pub outs: &'a [Var<'g>],
}

/// The arguments of a batching rule: an application whose operands may have a leading batch axis.
pub struct Batch<'a, 'g> {
    /// The graph being built.
    pub builder: &'g Builder,
    /// The op.
    pub op: &'a Op,
    /// The operands.
    pub ins: &'a [Var<'g>],
    /// True for each operand that has the batch axis, as its first axis.
    pub batched: &'a [bool],
    /// Extent of the batch axis.
    pub size: usize,
}

impl<'g> Batch<'_, 'g> {
    /// Returns an operand with the batch axis; one without it is broadcast.
    pub fn with_axis(&self, i: usize) -> Var<'g> {
        let x = self.ins[i];
        if self.batched[i] {
            x
        } else {
            x.broadcast_to(&[self.size].iter().chain(x.shape().iter()).copied().collect())
        }
    }

    /// Returns the type of an operand without the batch axis.
    pub fn inner(&self, i: usize) -> Aval {
        let aval = self.ins[i].aval();
        if self.batched[i] { aval.with_shape(&aval.shape[1..]) } else { aval }
    }

    /// Applies an op to all operands, each with the batch axis.
    pub fn apply(&self, op: impl Into<Op>) -> Vec<Var<'g>> {
        let ins: Vec<Var<'g>> = (0..self.ins.len()).map(|i| self.with_axis(i)).collect();
        self.builder.apply(op, &ins)
    }

    /// Applies the op to each element of the batch separately.
    pub fn unrolled(&self) -> Vec<Var<'g>> {
        let inner: Vec<Aval> = (0..self.ins.len()).map(|i| self.inner(i)).collect();
        let outs = match self.op.infer(&inner) {
            Ok(outs) => outs,
            Err(e) => return vec![self.builder.fail(e)],
        };
        let element = |k: usize| {
            let one = |i: usize| match self.batched[i] {
                true => self.ins[i].slice_axis(0, k, k + 1).reshape(&inner[i].shape),
                false => self.ins[i],
            };
            self.builder.apply(self.op.clone(), &(0..self.ins.len()).map(one).collect::<Vec<_>>())
        };
        let all: Vec<Vec<Var<'g>>> = (0..self.size).map(element).collect();
        let wide = |aval: &Aval, extent: usize| -> crate::Shape {
            [extent].iter().chain(aval.shape.iter()).copied().collect()
        };
        let joined = |(j, aval): (usize, &Aval)| {
            let parts: Vec<Var<'g>> = all.iter().map(|outs| outs[j].reshape(wide(aval, 1))).collect();
            match parts.is_empty() {
                true => self.builder.zeros(&aval.with_shape(wide(aval, 0))),
                false => self.builder.apply1(movement::Concat { axis: 0 }, &parts),
            }
        };
        outs.iter().enumerate().map(joined).collect()
    }
}

/// Returns the numbers of axes after a new first axis is inserted.
fn shifted(axes: &[usize]) -> Vec<usize> {
    axes.iter().map(|a| a + 1).collect()
}

/// Prepends the entry of a new first axis.
fn prepend<T: Clone>(first: T, rest: &[T]) -> Vec<T> {
    [first].iter().chain(rest).cloned().collect()
}

/// The kinds of derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivative {
    /// Element by element; [`Primitive::partials`] gives the factors.
    Pointwise,
    /// Linear in the named operands jointly: the jvp is the op itself on their tangents.
    Linear(Operands),
    /// Linear in each of the named operands separately: the jvp is a sum over them.
    Multilinear(Operands),
    /// [`Primitive::jvp`], written with other ops; reverse mode transposes it.
    Jvp,
    /// Linear in the named operands, as `Linear`. For the other operands [`Primitive::jvp`] applies, which sees only
    /// their tangents. Ops with implicitly defined results use this kind, such as the solution of a linear system, whose
    /// derivative is again such a solution.
    LinearJvp(Operands),
    /// An op that holds graphs and maps transforms over them: [`Primitive::jvp`] and [`Primitive::vjp`].
    Structural,
    /// The derivative is 0: the result is piecewise constant, as that of `floor`, or not a float.
    Zero,
    /// The derivative is not known: a transform that needs it fails with an error that names the op.
    Unknown,
}

/// The operands in which a linear or multilinear op is linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// All of them.
    All,
    /// The operands at these positions.
    Only(&'static [usize]),
}

impl Operands {
    /// Returns true if the op is linear in operand `i`.
    pub fn has(self, i: usize) -> bool {
        match self {
            Operands::All => true,
            Operands::Only(list) => list.contains(&i),
        }
    }
}

/// Largest allowed difference between an evaluation and the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No difference.
    Exact,
    /// This many units in the last place of the result.
    Ulps(f64),
    /// This many `eps · Σ|terms|`, for sums and contractions.
    Terms(f64),
    /// This many `eps` times the largest magnitude among operands and results, for well-conditioned operands. Used for
    /// transforms and factorisations, where every result depends on every operand.
    Largest(f64),
}

/// The computation of an op, as seen by evaluators and compilers.
#[derive(Clone)]
pub enum Form {
    /// A graph input, which is not computed.
    Input,
    /// A fixed value.
    Constant(Literal),
    /// The index along one axis.
    Iota {
        /// The axis.
        axis: usize,
    },
    /// Philox bits and the next state, from a state.
    Bits,
    /// The same scalar function of the operands at every index.
    Pointwise(Scalar),
    /// Every result index reads one operand index that is affine in it.
    View(IndexMap),
    /// The same elements in row-major order under other extents.
    Reshape,
    /// The operand surrounded by zeros: `low` before (negative crops), `interior` between elements, the rest after.
    Pad {
        /// Zeros before, per axis.
        low: Vec<i64>,
        /// Zeros between neighbours, per axis.
        interior: Vec<usize>,
    },
    /// Concatenates operands along an axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// Combines all elements along the axes.
    Reduce {
        /// The function that combines two elements.
        combine: Combine,
        /// The axes that are reduced.
        axes: Vec<usize>,
    },
    /// Index of the first largest (or smallest) element along an axis; NaN counts as the extreme.
    ArgReduce {
        /// If true, finds the largest, else the smallest.
        largest: bool,
        /// The axis that is reduced.
        axis: usize,
    },
    /// Running combination along an axis.
    Cumulate {
        /// The function that combines two elements.
        combine: Combine,
        /// The axis.
        axis: usize,
        /// If true, starts at the end of the axis.
        reverse: bool,
    },
    /// `out[o] = Σ lhs[l] rhs[r]` over the labels that are not in `out`.
    Contract {
        /// Labels of the first operand's axes.
        lhs: String,
        /// Labels of the second operand's axes.
        rhs: String,
        /// Labels of the result's axes.
        out: String,
    },
    /// Strided, padded, dilated, grouped correlation.
    Convolve(Box<Window>),
    /// Sum of overlapping windows: the adjoint of a sliding-window view.
    Fold(Box<Window>),
    /// Slices of operand 0 along an axis at the integer indices of operand 1.
    Take {
        /// The axis.
        axis: usize,
    },
    /// Operand 0, with its slices at the indices of operand 1 combined with the slices of operand 2, in
    /// row-major order.
    Scatter {
        /// The axis.
        axis: usize,
        /// The function that combines an update with the element at its index; `None` replaces it.
        combine: Option<Combine>,
    },
    /// Sorted values and their indices along an axis; stable; NaN counts as largest.
    Sort {
        /// The axis.
        axis: usize,
        /// If true, the largest comes first.
        descending: bool,
        /// Number of leading values to keep along the axis; `None` for all.
        first: Option<usize>,
    },
    /// An external routine.
    External {
        /// The function that it computes. A device may have its own implementation of it.
        kind: External,
        /// Its definition.
        reference: Arc<Routine>,
    },
    /// A discrete Fourier transform.
    Fourier(fft::Fft),
    /// A graph over the operands.
    Region(Arc<Graph>),
    /// One of several graphs, selected by the first operand.
    Switch(Vec<Arc<Graph>>),
    /// A loop of known length.
    Scan(Box<scan::Scan>),
    /// A loop that runs while a condition holds.
    While(Box<while_loop::While>),
}

/// Scalar functions.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// A function of the table of pointwise ops.
    Pointwise(&'static Pointwise),
    /// The operand itself.
    Identity,
    /// Conversion to the result's dtype.
    Cast,
    /// Operand 1 where operand 0 is true, else operand 2.
    Select,
    /// Real part.
    Re,
    /// Imaginary part.
    Im,
    /// Complex conjugate.
    Conj,
    /// Complex number of two parts.
    Complex,
}

/// Ways to combine two elements, each with an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Sum, from 0.
    Sum,
    /// Product, from 1.
    Prod,
    /// Larger of two, from the least value; NaN counts as largest.
    Max,
    /// Smaller of two, from the greatest value; NaN counts as smallest.
    Min,
    /// `log(exp a + exp b)`, from minus infinity.
    LogSumExp,
}

/// Maps a result index to an operand index: `operand[a] = offset[a] + Σ step · result[j]`, where each result axis `j`
/// moves along at most one operand axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexMap {
    /// Per operand axis, the index at result index 0.
    pub offset: Vec<i64>,
    /// Per result axis, the operand axis it moves along and the stride in elements of that axis; `None` broadcasts.
    pub steps: Vec<Option<(usize, i64)>>,
}

/// Geometry of a sliding window, per spatial axis.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Window {
    /// Extent of the window.
    pub size: Vec<usize>,
    /// Stride of the window.
    pub stride: Vec<usize>,
    /// Zeros before (negative crops).
    pub low: Vec<i64>,
    /// Zeros after (negative crops).
    pub high: Vec<i64>,
    /// Spacing of the operand's elements.
    pub base_dilation: Vec<usize>,
    /// Spacing of the window's elements.
    pub window_dilation: Vec<usize>,
}

/// A primitive from outside the catalog.
#[derive(Clone, Debug)]
pub struct User(pub Arc<dyn Primitive>);

impl PartialEq for User {
    fn eq(&self, other: &User) -> bool {
        self.0.name() == other.0.name() && self.0.attrs() == other.0.attrs()
    }
}

impl Eq for User {}

impl Hash for User {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.0.name().hash(h);
        self.0.attrs().hash(h);
    }
}

macro_rules! catalog {
    ($($module:ident :: $name:ident),* $(,)?) => {
        /// An op: one from the catalog, or a user's.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Op {
            /// A pointwise op.
            Map(Map),
            $(#[doc = concat!("See [`", stringify!($module), "::", stringify!($name), "`].")] $name($module::$name),)*
            /// A primitive from outside the catalog.
            User(User),
        }

        impl Op {
            /// Returns the declaration of the op.
            pub fn def(&self) -> &dyn Primitive {
                match self {
                    Op::Map(map) => map,
                    $(Op::$name(op) => op,)*
                    Op::User(user) => &*user.0,
                }
            }

            /// Builds the op with this name and these attributes.
            pub fn parse(name: &str, attrs: &dyn Fn(&str) -> Option<Attr>) -> Option<Op> {
                $(if name == <$module::$name as Declared>::NAME { return $module::$name::from_attrs(attrs).map(Op::$name); })*
                if let Some(op) = pointwise::find(name) { return Some(Op::Map(Map(op))); }
                registry::parse(name, attrs)
            }

            /// Returns true if graph text may use an op with this name.
            pub fn is_known(name: &str) -> bool {
                Op::STRUCTURAL.contains(&name) || pointwise::find(name).is_some() || registry::is_known(name)
            }

            /// Names of the structural ops.
            pub const STRUCTURAL: &'static [&'static str] = &[$(<$module::$name as Declared>::NAME),*];
        }

        $(impl From<$module::$name> for Op { fn from(op: $module::$name) -> Op { Op::$name(op) } })*

        /// Samples and error samples of every op in the catalog.
        pub fn samples() -> Samples {
            let mut s = Samples::default();
            pointwise::samples(&mut s);
            $(<$module::$name as Sampled>::samples(&mut s);)*
            s
        }
    };
}

catalog! {
    source::Input, source::Constant, source::Iota, source::RandomBits,
    pointwise::Cast, bitcast::Bitcast, select::Select, select::StopGradient, select::Barrier,
    complex::Re, complex::Im, complex::Conj, complex::Complex,
    movement::Reshape, movement::Permute, movement::Broadcast, movement::Slice, movement::Flip,
    movement::Pad, movement::Concat,
    reduce::Sum, reduce::Prod, reduce::Max, reduce::Min, reduce::ArgMax, reduce::ArgMin,
    cumulate::Cumulate, dot::Dot, conv::Conv, window::Windows, window::Fold,
    index::Take, index::Scatter, sort::Sort,
    linalg::Solve, linalg::TriangularSolve, linalg::Lu, linalg::Det, linalg::Adjugate, linalg::Slogdet,
    linalg::Cholesky, linalg::Qr, linalg::Eigh, linalg::Eig, linalg::Svd, linalg::Pinv, fft::Fft,
    call::Call, switch::Switch, scan::Scan, while_loop::While,
}

impl From<&'static Pointwise> for Op {
    fn from(op: &'static Pointwise) -> Op {
        Op::Map(Map(op))
    }
}

impl Op {
    /// Wraps a primitive from outside the catalog.
    pub fn user(primitive: impl Primitive) -> Op {
        Op::User(User(Arc::new(primitive)))
    }

    /// Returns the name in graph text.
    pub fn name(&self) -> &str {
        self.def().name()
    }

    /// Returns the types of the results; an error names op and operands.
    pub fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        let check = |outs: Vec<Aval>| outs.into_iter().map(Aval::checked).collect::<Result<Vec<_>>>();
        let some = |outs: Vec<Aval>| match outs.is_empty() {
            false => check(outs),
            true => Err(Error::value("the op", "has no results; an op must have at least one")),
        };
        self.def().infer(ins).and_then(some).map_err(|e| e.in_op(self.name(), ins))
    }
}

/// Returns an error if the number of operands is not `expected`.
pub fn arity(ins: &[Aval], expected: usize) -> Result<()> {
    if ins.len() == expected {
        Ok(())
    } else {
        Err(Error::new(crate::Kind::Arity { expected, found: ins.len() }))
    }
}

/// Returns an error if an axis is out of range or repeated.
pub fn check_axes(axes: &[usize], rank: usize) -> Result<()> {
    let mut seen = vec![false; rank];
    match axes.iter().find(|a| seen.get_mut(**a).is_none_or(|seen| std::mem::replace(seen, true))) {
        Some(&axis) => Err(Error::new(crate::Kind::Axis { axis: axis as i64, rank })),
        None => Ok(()),
    }
}
