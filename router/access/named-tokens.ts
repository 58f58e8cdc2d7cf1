/** The named tokens of a Secret: each key is the name of a caller, each value its token or the token's hash. Pure. */
import { hash } from 'node:crypto'
import type { Identity } from '../../core/mcp/identity.ts'
import { isSendable } from './bearer.ts'

export type NamedTokens = {
  /** The caller that a token names. Compared by hash, so that the time of the comparison discloses nothing about the token. */
  find(token: string): Identity | undefined
  /** Keys whose value is too short to be a token, or that no caller can send. */
  readonly unusable: readonly string[]
}

type Values = Readonly<Record<string, string>>

const HASHED = /^sha256:([0-9a-f]{64})$/i
const MIN_TOKEN = 32

/** `values`: those of the Secret; undefined if it could not be read. The same object gives the same tokens. */
export type NamedTokensOf = (values: Values | undefined) => NamedTokens

export function createNamedTokensOf(): NamedTokensOf {
  const known = new WeakMap<Values, NamedTokens>()
  return values => {
    if (!values) return NONE
    let tokens = known.get(values)
    if (!tokens) {
      tokens = readTokens(values)
      known.set(values, tokens)
    }
    return tokens
  }
}

const NONE: NamedTokens = { find: () => undefined, unusable: [] }

/** Reads the values of a Secret. */
export function readTokens(values: Values): NamedTokens {
  const byHash = new Map<string, Identity>()
  const unusable: string[] = []
  for (const [name, value] of Object.entries(values)) {
    const given = value.trim()
    const hashed = HASHED.exec(given)?.[1]?.toLowerCase()
    if (hashed === undefined && (given.length < MIN_TOKEN || !isSendable(given))) unusable.push(name)
    else byHash.set(hashed ?? hash('sha256', given, 'hex'), identityOf(name))
  }
  return { find: token => byHash.get(hash('sha256', token, 'hex')), unusable }
}

function identityOf(name: string): Identity {
  return Object.freeze({
    id: `token:${name}`,
    kind: 'token',
    issuer: undefined,
    subject: name,
    name,
    groups: [],
    scopes: undefined,
    claims: undefined,
    client: undefined,
    actor: undefined,
    expiresMs: Number.POSITIVE_INFINITY,
  } satisfies Identity)
}
