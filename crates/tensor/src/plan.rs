//! Gradient plans: for a call at given types, the graph of its gradient and what that graph reads. Derived once,
//! kept in a bounded table.

use gradus_ir::graph::{Builder, StableHasher, Var};
use gradus_ir::ops::Rule;
use gradus_ir::ops::call::Call;
use gradus_ir::transform::pull;
use gradus_ir::{Aval, Op, Result};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The gradient of a call.
pub(crate) struct Plan {
    /// The op of the call.
    pub(crate) name: String,
    /// The gradient graph as an op: from what it reads to the gradients of `writes`. `None` if nothing flows.
    pub(crate) call: Option<Op>,
    /// Operands it reads.
    pub(crate) reads_in: Vec<usize>,
    /// Results it reads.
    pub(crate) reads_out: Vec<usize>,
    /// Results whose cotangents it reads.
    pub(crate) reads_ct: Vec<usize>,
    /// Operands whose gradients it gives.
    pub(crate) writes: Vec<usize>,
}

/// A table that forgets everything when it is full: simple, and enough to bound memory.
///
/// Looking up takes a hash and a comparison, so that nothing is cloned for a key that is there.
pub(crate) struct Bounded<K, V>(Mutex<Option<Table<K, V>>>);

struct Table<K, V> {
    entries: HashMap<u64, Vec<(K, V)>>,
    count: usize,
}

const CAPACITY: usize = 8192;

impl<K, V: Clone> Bounded<K, V> {
    pub(crate) const fn new() -> Bounded<K, V> {
        Bounded(Mutex::new(None))
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
        let full = guard.as_ref().is_some_and(|t| t.count >= CAPACITY);
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

static PLANS: Bounded<Key, Arc<Plan>> = Bounded::new();

/// The gradient of a call for the operands that need it.
pub(crate) fn plan_for(op: &Op, ins: &[Aval], outs: &[Aval], needs: &[bool]) -> Result<Arc<Plan>> {
    PLANS.get_or_make(
        &(op, ins, needs),
        |(o, i, n)| o == op && i == ins && n == needs,
        || Ok(((op.clone(), ins.to_vec(), needs.to_vec()), Arc::new(derive(op, ins, outs, needs)?))),
    )
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
    let grads = pull(&b, op, &Rule { ins: &xs, outs: &ys }, &cts, needs);
    let (writes, results): (Vec<usize>, Vec<Var<'_>>) =
        grads.into_iter().enumerate().filter_map(|(i, g)| Some((i, g?))).unzip();
    let (graph, used) = b.finish(&results)?.without_unused_inputs()?;
    let (used_in, rest) = used.split_at(ins.len());
    let (used_out, used_ct) = rest.split_at(outs.len());
    let places = |used: &[bool]| -> Vec<usize> { (0..used.len()).filter(|&i| used[i]).collect() };
    let name = format!("{}_vjp", op.name());
    Ok(Plan {
        name: op.name().to_string(),
        call: (!writes.is_empty()).then(|| Call::new(&name, Vec::new(), Arc::new(graph)).into()),
        reads_in: places(used_in),
        reads_out: places(used_out),
        reads_ct: gs.iter().zip(used_ct).filter(|(_, used)| **used).map(|((k, _), _)| *k).collect(),
        writes,
    })
}
