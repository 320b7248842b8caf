"""Writes arrays.npz and arrays_compressed.npz: arrays written by NumPy, for tests of the readers.

Run it manually, with numpy installed, from the repository root: python tests/golden/arrays.py
"""

import os

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
x = np.arange(6).reshape(2, 3)
arrays = {dtype: (x % 2).astype(dtype) if dtype == "bool" else x.astype(dtype) for dtype in
          ["float32", "float64", "float16", "int8", "uint8", "int32", "uint32", "int64", "bool", "complex64", "complex128"]}
arrays.update(columns=np.asfortranarray(x.astype("float32")), scalar=np.float64(2.5), empty=np.zeros((0, 3), "float32"))
np.savez(os.path.join(here, "arrays.npz"), **arrays)
np.savez_compressed(os.path.join(here, "arrays_compressed.npz"), **arrays)
