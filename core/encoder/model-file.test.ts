/** Writing and reading the model file, and the errors for an incomplete or damaged one. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { randomModel, randomVocabulary } from '../../test/encoder/random-model.ts'
import { DIMENSIONS, modelLayout, modelTensors, WORD_WEIGHTS } from './minilm.ts'
import { openWords, readModel, writeModel } from './model-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'portolan-model-'))
const file = join(folder, 'minilm.bin')
let model: Uint8Array
before(() => {
  model = randomModel()
})
after(() => rmSync(folder, { recursive: true }))

function read(bytes: Uint8Array): { vocabulary: string; tensors: Uint8Array } {
  writeFileSync(file, bytes)
  let tensors = new Uint8Array()
  const vocabulary = readModel(file, length => {
    tensors = new Uint8Array(length)
    return tensors
  })
  return { vocabulary, tensors }
}

test('a written model is read back, with each tensor at its offset', () => {
  const { vocabulary, tensors } = read(model)
  assert.equal(vocabulary, randomVocabulary())
  assert.ok(Buffer.from(tensors).equals(model.subarray(-tensors.length)))
  const { offsets, bytes } = modelLayout()
  assert.equal(tensors.length, bytes)
  const scale = offsets.get('words.scales') as number
  const row = new Int8Array(DIMENSIONS)
  openWords(file)(2, row)
  const words = model.subarray(-bytes - WORD_WEIGHTS.bytes, -bytes)
  assert.deepEqual([...new Uint8Array(row.buffer)], [...words.subarray(2 * DIMENSIONS, 3 * DIMENSIONS)])
  assert.equal(new DataView(tensors.buffer).getFloat32(scale, true), Math.fround(0.002))
})

test('equal weights give equal files, which begin with a readable title', () => {
  assert.ok(Buffer.from(randomModel()).equals(model))
  assert.match(
    Buffer.from(model.subarray(0, 80)).toString(),
    /^Portolan sentence encoder all-MiniLM-L6-v2\/int8\/[0-9a-f]{8}, Apache-2.0\n/,
  )
})

test('the error for a missing, truncated, damaged or foreign file says to run `portolan model`', () => {
  const changed = (at: number) => {
    const copy = Uint8Array.from(model)
    copy[at] = (copy[at] as number) ^ 1
    return copy
  }
  const refused = (bytes: Uint8Array, message: RegExp) =>
    assert.throws(
      () => read(bytes),
      (error: Error) => {
        assert.match(error.message, message)
        assert.match(error.message, /run `portolan model`/)
        return true
      },
    )
  rmSync(file, { force: true })
  assert.throws(() => readModel(file, length => new Uint8Array(length)), {
    code: 'io',
    message: /is not there/,
  })
  refused(new Uint8Array(), /is cut off/)
  refused(model.subarray(0, 1_000), /is cut off/)
  refused(model.subarray(0, -1), /is cut off/)
  refused(changed(0), /is not a model file of this version/)
  refused(changed(80), /is damaged/)
  refused(changed(100), /is damaged/)
  refused(changed(200), /is damaged/)
  refused(changed(1_000_000), /is damaged/)
  refused(changed(model.length - 1), /is damaged/)
})

test('a missing tensor, or one of another size, is refused', () => {
  const name = modelTensors()[0]?.name ?? ''
  assert.throws(() => writeModel(new Map([[name, new Uint8Array(7)]]), new Uint8Array()), { code: 'io' })
})
