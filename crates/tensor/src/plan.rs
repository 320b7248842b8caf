//! Gradient plans: for a call at given types, the graph of its gradient and what that graph reads. Derived once,
//! kept in a bounded table.

use crate::data::Data;
use crate::few::Few;
use crate::row::{Program, address};
use crate::tape::is_step;
use gradus_ir::graph::{Builder, StableHasher, Var};
use gradus_ir::ops::Rule;
use gradus_ir::ops::call::Call;
use gradus_ir::transform::pull;
use gradus_ir::{Aval, Op, Result};
use std::cell::RefCell;
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
    /// Types of the call's results.
    pub(crate) outs: Vec<Aval>,
    /// The gradient graph as a program of rows, if it is one.
    pub(crate) program: Option<Program>,
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

static PLANS: Bounded<Key, Arc<Plan>> = Bounded::new();

/// Plans of rows that this thread used last: finding one takes less time than a small row does.
const RECENT: usize = 64;

struct Recent {
    row: usize,
    aval: Aval,
    needs: Few<bool>,
    plan: Arc<Plan>,
}

thread_local! {
    static RECENT_ROWS: RefCell<[Option<Recent>; RECENT]> = const { RefCell::new([const { None }; RECENT]) };
}

/// The gradient of a call for the operands that need it.
pub(crate) fn plan_for(op: &Op, ins: &[&Data], outs: &[&Data], needs: &Few<bool>) -> Result<Arc<Plan>> {
    let (Op::Map(map), Some(first)) = (op, ins.first()) else { return shared_plan(op, ins, outs, needs) };
    // The operands of a row have one type.
    let (row, aval) = (address(map.0), &first.aval);
    // Rows lie side by side and extents are small: their sum spreads well enough.
    let mut at = row / 16;
    needs.iter().for_each(|n| at = at.wrapping_mul(2) + usize::from(*n));
    aval.shape.iter().for_each(|d| at = at.wrapping_mul(31).wrapping_add(*d));
    let at = at % RECENT;
    let is = |r: &&Recent| r.row == row && r.aval == *aval && *r.needs == **needs;
    let found = |rows: &RefCell<[Option<Recent>; RECENT]>| {
        rows.borrow()[at].as_ref().filter(is).map(|r| r.plan.clone())
    };
    if let Ok(Some(plan)) = RECENT_ROWS.try_with(found) {
        return Ok(plan);
    }
    let plan = shared_plan(op, ins, outs, needs)?;
    let recent = Recent { row, aval: aval.clone(), needs: needs.clone(), plan: plan.clone() };
    let _ = RECENT_ROWS.try_with(|rows| rows.borrow_mut()[at].replace(recent));
    Ok(plan)
}

fn shared_plan(op: &Op, ins: &[&Data], outs: &[&Data], needs: &[bool]) -> Result<Arc<Plan>> {
    let avals = |datas: &[&Data]| datas.iter().map(|d| d.aval.clone()).collect::<Vec<Aval>>();
    let (ins, outs) = (avals(ins), avals(outs));
    PLANS.get_or_make(
        &(op, &ins, needs),
        |(o, i, n)| o == op && *i == ins && n == needs,
        || Ok(((op.clone(), ins.clone(), needs.to_vec()), Arc::new(derive(op, &ins, &outs, needs)?))),
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
    let grads = match is_step(op) {
        true => ins.iter().zip(needs).map(|(a, n)| n.then(|| b.zeros(a))).collect(),
        false => pull(&b, op, &Rule { ins: &xs, outs: &ys }, &cts, needs),
    };
    let (writes, results): (Vec<usize>, Vec<Var<'_>>) =
        grads.into_iter().enumerate().filter_map(|(i, g)| Some((i, g?))).unzip();
    let (graph, used) = b.finish(&results)?.without_unused_inputs()?;
    let (used_in, rest) = used.split_at(ins.len());
    let (used_out, used_ct) = rest.split_at(outs.len());
    let places = |used: &[bool]| -> Vec<usize> { (0..used.len()).filter(|&i| used[i]).collect() };
    let name = format!("{}_vjp", op.name());
    Ok(Plan {
        program: Program::of(&graph),
        outs: outs.to_vec(),
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
