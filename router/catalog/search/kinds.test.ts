/** Tests of how near kinds of tools are to a query, and that the learned data belongs to the current encoder. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quantize, type Vector } from '../../../core/catalog/vectors.ts'
import { ADAPTER_SHA256 } from '../../../core/encoder/model-name.mjs'
import confidence from './data/confidence.json' with { type: 'json' }
import fusion from './data/fusion.json' with { type: 'json' }
import kinds from './data/kinds.json' with { type: 'json' }
import { createNearKinds } from './kinds.ts'

const components = new Int8Array(Buffer.from(kinds.components, 'base64'))
const nearKinds = createNearKinds()
const count = components.length / kinds.dimensions

test('the vector of a kind of tool is nearest to this kind, and the lower the threshold, the more are nearer', () => {
  const own = unit(components.subarray(0, kinds.dimensions))
  const near = nearKinds(own, 0.5)
  assert.ok(near && Math.abs(near.nearest - 1) < 0.01 && near.meanOfNearest < near.nearest)
  assert.equal(nearKinds(own, -1)?.nearer, count)
  assert.equal(nearKinds(own, 0.99)?.nearer, 1)
  assert.equal(nearKinds(own, 1.1)?.nearer, 0)
  assert.ok(near.nearer >= 1 && near.nearer < count)
})

test('the mean is that of the nearest eight, also for a vector that is compared again or after another one', () => {
  const [first, other] = [3, 4].map(kind =>
    unit(components.subarray(kind * kinds.dimensions, (kind + 1) * kinds.dimensions)),
  ) as [Vector, Vector]
  const near = nearKinds(first, 0.5)
  const cosines = Array.from({ length: count }, (_, kind) => {
    const values = components.subarray(kind * kinds.dimensions, (kind + 1) * kinds.dimensions)
    const dot = values.reduce((sum, value, at) => sum + value * (first.values[at] as number), 0)
    return (dot * first.scale) / Math.hypot(...values)
  }).sort((a, b) => b - a)
  const mean = cosines.slice(0, 8).reduce((sum, cosine) => sum + cosine, 0) / 8
  assert.ok(near && Math.abs(near.meanOfNearest - mean) < 1e-6 && Math.abs(near.nearest - 1) < 0.01)
  assert.equal(near.nearer, cosines.filter(cosine => cosine > 0.5).length)
  assert.deepEqual(nearKinds(first, 0.5), near)
  assert.notDeepEqual(nearKinds(other, 0.5), near)
  assert.deepEqual(nearKinds(first, 0.5), near)
})

test('vectors of another length than the encoder makes are compared with nothing', () => {
  assert.equal(nearKinds(quantize([1, 0, 0]), 0.5), undefined)
})

test('the learned data names the adapter of the current encoder', () => {
  for (const { from } of [kinds, confidence, fusion]) assert.equal(from.adapter, ADAPTER_SHA256, from.script)
})

function unit(values: Int8Array): Vector {
  const length = Math.hypot(...values)
  return quantize(Float64Array.from(values, value => value / length))
}
