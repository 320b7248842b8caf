//! Fourier transforms: values, gradients and second derivatives, of every kind and norm.

use super::tools::*;
use gradus::{DType, FftNorm, Tensor};

const NORMS: [FftNorm; 3] = [FftNorm::Backward, FftNorm::Ortho, FftNorm::Forward];
const PLAIN: FftNorm = FftNorm::Backward;

fn orders_of(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Vec<Tensor> {
    orders(&[x], |x| vec![f(&x[0])])
}

/// Applies `each` with every norm.
fn for_each_norm(each: impl Fn(FftNorm) -> Vec<Tensor>) -> Vec<Tensor> {
    NORMS.into_iter().flat_map(each).collect()
}

/// Computes a circular convolution by multiplying spectra.
fn circular_convolution(x: &Tensor, k: &Tensor) -> Tensor {
    (x.rfft(None, -1, PLAIN) * k.rfft(None, -1, PLAIN)).irfft(x.dim(-1), -1, PLAIN)
}

fn loudness(x: &Tensor, k: &Tensor) -> Tensor {
    (x * k).rfft(None, -1, PLAIN).abs().pow(3.0).sum(())
}

pub(crate) const TABLE: &[(&str, Function)] = &[
    ("transform", |x| {
        for_each_norm(|n| {
            [orders_of(&x[0], |x| x.fft(None, -1, n)), orders_of(&x[1], |y| y.fft(None, 0, n))].concat()
        })
    }),
    ("transform_back", |x| {
        for_each_norm(|n| {
            [orders_of(&x[0], |x| x.ifft(None, -1, n)), orders_of(&x[1], |y| y.ifft(None, 0, n))].concat()
        })
    }),
    ("transform_cut_and_padded", |x| {
        let both = |n| {
            [orders_of(&x[0], |x| x.fft(n, -1, PLAIN)), orders_of(&x[0], |x| x.ifft(n, -1, PLAIN))].concat()
        };
        [both(3), both(8)].concat()
    }),
    ("transform_of_real", |x| {
        for_each_norm(|n| {
            [orders_of(&x[0], |x| x.rfft(None, -1, n)), orders_of(&x[1], |y| y.rfft(None, -1, n))].concat()
        })
    }),
    ("transform_of_real_cut_and_padded", |x| {
        [2, 5].into_iter().flat_map(|n| orders_of(&x[0], |x| x.rfft(n, 0, PLAIN))).collect()
    }),
    ("transform_to_real", |x| {
        for_each_norm(|n| {
            [orders_of(&x[0], |x| x.irfft(6, -1, n)), orders_of(&x[0], |x| x.irfft(7, -1, n))].concat()
        })
    }),
    ("transform_to_real_cut_and_padded", |x| {
        [(4, -1), (9, -1), (4, 0)]
            .into_iter()
            .flat_map(|(n, a)| orders_of(&x[0], |x| x.irfft(n, a, PLAIN)))
            .collect()
    }),
    ("transform_of_many_axes", |x| {
        let forward = for_each_norm(|n| orders_of(&x[0], |x| x.fftn((), n)));
        let back = for_each_norm(|n| orders_of(&x[0], |x| x.ifftn((), n)));
        [forward, back, orders_of(&x[0], |x| x.fft2(PLAIN)), orders_of(&x[0], |x| x.ifft2(PLAIN))].concat()
    }),
    ("transform_of_many_real_axes", |x| {
        let forward = for_each_norm(|n| orders_of(&x[0], |x| x.rfftn([0, 2], n)));
        [forward, for_each_norm(|n| orders_of(&x[1], |y| y.irfftn((), 5, n)))].concat()
    }),
    ("shifted", |x| {
        let frequencies = [Tensor::fftfreq(8, 0.5), Tensor::rfftfreq(8, 1.0)].map(|t| t.to_dtype(DType::F64));
        let moved = vec![x[0].fft(None, -1, PLAIN).fftshift(()), x[0].ifftshift(()), x[1].fftshift(1)];
        [moved, frequencies.to_vec()].concat()
    }),
    ("convolution_by_spectra", |x| {
        let energy = |x: &Tensor, k: &Tensor| circular_convolution(x, k).tanh().square().sum(());
        let slopes = ds(&refs(x), |x| energy(&x[0], &x[1]));
        [vec![circular_convolution(&x[0], &x[1])], slopes, vec![hessian(&x[0], |a| energy(a, &x[1]))]]
            .concat()
    }),
    ("spectra_of_examples", |x| {
        let many = vmap(&refs(x), &[Some(0), None], |x| ds(&[&x[0], &x[1]], |x| loudness(&x[0], &x[1])));
        let shared = d(&x[1], |k| batch(&[&x[0]], |x| loudness(&x[0], k)).sum(()));
        let bent = batch(&[&x[0]], |x1| hessian(&x[1], |k| loudness(k, &x1[0])));
        [many, vec![shared, bent]].concat()
    }),
];
