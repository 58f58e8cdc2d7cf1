/**
 * Removes the type annotations of scripts. Node's function for this fails for good in a thread in which it met code with some thousand nested
 * brackets or operators. So that a script cannot do that to others, each script has a thread of its own, which takes some 60 ms.
 */
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'

/** `text`: the code, with spaces in place of types. `refusal`: it has other TypeScript syntax. Empty: its syntax is not valid. */
export type Removed = { text: string } | { refusal: string } | Record<string, never>

/** Removing the types of the longest script takes some tens of milliseconds. */
const MAX_WAIT_MS = 5_000

/**
 * Removes the types of the forms of a script, so that lines and columns stay. Blocks until the thread has answered: this is needed only for
 * scripts that are not JavaScript.
 */
export function removeTypes(forms: readonly string[]): Removed[] {
  const { port1, port2 } = new MessageChannel()
  const signal = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const worker = new Worker(THREAD, {
    eval: true,
    workerData: { forms, port: port2, signal },
    transferList: [port2],
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  worker.unref()
  Atomics.wait(signal, 0, 0, MAX_WAIT_MS)
  const answer = receiveMessageOnPort(port1)?.message as Removed[] | undefined
  port1.close()
  void worker.terminate()
  return answer ?? forms.map(() => ({}))
}

/** The code of the thread. As text, since bundles have no file for it. */
const THREAD = `
  const { stripTypeScriptTypes } = require('node:module')
  const { forms, port, signal } = require('node:worker_threads').workerData
  function removed(form) {
    try {
      return { text: stripTypeScriptTypes(form, { mode: 'strip' }) }
    } catch (error) {
      if (error?.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return {}
      const [message] = String(error.message).split('\\n')
      return { refusal: message + ': only type annotations are ignored, write JavaScript' }
    }
  }
  port.postMessage(forms.map(removed))
  Atomics.store(signal, 0, 1)
  Atomics.notify(signal, 0)
`
