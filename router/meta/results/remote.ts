/** Reads a part of a result that another replica stores, over its MCP endpoint, on behalf of the caller that it is stored for. */
import { Agent } from 'undici'
import type { Clock } from '../../../core/async.ts'
import { readBounded } from '../../../core/bounded.ts'
import { Fault, messageOf } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import type { InternalCredentials } from '../../access/internal-credential.ts'
import { originOf } from '../../http/owner.ts'
import { createReplicaProofs } from '../../http/replica-proofs.ts'
import { type Handle, listedHandle } from './handle.ts'
import { notKept, type Part, readNativePart } from './part.ts'
import { MAX_KEPT_BYTES } from './store.ts'

export type RemoteReader = {
  /** Calls the owner of the handle, which must have been verified. Throws the Faults of `KeptResults.read`, and `cancelled`. */
  read(handle: Handle, identityId: string, signal: AbortSignal): Promise<Part>
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 1_000
const ANSWER_TIMEOUT_MS = 10_000
/** JSON writes a byte as at most six characters. */
const MAX_ANSWER_BYTES = 6 * MAX_KEPT_BYTES + 64 * 1024
const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
}

export function createRemoteReader({
  log,
  credentials,
  clock,
}: {
  log: Log
  credentials: InternalCredentials
  clock: Clock
}): RemoteReader {
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: ANSWER_TIMEOUT_MS,
  })
  const proofs = createReplicaProofs(agent, credentials, clock)
  return {
    async read(handle, identityId, signal) {
      const origin = originOf(handle.owner)
      if (origin === undefined) throw notKept()
      const params = { uri: listedHandle(handle) }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params })
      const request = { method: 'POST', path: '/mcp', body } as const
      const headers = { ...HEADERS, authorization: credentials.issue('caller', request, identityId) }
      try {
        await proofs.check(origin)
        const answer = await agent.request({ ...request, origin, headers, signal })
        const text = await readBounded(
          answer.body,
          MAX_ANSWER_BYTES,
          () => new Fault('invalid_data', 'the part is too large'),
        )
        // A refusal of HTTP, such as 401 or 503, says nothing about the result.
        if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`)
        const message: unknown = JSON.parse(text.toString('utf8'))
        const part = isObject(message) ? readNativePart(message.result, handle) : undefined
        // The owner answered with an error: usually it restarted, or the result expired.
        if (!part) throw notKept()
        return part
      } catch (error) {
        if (signal.aborted) throw new Fault('cancelled', 'the caller went away')
        if (error instanceof Fault && error.code === 'not_found') throw error
        log.warn(
          { owner: origin, error: messageOf(error) },
          'cannot read a result from the replica that stores it',
        )
        throw new Fault('upstream_unreachable', 'the replica that stores the result cannot be reached', {
          cause: error,
        })
      }
    },
    close: () => agent.destroy(),
  }
}
