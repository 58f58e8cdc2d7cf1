/** The names that change with the weights. Plain JavaScript, because scripts that run on Node 20 import it. */

/** sha256, in hex, of adapter.safetensors; scripts/training/export.py prints it. */
export const ADAPTER_SHA256 = 'b52fd681ba5e0aa7ce1ef559a5af3cdc7d886a58ba561b546f47ed0419f63764'

/** Tells apart the model files, vectors and caches of different adapters. */
export const ADAPTER_ID = ADAPTER_SHA256.slice(0, 8)

export const MODEL_FILE = `minilm-${ADAPTER_ID}.bin`
