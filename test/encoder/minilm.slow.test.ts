/** The real model: its file has the known bytes, and its vectors are as near to the plain forward pass as eight bits allow. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { unpackVectors, type Vector } from '../../core/catalog/vectors.ts'
import { makeModel } from '../../core/encoder/quantize-model.ts'
import { readAdapter } from '../../core/encoder/read-adapter.ts'
import { finish, loadSentences } from '../../core/encoder/sentences.ts'
import { skipModel, testModelFile } from '../support/model.ts'
import { KNOWN_TEXTS, knownVectors, plainVectors } from './known-vectors.ts'

/** The digest of the model file: it changes with the adapter, the format and the way of rounding. */
const MODEL_SHA256 = '5aa4256745d12a5306a50071f297002f9dc759c95b59fcf94af81d2aa2391f8f'
const modelFile = testModelFile()
const skip = skipModel()
/** A folder with model.safetensors and vocab.txt, for people who change how the model is made. */
const weights = process.env.PORTOLAN_TEST_WEIGHTS

function cosine(left: Vector, right: Vector): number {
  const dot = (a: Vector, b: Vector) =>
    a.values.reduce((sum, value, i) => sum + value * (b.values[i] as number), 0)
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right))
}

test('the model file has the known digest', { skip }, () => {
  assert.equal(createHash('sha256').update(readFileSync(modelFile)).digest('hex'), MODEL_SHA256)
})

test('every vector is nearly that of the plain forward pass', { skip }, () => {
  const { query } = loadSentences(modelFile)
  const known = [...knownVectors().values()]
  assert.equal(known.length, KNOWN_TEXTS.length)
  for (const [at, text] of KNOWN_TEXTS.entries()) {
    const found = cosine(finish(query(text)), known[at] as Vector)
    // Rounding to eight bits changes texts most whose characters the tokenizer does not know.
    assert.ok(found >= (/\p{Script=Han}/u.test(text) ? 0.998 : 0.999), `${text}: ${found}`)
  }
})

test('a text has the same vector in another instance, even if queries interrupt its encoding', {
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

test('a text with a similar meaning is nearer than one that shares a word', { skip }, () => {
  const { query } = loadSentences(modelFile)
  const [asked, meant, alike] = [
    'what will it be like outside tomorrow',
    'get forecast',
    'list outside contractors',
  ].map(text => finish(query(text))) as [Vector, Vector, Vector]
  assert.ok(cosine(asked, meant) > cosine(asked, alike))
})

test('the published weights give the known model file and the known vectors', {
  skip: !weights && 'PORTOLAN_TEST_WEIGHTS names no folder with the published weights',
}, () => {
  const folder = weights as string
  const model = makeModel(
    readFileSync(join(folder, 'model.safetensors')),
    readFileSync(join(folder, 'vocab.txt')),
    readAdapter(),
  )
  assert.equal(createHash('sha256').update(model).digest('hex'), MODEL_SHA256)
  const plain = unpackVectors(plainVectors(folder))
  for (const [key, known] of knownVectors()) assert.ok(cosine(known, plain.get(key) as Vector) > 0.9999)
})
