//! Composites and ops that this thread called last on data: finding the program again takes less time than a small one does.

use crate::data::Data;
use crate::device::{Device, device_of};
use crate::execute::{Ready, argument, ready_of, run as run_program};
use crate::few::Few;
use crate::region::Args;
use crate::tensor::Tensor;
use gradus_ir::{Aval, Op, Result};
use std::cell::RefCell;

/// How many are remembered.
const ROOM: usize = 256;

enum What {
    Composite(&'static str, Args),
    Op(Op),
}

struct Recent {
    what: What,
    ins: Few<Aval>,
    outs: Vec<Aval>,
    device: Device,
    ready: Ready,
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
pub(crate) fn plain(ins: &[&Tensor]) -> Option<Few<Data>> {
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
    let is = |what: &What| matches!(what, What::Composite(n, a) if std::ptr::eq(*n, name) && a == args);
    found(place(name, &datas.first()?.aval), is, &datas)
}

/// The results of an op that was called so before.
pub(crate) fn run_op(op: &Op, ins: &[&Tensor]) -> Option<Result<Vec<Tensor>>> {
    let at = ins.first()?.with_data(|d| Some(place(op.name(), &d.aval)))?;
    let is = |what: &What| matches!(what, What::Op(own) if own == op);
    // Most are not there, views for example: that is known before operands are counted.
    let there = RECENT.try_with(|all| all.borrow()[at].as_ref().is_some_and(|r| is(&r.what))).ok()?;
    if there { found(at, |_| true, &plain(ins)?) } else { None }
}

/// Runs what is remembered at a place, if it is this and for operands of such types.
fn found(at: usize, is: impl Fn(&What) -> bool, datas: &[Data]) -> Option<Result<Vec<Tensor>>> {
    let device = device_of(datas).ok()?;
    let is =
        |r: &&Recent| is(&r.what) && r.device == device && r.ins.iter().eq(datas.iter().map(|d| &d.aval));
    let known = RECENT
        .try_with(|all| all.borrow()[at].as_ref().filter(is).map(|r| (r.ready.clone(), r.outs.clone())));
    let (ready, outs) = known.ok().flatten()?;
    let results = run_program(&ready, &mut datas.iter().map(argument).collect(), outs);
    Some(results.map(|outs| outs.into_iter().map(Tensor::data).collect()))
}

/// Remembers the program of a call.
pub(crate) fn remember(name: &'static str, args: &Args, ins: &[&Tensor], op: &Op) {
    let Some(datas) = plain(ins) else { return };
    let Some(first) = datas.first() else { return };
    // What does not run fails in the ordinary way.
    let Ok(device) = device_of(datas.iter()) else { return };
    let Ok(Some((ready, outs))) = ready_of(op, device, &datas) else { return };
    let ins = datas.iter().map(|d| d.aval.clone()).collect();
    let what = What::Composite(name, args.clone());
    keep(place(name, &first.aval), Recent { what, ins, outs, device, ready });
}

/// Remembers the program of an op on data that are row-major; composites are remembered by their names.
pub(crate) fn remember_op(op: &Op, device: Device, datas: &[Data], outs: &[Aval], ready: &Ready) {
    let Some(first) = datas.first() else { return };
    if !matches!(op, Op::Call(_)) && datas.iter().all(|d| d.strides.is_none()) {
        let (what, ins) = (What::Op(op.clone()), datas.iter().map(|d| d.aval.clone()).collect());
        let recent = Recent { what, ins, outs: outs.to_vec(), device, ready: ready.clone() };
        keep(place(op.name(), &first.aval), recent);
    }
}

fn keep(at: usize, recent: Recent) {
    let _ = RECENT.try_with(|all| all.borrow_mut()[at].replace(recent));
}
