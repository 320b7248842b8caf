//! Fourier transforms. Numbers of a program are real by default, so a spectrum is two tensors: real and imaginary
//! part.

use crate::builtin::param::{Is, Key, Params, needed, number, optional, tensor, word};
use crate::builtin::table::{NO, NONE, X, XY, along, positional, resize};
use crate::builtin::{Builtin, Derivative, Settings};
use crate::syntax::limit::bounded;
use gradus_tensor::{FftNorm, Tensor};

/// A real part and an optional imaginary part.
const BOTH: Params = &[tensor("x"), tensor("imag").maybe()];
pub(super) const PART: Key = word("part", &["real", "imag"]);
const NORM: Key = word("norm", &["backward", "ortho", "forward"]);
const N: Key = optional("n", Is::Whole);

pub(crate) static TABLE: &[Builtin] = &[
    along("fft", BOTH, &[PART, NORM], |a, s| part(&complex(a).fftn(s.axes(), norm(s)), s)).real(),
    along("ifft", BOTH, &[PART, NORM], |a, s| part(&complex(a).ifftn(s.axes(), norm(s)), s)).real(),
    resize("rfft", X, &[PART, N, NORM], |a, s| part(&a[0].rfft(length(s), s.axis(), norm(s)), s)).real(),
    resize("irfft", BOTH, &[N, NORM], |a, s| complex(a).irfft(length(s), s.axis(), norm(s))).real(),
    along("fftshift", X, NO, |a, s| a[0].fftshift(s.axes())),
    along("ifftshift", X, NO, |a, s| a[0].ifftshift(s.axes())),
    positional("fftfreq", NONE, FREQUENCIES, |_, s| {
        bounded(&[s.whole("n")], || Tensor::fftfreq(s.whole("n"), s.number("d")).to_dtype(s.float))
    })
    .with(Derivative::Stop),
    positional("rfftfreq", NONE, FREQUENCIES, |_, s| {
        bounded(&[s.whole("n")], || Tensor::rfftfreq(s.whole("n"), s.number("d")).to_dtype(s.float))
    })
    .with(Derivative::Stop),
    along("fftfilter", XY, NO, |a, s| {
        let [x, y] = [a[0], a[1]].map(|t| t.rfft(None, s.axis(), FftNorm::Backward));
        (x * y).irfft(a[0].dim(s.axis()), s.axis(), FftNorm::Backward)
    }),
];

const FREQUENCIES: &[Key] = &[needed("n", Is::Whole), number("d", 1.0)];

fn complex(a: &[&Tensor]) -> Tensor {
    a.get(1).map_or_else(|| a[0].clone(), |imag| a[0].complex(*imag))
}

/// Returns the part of a complex tensor that the setting `part` selects.
pub(super) fn part(z: &Tensor, s: &Settings) -> Tensor {
    if s.word("part").starts_with("imag") { z.imag() } else { z.real() }
}

fn norm(s: &Settings) -> FftNorm {
    match s.word("norm") {
        "ortho" => FftNorm::Ortho,
        "forward" => FftNorm::Forward,
        _ => FftNorm::Backward,
    }
}

fn length(s: &Settings) -> Option<usize> {
    s.optional("n").map(|n| n as usize)
}
