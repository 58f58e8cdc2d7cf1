"""Converts the output of train.py into the product's adapter, with int8 factors. README.md says how to run it."""
import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from minilm import LAYERS, MATRICES, RANK

INT8_MAX = 127


def int8_factors(a, b):
    """B·A as two int8 factors with one scale per rank.

    The factors are the singular vectors of the product. The singular values are in the scales, so that rounding affects both factors equally.
    """
    left, values, right = np.linalg.svd(b.astype(np.float64) @ a.astype(np.float64), full_matrices=False)
    left, values, right = left[:, :RANK], values[:RANK], right[:RANK]
    # The sign of a singular vector is arbitrary: the largest element of each is made positive, so that equal input gives equal bytes.
    signs = np.sign(left[np.abs(left).argmax(0), np.arange(RANK)])
    left, right = left * signs, right * signs[:, None]
    max_left, max_right = np.abs(left).max(0), np.abs(right).max(1)
    return {
        "lora_A": np.rint(right / max_right[:, None] * INT8_MAX).astype(np.int8),
        "lora_B": np.rint(left / max_left * INT8_MAX).astype(np.int8),
        "scales": (values * max_left * max_right / INT8_MAX**2).astype(np.float32),
    }


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("change", help="file with the changes (.npz), made by train.py")
    options.add_argument("out", help="file for the adapter (.safetensors)")
    options.add_argument("--provenance", default="{}", help="JSON that says how it was trained")
    given = options.parse_args()
    change, tensors = np.load(given.change), {}
    for layer in range(LAYERS):
        for matrix in MATRICES:
            factors = int8_factors(change[f"{layer}.{matrix}.A"], change[f"{layer}.{matrix}.B"])
            for name, values in factors.items():
                tensors[f"encoder.layer.{layer}.{matrix}.weight.{name}"] = np.ascontiguousarray(values)
    # Only one key, since safetensors writes several keys in random order.
    content = save(tensors, {"provenance": json.dumps(json.loads(given.provenance), sort_keys=True)})
    Path(given.out).write_bytes(content)
    print(hashlib.sha256(content).hexdigest())


main()
