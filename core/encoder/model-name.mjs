/** The names that change with the weights. Plain JavaScript, because scripts that run on Node 20 import it. */

/** sha256, in hex, of adapter.safetensors; scripts/training/export.py prints it. */
export const ADAPTER_SHA256 = '71c540fc4f7992ac967501802045f9d5e0dd693c4aea1897cc148eeeb2c75aed'

/** Tells apart the model files, vectors and caches of different adapters. */
export const ADAPTER_ID = ADAPTER_SHA256.slice(0, 8)

export const MODEL_FILE = `minilm-${ADAPTER_ID}.bin`
