/** The credentials of requests from one replica to another: each is valid for one purpose, and for one request only. */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { deriveKey } from '../../core/derived-key.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import { malformed } from './bearer.ts'

/**
 * `caller`: the `Authorization` of a request that a replica makes on behalf of a caller; `router`: that of one to another router's admin port;
 * `forwarded`: marks a request of a client, which has the client's own `Authorization`.
 */
export type CredentialPurpose = 'caller' | 'router' | 'forwarded'

export type InternalCredentials = {
  /** The value of the header. `identityId`: the caller on whose behalf the request is made. Default: an anonymous one. */
  issue(purpose: CredentialPurpose, request: SignedRequest, identityId?: string): string
  /**
   * The caller on whose behalf the request is made; undefined if no replica issued the header for this purpose, or it has expired. Once the body is
   * read, `covers` has to be checked before the request is answered.
   */
  read(purpose: CredentialPurpose, header: string | undefined): Identity | undefined
  /** Whether a header that `read` accepts was issued for this request. */
  covers(header: string, request: SignedRequest): boolean
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
export function isInternal(header: string | undefined): header is string {
  return header?.startsWith(SCHEME) ?? false
}

/** `key`: the one with which all replicas sign session ids. */
export function createInternalCredentials(key: string | Uint8Array, clock: Clock): InternalCredentials {
  const keyFor = (purpose: CredentialPurpose) => deriveKey(key, `credential of a replica: ${purpose}`)
  const keys = { caller: keyFor('caller'), router: keyFor('router'), forwarded: keyFor('forwarded') }
  const proofKey = deriveKey(key, 'proof of a replica')
  const sign = (purpose: CredentialPurpose, text: string) =>
    createHmac('sha256', keys[purpose]).update(text).digest('base64url')
  return {
    issue(purpose, request, identityId = '') {
      const id = Buffer.from(identityId).toString('base64url')
      const text = `${id}.${(clock.now() + LIFE_MS).toString(36)}.${digestOf(request)}`
      return `${SCHEME}${text}.${sign(purpose, text)}`
    },
    read(purpose, header) {
      if (!isInternal(header)) return undefined
      const given = header.slice(SCHEME.length)
      const end = given.lastIndexOf('.')
      const text = given.slice(0, end)
      const [id = '', expiry = ''] = text.split('.')
      const signature = Buffer.from(given.slice(end + 1))
      const expected = Buffer.from(sign(purpose, text))
      if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined
      if (!(Number.parseInt(expiry, 36) > clock.now())) return undefined
      // Without groups and claims: such a request only reads what is stored for this id, and no rule names its caller.
      return Object.freeze({ ...ANONYMOUS, id: Buffer.from(id, 'base64url').toString('utf8') })
    },
    covers: (header, request) => header.split('.')[2] === digestOf(request),
    prove: (origin, challenge) =>
      createHmac('sha256', proofKey).update(`${origin} ${challenge}`).digest('base64url'),
  }
}

function digestOf({ method, path, body = '' }: SignedRequest): string {
  return hash('sha256', `${method} ${path}\n${body}`, 'base64url')
}
