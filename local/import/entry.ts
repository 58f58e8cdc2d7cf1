/** Converts one entry of a client config to the spec of an McpServer. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { ownValue } from '../../core/own-value.ts'
import type { McpServerSpecInput } from '../../crds/server.ts'
import {
  type EntryContext,
  fileValues,
  fill,
  hideSecrets,
  type NamedParts,
  namedValues,
} from './entry-values.ts'
import { sourceOf } from './recognised-package.ts'
import { hasPlainSecret, looksSecret, withoutVariables } from './secrecy.ts'

export type ConvertedEntry = { spec: McpServerSpecInput; secrets: NamedParts }

/** Fields that only the client needs. */
const CLIENT_FIELDS = new Set(
  'alwaysAllow autoApprove autoStart dev displayName env_vars gallery icon iconPath id metadata name sandbox sandboxEnabled startupTimeout startup_timeout_sec timeout tool_timeout_sec trust type transport transportType version'.split(
    ' ',
  ),
)
const READ_FIELDS = new Set(
  'args command cwd description disabled disabledTools enabled enabledTools env envFile excludeTools headers httpUrl includeTools serverUrl tools url'.split(
    ' ',
  ),
)
const URL_FIELDS = ['url', 'serverUrl', 'httpUrl']

/** Returns undefined if the source is not valid; the problem was then reported to `context`. */
export function convertEntry(entry: JsonObject, context: EntryContext): ConvertedEntry | undefined {
  const secrets: NamedParts = {}
  const source = sourceSpec(entry, secrets, context)
  noteFields(entry, context)
  if (!source) return undefined
  const tools = toolFilter(entry, context)
  const spec: McpServerSpecInput = {
    ...(typeof entry.description === 'string' &&
      entry.description !== '' && { description: entry.description }),
    ...source,
    ...(tools && { tools }),
    ...((entry.disabled === true || entry.enabled === false) && { suspend: true }),
  }
  return { spec, secrets }
}

function sourceSpec(
  entry: JsonObject,
  secrets: NamedParts,
  context: EntryContext,
): McpServerSpecInput | undefined {
  const type = String(entry.type ?? entry.transport ?? entry.transportType ?? '')
    .toLowerCase()
    .replaceAll(/[_-]/g, '')
  const urlField = URL_FIELDS.find(field => entry[field] !== undefined)
  if (type.startsWith('ws') || type === 'websocket') {
    context.problem('TransportNotSupported', 'WebSocket is not supported: use http or sse', ['type'])
  } else if (entry.command === undefined && urlField === undefined) {
    context.problem('SourceMissing', 'needs "command" (a program to start) or "url" (a server that runs)', [])
  } else if (entry.command !== undefined && urlField !== undefined && type === '') {
    context.problem('SourceAmbiguous', 'has both "command" and "url": remove one', [urlField])
  } else if (urlField !== undefined && (entry.command === undefined || type !== 'stdio')) {
    return remoteSpec(entry, urlField, type, secrets, context)
  } else return stdioSpec(entry, secrets, context)
  return undefined
}

function remoteSpec(
  entry: JsonObject,
  field: string,
  type: string,
  secrets: NamedParts,
  context: EntryContext,
) {
  const given = entry[field]
  if (typeof given !== 'string')
    return void context.problem('InvalidType', 'must be a URL in quotes', [field])
  const url = fill(given, [field], context)
  if (looksSecret('', withoutVariables(given))) {
    context.note('SecretInUrl', 'seems to contain a secret: send it as a header if the server allows it', [
      field,
    ])
  }
  for (const field of ['env', 'envFile'])
    if (entry[field] !== undefined)
      context.note('NotApplicable', 'is not used by a server over HTTP: use headers', [field])
  const headers = namedValues(entry, 'headers', secrets, context)
  if (url === undefined || headers === undefined) return undefined
  const sse = type === 'sse' || (type === '' && /\/sse\/?([?#]|$)/.test(url))
  return {
    remote: { url, ...(sse && { transport: 'sse' as const }) },
    ...(headers.length > 0 && { headers }),
  }
}

function stdioSpec(entry: JsonObject, secrets: NamedParts, context: EntryContext) {
  const words = commandLine(entry, context)
  const fromFile = fileValues(entry, secrets, context)
  const fromEntry = namedValues(entry, 'env', secrets, context)
  const env = fromEntry && fromFile && [...fromFile, ...fromEntry]
  const cwd = entry.cwd
  if (cwd !== undefined && typeof cwd !== 'string') {
    context.problem('InvalidType', 'must be a folder in quotes', ['cwd'])
  }
  const folder = typeof cwd === 'string' && cwd !== '' ? fill(cwd, ['cwd'], context) : undefined
  const [command, ...given] = words ?? []
  if (command === undefined || env === undefined) return undefined
  noteSecretArguments(entry, context)
  const args = context.lookup ? given : hideSecrets(given, env, secrets, context)
  const source = sourceOf(command, args, folder)
  // Packages always run in the workspace; a package with another folder stays a command.
  const runsInFolder = source.command || folder === undefined || folder === context.folders.workspace
  return {
    ...(runsInFolder ? source : { command: { run: command, args, cwd: folder } }),
    ...(env.length > 0 && { env }),
  }
}

/** Checks the arguments before variables are filled in, because a variable is not a secret in plain text. */
function noteSecretArguments({ args }: JsonObject, context: EntryContext): void {
  if (!Array.isArray(args)) return
  const texts = args.map(arg => (typeof arg === 'string' ? arg : ''))
  if (!texts.some((arg, index) => hasPlainSecret(arg, texts[index - 1]))) return
  context.note('SecretInArgs', 'seem to contain a secret: give it under env if the server allows it', [
    'args',
  ])
}

/** The program and its arguments; undefined if one of them is invalid. */
function commandLine(entry: JsonObject, context: EntryContext): string[] | undefined {
  const { command, args = [] } = entry
  if (!Array.isArray(args))
    return void context.problem('InvalidType', 'must be a list, as in ["-m", "my_server"]', ['args'])
  const invalid = [...args].findIndex(
    arg => typeof arg !== 'string' && typeof arg !== 'number' && typeof arg !== 'boolean',
  )
  if (invalid >= 0)
    return void context.problem('InvalidType', 'must be a text in quotes', ['args', String(invalid)])
  const start = commandWords(command, args.length)
  if (!start)
    return void context.problem('InvalidType', 'must be the name of a program in quotes', ['command'])
  if (start.length > 1 && typeof command === 'string') {
    context.note('CommandSplit', 'was split at its spaces: give arguments under args', ['command'])
  }
  const words = [
    ...start.map(word => fill(word, ['command'], context)),
    ...args.map((arg, index) =>
      fill(withOwnVariables(String(arg), entry, context), ['args', String(index)], context),
    ),
  ]
  return words.every(word => word !== undefined) ? words : undefined
}

/** With `$(NAME)` for each `${NAME}` that only the entry's own `env` sets, as for mcp-remote, which fills in such variables itself. */
function withOwnVariables(arg: string, { env }: JsonObject, { lookup }: EntryContext): string {
  return arg.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, name: string) =>
    isObject(env) && (ownValue(env, name) ?? null) !== null && lookup?.({ kind: 'env', name }) === undefined
      ? `$(${name})`
      : whole,
  )
}

/** If `command` is a list, it includes arguments. A string with spaces is a command line if it is not a path and there are no `args`. */
function commandWords(command: JsonValue | undefined, argCount: number): string[] | undefined {
  if (Array.isArray(command))
    return command.length > 0 && command.every(word => typeof word === 'string') ? command : undefined
  if (typeof command !== 'string' || command.trim() === '') return undefined
  const plain = argCount === 0 && /^[\w.-]+\s[^"'`\\$]*$/.test(command.trim())
  return plain ? command.trim().split(/\s+/) : [command]
}

/** Tools to allow or deny, from the corresponding fields of Gemini, Copilot, Windsurf and others. */
function toolFilter(entry: JsonObject, context: EntryContext): McpServerSpecInput['tools'] {
  const names = (...fields: string[]) =>
    fields.flatMap(field => {
      const given = entry[field] ?? []
      if (Array.isArray(given) && given.every(name => typeof name === 'string' && name !== ''))
        return given as string[]
      context.note('InvalidType', 'is not used: it must be a list of names', [field])
      return []
    })
  const allow = names('includeTools', 'enabledTools', 'tools')
  const deny = names('excludeTools', 'disabledTools')
  if (allow.length === 0 && deny.length === 0) return undefined
  return { ...(allow.length > 0 && { allow }), ...(deny.length > 0 && { deny }) }
}

/** Adds a note for each field that has no effect. */
function noteFields(entry: JsonObject, context: EntryContext): void {
  for (const field of Object.keys(entry)) {
    if (READ_FIELDS.has(field) || CLIENT_FIELDS.has(field)) continue
    if (field === 'oauth' || field === 'auth') {
      context.note(
        'LoginNotImported',
        'is not used: give a token under headers, or write an McpServer with auth.perUser.oauth for a login in the browser',
        [field],
      )
    } else context.note('UnknownField', 'is not used', [field])
  }
}
