/** Who a caller is, as its credential says: the result of authentication, on which access, limits and audit depend. */
import type { JsonObject } from '../json.ts'

/** Every property is required, even if undefined, for the same reasons as in `Caller`. Frozen: requests share it. */
export type Identity = {
  /**
   * Identifies the caller for as long as it exists: of kind, issuer and subject, never of a credential's bytes, so that a renewed token
   * is the same caller. Printable ASCII without spaces; empty if anonymous.
   */
  readonly id: string
  readonly kind: IdentityKind
  /** `metadata.name` of the JWT issuer in the gateway's `auth.jwt`; undefined for the other kinds. */
  readonly issuer: string | undefined
  /** `sub` of a JWT, `system:serviceaccount:<namespace>:<name>`, or the name of a token. Empty if anonymous. */
  readonly subject: string
  /** How people know it: the username claim; otherwise the subject. */
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
