/** The errors for weights of another model. The result for the right weights is tested in test/encoder. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomVocabulary } from '../../test/encoder/random-model.ts'
import { safetensorsFile, safetensorsOf } from '../../test/encoder/safetensors-file.ts'
import { makeModel } from './quantize-model.ts'

const ADAPTER = safetensorsOf({})
const weights = (header: object) => safetensorsFile(header, Buffer.alloc(0))

test('the vocabulary of another model is refused', () => {
  assert.throws(() => makeModel(weights({}), Buffer.from('[PAD]\n[UNK]\n'), ADAPTER), {
    code: 'io',
    message: /vocabulary has 2 words, not 30522/,
  })
})

test('weights of another shape are refused', () => {
  const name = 'embeddings.word_embeddings.weight'
  const header = { [name]: { dtype: 'F32', shape: [30_522, 768], data_offsets: [0, 93_763_584] } }
  assert.throws(() => makeModel(weights(header), Buffer.from(randomVocabulary()), ADAPTER), {
    code: 'io',
    message: /no tensor embeddings.word_embeddings.weight of 30522 × 384/,
  })
})
