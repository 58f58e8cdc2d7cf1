/** Adding the adapter to weights, and refusing one that is incomplete; also the adapter that is in the repository. */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { test } from 'node:test'
import { safetensorsOf } from '../../test/encoder/safetensors-file.ts'
import { ADAPTER_RANK, adapted } from './adapter.ts'
import { DIMENSIONS, INNER_DIMENSIONS, LAYERS, MODEL_ID } from './minilm.ts'
import { ADAPTER_ID, MODEL_FILE } from './model-name.mjs'
import { readAdapter } from './read-adapter.ts'

const NAME = 'encoder.layer.5.output.dense.weight'
const zeros = (_name: string, shape: readonly number[]) =>
  new Float32Array(shape.reduce((product, side) => product * side, 1))

test('the product of the scaled factors is added to the weights', () => {
  const a = Int8Array.from({ length: ADAPTER_RANK * INNER_DIMENSIONS }, (_, at) => (at % 255) - 127)
  const b = Int8Array.from({ length: DIMENSIONS * ADAPTER_RANK }, (_, at) => ((at * 7) % 255) - 127)
  const scales = Float32Array.from({ length: ADAPTER_RANK }, (_, at) => 2 ** -at)
  const adapter = safetensorsOf({
    [`${NAME}.lora_A`]: { shape: [ADAPTER_RANK, INNER_DIMENSIONS], values: a },
    [`${NAME}.lora_B`]: { shape: [DIMENSIONS, ADAPTER_RANK], values: b },
    [`${NAME}.scales`]: { shape: [ADAPTER_RANK], values: scales },
  })
  const ones = (name: string, shape: readonly number[]) => zeros(name, shape).fill(1)
  const weights = adapted(ones, adapter)(NAME, [DIMENSIONS, INNER_DIMENSIONS])
  for (const [row, column] of [
    [0, 0],
    [7, 1000],
    [DIMENSIONS - 1, INNER_DIMENSIONS - 1],
  ] as const) {
    let expected = 1
    for (let rank = 0; rank < ADAPTER_RANK; rank++)
      expected +=
        (b[row * ADAPTER_RANK + rank] as number) *
        (scales[rank] as number) *
        (a[rank * INNER_DIMENSIONS + column] as number)
    assert.equal(weights[row * INNER_DIMENSIONS + column], Math.fround(expected))
  }
})

test('an adapter without one of its matrices is refused; other tensors pass unchanged', () => {
  const read = adapted(zeros, safetensorsOf({}))
  assert.deepEqual(read('embeddings.LayerNorm.weight', [2]), new Float32Array(2))
  assert.throws(() => read(NAME, [DIMENSIONS, INNER_DIMENSIONS]), {
    code: 'io',
    message: /no tensor.*lora_A/,
  })
})

test("the adapter of the repository changes the attention of every layer slightly, and its id is in the model's names", () => {
  const read = adapted(zeros, readAdapter())
  for (let layer = 0; layer < LAYERS; layer++)
    for (const name of ['self.query', 'self.key', 'self.value', 'output.dense']) {
      const change = read(`encoder.layer.${layer}.attention.${name}.weight`, [DIMENSIONS, DIMENSIONS])
      const most = change.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      assert.ok(most > 0.001 && most < 1, `${layer}.${name}: ${most}`)
    }
  const { size } = statSync(new URL('./adapter.safetensors', import.meta.url))
  assert.ok(size < 2_000_000, `${size} bytes`)
  assert.ok(MODEL_ID.endsWith(`/${ADAPTER_ID}`))
  assert.equal(MODEL_FILE, `minilm-${ADAPTER_ID}.bin`)
})
