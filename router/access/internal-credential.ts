/** The credential of a request from one replica to another: for this request alone, on behalf of a caller. */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import { malformed } from './bearer.ts'

export type InternalCredentials = {
  /** The value of the `Authorization` header of this request on behalf of the caller with this id. */
  issue(identityId: string, request: SignedRequest): string
  /**
   * The caller on whose behalf the request is; undefined if the header is none of ours, or is too old. Whoever acts on the request has to ask
   * `covers` once its body is read.
   */
  read(authorization: string | undefined): Identity | undefined
  /** Whether a header that `read` accepts was issued for this request. */
  covers(authorization: string, request: SignedRequest): boolean
}

/** `path`: with its query. */
export type SignedRequest = { method: string; path: string; body: string | undefined }

const SCHEME = 'Portolan-Replica '
const LIFE_MS = 30_000

/** The refusal of a header that claims to be of a replica, and is not. */
export const NOT_OF_A_REPLICA = malformed('ReplicaSignature')

/** Whether a header claims to be of a replica, rightly or not. */
export function isInternal(authorization: string | undefined): authorization is string {
  return authorization?.startsWith(SCHEME) ?? false
}

/** `key`: the one that all replicas sign session ids with. */
export function createInternalCredentials(key: string | Uint8Array, clock: Clock): InternalCredentials {
  const sign = (text: string) =>
    createHmac('sha256', key).update(`portolan replica ${text}`).digest('base64url')
  return {
    issue(identityId, request) {
      const id = Buffer.from(identityId).toString('base64url')
      const text = `${id}.${(clock.now() + LIFE_MS).toString(36)}.${digestOf(request)}`
      return `${SCHEME}${text}.${sign(text)}`
    },
    read(authorization) {
      if (!isInternal(authorization)) return undefined
      const given = authorization.slice(SCHEME.length)
      const end = given.lastIndexOf('.')
      const text = given.slice(0, end)
      const [id = '', expiry = ''] = text.split('.')
      const signature = Buffer.from(given.slice(end + 1))
      const right = Buffer.from(sign(text))
      if (signature.length !== right.length || !timingSafeEqual(signature, right)) return undefined
      if (!(Number.parseInt(expiry, 36) > clock.now())) return undefined
      // No groups and no claims: such a request reads what is kept under the id, and no rule speaks of it by name.
      return Object.freeze({ ...ANONYMOUS, id: Buffer.from(id, 'base64url').toString('utf8') })
    },
    covers: (authorization, request) => authorization.split('.')[2] === digestOf(request),
  }
}

function digestOf({ method, path, body = '' }: SignedRequest): string {
  return hash('sha256', `${method} ${path}\n${body}`, 'base64url')
}
