/** The options of commands that describe a caller, and the identity that they describe. */
import { type Command, Option } from 'commander'
import type { JsonObject } from '../core/json.ts'
import { ANONYMOUS, type Identity } from '../core/mcp/identity.ts'
import { CommandError, EXIT } from './command-error.ts'

export type WhoOptions = {
  as: readonly string[]
  scopes?: string
  claim?: readonly string[]
  client?: string
}

const FORMS =
  'user:NAME, user:ISSUER/NAME, group:NAME, group:ISSUER/NAME, serviceaccount:NAMESPACE/NAME (or sa:), token:NAME or anonymous'

/** Adds the options that describe a caller. `about`: the caller's part in the command, which begins the help of `--as`. */
export function withWho(command: Command, about: string, isRequired = false): Command {
  const collect = (value: string, before: string[] = []) => [...before, value]
  const who = new Option(
    '--as <caller>',
    `${about}: user:[ISSUER/]NAME, group:[ISSUER/]NAME, serviceaccount:NAMESPACE/NAME, token:NAME, anonymous; repeatable`,
  ).argParser(collect)
  return command
    .addOption(isRequired ? who.makeOptionMandatory() : who)
    .option('--scopes <scopes>', 'scopes of the token, separated by commas')
    .option('--claim <name=value>', 'a claim of the token; repeatable', collect)
    .option('--client <id>', 'the OAuth client that got the token')
}

/** The caller that the options describe; undefined without `--as`. Throws a CommandError if options are given that need `--as`. */
export function assumedIdentity({ as, ...more }: Partial<WhoOptions>): Identity | undefined {
  if (as) return Object.freeze(identityOf({ ...more, as }))
  if (Object.values(more).some(value => value !== undefined))
    throw new CommandError('--scopes, --claim and --client describe a caller: give --as too', EXIT.usage)
  return undefined
}

/** Several `--as` describe one caller, such as a user and its groups. Throws a CommandError for an invalid option. */
export function identityOf({ as, scopes, claim = [], client }: WhoOptions): Identity {
  const forms = as.map(readForm)
  const kinds = new Set(forms.map(({ kind }) => (kind === 'group' ? 'user' : kind)))
  const issuers = new Set(forms.flatMap(({ issuer }) => issuer ?? []))
  const named = forms.filter(({ kind }) => kind !== 'group')
  if (kinds.size !== 1 || issuers.size > 1 || named.length > 1)
    throw new CommandError(
      '--as must describe one caller: a user and its groups, all of one issuer, or one token or ServiceAccount',
      EXIT.usage,
    )
  const [first] = forms
  const [issuer] = issuers
  if (!first || first.kind === 'anonymous') return ANONYMOUS
  const groups = forms.flatMap(({ kind, name }) => (kind === 'group' ? [name] : []))
  const name = named[0]?.name ?? ''
  return {
    ...ANONYMOUS,
    id: as.join(),
    kind: first.kind === 'group' ? 'user' : first.kind,
    issuer,
    subject: first.kind === 'serviceAccount' ? `system:serviceaccount:${name.replace('/', ':')}` : name,
    name,
    groups,
    scopes: scopes?.split(/[\s,]+/).filter(scope => scope !== ''),
    claims: claimsOf(claim),
    client,
  }
}

type Form = {
  kind: 'user' | 'group' | 'token' | 'serviceAccount' | 'anonymous'
  issuer?: string
  name: string
}

function readForm(text: string): Form {
  if (text === 'anonymous') return { kind: 'anonymous', name: '' }
  const [, prefix = '', rest = ''] = /^([a-z]+):(.+)$/i.exec(text) ?? []
  const [issuer, name] = rest.includes('/') ? splitOnce(rest) : [undefined, rest]
  switch (prefix.toLowerCase()) {
    case 'user':
    case 'group':
      if (name !== '') return { kind: prefix.toLowerCase() as 'user' | 'group', issuer, name }
      break
    case 'token':
      return { kind: 'token', name: rest }
    case 'sa':
    case 'serviceaccount':
      if (/^[^/]+\/[^/]+$/.test(rest)) return { kind: 'serviceAccount', name: rest }
  }
  throw new CommandError(`--as "${text}" is none of ${FORMS}`, EXIT.usage)
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf('/')
  return [text.slice(0, at), text.slice(at + 1)]
}

function claimsOf(claims: readonly string[]): JsonObject | undefined {
  if (claims.length === 0) return undefined
  return Object.fromEntries(
    claims.map(text => {
      const at = text.indexOf('=')
      if (at < 1) throw new CommandError(`--claim "${text}" is not NAME=VALUE`, EXIT.usage)
      return [text.slice(0, at), text.slice(at + 1)]
    }),
  )
}
