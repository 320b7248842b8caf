//! Composites that this thread called last on data: finding the program again takes less time than a small one does.

use crate::data::Data;
use crate::execute::{argument, executable_of, run as run_program};
use crate::few::Few;
use crate::region::Args;
use crate::tensor::Tensor;
use gradus_cpu::Executable;
use gradus_ir::{Aval, Op, Result};
use std::cell::RefCell;
use std::sync::Arc;

/// How many are remembered.
const ROOM: usize = 64;

struct Recent {
    name: &'static str,
    args: Args,
    ins: Few<Aval>,
    outs: Vec<Aval>,
    executable: Arc<Executable>,
}

thread_local! {
    static RECENT: RefCell<[Option<Recent>; ROOM]> = const { RefCell::new([const { None }; ROOM]) };
}

/// Where a call is remembered.
fn place(name: &str, first: &Aval) -> usize {
    let mut at = name.as_ptr() as usize / 8 + name.len();
    first.shape.iter().for_each(|d| at = at.wrapping_mul(31).wrapping_add(*d));
    at % ROOM
}

/// The operands, if they are row-major data that nothing is recorded for.
fn plain(ins: &[&Tensor]) -> Option<Few<Data>> {
    let recording = crate::tape::is_grad_enabled();
    let one = |t: &&Tensor| match recording && t.requires_grad() {
        true => None,
        false => t.with_data(|d| d.strides.is_none().then(|| d.clone())),
    };
    ins.iter().map(one).collect()
}

/// The results of a composite that was called so before.
pub(crate) fn run(name: &'static str, args: &Args, ins: &[&Tensor]) -> Option<Result<Vec<Tensor>>> {
    let datas = plain(ins)?;
    let at = place(name, &datas.first()?.aval);
    let is = |r: &&Recent| {
        std::ptr::eq(r.name, name) && r.args == *args && r.ins.iter().eq(datas.iter().map(|d| &d.aval))
    };
    let known = RECENT
        .try_with(|all| all.borrow()[at].as_ref().filter(is).map(|r| (r.executable.clone(), r.outs.clone())));
    let (executable, outs) = known.ok().flatten()?;
    let results = run_program(&executable, &mut datas.iter().map(argument).collect(), outs);
    Some(results.map(|outs| outs.into_iter().map(Tensor::data).collect()))
}

/// Remembers the program of a call.
pub(crate) fn remember(name: &'static str, args: &Args, ins: &[&Tensor], op: &Op) {
    let Some(datas) = plain(ins) else { return };
    let Some(first) = datas.first() else { return };
    // What does not run fails in the ordinary way.
    let Ok(Some((executable, outs))) = executable_of(op, &datas) else { return };
    let ins = datas.iter().map(|d| d.aval.clone()).collect();
    let recent = Recent { name, args: args.clone(), ins, outs, executable };
    let _ = RECENT.try_with(|all| all.borrow_mut()[place(name, &first.aval)].replace(recent));
}
