//! Runs attention, forward and backward, by kernels that do not store the scores. `tiles.rs` has kernels for GPUs, which
//! compute tiles of scores in shared memory; `rows.rs` has kernels for small sizes and for adapters with expensive barriers.
//! The number of threads that share a row depends on the sizes only.

mod frame;
mod rows;
mod tiles;

use super::Call;
use crate::build::Launch;
use crate::dialect::Unit;
use gradus_compile::{Claim, Profile};
use gradus_ir::attr::Attr;
use gradus_ir::ops::call::Call as Region;
use gradus_ir::{Aval, DType};

/// Regions that are run as one step.
pub(crate) const CLAIMS: &[Claim] = &[
    claim(FORWARD, |profile, call, types| Attention::claimed(profile, call, types, 1)),
    claim(BACKWARD, |profile, call, types| Attention::claimed(profile, call, types, 2)),
];
const fn claim(name: &'static str, fits: fn(&Profile, &Region, &[Aval]) -> bool) -> Claim {
    Claim { name, fits, overwrites: None, can_fail: true }
}

const FORWARD: &str = "scaled_dot_product_attention";
const BACKWARD: &str = "scaled_dot_product_attention_vjp";

/// Largest number of features that a thread holds in registers.
const REGISTERS: usize = 192;
/// Smallest number of query rows. With fewer, as when one token is generated, products are faster, because more threads
/// share the work of a row.
const FEWEST: usize = 1024;
/// Largest number of rows that a thread loops over, because software adapters end loops after 65,535 iterations.
const LONGEST: usize = 1 << 15;
/// The initial maximum: less than every useful score, but finite, because WGSL has no infinite literals.
const LOWEST: &str = "-3.0e38f";

/// The parameters of a call of attention.
struct Attention {
    /// Number of query heads in all batches.
    heads: usize,
    /// Number of query heads that share a head of keys.
    group: usize,
    queries: usize,
    keys: usize,
    /// Features of queries and keys.
    width: usize,
    /// Features of values.
    values: usize,
    causal: bool,
    window: Option<usize>,
    scale: f64,
    softcap: Option<f64>,
}

impl Attention {
    /// Returns the parameters of a call, or `None` if kernels cannot run it. Threads of the kernels hold `times` rows of
    /// queries and one row of values in registers.
    fn of(call: &Region, types: &[Aval], times: usize) -> Option<Attention> {
        let arg = |name: &str| call.args.iter().find(|(n, _)| n == name).map(|(_, a)| a);
        let float = |name: &str| match arg(name) {
            Some(Attr::Float(bits)) => Some(f64::from_bits(*bits)),
            _ => None,
        };
        let int = |name: &str| match arg(name) {
            Some(Attr::Int(n)) => usize::try_from(*n).ok(),
            _ => None,
        };
        let is = |name: &str| matches!(arg(name), Some(Attr::Bool(true)));
        // A backward pass for only some operands is inlined, because the call does not state which operands these are.
        let results = call.body.outputs().len();
        let operands = if times == 1 { (3, 1) } else { (4, 3) };
        if is("mask") || float("dropout") != Some(0.0) || (types.len(), results) != operands {
            return None;
        }
        let [q, k, v] = [&types[0], &types[1], &types[2]];
        let is_float = matches!(q.dtype, DType::F32 | DType::BF16 | DType::F16);
        if !is_float || types.iter().any(|t| t.dtype != q.dtype) || q.rank() < 3 {
            return None;
        }
        let group = int("group")?;
        let (lead, own) = q.shape.split_at(q.rank() - 2);
        let mut fewer = lead.to_vec();
        *fewer.last_mut()? /= group;
        let fits = |t: &Aval| t.rank() == q.rank() && t.shape[..q.rank() - 2] == fewer;
        if !fits(k) || !fits(v) {
            return None;
        }
        let (queries, width) = (own[0], own[1]);
        let (keys, values) = (k.shape[q.rank() - 2], v.shape[q.rank() - 1]);
        let window = int("window");
        let a = Attention {
            heads: lead.iter().product(),
            group,
            queries,
            keys,
            width,
            values,
            causal: is("causal") || window.is_some(),
            window,
            scale: float("scale").unwrap_or(1.0 / (width.max(1) as f64).sqrt()),
            softcap: float("softcap"),
        };
        let long = keys.max(queries * group);
        let narrow = times * width + values <= REGISTERS && width > 0 && values > 0 && keys > 0;
        (narrow && long <= LONGEST && a.heads * queries >= FEWEST).then_some(a)
    }

    /// Returns true if kernels can run a call, and products that store the scores are not expected to be faster.
    fn claimed(profile: &Profile, call: &Region, types: &[Aval], times: usize) -> bool {
        Attention::of(call, types, times).is_some_and(|a| {
            let scores = a.heads.saturating_mul(a.queries).saturating_mul(a.keys);
            let seen = a.window.unwrap_or(a.keys).min(a.keys);
            seen < profile.scores.keys || scores > profile.scores.most
        })
    }

    /// Returns the unit of reads and writes: one element or four.
    fn unit(&self) -> Unit {
        if self.width.is_multiple_of(4) && self.values.is_multiple_of(4) { Unit::Four } else { Unit::Word }
    }
}

/// Returns the kernels of a claimed region.
pub(super) fn launches(call: &mut Call<'_>, region: &Region) -> Result<Vec<Launch>, String> {
    let types = &call.routine.types;
    let unfit = || format!("there is no kernel for {}", region.name);
    if &*region.name == FORWARD {
        let a = Attention::of(region, types, 1).ok_or_else(unfit)?;
        let launch = if tiles::fits(&a, call.limits) { tiles::forward } else { rows::forward };
        return Ok(vec![launch(call, &a)?]);
    }
    let a = Attention::of(region, types, 2).ok_or_else(unfit)?;
    // For each query row: the logarithm of the sum of exponentials, and the dot product of the result with its cotangent.
    let statistics = call.scratch(DType::F32, a.heads * a.queries * 4);
    if tiles::fits(&a, call.limits) {
        return Ok(vec![
            tiles::row_statistics(call, &a, statistics)?,
            tiles::query_gradient(call, &a, statistics)?,
            tiles::key_gradients(call, &a, statistics)?,
        ]);
    }
    Ok(vec![
        rows::row_statistics(call, &a, statistics)?,
        rows::query_gradient(call, &a, statistics)?,
        rows::key_gradient(call, &a, statistics, true)?,
        rows::key_gradient(call, &a, statistics, false)?,
    ])
}
