//! Computes sums of overlapping windows (`Fold`). Each task computes complete channels.

use super::Call;
use super::element::{Element, with_element};
use gradus_ir::ops::{Combine, Window};
use gradus_ir::reference::{Combined, Offsets};
use gradus_ir::{DType, Result};

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn fold(call: &Call<'_>, window: &Window) -> Result<bool> {
    // SAFETY: the caller guarantees buffers of the stated types, which no other thread accesses; `T` and `Z`
    // are the element type of the dtype.
    unsafe {
        with_element!(call.operand_type(0).dtype, T => sums::<T>(call, window), Z => sums::<Z>(call, window))
    }
    Ok(true)
}

unsafe fn sums<T: Element>(call: &Call<'_>, window: &Window) {
    let (from, to) = (&call.operand_type(0).shape, &call.routine.results[0].shape);
    let n = window.size.len();
    let lead = to.rank() - n;
    let (windows, space): (usize, usize) = (from[lead..].iter().product(), to[lead..].iter().product());
    let whole: usize = to[..lead].iter().product();
    // The start of each window, and the offsets of the elements in a window, which are equal for every channel.
    let own = to.strides();
    let strides = |by: &[usize]| (0..n).map(|i| (own[lead + i] * by[i]) as i64).collect::<Vec<i64>>();
    let starts: Vec<i64> = Offsets::new(&from[lead..lead + n], &strides(&window.stride), 0).collect();
    let offsets: Vec<i64> = Offsets::new(&from[lead + n..], &strides(&window.window_dilation), 0).collect();
    // SAFETY: `T` is the element type of the operand's dtype.
    let x = unsafe { call.operand::<T>(0) };
    let out = call.result::<T>(0);
    call.parts(whole, (windows + space) * size_of::<T>(), |first, last| {
        let mut sums = vec![T::Carrier::default(); space];
        for at in first..last {
            sums.fill(T::Carrier::default());
            let mut x = x[at * windows..][..windows].iter();
            for start in &starts {
                for (offset, x) in offsets.iter().zip(&mut x) {
                    let sum = &mut sums[(start + offset) as usize];
                    *sum = T::Carrier::combine(Combine::Sum, *sum, x.to_carrier());
                }
            }
            // SAFETY: this channel of the result belongs to this task.
            for (to, sum) in unsafe { out.slice(at * space, space) }.iter_mut().zip(&sums) {
                *to = T::from_carrier(*sum);
            }
        }
    });
}
