/** The worker thread of the embedded encoder: a separate entry point, which encoder-thread.ts starts. */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { Vector } from '../catalog/vectors.ts'
import { Fault, messageOf } from '../errors.ts'
import type { EncodeRequest, ReadyMessage, ReplyMessage, RequestMessage } from './encoder-thread.ts'
import { finish, loadSentences, type Sentences } from './sentences.ts'

/** If this thread and another of the process compete for a core, the other one gets it for three quarters of the time. */
const NICENESS = 5

/** `between` is called after each short step of encoding texts. */
function vectorsOf({ query, text }: Sentences, request: EncodeRequest, between: () => void): Vector[] {
  if ('query' in request) return [finish(query(request.query))]
  return request.texts.map(each => finish(text(each), between))
}

function serve(port: MessagePort, sentences: Sentences): void {
  const answer = ({ id, request }: RequestMessage): void => {
    try {
      const vectors = vectorsOf(sentences, request, answerWaiting)
      port.postMessage({ id, vectors } satisfies ReplyMessage)
    } catch (error) {
      // The model cannot be read any more: end, so that the next start opens the model file again.
      if (error instanceof Fault) throw error
      port.postMessage({ id, failure: messageOf(error) } satisfies ReplyMessage)
    }
  }
  /** While texts are being encoded, only a query can be waiting. */
  const answerWaiting = (): void => {
    const waiting = receiveMessageOnPort(port)
    if (waiting) answer(waiting.message)
  }
  port.on('message', answer)
}

/** Linux only: other systems have no priority per thread. Failure, for example by a security policy, is ignored. */
function lowerPriority(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICENESS)
  } catch {}
}

function start(port: MessagePort): void {
  lowerPriority()
  try {
    serve(port, loadSentences(workerData.modelFile))
    port.postMessage({} satisfies ReadyMessage)
  } catch (error) {
    port.postMessage({ failure: messageOf(error) } satisfies ReadyMessage)
  }
}

if (parentPort) start(parentPort)
