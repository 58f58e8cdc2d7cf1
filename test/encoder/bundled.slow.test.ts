/** The encoder's worker with the model, as the bundle has it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { createEmbeddedEncoder } from '../../core/encoder/embedded.ts'
import { bundle } from '../../scripts/bundle.ts'
import { skipModel, testModelFile } from '../support/model.ts'

test('the worker that encodes works from the bundle, with its kernels beside it', {
  skip: skipModel(),
}, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-bundled-encoder-'))
  t.after(() => rmSync(folder, { recursive: true }))
  await bundle(folder)
  const modelFile = testModelFile()
  const worker = new Worker(join(folder, 'encoder-worker.js'), { workerData: { modelFile }, env: {} })
  const [readiness] = await once(worker, 'message')
  assert.deepEqual(readiness, {})
  worker.postMessage({ id: 1, question: { query: 'send a message' } })
  const [answer] = await once(worker, 'message')
  await worker.terminate()
  const encoder = await createEmbeddedEncoder({ modelFile })
  const vector = await encoder?.encodeQuery('send a message')
  await encoder?.close()
  assert.deepEqual(answer, { id: 1, vectors: [vector] })
})
