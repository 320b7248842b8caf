//! Converts kernels to nodes. Returns `None` for kernels for which no code can be generated.

use super::functions::{self, Mask, Value};
use super::node::{Action, Fold, Node, Nodes};
use crate::feature::Isa;
use gradus_compile::{Access, Kernel, Level, Operation};
use gradus_ir::DType;
use gradus_ir::ops::{Combine, Scalar};
use gradus_scalar::Float;

/// Longest row that is summed in one loop. The interpreter sums longer rows in parts.
const LONGEST_ROW: usize = 8192;
/// Largest number of nodes of a kernel. Larger kernels would need too many registers, and the search for equal nodes would be
/// slow.
const MAX_NODES: usize = 1000;

/// A kernel as nodes, without extents and offsets. Kernels with equal nodes share their code.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Lowered {
    pub(super) nodes: Vec<Node>,
    /// Bytes of an element of each access.
    pub(super) sizes: Vec<usize>,
    pub(super) stores: Vec<Store>,
    /// If true, rows have one element, which is loaded and stored without a mask. This reduces the latency from row to row.
    pub(super) single: bool,
}

/// A store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Store {
    pub(super) node: usize,
    pub(super) access: usize,
    /// If true, it writes one element per row.
    pub(super) row: bool,
}

#[derive(Clone, Copy)]
enum Typed<'n> {
    Float(Value<'n>),
    Mask(Mask<'n>),
}

/// Returns the nodes of a kernel whose last axis is the row, and its accesses.
pub(super) fn lower(isa: Isa, kernel: &Kernel, buffers: &[(DType, usize)]) -> Option<(Lowered, Vec<Access>)> {
    let reduces = kernel.body.iter().any(|i| matches!(i.op, Operation::Reduce(_)));
    let inner = *kernel.axes.last()?;
    let rows = kernel.axes.len() - reduces as usize;
    if kernel.axes.contains(&0)
        || kernel.parallel != rows
        || reduces && (kernel.columns || inner > LONGEST_ROW)
    {
        return None;
    }
    let nodes = Nodes::new(isa >= Isa::Avx512);
    let mut accesses: Vec<(Access, usize)> = Vec::new();
    let mut access_index = |access: &Access, dtype: DType| {
        let found = accesses.iter().position(|a| a.0 == *access);
        found.unwrap_or_else(|| {
            accesses.push((access.clone(), dtype.size()));
            accesses.len() - 1
        })
    };
    // Returns the stride of an access along a row, or `None` if there is no code for it. There is code for the strides 0
    // and 1; if rows have one element, any stride is accepted.
    let step =
        |access: &Access| access.layout.strides.last().copied().filter(|s| inner == 1 || *s == 0 || *s == 1);
    let mut typed: Vec<Typed<'_>> = Vec::with_capacity(kernel.body.len());
    for inst in &kernel.body {
        let args: Vec<Typed<'_>> = inst.args.iter().map(|a| typed[*a]).collect();
        if !matches!(inst.dtype, DType::F32 | DType::Bool) {
            return None;
        }
        typed.push(match &inst.op {
            Operation::Constant(l) if inst.dtype == DType::F32 => {
                Typed::Float((l.f().first().copied()? as f32).into())
            }
            Operation::Load(access) if inst.dtype == buffers[access.buffer].0 => {
                let per_row = step(access)? == 0;
                let at = access_index(access, inst.dtype);
                match inst.dtype {
                    DType::F32 => Typed::Float(Value::Node(&nodes, nodes.load(Action::Load(at), per_row))),
                    _ if per_row && (reduces || inner > 1) => return None,
                    _ => Typed::Mask(Mask(Value::Node(&nodes, nodes.load(Action::LoadMask(at), false)))),
                }
            }
            Operation::Scalar(scalar) => apply(*scalar, &args, inst.dtype)?,
            Operation::Reduce(combine) => {
                let fold = match combine {
                    Combine::Sum => Fold::Sum,
                    Combine::Max => Fold::Max,
                    Combine::Min => Fold::Min,
                    _ => return None,
                };
                let [Typed::Float(x @ Value::Node(..))] = args[..] else { return None };
                Typed::Float(Value::Node(&nodes, nodes.push(Action::Fold(fold), vec![x.arg()])))
            }
            _ => return None,
        });
    }
    let mut stores = Vec::with_capacity(kernel.stores.len());
    for store in &kernel.stores {
        let row = reduces && kernel.body[store.value].level == Level::Row;
        let (Typed::Float(value) | Typed::Mask(Mask(value))) = typed[store.value];
        let is_mask = matches!(typed[store.value], Typed::Mask(_));
        let dtype = buffers[store.access.buffer].0;
        let fits = dtype == if is_mask { DType::Bool } else { DType::F32 };
        let (true, false) = (fits, row && is_mask) else { return None };
        if !row && step(&store.access)? == 0 && inner > 1 {
            return None;
        }
        let node = value.arg().node()?;
        stores.push(Store { node, access: access_index(&store.access, dtype), row });
    }
    drop(typed);
    let nodes = nodes.take();
    let (accesses, sizes) = accesses.into_iter().unzip();
    (nodes.len() <= MAX_NODES).then_some((Lowered { nodes, sizes, stores, single: inner == 1 }, accesses))
}

fn apply<'n>(scalar: Scalar, args: &[Typed<'n>], to: DType) -> Option<Typed<'n>> {
    let floats: Option<Vec<Value<'n>>> =
        args.iter().map(|a| if let Typed::Float(x) = a { Some(*x) } else { None }).collect();
    // Functions of constants are folded by the compiler and have no node.
    let is_node = |a: &Typed<'n>| matches!(a, Typed::Mask(_) | Typed::Float(Value::Node(..)));
    if !args.iter().any(is_node) {
        return None;
    }
    match (scalar, args) {
        (Scalar::Identity, [x]) => Some(*x),
        (Scalar::Cast, [Typed::Float(_)]) if to == DType::F32 => Some(args[0]),
        (Scalar::Cast, [Typed::Float(x)]) => functions::test("ne", &[*x, 0.0.into()]).map(Typed::Mask),
        (Scalar::Cast, [Typed::Mask(_)]) if to == DType::Bool => Some(args[0]),
        (Scalar::Cast, [Typed::Mask(m)]) => Some(Typed::Float(Value::select(*m, 1.0, 0.0))),
        (Scalar::Select, [Typed::Mask(m), Typed::Float(a), Typed::Float(b)]) => {
            Some(Typed::Float(Value::select(*m, *a, *b)))
        }
        (Scalar::Pointwise(op), _) => match floats {
            Some(floats) if op.predicate => functions::test(op.name, &floats).map(Typed::Mask),
            Some(floats) => functions::float(op.name, &floats).map(Typed::Float),
            None => {
                let masks = args.iter().map(|a| if let Typed::Mask(m) = a { Some(*m) } else { None });
                functions::logic(op.name, &masks.collect::<Option<Vec<_>>>()?).map(Typed::Mask)
            }
        },
        _ => None,
    }
}
