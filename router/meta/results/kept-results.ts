/** Texts cut out of results: stored by the replica that cut them, readable through every replica. */
import type { Clock } from '../../../core/async.ts'
import type { Log } from '../../../core/log.ts'
import type { InternalCredentials } from '../../access/internal-credential.ts'
import { endOfPart } from './end-of-part.ts'
import { createHandleSigner, type Handle, parseHandle } from './handle.ts'
import { notKept, type Part } from './part.ts'
import { createRemoteReader } from './remote.ts'
import { createTextStore, MAX_KEPT_BYTES } from './store.ts'

export type KeptResults = {
  /** Stores a text for a caller, or as much of it as the limit allows; it is read from byte `from` on, in parts of `partBytes`. */
  keep(
    text: Buffer,
    from: number,
    partBytes: number,
    identityId: string,
  ): { handle: Handle; keptBytes: number }
  /** Throws Fault `not_found` if no such result is stored for this caller, `upstream_unreachable` if its owner is gone. */
  read(handle: string, identityId: string, signal: AbortSignal): Promise<Part>
  close(): Promise<void>
}

export type KeptResultsOptions = {
  /** Signs the handles; the same for all replicas. */
  key: string | Uint8Array
  /** This process's name in handles, made by `ownerAt` if there are replicas. */
  owner: string
  clock: Clock
  log: Log
  credentials: InternalCredentials
}

export function createKeptResults({ key, owner, clock, log, credentials }: KeptResultsOptions): KeptResults {
  const signer = createHandleSigner(key)
  const store = createTextStore(clock)
  const remote = createRemoteReader({ log, credentials, clock })
  return {
    keep(text, from, partBytes, identityId) {
      const end = endOfPart(text, 0, MAX_KEPT_BYTES)
      const kept = end < text.length ? Buffer.from(text.subarray(0, end)) : text
      const id = signer.issue(owner, identityId)
      store.put(id, { text: kept, partBytes })
      return { handle: { owner, id, from }, keptBytes: kept.length }
    },
    async read(text, identityId, signal) {
      const handle = parseHandle(text)
      if (!handle || !signer.isOurs(handle, identityId)) throw notKept()
      if (handle.owner !== owner) return remote.read(handle, identityId, signal)
      const kept = store.get(handle.id)
      // An empty text has one part, which is empty too.
      if (!kept || (handle.from > 0 && handle.from >= kept.text.length)) throw notKept()
      return partOf(kept.text, handle, kept.partBytes)
    },
    async close() {
      store.clear()
      await remote.close()
    },
  }
}

function partOf(text: Buffer, handle: Handle, partBytes: number): Part {
  const { from } = handle
  const end = endOfPart(text, from, partBytes)
  const next = end < text.length ? { ...handle, from: end } : undefined
  return { text: text.toString('utf8', from, end), end, bytes: text.length, next }
}
