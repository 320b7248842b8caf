//! Gradient plans: for a call at given types, the graph of its gradient and what that graph reads. Derived once,
//! kept in a bounded table.

use crate::data::Data;
use crate::few::Few;
use crate::row::Program;
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

/// The gradient of a call. That of a row holds for other extents too, but for the last two fields.
pub(crate) struct Plan {
    /// The op of the call.
    pub(crate) name: String,
    /// Operands it reads.
    pub(crate) reads_in: Vec<usize>,
    /// Results it reads.
    pub(crate) reads_out: Vec<usize>,
    /// Results whose cotangents it reads.
    pub(crate) reads_ct: Vec<usize>,
    /// Operands whose gradients it gives.
    pub(crate) writes: Vec<usize>,
    /// The gradient graph as a program of rows, if it is one.
    pub(crate) program: Option<Program>,
    /// The gradient graph as an op: from what it reads to the gradients of `writes`. `None` if nothing flows.
    call: Option<Op>,
    /// Types of the call's results.
    outs: Vec<Aval>,
    /// The row that was called, and which of its operands need gradients.
    row: Option<(&'static Pointwise, Vec<bool>)>,
}

impl Plan {
    /// No cotangents of its results yet.
    pub(crate) fn awaited(&self) -> Few<Option<Tensor>> {
        Few::of(&self.outs, |_| None)
    }

    /// The gradient graph and the types of the results, for cotangents that have come.
    pub(crate) fn at(&self, cts: &[Option<Tensor>]) -> Result<(Option<Op>, Vec<Aval>)> {
        if let (Some((row, needs)), Some(own)) = (&self.row, cts.iter().flatten().find_map(|ct| ct.aval()))
            && self.outs.first() != Some(&own)
        {
            let ins = vec![own.clone(); row.arity];
            let plan = plan_of(&(*row).into(), &ins, std::slice::from_ref(&own), needs)?;
            return Ok((plan.call.clone(), vec![own]));
        }
        Ok((self.call.clone(), self.outs.clone()))
    }
}

/// A table that forgets everything when it is full: simple, and enough to bound memory.
///
/// Looking up takes a hash and a comparison, so that nothing is cloned for a key that is there.
pub(crate) struct Bounded<K, V>(Mutex<Option<Table<K, V>>>, usize);

struct Table<K, V> {
    entries: HashMap<u64, Vec<(K, V)>>,
    count: usize,
}

const CAPACITY: usize = 8192;

impl<K, V: Clone> Bounded<K, V> {
    pub(crate) const fn new() -> Bounded<K, V> {
        Bounded::of(CAPACITY)
    }

    /// With room for so many.
    pub(crate) const fn of(capacity: usize) -> Bounded<K, V> {
        Bounded(Mutex::new(None), capacity)
    }

    fn table(&self) -> MutexGuard<'_, Option<Table<K, V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value under a key that hashes and compares like this, made without holding the lock if there is none.
    pub(crate) fn get_or_make(
        &self,
        hashed: &impl Hash,
        is: impl Fn(&K) -> bool,
        make: impl FnOnce() -> Result<(K, V)>,
    ) -> Result<V> {
        let mut h = StableHasher::default();
        hashed.hash(&mut h);
        let hash = h.finish();
        let find =
            |t: &Table<K, V>| t.entries.get(&hash)?.iter().find(|(k, _)| is(k)).map(|(_, v)| v.clone());
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

static PLANS: Bounded<Key, Handle<Plan>> = Bounded::new();

/// The gradient of a call for the operands that need it.
pub(crate) fn plan_for(op: &Op, ins: &[&Data], outs: &[&Data], needs: &[bool]) -> Result<Handle<Plan>> {
    let avals = |datas: &[&Data]| datas.iter().map(|d| d.aval.clone()).collect::<Vec<Aval>>();
    plan_of(op, &avals(ins), &avals(outs), needs)
}

fn plan_of(op: &Op, ins: &[Aval], outs: &[Aval], needs: &[bool]) -> Result<Handle<Plan>> {
    PLANS.get_or_make(
        &(op, ins, needs),
        |(o, i, n)| o == op && i == ins && n == needs,
        || Ok(((op.clone(), ins.to_vec(), needs.to_vec()), Handle::new(derive(op, ins, outs, needs)?))),
    )
}

/// The gradients of a row of one or two operands of one dtype, by which of them need one. They hold for all extents and
/// are never freed, so that recording a row looks nothing up and counts no owners.
#[derive(Default)]
pub(crate) struct RowPlans([OnceLock<Handle<Plan>>; 3]);

impl RowPlans {
    /// The plan for operands of this dtype.
    #[inline]
    pub(crate) fn get(
        &self,
        row: &'static Pointwise,
        dtype: DType,
        needs: [bool; 2],
    ) -> Result<Handle<Plan>> {
        let place = usize::from(needs[0]) + 2 * usize::from(needs[1]);
        let Some(slot) = place.checked_sub(1).and_then(|i| self.0.get(i)) else {
            return Err(Error::verify("a gradient that nobody needs"));
        };
        if let Some(plan) = slot.get() {
            return Ok(plan.clone());
        }
        let types = [Aval::scalar(dtype), Aval::scalar(dtype)];
        let plan = derive(&row.into(), &types[..row.arity], &types[..1], &needs[..row.arity])?;
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
    // Of what was recorded a derivative is known: where nothing flows (`floor`, where a gradient of `relu` bends) it is zero.
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
    let places = |used: &[bool]| -> Vec<usize> { (0..used.len()).filter(|&i| used[i]).collect() };
    let name = format!("{}_vjp", op.name());
    Ok(Plan {
        program: Program::of(&graph),
        outs: outs.to_vec(),
        row: if let Op::Map(map) = op { Some((map.0, needs.to_vec())) } else { None },
        name: called(op).to_string(),
        call: (!writes.is_empty()).then(|| Call::new(&name, Vec::new(), Arc::new(graph)).into()),
        reads_in: places(used_in),
        reads_out: places(used_out),
        reads_ct: gs.iter().zip(used_ct).filter(|(_, used)| **used).map(|((k, _), _)| *k).collect(),
        writes,
    })
}

/// The name of what was applied: of a call, that of the composite.
pub(crate) fn called(op: &Op) -> &str {
    if let Op::Call(call) = op { &call.name } else { op.name() }
}
