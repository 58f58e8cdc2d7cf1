/** An HTTP request to a port of a pod, by port-forward: no NetworkPolicy is in the way. */
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import { readBounded } from '../bounded.ts'
import { waitFor } from '../deadline.ts'
import { Fault, messageOf } from '../errors.ts'
import type { Access } from './access.ts'
import { createPortForwarder, type PodPort } from './port-forward.ts'

const MAX_ANSWER_BYTES = 4 * 1024 * 1024

export type PodRequest = PodPort & { method: 'GET' | 'DELETE'; path: string }
export type PodAnswer = { status: number; text: string }

/**
 * Throws the Faults of PortForwarder.join, that of `signal`, and Fault `upstream_unreachable` if the pod does not answer, or `upstream_too_large`.
 */
export async function requestOfPod(
  access: Access,
  asked: PodRequest,
  signal: AbortSignal,
): Promise<PodAnswer> {
  const [tunnel, joined] = duplexPair()
  const onRefused = (message: string) => void tunnel.destroy(new Error(message))
  try {
    await waitFor(createPortForwarder(access).join(joined, asked, onRefused), signal)
    return await exchange(tunnel, asked, signal)
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('upstream_unreachable', `Pod ${asked.pod} does not answer: ${messageOf(error)}`, {
      cause: error,
    })
  } finally {
    joined.destroy()
  }
}

/** Sends the request through a stream that is joined with the port of the pod. */
function exchange(
  tunnel: Duplex,
  { method, path }: Pick<PodRequest, 'method' | 'path'>,
  signal: AbortSignal,
): Promise<PodAnswer> {
  return new Promise((resolve, reject) => {
    tunnel.on('error', reject)
    const sent = request({
      ...{ method, path, signal, host: 'localhost' },
      createConnection: () => tunnel as Socket,
    })
    sent.on('error', reject)
    sent.on('response', answer => {
      const tooLarge = () => new Fault('upstream_too_large', 'the answer of the pod is too large')
      readBounded(answer, MAX_ANSWER_BYTES, tooLarge).then(
        body => resolve({ status: answer.statusCode ?? 0, text: body.toString('utf8') }),
        reject,
      )
    })
    sent.end()
  })
}
