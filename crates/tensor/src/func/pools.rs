//! Pooling functions for one, two and three axes, such as `max_pool2d`; `pool.rs` implements them.

use super::each::Each;
use super::pool::{AvgPoolOptions, MaxPoolOptions, adaptive_avg_pool, adaptive_max_pool, avg_pool, max_pool};
use crate::tensor::Tensor;

macro_rules! ranks {
    ($($n:literal $max:ident $avg:ident $adaptive_max:ident $adaptive_avg:ident;)*) => {$(
        #[doc = concat!("[`max_pool`] over the last ", $n, " axes; one number applies to all.")]
        #[track_caller]
        pub fn $max(x: &Tensor, kernel: impl Into<Each>, options: &MaxPoolOptions) -> Tensor {
            match kernel.into().resolve("kernel", $n, 1) {
                Ok(kernel) => max_pool(x, &kernel, options),
                Err(e) => Tensor::refuse(stringify!($max), &[x], e),
            }
        }
        #[doc = concat!("[`avg_pool`] over the last ", $n, " axes; one number applies to all.")]
        #[track_caller]
        pub fn $avg(x: &Tensor, kernel: impl Into<Each>, options: &AvgPoolOptions) -> Tensor {
            match kernel.into().resolve("kernel", $n, 1) {
                Ok(kernel) => avg_pool(x, &kernel, options),
                Err(e) => Tensor::refuse(stringify!($avg), &[x], e),
            }
        }
        #[doc = concat!("[`adaptive_max_pool`] over the last ", $n, " axes; one number applies to all.")]
        #[track_caller]
        pub fn $adaptive_max(x: &Tensor, size: impl Into<Each>) -> Tensor {
            match size.into().resolve("output_size", $n, 1) {
                Ok(size) => adaptive_max_pool(x, &size),
                Err(e) => Tensor::refuse(stringify!($adaptive_max), &[x], e),
            }
        }
        #[doc = concat!("[`adaptive_avg_pool`] over the last ", $n, " axes; one number applies to all.")]
        #[track_caller]
        pub fn $adaptive_avg(x: &Tensor, size: impl Into<Each>) -> Tensor {
            match size.into().resolve("output_size", $n, 1) {
                Ok(size) => adaptive_avg_pool(x, &size),
                Err(e) => Tensor::refuse(stringify!($adaptive_avg), &[x], e),
            }
        }
    )*};
}
ranks! {
    1 max_pool1d avg_pool1d adaptive_max_pool1d adaptive_avg_pool1d;
    2 max_pool2d avg_pool2d adaptive_max_pool2d adaptive_avg_pool2d;
    3 max_pool3d avg_pool3d adaptive_max_pool3d adaptive_avg_pool3d;
}

pub(super) fn samples(s: &mut super::Samples) {
    let plain = MaxPoolOptions::default;
    let cases: [(&[usize], &[usize], MaxPoolOptions); 8] = [
        (&[2, 3, 6], &[2], plain()),
        (&[2, 7, 5], &[3, 2], plain()),
        (&[3, 20], &[17], plain()),
        (
            &[2, 7],
            &[3],
            MaxPoolOptions { stride: Some(2.into()), padding: 1.into(), dilation: 2.into(), ..plain() },
        ),
        (
            &[1, 5, 4],
            &[3, 2],
            MaxPoolOptions { stride: Some([1, 2].into()), padding: [1, 0].into(), ..plain() },
        ),
        (&[2, 5, 5], &[2, 2], MaxPoolOptions { ceil_mode: true, ..plain() }),
        (&[1, 3, 2, 2], &[2, 1, 2], plain()),
        (&[0, 4], &[2], plain()),
    ];
    for (x, kernel, options) in cases.clone() {
        let x = s.draw.distinct(x);
        s.case("max_pool", [x], move |x| max_pool(&x[0], kernel, &options));
    }
    for (x, kernel, options) in cases {
        let x = s.draw.distinct(x);
        let f = move |x: &[Tensor]| super::pool::max_pool_with_indices(&x[0], kernel, &options);
        s.case("max_pool_with_indices", [x], f);
    }
    let low = s.draw.floats([4], &[f64::NEG_INFINITY; 4]);
    let options = MaxPoolOptions { padding: 1.into(), ..plain() };
    s.kink("max_pool", [low], move |x| max_pool(&x[0], &[2], &options));
    let ties = s.draw.floats([6], &[1.0, 1.0, 0.0, 2.0, 2.0, 2.0]);
    s.kink("max_pool", [ties], move |x| max_pool(&x[0], &[3], &MaxPoolOptions::default()));

    let plain = AvgPoolOptions::default;
    let cases: [(&[usize], &[usize], AvgPoolOptions); 6] = [
        (&[2, 3, 6], &[2], plain()),
        (
            &[2, 5],
            &[3],
            AvgPoolOptions { stride: Some(2.into()), padding: 1.into(), count_include_pad: false, ..plain() },
        ),
        (&[1, 4, 5], &[3, 2], AvgPoolOptions { stride: Some([2, 1].into()), padding: 1.into(), ..plain() }),
        (&[2, 5, 5], &[2, 3], AvgPoolOptions { ceil_mode: true, padding: [0, 1].into(), ..plain() }),
        (&[1, 3, 2, 2], &[2, 1, 2], AvgPoolOptions { divisor_override: Some(3.0), ..plain() }),
        (&[0, 4], &[2], plain()),
    ];
    for (x, kernel, options) in cases {
        let x = s.draw.normal(x);
        s.case("avg_pool", [x], move |x| avg_pool(&x[0], kernel, &options));
    }
    let cases: [(&[usize], &[usize]); 6] = [
        (&[2, 5], &[3]),
        (&[1, 6], &[2]),
        (&[2, 4, 5], &[2, 3]),
        (&[3, 1], &[1]),
        (&[2, 2], &[4]),
        (&[0, 3], &[2]),
    ];
    for (x, size) in cases {
        let (a, b) = (s.draw.normal(x), s.draw.distinct(x));
        s.case("adaptive_avg_pool", [a], move |x| adaptive_avg_pool(&x[0], size));
        s.case("adaptive_max_pool", [b], move |x| adaptive_max_pool(&x[0], size));
    }
}
