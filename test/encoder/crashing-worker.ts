/**
 * Replaces the encoder's worker in tests of a crash, because the real worker cannot be made to crash from outside. Reports that it is ready,
 * answers each request with one vector, and crashes at the query `die`.
 */
import { parentPort } from 'node:worker_threads'
import type { RequestMessage } from '../../core/encoder/encoder-thread.ts'

parentPort?.on('message', ({ id, request }: RequestMessage) => {
  if ('query' in request && request.query === 'die') throw new Error('died')
  parentPort?.postMessage({ id, vectors: [{ scale: 1, values: new Int8Array(1) }] })
})
parentPort?.postMessage({})
