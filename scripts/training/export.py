"""Writes the product's adapter from what train.py made, as int8. README.md beside it says how to run it."""
import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from minilm import LAYERS, MATRICES, RANK

MOST = 127


def halves(a, b):
    """B·A as int8 factors with one scale per rank.

    The singular values of the product are divided between both factors and taken out as scales, so that neither factor loses more by
    rounding than the other.
    """
    left, values, right = np.linalg.svd(b.astype(np.float64) @ a.astype(np.float64), full_matrices=False)
    left, values, right = left[:, :RANK], values[:RANK], right[:RANK]
    # The sign of a singular vector is arbitrary: the largest element of each is made positive, so that equal input gives equal bytes.
    signs = np.sign(left[np.abs(left).argmax(0), np.arange(RANK)])
    left, right = left * signs, right * signs[:, None]
    most_left, most_right = np.abs(left).max(0), np.abs(right).max(1)
    return {
        "lora_A": np.rint(right / most_right[:, None] * MOST).astype(np.int8),
        "lora_B": np.rint(left / most_left * MOST).astype(np.int8),
        "scales": (values * most_left * most_right / MOST**2).astype(np.float32),
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
            factors = halves(change[f"{layer}.{matrix}.A"], change[f"{layer}.{matrix}.B"])
            for name, values in factors.items():
                tensors[f"encoder.layer.{layer}.{matrix}.weight.{name}"] = np.ascontiguousarray(values)
    # One key only: safetensors writes several in random order.
    content = save(tensors, {"provenance": json.dumps(json.loads(given.provenance), sort_keys=True)})
    Path(given.out).write_bytes(content)
    print(hashlib.sha256(content).hexdigest())


main()
