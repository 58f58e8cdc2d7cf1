/** The user whose upstream a call uses, for a server with `sessions: perUser`: issuer and subject of its caller. Pure. */
import { hash } from 'node:crypto'
import type { Identity } from './identity.ts'

export type User = {
  /** Equal only for the same user. Not shortened, because callers can choose their subjects. */
  readonly key: string
  /** SHA-256 of the key, in hex: identifies users where the key must not be shown. */
  readonly digest: string
  /** The beginning of the digest, for people, status and names of objects. */
  readonly id: string
  /** `<issuer>#<subject>`, as the annotation `portolan.dev/subject` names the user. */
  readonly subject: string
}

/** A user whose upstream is connected. */
export type ConnectedUser = User & {
  /** The newest token of the user, if the server exchanges them. */
  token(): string | undefined
  /** In clusters: the name of the user's Secret, if the server needs one. */
  secret?: string
}

/** What is known of an issuer of JSON Web Tokens: its name in the gateway's manifest, and its URL. */
type Issuer = { name: string; issuer: string }

/** The form of `digest`. */
export const USER_DIGEST = /^[0-9a-f]{64}$/
const ID_LENGTH = 10
const ID_BYTES = 7
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
const BITS = 5
/** The anonymous user of a laptop. */
const LOCAL = { issuer: 'local', subject: 'user' }

/** The user with this identity; undefined for an anonymous caller. `issuers`: those of the gateway. */
export function userOf(identity: Identity, issuers: readonly Issuer[] = []): User | undefined {
  const issuer = issuerOf(identity, issuers)
  return issuer === undefined ? undefined : makeUser(issuer, identity.subject)
}

/** The one user of a laptop whose callers are anonymous. */
export const LOCAL_USER: User = makeUser(LOCAL.issuer, LOCAL.subject)

/** The user that an annotation names; undefined if it names none. An issuer with `#` cannot be named. */
export function userNamed(subject: string): User | undefined {
  const at = subject.indexOf('#')
  return at < 1 || at === subject.length - 1
    ? undefined
    : makeUser(subject.slice(0, at), subject.slice(at + 1))
}

function makeUser(issuer: string, subject: string): User {
  const key = `${issuer}\0${subject}`
  const digest = hash('sha256', key, 'hex')
  return { key, digest, id: idOfUser(digest), subject: `${issuer}#${subject}` }
}

/** The issuer part of a user's key. For users of identity providers it is the URL, which is unique; names in manifests may repeat. */
function issuerOf({ kind, issuer = '' }: Identity, issuers: readonly Issuer[]): string | undefined {
  switch (kind) {
    case 'anonymous':
      return undefined
    case 'token':
      return 'token'
    case 'serviceAccount':
      return 'serviceaccount'
    case 'user':
      return issuers.find(({ name }) => name === issuer)?.issuer ?? issuer
  }
}

/** The id of the user with this digest. */
export function idOfUser(digest: string): string {
  const bits = BigInt(`0x${digest.slice(0, ID_BYTES * 2)}`)
  const spare = ID_BYTES * 8 - ID_LENGTH * BITS
  const digits = Array.from({ length: ID_LENGTH }, (_, at) => {
    const digit = (bits >> BigInt(spare + (ID_LENGTH - 1 - at) * BITS)) & 31n
    return BASE32[Number(digit)]
  })
  return digits.join('')
}
