"""Writes formats.gguf with the package `gguf`: a tensor of random blocks for each format, and its values as `f32` by that package.

Needs `pip install gguf numpy`. The file also has a metadata entry of every type.
"""

from pathlib import Path

import gguf
import numpy as np

rng = np.random.default_rng(26)
formats = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]
# Byte offsets, in a block, of the scales in half precision.
halves = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}

writer = gguf.GGUFWriter(str(Path(__file__).parent / "formats.gguf"), "llama")
writer.add_uint8("a.u8", 200)
writer.add_int8("a.i8", -100)
writer.add_uint16("a.u16", 60000)
writer.add_int16("a.i16", -30000)
writer.add_uint32("a.u32", 4000000000)
writer.add_int32("a.i32", -2000000000)
writer.add_uint64("a.u64", 1 << 63)
writer.add_int64("a.i64", -(1 << 62))
writer.add_float32("a.f32", 0.1)
writer.add_float64("a.f64", 0.1)
writer.add_bool("a.bool", True)
writer.add_string("a.string", "naïve ☃")
writer.add_array("a.strings", ["", "Ġthe", "é"])
writer.add_array("a.integers", [1, -2, 3])
writer.add_array("a.floats", [0.5, -1.5])
writer.add_array("a.nested", [[1, 2], [3]])
for name in formats:
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    rows, blocks = 3, max(1, 512 // elements)
    raw = rng.integers(0, 256, (rows, blocks, size), dtype=np.uint8)
    if name in halves:
        for at in halves[name]:
            scale = rng.normal(0, 0.1, (rows, blocks, 1)).astype(np.float16)
            scale[0, 0] = -0.0
            raw[..., at:at + 2] = scale.view(np.uint8)
    else:
        plain = rng.normal(0, 1, (rows, blocks)).astype(np.float32)
        raw = gguf.quantize(plain, kind).view(np.uint8)
    raw = raw.reshape(rows, -1)
    expected = gguf.dequantize(raw, kind).astype(np.float32)
    writer.add_tensor(name, raw, raw_shape=raw.shape, raw_dtype=kind)
    writer.add_tensor(name + ".expected", expected)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
