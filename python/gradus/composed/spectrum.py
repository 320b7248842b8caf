"""Short-time Fourier transforms."""

from .. import _native
from .._native import arange, cat, complex, pad, stack, zeros


def _window(window, win_length, n_fft, dtype):
    """Returns a window padded to `n_fft` samples."""
    win_length = n_fft if win_length is None else win_length
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is None:
        window = _native.ones(win_length, dtype=dtype)
    if tuple(window.shape) != (win_length,):
        raise RuntimeError(f"expected a 1D window tensor of size equal to win_length={win_length}, but got window with size {tuple(window.shape)}")
    before = (n_fft - win_length) // 2
    return pad(window, (before, n_fft - win_length - before))


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
         return_complex=None, align_to_window=None):
    """Spectra of frames of `n_fft` samples, `hop_length` apart: `(…, frequencies, frames)`.

    With `align_to_window`, without `center`, the windows and not the frames begin at the first sample and end by the last one.
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if return_complex is None and not input.is_complex():
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that "
                           "return_complex=True in a future PyTorch release.")
    real = not (input.is_complex() or window is not None and window.is_complex())
    onesided = real if onesided is None else onesided
    if onesided and not real:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    hop = n_fft // 4 if hop_length is None else hop_length
    x = input if input.dim() == 2 else input.unsqueeze(0)
    if center:
        x = pad(x.unsqueeze(0), (n_fft // 2, n_fft // 2), mode=pad_mode).squeeze(0)
    if align_to_window and win_length is not None and win_length < n_fft:
        before = (n_fft - win_length) // 2
        x = pad(x, (before, n_fft - win_length - before))
    if hop <= 0 or not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[-1]} and hop_length > 0, but got n_fft={n_fft}, hop_length={hop}")
    pieces = x.unfold(-1, n_fft, hop) * _window(window, win_length, n_fft, input.real.dtype)
    spectra = _native.rfft(pieces) if onesided else _native.fft(pieces)
    spectra = (spectra / n_fft**0.5 if normalized else spectra).transpose(-2, -1)
    spectra = spectra if input.dim() == 2 else spectra.squeeze(0)
    pairs = return_complex is not None and not return_complex
    return stack([spectra.real, spectra.imag], -1) if pairs else spectra


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):
    """Computes the inverse of `stft`: the signal whose spectra are nearest in least squares."""
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    hop = n_fft // 4 if hop_length is None else hop_length
    x = (input if input.dim() == 3 else input.unsqueeze(0)).transpose(-2, -1)
    count, bins = x.shape[-2:]
    half = bins != n_fft if onesided is None else onesided
    if x.numel() == 0:
        raise RuntimeError("istft: input tensor cannot be empty.")
    if bins != (n_fft // 2 + 1 if half else n_fft):
        rule = "n_fft / 2 + 1 when onesided=True" if half else "n_fft when onesided=False"
        raise RuntimeError(f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match {rule}, but got {bins} and n_fft={n_fft}")
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if not 0 < hop <= (n_fft if win_length is None else win_length):
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, but got hop_length={hop}")
    if length is not None:
        if length <= 0:
            raise RuntimeError(f"istft: expected length > 0, but got length={length}")
        _native._reserve(length * x.shape[0], x.element_size())
    x = x * n_fft**0.5 if normalized else x
    # A real signal is computed from the first half of its spectrum; the other half is ignored.
    pieces = _native.ifft(x) if return_complex else _native.irfft(x[..., :n_fft // 2 + 1], n=n_fft)
    window = _window(window, win_length, n_fft, x.real.dtype)
    total = n_fft + hop * (count - 1)
    places = (arange(count).unsqueeze(1) * hop + arange(n_fft)).reshape(-1)

    def overlap_add(rows):
        """Adds overlapping frames to one signal."""
        if rows.is_complex():
            return complex(overlap_add(rows.real), overlap_add(rows.imag))
        flat = rows.reshape(rows.shape[0], -1)
        return zeros((flat.shape[0], total), dtype=flat.dtype).scatter_add(1, places.expand(tuple(flat.shape)), flat)

    signal, weight = overlap_add(pieces * window), overlap_add((window * window).expand(1, count, n_fft))
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    if not weight._is_traced and bool((weight[:, start:min(end, total)].abs() < 1e-11).any()):
        raise RuntimeError("istft: window overlap add min: 1")
    signal = signal[:, start:end] / weight[:, start:end]
    if length is not None and signal.shape[-1] < length:
        signal = cat([signal, zeros((signal.shape[0], length - signal.shape[-1]), dtype=signal.dtype)], 1)
    return signal if input.dim() == 3 else signal.squeeze(0)
