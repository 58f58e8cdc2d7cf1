/** The names that change with the weights. Plain JavaScript, because scripts that run on Node 20 import it. */

/** sha256, in hex, of adapter.safetensors; scripts/training/export.py prints it. */
export const ADAPTER_SHA256 = 'a12809f3e7d4c571dd38cd0a6b056c2a9670e4304be2a9777f1d8ae6b511d1f7'

/** Tells apart the model files, vectors and caches of different adapters. */
export const ADAPTER_ID = ADAPTER_SHA256.slice(0, 8)

export const MODEL_FILE = `minilm-${ADAPTER_ID}.bin`
