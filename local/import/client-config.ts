/**
 * Converts a client's own list of MCP servers (`mcp.json`, `.mcp.json`, `claude_desktop_config.json`, VS Code's `mcp.json`) into
 * manifests. Pure.
 *
 * A manifest may be saved to a file. Therefore it does not contain values in `env` and `headers` that contain variables (`${env:NAME}`,
 * `${NAME:-default}`, `${input:id}`) or look like secrets, but a `secretKeyRef` to a Secret `<server>-secrets`. This Secret exists only in
 * `secrets` of the result, as parts that `fillVariables` joins when a value is needed.
 */
import { basename, dirname } from 'node:path'
import { findNodeAtLocation, getNodeValue, type Node } from 'jsonc-parser'
import type { Position, Problem } from '../../core/errors.ts'
import { isObject, type JsonValue } from '../../core/json.ts'
import type { FieldPlace } from '../../core/manifests.ts'
import { ownValue } from '../../core/own-value.ts'
import { pathText } from '../../crds/issues.ts'
import { API_VERSION, RESERVED_NAME } from '../../crds/object-meta.ts'
import { parseManifest } from '../../crds/parse.ts'
import type { McpServer, McpServerInput } from '../../crds/server.ts'
import { convertEntry } from './entry.ts'
import type { NamedParts, ReadEnvFile } from './entry-values.ts'
import { parseJsonc, placeOf, propertiesOf } from './jsonc.ts'
import { serverNames } from './server-name.ts'
import type { Lookup } from './variables.ts'

/** Reason of the note that a server has another name than in the config. */
export const RENAMED = 'Renamed'
const MAX_CONFIG_BYTES = 16 * 1024 * 1024
const MAX_SERVERS = 1_000

export type ImportOptions = {
  /** Path of the config; determines the base folder of relative paths, and `${workspaceFolder}`. */
  file: string
  home?: string
  /** Returns values for variables in commands, arguments and URLs. Without it, variables are kept, with a note. */
  lookup?: Lookup
  /** Reads the file that `envFile` in a VS Code config refers to. */
  readEnvFile: ReadEnvFile
}

export type ImportedServer = Required<Position> & {
  /** Its name in the config. */
  name: string
  manifest: McpServer
  /** The manifest without defaults, for writing to a file. */
  input: McpServerInput
  /** Returns the position and path in the config from which a field of the manifest was converted. */
  placeOf: (path: string) => FieldPlace
}

export type ImportedConfig = {
  servers: ImportedServer[]
  /** Values of Secrets, as parts, by name of the Secret and by key. */
  secrets: Record<string, NamedParts>
  /** The inputs that `${input:id}` refers to, by id. */
  inputs: Record<string, ImportedInput>
  /** The folder that paths are relative to. */
  folder: string
  problems: Problem[]
  /** Remarks that are not errors: fields without effect, changed names. */
  notes: Problem[]
  /** Manifest names of entries with problems; an earlier valid state of these may be kept. Undefined if the whole file is broken. */
  broken?: string[]
}

export type ImportedInput = { description?: string; password: boolean; default?: string }

/** Paths of the table of servers in the configs of different clients. */
const TABLES = [['mcpServers'], ['servers'], ['mcp', 'servers'], ['mcp', 'mcpServers'], ['context_servers']]

/** Whether a text, even a broken one, is a client's config and not a manifest. */
export function isClientConfig(text: string): boolean {
  const { root } = parseJsonc(text, MAX_CONFIG_BYTES)
  return root !== undefined && !findNodeAtLocation(root, ['apiVersion']) && tableOf(root) !== undefined
}

/** Converts the text of a config. Never throws; a broken entry does not affect the others. */
export function importConfig(text: string, options: ImportOptions): ImportedConfig {
  const folder = workspaceOf(options.file)
  const config: ImportedConfig = { servers: [], secrets: {}, inputs: {}, folder, problems: [], notes: [] }
  const { root, problem } = parseJsonc(text, MAX_CONFIG_BYTES)
  const table = root && tableOf(root)
  const reading = { text, options, config }
  if (problem) {
    config.problems.push({
      reason: 'InvalidJson',
      message: problem.message,
      ...place(reading, problem.offset),
    })
  } else if (!table) {
    const message = 'has no table of servers: a client config has "mcpServers" or "servers"'
    config.problems.push({ reason: 'NoServers', message, ...place(reading, 0) })
  } else {
    config.inputs = inputsOf(root)
    readTable(table, reading)
  }
  return config
}

/** The table of servers: its path in the config, and its node in the syntax tree. */
type Table = { path: string[]; node: Node }
type Entry = { name: string; key: Node; value: Node }
type Reading = { text: string; options: ImportOptions; config: ImportedConfig }

function readTable({ path, node }: Table, reading: Reading): void {
  const { problems, notes } = reading.config
  if (node.type !== 'object') {
    const message = 'must be a map of names to servers, not a list or a string'
    problems.push({ reason: 'InvalidType', message, path: pathText(path), ...place(reading, node.offset) })
    return
  }
  reading.config.broken = []
  const entries = propertiesOf(node)
  const last = new Map(entries.map(entry => [entry.name, entry]))
  for (const entry of entries.filter(entry => last.get(entry.name) !== entry)) {
    const message = 'is given twice, and the last one counts: rename or remove one'
    const at = { path: pathText([...path, entry.name]), ...place(reading, entry.key.offset) }
    notes.push({ reason: 'DuplicateName', message, ...at })
  }
  const kept = [...last.values()]
  if (kept.length > MAX_SERVERS) {
    const message = `has more than ${MAX_SERVERS} servers: split it`
    problems.push({ reason: 'TooLarge', message, path: pathText(path), ...place(reading, node.offset) })
  }
  const names = serverNames(kept.map(({ name }) => name))
  for (const [index, entry] of kept.slice(0, MAX_SERVERS).entries()) {
    readEntry(entry, names[index] ?? entry.name, path, reading)
  }
}

function readEntry(entry: Entry, name: string, table: string[], reading: Reading): void {
  const { config, options } = reading
  const report = (list: Problem[]) => (reason: string, message: string, path: readonly string[]) => {
    const offset = offsetOf(entry, path)
    list.push({
      reason,
      message,
      path: pathText([...table, entry.name, ...path.map(step)]),
      ...place(reading, offset),
    })
  }
  const before = config.problems.length
  const problem = report(config.problems)
  const note = report(config.notes)
  const given: unknown = getNodeValue(entry.value)
  const secretName = `${name}-secrets`
  const folders = { workspace: config.folder, home: options.home }
  const lookup = options.lookup && withDefaults(options.lookup, config.inputs)
  const converted = isObject(given)
    ? convertEntry(given, { ...options, lookup, secretName, folders, problem, note })
    : problem('InvalidType', 'must be a map with "command" or "url"', [])
  if (name !== entry.name) {
    const isReserved = entry.name.toLowerCase() === RESERVED_NAME
    const why = isReserved ? `"${RESERVED_NAME}" is reserved` : 'names are lower-case letters, digits and "-"'
    note(RENAMED, `is called "${name}" here: ${why}`, [])
  }
  const title = name === entry.name ? {} : { title: entry.name.slice(0, 256) }
  if (converted && config.problems.length === before) {
    const spec = { ...title, ...converted.spec }
    const input: McpServerInput = { apiVersion: API_VERSION, kind: 'McpServer', metadata: { name }, spec }
    const parsed = parseManifest(input)
    for (const { reason, message, path } of parsed.problems ?? []) problem(reason, `${path} ${message}`, [])
    if (parsed.manifest?.kind === 'McpServer') {
      const { manifest } = parsed
      const placeOf = (path: string) => {
        const steps = stepsOf(path, manifest)
        const { line, column } = place(reading, offsetOf(entry, steps))
        return { line, column, path: pathText([...table, entry.name, ...steps.map(step)]) }
      }
      config.servers.push({ name: entry.name, manifest, input, placeOf, ...place(reading, entry.key.offset) })
      if (Object.keys(converted.secrets).length > 0) config.secrets[secretName] = converted.secrets
    }
  }
  if (config.problems.length > before) config.broken?.push(name)
}

/** The path in an entry from which a field of its manifest was converted; empty if unknown. */
function stepsOf(path: string, { spec }: McpServer): string[] {
  const [, field, index] = /^spec\.(env|headers)\[(\d+)\]/.exec(path) ?? []
  if (field === undefined) return []
  const name = (field === 'env' ? spec.env : spec.headers)[Number(index)]?.name
  return name === undefined ? [field] : [field, name]
}

/** Finds the table of servers of any known client. */
function tableOf(root: Node): Table | undefined {
  for (const path of TABLES) {
    const node = findNodeAtLocation(root, path)
    if (node?.type === 'object' || (node && path[0] === 'mcpServers')) return { path, node }
  }
  return undefined
}

/** VS Code's `inputs`: values that its user is prompted for. */
function inputsOf(root: Node): Record<string, ImportedInput> {
  const node = findNodeAtLocation(root, ['inputs']) ?? findNodeAtLocation(root, ['mcp', 'inputs'])
  const list: JsonValue = node ? getNodeValue(node) : []
  const inputs: Record<string, ImportedInput> = {}
  for (const input of Array.isArray(list) ? list : []) {
    if (!isObject(input) || typeof input.id !== 'string') continue
    const { description, default: preset } = input
    inputs[input.id] = {
      ...(typeof description === 'string' && { description }),
      password: input.password === true,
      ...(typeof preset === 'string' && { default: preset }),
    }
  }
  return inputs
}

/** A lookup that gives inputs without a value their `default`. */
export function withDefaults(lookup: Lookup, inputs: ImportedConfig['inputs']): Lookup {
  return part => lookup(part) ?? (part.kind === 'input' ? ownValue(inputs, part.id)?.default : undefined)
}

/** The workspace that a config belongs to: its folder, or the parent of a folder such as `.vscode` or `.cursor`. */
function workspaceOf(file: string): string {
  const folder = dirname(file)
  return /^\.[^.]/.test(basename(folder)) ? dirname(folder) : folder
}

/** The offset of the deepest field of a path that exists: of its value if that is a scalar, else of its key. */
function offsetOf(entry: Entry, path: readonly string[]): number {
  let offset = entry.key.offset
  let node: Node | undefined = entry.value
  for (const name of path) {
    const list: Node | undefined = node?.type === 'array' ? node.children?.[Number(name)] : undefined
    const property: { key: Node; value: Node } | undefined = list
      ? { key: list, value: list }
      : node && propertiesOf(node).find(other => other.name === name)
    if (!property) break
    node = property.value
    offset = node.children ? property.key.offset : node.offset
  }
  return offset
}

/** A step of a path: digits are the position in a list. */
function step(name: string): string | number {
  return /^\d+$/.test(name) ? Number(name) : name
}

function place({ text, options }: Reading, offset: number): Required<Position> {
  return { file: options.file, ...placeOf(text, offset) }
}
