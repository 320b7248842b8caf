"""Compares quantisation with the package `gguf`: bytes of formats that it writes, values of formats that it reads."""

import numpy as np
import pytest

import gradus
from oracle import array, needs, needs_torch, peer, torch

gguf = peer("gguf")
needs_gguf = needs("gguf")

RNG = np.random.default_rng(0)
VALUES = [RNG.normal(size=(16, 256)), RNG.uniform(-1, 1, (16, 256)), RNG.standard_t(2, (16, 256)), np.zeros((1, 256)),
          np.full((1, 256), 0.3), RNG.normal(size=(16, 256)) * 1e-3, np.round(RNG.normal(size=(16, 256)) * 4) / 8]


@needs_gguf
@pytest.mark.parametrize("format", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"])
def test_bytes_are_those_of_gguf(format):
    kind = gguf.GGMLQuantizationType[format]
    for x in VALUES:
        x = x.astype("f4")
        data, report = gradus.models.quantize(gradus.tensor(x), format)
        np.testing.assert_array_equal(array(data), gguf.quants.quantize(x, kind))
        back = gguf.quants.dequantize(array(data), kind)
        difference = x.astype("f8") - back
        assert report["rms"] == pytest.approx(np.sqrt((difference**2).mean()), abs=1e-12)
        assert report["largest"] == pytest.approx(np.abs(difference).max(), abs=1e-12)
        if x.any():
            assert report["relative"] == pytest.approx(np.sqrt((difference**2).sum() / (x.astype("f8") ** 2).sum()), abs=1e-9)


@needs_gguf
@pytest.mark.parametrize("format, bound", [("Q2_K", 0.285), ("Q3_K", 0.172), ("Q4_K", 0.1), ("Q5_K", 0.053), ("Q6_K", 0.031)])
def test_gguf_reads_large_blocks_with_small_errors(format, bound):
    kind = gguf.GGMLQuantizationType[format]
    for x in VALUES:
        x = x.astype("f4")
        data, report = gradus.models.quantize(gradus.tensor(x), format)
        back = gguf.quants.dequantize(array(data), kind)
        np.testing.assert_array_equal(array(gradus.models.dequantize(data, format)), back)
        assert report["relative"] <= bound


def test_int8_groups_round_to_nearest():
    x = VALUES[0].astype("f4")
    data, _ = gradus.models.quantize(gradus.tensor(x), "INT8")
    assert data.shape == (16, 4 * 68)
    blocks = array(data).reshape(-1, 68)
    scale, q = blocks[:, :4].copy().view("<f4"), blocks[:, 4:].view("i1")
    groups = x.reshape(-1, 64)
    np.testing.assert_array_equal(scale[:, 0], np.abs(groups).max(1) / np.float32(127))
    assert (np.abs(q * scale - groups) <= scale / 2 * (1 + 1e-6)).all()
    data, report = gradus.models.quantize(gradus.tensor(x), "int4")
    assert array(gradus.models.dequantize(data, "int4")).shape == x.shape and 0.02 < report["relative"] < 0.1


@needs_torch
def test_eight_bit_floats_are_those_of_torch():
    x = VALUES[2].astype("f4")
    data, _ = gradus.models.quantize(gradus.tensor(x), "FP8")
    blocks = array(data).reshape(-1, 68)
    scale = blocks[:, :4].copy().view("<f4")
    right = torch.tensor(x.reshape(-1, 64) / scale).to(torch.float8_e4m3fn)
    np.testing.assert_array_equal(blocks[:, 4:], right.view(torch.uint8).numpy())
    values = (right.float() * torch.tensor(scale)).reshape(x.shape).numpy()
    np.testing.assert_array_equal(array(gradus.models.dequantize(data, "FP8")), values)


def test_values_without_a_quantised_form_are_refused():
    for x, format, why in [(np.ones(31), "Q8_0", "multiple of 32"), (np.full(32, np.nan), "Q8_0", "not finite"),
                           (np.ones(32), "Q9", "is not one of"), (np.full(256, 1e38), "Q4_K", "needs a scale beyond the range of f16")]:
        with pytest.raises(Exception, match=why):
            gradus.models.quantize(gradus.tensor(x.astype("f4")), format)
    with pytest.raises(Exception, match="only floats"):
        gradus.models.quantize(gradus.tensor(np.ones(32, dtype="i8")), "Q8_0")
