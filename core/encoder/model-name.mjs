/** The names that change with the weights. Plain JavaScript, because scripts that run on Node 20 import it. */

/** sha256, in hex, of adapter.safetensors; scripts/training/export.py prints it. */
export const ADAPTER_SHA256 = 'ae11e725a9358e7c0360f21895f3ebcb6a3715c8740a242c7f5606a77215080b'

/** Tells apart the model files, vectors and caches of different adapters. */
export const ADAPTER_ID = ADAPTER_SHA256.slice(0, 8)

export const MODEL_FILE = `minilm-${ADAPTER_ID}.bin`
