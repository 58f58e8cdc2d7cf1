"""Converts one or more changes, their mean, into the product's adapter, with int8 factors. README.md says how to run it."""
import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from minilm import LAYERS, MATRICES, read_change

# The mean of runs of TRAINED_RANK has a higher rank; what is cut off is small.
ADAPTER_RANK = 24
INT8_MAX = 127


def int8_factors(product):
    """A matrix as two int8 factors with one scale per rank.

    The factors are the singular vectors of the matrix. The singular values are in the scales, so that rounding affects both factors equally.
    """
    left, values, right = np.linalg.svd(product, full_matrices=False)
    left, values, right = left[:, :ADAPTER_RANK], values[:ADAPTER_RANK], right[:ADAPTER_RANK]
    # The sign of a singular vector is arbitrary: the largest element of each is made positive, so that equal input gives equal bytes.
    signs = np.sign(left[np.abs(left).argmax(0), np.arange(ADAPTER_RANK)])
    left, right = left * signs, right * signs[:, None]
    max_left, max_right = np.abs(left).max(0), np.abs(right).max(1)
    return {
        "lora_A": np.rint(right / max_right[:, None] * INT8_MAX).astype(np.int8),
        "lora_B": np.rint(left / max_left * INT8_MAX).astype(np.int8),
        "scales": (values * max_left * max_right / INT8_MAX**2).astype(np.float32),
    }


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("changes", nargs="+", help="outputs of train.py (.npz), and adapters (.safetensors)")
    options.add_argument("--out", required=True, help="file for the adapter (.safetensors)")
    options.add_argument("--provenance", default="{}", help="JSON that says how it was trained")
    given = options.parse_args()
    changes, tensors = [read_change(path) for path in given.changes], {}
    for layer in range(LAYERS):
        for matrix in MATRICES:
            name = f"{layer}.{matrix}"
            products = [change[f"{name}.B"].numpy().astype(np.float64) @ change[f"{name}.A"].numpy().astype(np.float64) for change in changes]
            for part, values in int8_factors(np.mean(products, axis=0)).items():
                tensors[f"encoder.layer.{name}.weight.{part}"] = np.ascontiguousarray(values)
    # Only one key, since safetensors writes several keys in random order.
    content = save(tensors, {"provenance": json.dumps(json.loads(given.provenance), sort_keys=True)})
    Path(given.out).write_bytes(content)
    print(hashlib.sha256(content).hexdigest())


main()
