//! How long the steps of a plan took, beside what the machine could do.

use crate::execute::Ready;
use gradus_cpu::amount;
use gradus_device::Roofline;
use std::fmt::Write;
use std::time::Duration;

/// A line per step, the longest first: time, share, rates, and the part of the roof that the rates reach.
pub(crate) fn report(ready: &Ready, times: &[Duration], roof: Roofline) -> String {
    let (titles, costs) = (ready.steps(), ready.costs());
    let total: Duration = times.iter().sum();
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(times[i]));
    let mut text = format!(
        "{} steps in {total:?}; roof: {}, {}\n",
        titles.len(),
        amount(roof.flops, "FLOP/s"),
        amount(roof.bytes, "B/s")
    );
    let _ =
        writeln!(text, "{:>10} {:>6} {:>12} {:>12} {:>6}  step", "time", "share", "FLOP/s", "B/s", "roof");
    for i in order {
        let (work, seconds) = (costs[i], times[i].as_secs_f64());
        if seconds == 0.0 {
            continue;
        }
        let least = (work.flops / roof.flops).max(work.bytes / roof.bytes);
        let _ = writeln!(
            text,
            "{:>10} {:>5.1}% {:>12} {:>12} {:>5.0}%  {i}: {}",
            format!("{:.1?}", times[i]),
            100.0 * seconds / total.as_secs_f64(),
            amount(work.flops / seconds, ""),
            amount(work.bytes / seconds, ""),
            100.0 * least / seconds,
            titles[i]
        );
    }
    text
}
