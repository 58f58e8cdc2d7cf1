/** The worker thread of the embedded encoder: an entry point of its own, started by encoder-thread.ts. */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { Vector } from '../catalog/vectors.ts'
import { Fault, messageOf } from '../errors.ts'
import type { Answer, Asked, Question, Readiness } from './encoder-thread.ts'
import { finish, loadSentences, type Sentences } from './sentences.ts'

/** Where this thread and another of ours want the same core, the other one has it for three quarters of the time. */
const NICENESS = 5

/** `between` is called after each short step of the work on texts. */
function vectorsOf({ query, text }: Sentences, question: Question, between: () => void): Vector[] {
  if ('query' in question) return [finish(query(question.query))]
  return question.texts.map(each => finish(text(each), between))
}

function serve(port: MessagePort, sentences: Sentences): void {
  const answer = ({ id, question }: Asked): void => {
    try {
      const vectors = vectorsOf(sentences, question, answerWaiting)
      port.postMessage({ id, vectors } satisfies Answer)
    } catch (error) {
      // A model that cannot be read any more: the next start looks for another one.
      if (error instanceof Fault) throw error
      port.postMessage({ id, failure: messageOf(error) } satisfies Answer)
    }
  }
  /** While texts are worked on, nothing but a query can be waiting. */
  const answerWaiting = (): void => {
    const waiting = receiveMessageOnPort(port)
    if (waiting) answer(waiting.message)
  }
  port.on('message', answer)
}

/** Linux alone has priorities of threads; elsewhere, or where it is forbidden, there is none. */
function giveWay(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICENESS)
  } catch {}
}

function start(port: MessagePort): void {
  giveWay()
  try {
    serve(port, loadSentences(workerData.modelFile))
    port.postMessage({} satisfies Readiness)
  } catch (error) {
    port.postMessage({ failure: messageOf(error) } satisfies Readiness)
  }
}

if (parentPort) start(parentPort)
