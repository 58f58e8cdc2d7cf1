/** Parses the text of a manifest file (YAML documents or JSON) into manifests and problems with line and column. Pure. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
} from 'yaml'
import { isDeeper } from '../crds/depth.ts'
import { type ManifestProblem, type Path, pathSteps } from '../crds/issues.ts'
import { MAX_LEVELS, type Manifest, parseManifest } from '../crds/parse.ts'
import { messageOf, type Problem } from './errors.ts'
import { isObject } from './json.ts'

export const MAX_FILE_BYTES = 4 * 1024 * 1024
export const MAX_DOCUMENTS = 1_000

/** The position of a field in its file, and its path there. */
export type FieldPlace = { line: number; column: number; path: string }

export type LocatedManifest = {
  manifest: Manifest
  file: string
  line: number
  column: number
  /** The position of a field, by its path in the manifest. */
  placeOf: (path: string) => FieldPlace
}

export type ManifestFile = {
  manifests: LocatedManifest[]
  problems: Problem[]
  /** The manifests that have problems, as far as they can be identified: the caller may keep an earlier state of them. */
  broken: { kind?: string; namespace?: string; name?: string; line: number }[]
  /** Resources of other kinds; `apiVersion` and `kind` are empty for documents that are not manifests at all. */
  skipped: { apiVersion: string; kind: string; line: number }[]
}

/** Never throws. Invalid YAML is a problem of its document; the other documents are read. */
export function parseManifestText(text: string, file: string): ManifestFile {
  const found: ManifestFile = { manifests: [], problems: [], broken: [], skipped: [] }
  if (text.length > MAX_FILE_BYTES) {
    const message = `a manifest file may have at most ${MAX_FILE_BYTES / 1024 / 1024} MiB: split it`
    found.problems.push({ reason: 'TooLarge', message, file })
    return found
  }
  const lines = new LineCounter()
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    merge: true,
    logLevel: 'silent',
  })
  const list = Array.isArray(documents) ? documents : []
  for (const document of list.slice(0, MAX_DOCUMENTS)) readDocument(document, { file, lines, found })
  if (list.length > MAX_DOCUMENTS) {
    const message = `a file may have at most ${MAX_DOCUMENTS} documents: split it`
    found.problems.push({ reason: 'TooLarge', message, file })
  }
  return found
}

/** Adds file, line and column to a problem that was found after parsing. */
export function placedIn({ file, line, column, placeOf }: LocatedManifest, problem: Problem): Problem {
  return { ...problem, file, ...(problem.path === undefined ? { line, column } : placeOf(problem.path)) }
}

/** The manifests of several files, each resource once: the first of a name wins, duplicates are problems. */
export function mergeManifests(files: readonly ManifestFile[]): {
  manifests: LocatedManifest[]
  problems: Problem[]
} {
  const first = new Map<string, LocatedManifest>()
  const problems = files.flatMap(file => file.problems)
  for (const located of files.flatMap(file => file.manifests)) {
    const { kind, metadata } = located.manifest
    const key = manifestKey(located)
    const known = first.get(key)
    if (!known) {
      first.set(key, located)
      continue
    }
    const message = `${kind} "${metadata.name}" is already defined at ${known.file}:${known.line}: rename or remove one`
    problems.push(placedIn(located, { reason: 'DuplicateName', message, path: 'metadata.name' }))
  }
  return { manifests: [...first.values()], problems }
}

/** Equal for manifests of which only one can count. */
export function manifestKey({ manifest: { kind, metadata } }: LocatedManifest): string {
  return `${kind}/${metadata.namespace ?? 'default'}/${metadata.name}`
}

type Reading = { file: string; lines: LineCounter; found: ManifestFile }

function readDocument(document: Document.Parsed, reading: Reading): void {
  const { found, file } = reading
  const [error] = document.errors
  if (error) {
    found.problems.push({
      reason: 'InvalidYaml',
      message: syntaxMessage(error),
      file,
      ...place(reading, error.pos[0]),
    })
    found.broken.push(brokenEntry(document, reading))
    return
  }
  const value = plainValue(document)
  if (value.error !== undefined) {
    found.problems.push({
      reason: 'InvalidYaml',
      message: value.error,
      file,
      ...locate(document, [], reading),
    })
    return
  }
  for (const { item, base } of itemsOf(value.value)) readManifest(item, base, document, reading)
}

function readManifest(value: unknown, base: Path, document: Document.Parsed, reading: Reading): void {
  const { found, file } = reading
  const { manifest, problems, skipped } = parseManifest(value)
  const { line, column } = locate(document, base, reading)
  const placeOf = (path: string) => ({
    path,
    ...locate(document, [...base, ...pathSteps(path)], reading),
  })
  if (manifest) found.manifests.push({ manifest, file, line, column, placeOf })
  else if (skipped) found.skipped.push({ ...skipped, line })
  else if (problems) {
    const places = problems.map(problem => located(problem, base, document, reading))
    found.problems.push(...places.sort(byPlace))
    found.broken.push({ ...identity(value), line })
  }
}

function byPlace(a: Problem, b: Problem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)
}

function located(problem: ManifestProblem, base: Path, document: Document.Parsed, reading: Reading): Problem {
  const { at, reason, message, path } = problem
  const byKey = reason === 'UnknownField'
  return {
    reason,
    message,
    ...(path && { path }),
    file: reading.file,
    ...locate(document, [...base, ...at], reading, byKey),
  }
}

/** The manifests of a document: the items of a `kind: List`; none if the document is empty. */
function itemsOf(value: unknown): { item: unknown; base: Path }[] {
  if (value === null || value === undefined) return []
  if (!isObject(value) || typeof value.kind !== 'string' || !Array.isArray(value.items))
    return [{ item: value, base: [] }]
  const { kind, items } = value
  if (!/^(Mcp(Server|Gateway|Script))?List$/.test(kind)) return [{ item: value, base: [] }]
  return items.map((item, index) => ({ item, base: ['items', index] }))
}

function plainValue(document: Document.Parsed): { value: unknown; error?: undefined } | { error: string } {
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    return isDeeper(value, MAX_LEVELS)
      ? { error: `is nested more than ${MAX_LEVELS} levels deep` }
      : { value }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

/** Line and column of the deepest field of a path that exists: of its value if that is a scalar and not `byKey`, otherwise of its key. */
function locate(document: Document.Parsed, at: Path, reading: Reading, byKey = false) {
  let node = document.contents as Node | null
  let offset = node?.range?.[0] ?? document.range[0]
  for (const [depth, step] of at.entries()) {
    const entry = entryOf(node, step, document)
    if (!entry) break
    const last = depth === at.length - 1
    const plain = isScalar(entry.value) && entry.value.range && entry.value.range[1] > entry.value.range[0]
    offset = (last && plain && !byKey ? entry.value : entry.key)?.range?.[0] ?? offset
    node = entry.value
  }
  return place(reading, offset)
}

/** The key and value at one step of a path; in a list, the item is both. */
function entryOf(node: Node | null, step: string | number, document: Document.Parsed) {
  const here = isAlias(node) ? node.resolve(document) : node
  if (isSeq(here)) {
    const value = here.items[Number(step)] as Node | undefined
    return value && { key: value, value }
  }
  if (!isMap(here)) return undefined
  const pair = here.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
  return pair && { key: pair.key as Node, value: pair.value as Node | null }
}

function place({ lines }: Reading, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}

function brokenEntry(document: Document.Parsed, reading: Reading) {
  const value = plainValue(document)
  return {
    ...identity(value.error === undefined ? value.value : undefined),
    line: locate(document, [], reading).line,
  }
}

function identity(value: unknown): { kind?: string; namespace?: string; name?: string } {
  if (!isObject(value)) return {}
  const metadata = isObject(value.metadata) ? value.metadata : {}
  const text = (given: unknown) => (typeof given === 'string' ? given : undefined)
  return { kind: text(value.kind), namespace: text(metadata.namespace), name: text(metadata.name) }
}

const SYNTAX_HELP: Readonly<Record<string, string>> = {
  BAD_SCALAR_START: 'put the text in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'put text that contains ": " in quotes, and check the indentation',
  DUPLICATE_KEY: 'remove one of the two',
  MULTILINE_IMPLICIT_KEY: 'check the indentation',
  BAD_INDENT: 'check the indentation and the brackets',
  TAB_AS_INDENT: 'use spaces',
  RESOURCE_EXHAUSTION: 'it is nested too deeply',
}

function syntaxMessage({ code, message }: { code: string; message: string }): string {
  const help = SYNTAX_HELP[code]
  return `is not valid YAML: ${message.replace(/\.$/, '')}${help ? ` (${help})` : ''}`
}
