/** The names that change with the weights. Plain JavaScript, because scripts that run on Node 20 import it. */

/** sha256, in hex, of adapter.safetensors; scripts/training/export.py prints it. */
export const ADAPTER_SHA256 = '8e5188fbbb2bed5813c1c067c84921e21fda08890e818c254028571caf203468'

/** Tells apart the model files, vectors and caches of different adapters. */
export const ADAPTER_ID = ADAPTER_SHA256.slice(0, 8)

export const MODEL_FILE = `minilm-${ADAPTER_ID}.bin`
