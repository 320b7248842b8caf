//! Gradient plans: for a call at given operand types, the graph of its gradient and the values that the graph
//! reads.
//! Plans are derived once by `gradus_ir`'s vjp and cached in a bounded table; `tape.rs` saves the values,
//! `backward.rs` runs the plans.

use crate::data::Data;
use crate::eager::inline_list::InlineList;
use crate::eager::pointwise::PointwiseProgram;
use crate::tensor::Tensor;
use gradus_ir::graph::{Builder, StableHasher, Var};
use gradus_ir::ops::call::Call;
use gradus_ir::ops::{Pointwise, Rule};
use gradus_ir::transform::pull;
use gradus_ir::{Aval, DType, Error, Op, Result};
use gradus_mem::Handle;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The gradient of a call. The plan of a pointwise op holds for all extents, except the fields `call`, `ins`
/// and `outs`.
pub(crate) struct Plan {
    /// The op, for [`Tensor::history`].
    pub(crate) op: Op,
    /// Name of the op.
    pub(crate) name: String,
    /// Operands that the gradient reads.
    pub(crate) reads_in: Vec<usize>,
    /// Results that the gradient reads.
    pub(crate) reads_out: Vec<usize>,
    /// Results whose cotangents the gradient reads.
    pub(crate) reads_ct: Vec<usize>,
    /// Operands whose gradients it computes.
    pub(crate) writes: Vec<usize>,
    /// The gradient graph as a pointwise program, if it is one.
    pub(crate) program: Option<PointwiseProgram>,
    /// The gradient graph as an op, from the values read to the gradients of `writes`. `None` if no gradient
    /// flows.
    call: Option<Op>,
    /// Types of the call's operands.
    pub(crate) ins: Vec<Aval>,
    /// Types of the call's results.
    pub(crate) outs: Vec<Aval>,
    /// For a pointwise op: the op, and a flag for each operand that needs a gradient.
    pointwise: Option<(&'static Pointwise, Vec<bool>)>,
}

impl Plan {
    /// Returns an empty slot for the cotangent of each result.
    pub(crate) fn empty_cotangents(&self) -> InlineList<Option<Tensor>> {
        InlineList::of(&self.outs, |_| None)
    }

    /// Returns the gradient graph as an op, and the types of the call's results. The plan of a pointwise op takes their
    /// extents from the cotangents.
    pub(crate) fn gradient_call(&self, cts: &[Option<Tensor>]) -> Result<(Option<Op>, Vec<Aval>)> {
        if let (Some((op, needs)), Some(own)) =
            (&self.pointwise, cts.iter().flatten().find_map(|ct| ct.aval()))
            && self.outs.first() != Some(&own)
        {
            let ins = vec![own.clone(); op.arity];
            let plan = plan_of(&(*op).into(), &ins, std::slice::from_ref(&own), needs)?;
            return Ok((plan.call.clone(), vec![own]));
        }
        Ok((self.call.clone(), self.outs.clone()))
    }
}

/// A cache that is cleared when it is full.
///
/// A lookup hashes and compares borrowed keys, so that no key is cloned on a hit.
pub(crate) struct BoundedCache<K, V>(Mutex<Option<Table<K, V>>>, usize);

struct Table<K, V> {
    entries: HashMap<u64, Vec<(K, V)>>,
    count: usize,
}

const CAPACITY: usize = 8192;

impl<K, V: Clone> BoundedCache<K, V> {
    pub(crate) const fn new() -> BoundedCache<K, V> {
        BoundedCache::of(CAPACITY)
    }

    /// Makes a cache of this capacity.
    pub(crate) const fn of(capacity: usize) -> BoundedCache<K, V> {
        BoundedCache(Mutex::new(None), capacity)
    }

    fn table(&self) -> MutexGuard<'_, Option<Table<K, V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the first cached value whose key has the hash of `hashed` and that `is` accepts. On a miss, makes
    /// the value without holding the lock.
    pub(crate) fn get_or_make(
        &self,
        hashed: &impl Hash,
        is: impl Fn(&K, &V) -> bool,
        make: impl FnOnce() -> Result<(K, V)>,
    ) -> Result<V> {
        let mut h = StableHasher::default();
        hashed.hash(&mut h);
        let hash = h.finish();
        let find =
            |t: &Table<K, V>| t.entries.get(&hash)?.iter().find(|(k, v)| is(k, v)).map(|(_, v)| v.clone());
        if let Some(v) = self.table().as_ref().and_then(find) {
            return Ok(v);
        }
        let (key, value) = make()?;
        let mut guard = self.table();
        let full = guard.as_ref().is_some_and(|t| t.count >= self.1);
        if full {
            *guard = None;
        }
        let table = guard.get_or_insert_with(|| Table { entries: HashMap::new(), count: 0 });
        table.count += 1;
        table.entries.entry(hash).or_default().push((key, value.clone()));
        Ok(value)
    }
}

type Key = (Op, Vec<Aval>, Vec<bool>);

static PLANS: BoundedCache<Key, Handle<Plan>> = BoundedCache::new();

/// Returns the gradient plan of a call for the operands that need gradients.
pub(crate) fn plan_for(op: &Op, ins: &[&Data], outs: &[&Data], needs: &[bool]) -> Result<Handle<Plan>> {
    let avals = |datas: &[&Data]| datas.iter().map(|d| d.aval.clone()).collect::<Vec<Aval>>();
    plan_of(op, &avals(ins), &avals(outs), needs)
}

fn plan_of(op: &Op, ins: &[Aval], outs: &[Aval], needs: &[bool]) -> Result<Handle<Plan>> {
    PLANS.get_or_make(
        &(op, ins, needs),
        |(o, i, n), _| o == op && i == ins && n == needs,
        || Ok(((op.clone(), ins.to_vec(), needs.to_vec()), Handle::new(derive(op, ins, outs, needs)?))),
    )
}

/// Gradient plans of a pointwise op of one or two operands of one dtype, indexed by which operands need
/// gradients. They hold for all extents and are never freed, so that recording needs no lookup.
#[derive(Default)]
pub(crate) struct PointwisePlans([OnceLock<Handle<Plan>>; 3]);

impl PointwisePlans {
    /// Returns the plan for operands of this dtype.
    #[inline]
    pub(crate) fn get(&self, op: &'static Pointwise, dtype: DType, needs: [bool; 2]) -> Result<Handle<Plan>> {
        let index = usize::from(needs[0]) + 2 * usize::from(needs[1]);
        let Some(slot) = index.checked_sub(1).and_then(|i| self.0.get(i)) else {
            return Err(Error::verify("a plan was requested although no operand needs a gradient"));
        };
        if let Some(plan) = slot.get() {
            return Ok(plan.clone());
        }
        let types = [Aval::scalar(dtype), Aval::scalar(dtype)];
        let plan = derive(&op.into(), &types[..op.arity], &types[..1], &needs[..op.arity])?;
        Ok(slot.get_or_init(|| Handle::forever(plan)).clone())
    }
}

fn derive(op: &Op, ins: &[Aval], outs: &[Aval], needs: &[bool]) -> Result<Plan> {
    let b = Builder::new();
    let inputs = |prefix: &str, avals: &[Aval]| -> Vec<Var<'_>> {
        avals.iter().map(|a| b.input(prefix, a.clone())).collect()
    };
    let (xs, ys) = (inputs("x", ins), inputs("y", outs));
    let ct = |(k, a): (usize, &Aval)| a.dtype.is_differentiable().then(|| (k, b.input("g", a.clone())));
    let gs: Vec<(usize, Var<'_>)> = outs.iter().enumerate().filter_map(ct).collect();
    let mut cts = vec![None; outs.len()];
    gs.iter().for_each(|(k, g)| cts[*k] = Some(*g));
    let pulled = pull(&b, op, &Rule { ins: &xs, outs: &ys }, &cts, needs);
    // A recorded op has a known derivative. If no gradient flows, as for `floor`, the gradient is zero.
    let flows = pulled.iter().any(Option::is_some);
    let known = |(i, g): (usize, Option<_>)| {
        let zero = || (!flows && needs[i]).then(|| b.zeros(&ins[i]));
        Some((i, g.or_else(zero)?))
    };
    let (writes, results): (Vec<usize>, Vec<Var<'_>>) =
        pulled.into_iter().enumerate().filter_map(known).unzip();
    let (graph, used) = b.finish(&results)?.without_unused_inputs()?;
    let (used_in, rest) = used.split_at(ins.len());
    let (used_out, used_ct) = rest.split_at(outs.len());
    let indices = |used: &[bool]| -> Vec<usize> { (0..used.len()).filter(|&i| used[i]).collect() };
    let name = format!("{}_vjp", op.name());
    Ok(Plan {
        program: PointwiseProgram::of(&graph),
        op: op.clone(),
        ins: ins.to_vec(),
        outs: outs.to_vec(),
        pointwise: if let Op::Map(map) = op { Some((map.0, needs.to_vec())) } else { None },
        name: call_name(op).to_string(),
        call: (!writes.is_empty()).then(|| Call::new(&name, Vec::new(), Arc::new(graph)).into()),
        reads_in: indices(used_in),
        reads_out: indices(used_out),
        reads_ct: gs.iter().zip(used_ct).filter(|(_, used)| **used).map(|((k, _), _)| *k).collect(),
        writes,
    })
}

/// Returns the name of the op, or of the composite for a call.
pub(crate) fn call_name(op: &Op) -> &str {
    if let Op::Call(call) = op { &call.name } else { op.name() }
}
