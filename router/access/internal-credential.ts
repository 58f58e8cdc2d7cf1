/** The credential of a request from one replica to another: valid only for this request, which is made on behalf of a caller. */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { deriveKey } from '../../core/derived-key.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import { malformed } from './bearer.ts'

export type InternalCredentials = {
  /** The value of the `Authorization` header of this request on behalf of the caller with this id. */
  issue(identityId: string, request: SignedRequest): string
  /**
   * The caller on whose behalf the request is made; undefined if no replica issued the header, or it has expired. Once the body is read, `covers`
   * has to be checked before the request is answered.
   */
  read(authorization: string | undefined): Identity | undefined
  /** Whether a header that `read` accepts was issued for this request. */
  covers(authorization: string, request: SignedRequest): boolean
  /** What the replica at this origin answers to the challenge of another one. */
  prove(origin: string, challenge: string): string
}

/** `path`: with its query. */
export type SignedRequest = { method: string; path: string; body: string | undefined }

const SCHEME = 'Portolan-Replica '
const LIFE_MS = 30_000

/** The refusal of a header that claims to be from a replica, but is not. */
export const NOT_OF_A_REPLICA = malformed('ReplicaSignature')

/** Whether a header claims to be from a replica, rightly or not. */
export function isInternal(authorization: string | undefined): authorization is string {
  return authorization?.startsWith(SCHEME) ?? false
}

/** `key`: the one with which all replicas sign session ids. */
export function createInternalCredentials(key: string | Uint8Array, clock: Clock): InternalCredentials {
  const proofKey = deriveKey(key, 'proof of a replica')
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
      const expected = Buffer.from(sign(text))
      if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined
      if (!(Number.parseInt(expiry, 36) > clock.now())) return undefined
      // Without groups and claims: such a request only reads what is stored for this id, and no rule names its caller.
      return Object.freeze({ ...ANONYMOUS, id: Buffer.from(id, 'base64url').toString('utf8') })
    },
    covers: (authorization, request) => authorization.split('.')[2] === digestOf(request),
    prove: (origin, challenge) =>
      createHmac('sha256', proofKey).update(`${origin} ${challenge}`).digest('base64url'),
  }
}

function digestOf({ method, path, body = '' }: SignedRequest): string {
  return hash('sha256', `${method} ${path}\n${body}`, 'base64url')
}
