/** The encoder's worker, bundled, with the model. */
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

test('the bundled encoder worker works, with its kernel beside it', {
  skip: skipModel(),
}, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-bundled-encoder-'))
  t.after(() => rmSync(folder, { recursive: true }))
  await bundle(folder)
  const modelFile = testModelFile()
  const worker = new Worker(join(folder, 'encoder-worker.js'), { workerData: { modelFile }, env: {} })
  t.after(() => worker.terminate())
  const [ready] = await once(worker, 'message')
  assert.deepEqual(ready, {})
  worker.postMessage({ id: 1, request: { query: 'send a message' } })
  const [reply] = await once(worker, 'message')
  const encoder = await createEmbeddedEncoder({ modelFile })
  const vector = await encoder?.encodeQuery('send a message')
  await encoder?.close()
  assert.deepEqual(reply, { id: 1, vectors: [vector] })
})
