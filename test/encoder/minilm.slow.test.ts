/** The real model: made as it was made before, and as near to the plain forward pass as its eight bits allow. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { unpackVectors, type Vector } from '../../core/catalog/vectors.ts'
import { makeModel } from '../../core/encoder/quantize-model.ts'
import { finish, loadSentences } from '../../core/encoder/sentences.ts'
import { skipModel, testModelFile } from '../support/model.ts'
import { KNOWN_TEXTS, knownVectors, plainVectors } from './known-vectors.ts'

/** Of minilm.bin: another one where the format or the way of rounding changes. */
const MODEL_SHA256 = '5195466b8ae47257eae00db4b8758322b53e718e134a574c15dac8270582b113'
const modelFile = testModelFile()
const skip = skipModel()
/** A folder with model.safetensors and vocab.txt, for who changes how the model is made. */
const weights = process.env.PORTOLAN_TEST_WEIGHTS

function cosine(left: Vector, right: Vector): number {
  const dot = (a: Vector, b: Vector) =>
    a.values.reduce((sum, value, i) => sum + value * (b.values[i] as number), 0)
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right))
}

test('the model has the bytes that are known', { skip }, () => {
  assert.equal(createHash('sha256').update(readFileSync(modelFile)).digest('hex'), MODEL_SHA256)
})

test('every vector is nearly that of the plain forward pass', { skip }, () => {
  const { query } = loadSentences(modelFile)
  const known = [...knownVectors().values()]
  assert.equal(known.length, KNOWN_TEXTS.length)
  for (const [at, text] of KNOWN_TEXTS.entries()) {
    const found = cosine(finish(query(text)), known[at] as Vector)
    assert.ok(found >= 0.999, `${text}: ${found}`)
  }
})

test('a text has the same bytes again, in another instance, and with a query between all its steps', {
  skip,
}, () => {
  const texts = KNOWN_TEXTS.map(full => ({ full, name: full.slice(0, 12) }))
  const [one, other] = [loadSentences(modelFile), loadSentences(modelFile)]
  for (const text of texts) {
    const vector = finish(one.text(text))
    const between = () => finish(other.query('something else entirely, and longer than it need be'))
    assert.deepEqual(finish(other.text(text), between), vector)
  }
})

test('what means the same is nearer than what is written alike', { skip }, () => {
  const { query } = loadSentences(modelFile)
  const [asked, meant, alike] = ['make a bug report', 'create an issue', 'make a weather report'].map(text =>
    finish(query(text)),
  ) as [Vector, Vector, Vector]
  assert.ok(cosine(asked, meant) > cosine(asked, alike))
})

test('the published weights make the known bytes, and the known vectors', {
  skip: !weights && 'PORTOLAN_TEST_WEIGHTS names no folder with the published weights',
}, () => {
  const folder = weights as string
  const model = makeModel(
    readFileSync(join(folder, 'model.safetensors')),
    readFileSync(join(folder, 'vocab.txt')),
  )
  assert.equal(createHash('sha256').update(model).digest('hex'), MODEL_SHA256)
  const plain = unpackVectors(plainVectors(folder))
  for (const [key, known] of knownVectors()) assert.ok(cosine(known, plain.get(key) as Vector) > 0.9999)
})
