/** Who a caller is, according to its credential: the result of authentication, on which access, limits and audit depend. */
import type { JsonObject } from '../json.ts'

/** Every property is required, even if undefined, for the same reasons as in `Caller`. Frozen: requests share it. */
export type Identity = {
  /**
   * Identifies the caller permanently: derived from kind, issuer and subject, not from the credential itself, so that a renewed token
   * has the same id. Printable ASCII without spaces; empty if anonymous.
   */
  readonly id: string
  readonly kind: IdentityKind
  /** `metadata.name` of the JWT issuer in the gateway's `auth.jwt`; undefined for the other kinds. */
  readonly issuer: string | undefined
  /** `sub` of a JWT, `system:serviceaccount:<namespace>:<name>`, or the name of a token. Empty if anonymous. */
  readonly subject: string
  /** The human-readable name: the username claim, or else the subject. */
  readonly name: string
  readonly groups: readonly string[]
  /** Scopes of the token; undefined if the credential has none (tokens of Secrets and ServiceAccounts). */
  readonly scopes: readonly string[] | undefined
  /** Claims of a JWT, for rules with `claim`. Undefined for the other kinds. */
  readonly claims: JsonObject | undefined
  /** The OAuth client that got the token: `azp` or `client_id`. */
  readonly client: string | undefined
  /** `act.sub` (RFC 8693): who acts on behalf of the subject. */
  readonly actor: string | undefined
  /** When the credential expires, in milliseconds since the epoch; Infinity: never. Open streams end then. */
  readonly expiresMs: number
}

export type IdentityKind = 'anonymous' | 'token' | 'serviceAccount' | 'user'

/** A caller without a credential. */
export const ANONYMOUS: Identity = Object.freeze({
  id: '',
  kind: 'anonymous',
  issuer: undefined,
  subject: '',
  name: '',
  groups: [],
  scopes: undefined,
  claims: undefined,
  client: undefined,
  actor: undefined,
  expiresMs: Number.POSITIVE_INFINITY,
})
