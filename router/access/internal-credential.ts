/** The credential of a replica that reads, on behalf of a caller, what another replica keeps for this caller. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'

export type InternalCredentials = {
  /** The value of the `Authorization` header of a request on behalf of the caller with this id. */
  issue(identityId: string): string
  /** The caller on whose behalf the request is; undefined if the header is none of ours, or is too old. */
  read(authorization: string | undefined): Identity | undefined
}

const SCHEME = 'Portolan-Replica '
const LIFE_MS = 30_000

/** `key`: the one that all replicas sign session ids with. */
export function createInternalCredentials(key: string | Uint8Array, clock: Clock): InternalCredentials {
  const sign = (text: string) =>
    createHmac('sha256', key).update(`portolan replica ${text}`).digest('base64url')
  return {
    issue(identityId) {
      const text = `${Buffer.from(identityId).toString('base64url')}.${(clock.now() + LIFE_MS).toString(36)}`
      return `${SCHEME}${text}.${sign(text)}`
    },
    read(authorization) {
      if (!authorization?.startsWith(SCHEME)) return undefined
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
  }
}
