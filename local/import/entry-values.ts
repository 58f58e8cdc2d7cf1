/** Values of a client config's entry: variables are filled in, or become references to a Secret. Pure. */
import { resolve } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { looksSecret, secretIn, withoutVariables } from './secrecy.ts'
import {
  type Folders,
  fillVariables,
  isPlain,
  type Lookup,
  type Part,
  parseVariables,
  variableOfInput,
  writeVariables,
} from './variables.ts'

/** Reason of the problem that a file could not be read. The file is tried again at the next scan, even if nothing else has changed. */
export const UNREADABLE = 'Unreadable'

/** Reads a dotenv file; throws if that fails. */
export type ReadEnvFile = (file: string) => Readonly<Record<string, string | undefined>>

export type EntryContext = {
  /** The Secret that a manifest refers to for values that must not be written into it. */
  secretName: string
  folders: Folders
  /** Returns values of variables. Absent if the result is written to a file: variables are then kept. */
  lookup?: Lookup
  readEnvFile: ReadEnvFile
  /** Reports an error; the entry is not served. The path is relative to the entry. */
  problem(reason: string, message: string, path: readonly string[]): void
  /** Reports a remark; the entry is served. */
  note(reason: string, message: string, path: readonly string[]): void
}

export type NamedParts = Record<string, Part[]>

type NamedValue = {
  name: string
  value?: string
  valueFrom?: { secretKeyRef: { name: string; key: string } }
}

/**
 * Converts `env` or `headers` to the list of a manifest; undefined if one of the values is invalid. Values that contain variables or look
 * like a secret become references, and are added to `secrets`.
 */
export function namedValues(
  entry: JsonObject,
  field: 'env' | 'headers',
  secrets: NamedParts,
  context: EntryContext,
) {
  const given = entry[field] ?? {}
  if (!isObject(given))
    return void context.problem('InvalidType', 'must be a map of names to strings', [field])
  const list: NamedValue[] = []
  let allValid = true
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue
    const path = [field, name]
    const parts = typeof value === 'object' ? undefined : split(String(value), path, context)
    if (typeof value === 'object') context.problem('InvalidType', 'must be a text in quotes', path)
    if (parts) list.push(namedValue(name, parts, secrets, context))
    else allValid = false
  }
  return allValid ? list : undefined
}

/** The variables of the dotenv file `envFile`, except those that `env` sets; all count as secrets. If the path is invalid, reports a problem and returns undefined. */
export function fileValues(
  entry: JsonObject,
  secrets: NamedParts,
  context: EntryContext,
): NamedValue[] | undefined {
  const path = ['envFile']
  const { envFile = '' } = entry
  if (typeof envFile !== 'string')
    return void context.problem('InvalidType', 'must be the path of a file in quotes', path)
  if (envFile === '') return []
  const file = fill(envFile, path, context)
  if (file === undefined) return undefined
  try {
    const values = context.readEnvFile(resolve(context.folders.workspace, file))
    const env = new Map(isObject(entry.env) ? Object.entries(entry.env) : [])
    const wanted = Object.entries(values).filter(([name]) => (env.get(name) ?? null) === null)
    return wanted.map(([name, text = '']) => reference(name, [{ kind: 'text', text }], secrets, context))
  } catch (error) {
    const why = codeOf(error) === 'ENOENT' ? 'there is no such file' : messageOf(error)
    context.note(UNREADABLE, `could not be read, so its variables are not set: ${why}`, path)
    return []
  }
}

/**
 * Fills in the variables of a field that cannot refer to a Secret. If a variable has no value, reports a problem and returns undefined;
 * without a lookup, keeps the variables and adds a note.
 */
export function fill(text: string, path: readonly string[], context: EntryContext): string | undefined {
  const parts = split(text, path, context)
  if (!parts || isPlain(parts)) return parts && writeVariables(parts)
  const filled = fillVariables(parts, context.lookup ?? noValues)
  if ('text' in filled) {
    if (!context.lookup) context.note('DefaultUsed', `${variablesIn(parts)}: replaced by its default`, path)
    return filled.text
  }
  if (!context.lookup) {
    context.note('VariableKept', `${variablesIn(parts)}: replace it with the value`, path)
    return writeVariables(parts)
  }
  const { missing } = filled
  const example = `set it in the environment, or give a default as in \${NAME:-default}`
  const help =
    missing.kind === 'input' ? `set the environment variable ${variableOfInput(missing.id)}` : example
  const message = `needs ${writeVariables([missing])}, which has no value: ${help}`
  return void context.problem('VariableUnset', message, path)
}

/** A plain value, or a reference if it looks like a secret or has variables that are filled in later. */
function namedValue(name: string, parts: Part[], secrets: NamedParts, context: EntryContext): NamedValue {
  const filled = fillVariables(parts, noValues)
  const isFinal = isPlain(parts) || !context.lookup
  if (isFinal && 'text' in filled && !looksSecret(name, filled.text)) return { name, value: filled.text }
  return reference(name, parts, secrets, context)
}

/**
 * The arguments with a reference `$(NAME)` in place of each secret in plain text, except in arguments with variables. Its value becomes
 * the variable NAME, which is added to `env`, from the entry's Secret.
 */
export function hideSecrets(
  args: readonly string[],
  env: NamedValue[],
  secrets: NamedParts,
  context: EntryContext,
): string[] {
  return args.map((arg, index) => {
    const found = withoutVariables(arg) === arg ? secretIn(arg, args[index - 1]) : undefined
    if (!found) return arg
    const wanted = found.name
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replace(/^_|_$/g, '')
    const taken = { ...secrets, ...Object.fromEntries(env.map(({ name }) => [name, true])) }
    const name = freeKey(/^[A-Z]/.test(wanted) ? wanted : 'ARGUMENT', taken)
    env.push(reference(name, [{ kind: 'text', text: found.value }], secrets, context))
    return `${found.before}$(${name})`
  })
}

/** Adds the value to the entry's Secret, and returns a reference to it. */
function reference(name: string, parts: Part[], secrets: NamedParts, context: EntryContext): NamedValue {
  const key = freeKey(name.replaceAll(/[^-._a-zA-Z0-9]/g, '_'), secrets)
  secrets[key] = parts
  return { name, valueFrom: { secretKeyRef: { name: context.secretName, key } } }
}

/** Different names can become the same key. */
function freeKey(wanted: string, taken: object): string {
  let key = wanted
  for (let number = 2; Object.hasOwn(taken, key); number++) key = `${wanted}_${number}`
  return key
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}

function noValues(): undefined {
  return undefined
}

function variablesIn(parts: readonly Part[]): string {
  return `contains ${writeVariables(parts.filter(part => part.kind !== 'text'))}`
}

/** The parts of a text; undefined, with a problem, if it contains a variable that only the client can resolve. */
function split(text: string, path: readonly string[], context: EntryContext): Part[] | undefined {
  const { parts, foreign } = parseVariables(text, context.folders)
  if (foreign === undefined) return parts
  const message = `contains ${foreign}, which only its editor can resolve: write the value, or \${env:NAME}`
  return void context.problem('VariableNotSupported', message, path)
}
