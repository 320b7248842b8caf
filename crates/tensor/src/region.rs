//! Composites: functions over tensors that run, print and differentiate as one named call.

use crate::apply::try_apply;
use crate::plan::Bounded;
use crate::tensor::Tensor;
use crate::trace::{Outputs, trace_function};
use gradus_ir::attr::{Attr, AttrField};
use gradus_ir::ops::call::Call;
use gradus_ir::{Aval, Error, Op, Result};
use std::panic::Location;

/// Arguments of a composite besides its operands, as they are printed and told apart by.
pub type Args = Vec<(String, Attr)>;

/// An argument by name.
pub fn arg(name: &str, value: impl AttrField) -> (String, Attr) {
    (name.to_string(), value.to_attr())
}

type Key = (&'static str, Args, Vec<Aval>);

static REGIONS: Bounded<Key, Op> = Bounded::new();

/// Calls a function of the operands as one region.
///
/// The function is traced once per name, arguments and operand types, so its result may depend on nothing
/// else: whatever it reads from outside besides `ins` must be in `args`. Eagerly the region is one call with one
/// tape node; in a trace it stays a named call.
#[track_caller]
pub fn region<R: Outputs>(
    name: &'static str,
    args: Args,
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> R,
) -> Result<Vec<Tensor>> {
    let place = Location::caller();
    let mut avals = Vec::with_capacity(ins.len());
    for t in ins {
        avals.extend(t.check()?.aval());
    }
    let make = || {
        let traced = trace_function(&avals, f)?;
        if !traced.captured.is_empty() {
            return Err(Error::trace(format!("`{name}` uses a cell or outer value that is not an operand")));
        }
        let op = Op::from(Call::new(name, args.clone(), traced.graph));
        Ok(((name, args.clone(), avals.clone()), op))
    };
    let is = |(n, a, i): &Key| *n == name && *a == args && *i == avals;
    let op = REGIONS.get_or_make(&(name, &args, &avals), is, make).map_err(|e| e.called(name).at(place))?;
    try_apply(op, ins).map_err(|e| e.called(name).at(place))
}

/// As [`region`], for a function of one result; a failure becomes a failed tensor.
#[track_caller]
pub fn region1(
    name: &'static str,
    args: Args,
    ins: &[&Tensor],
    f: impl FnOnce(&[Tensor]) -> Tensor,
) -> Tensor {
    match region(name, args, ins, f) {
        Ok(mut outs) => outs.swap_remove(0),
        Err(e) => Tensor::failed(e),
    }
}
