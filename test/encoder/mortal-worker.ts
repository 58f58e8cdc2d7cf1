/** Stands in for the encoder's worker where its death is tested: there is no way to kill a real one from outside. */
import { parentPort } from 'node:worker_threads'
import type { Asked } from '../../core/encoder/encoder-thread.ts'

parentPort?.on('message', ({ id, question }: Asked) => {
  if ('query' in question && question.query === 'die') throw new Error('died')
  parentPort?.postMessage({ id, vectors: [{ scale: 1, values: new Int8Array(1) }] })
})
parentPort?.postMessage({})
