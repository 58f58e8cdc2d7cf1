/**
 * Reads the paths given to `up`: folders of manifests, single files and client configs. A broken manifest keeps its last valid state, and so
 * does a path that is missing or cannot be read.
 */
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { dirname, extname, join, resolve } from 'node:path'
import { messageOf, type Problem } from '../core/errors.ts'
import {
  type LocatedManifest,
  MAX_FILE_BYTES,
  type ManifestFile,
  manifestKey,
  mergeManifests,
  parseManifestText,
} from '../core/manifests.ts'
import { brokenGateways } from './broken-gateways.ts'
import { isClientConfig, RENAMED } from './import/client-config.ts'
import { UNREADABLE } from './import/entry-values.ts'
import { envFilesChanged, type ImportedValues, readClientConfig } from './imported.ts'
import { type Address, isOurselves } from './own-address.ts'

const EXTENSIONS = new Set(['.yaml', '.yml', '.json'])
const MAX_FILES = 2_000

/** Paths in the manifest are relative to `folder`. */
export type PlacedManifest = LocatedManifest & { folder: string }

/** The current content of the paths. */
export type Loaded = {
  /** Each resource once; the last valid state if its manifest is broken now. */
  manifests: PlacedManifest[]
  /** Secrets and inputs of client configs. */
  imported: ImportedValues[]
  /** Errors, with file, line and field if known. */
  problems: Problem[]
  /** Remarks that are not errors. */
  notes: Problem[]
  /** Problems of invalid manifests that may be meant as an McpGateway and have no earlier valid state. */
  brokenGateways: Problem[]
  files: string[]
}

type ParsedFile = Pick<ManifestFile, 'problems' | 'broken'> & {
  manifests: PlacedManifest[]
  imported?: ImportedValues
  notes?: Problem[]
  /** The files that a client config refers to, with their text. */
  envFiles?: ReadonlyMap<string, string | undefined>
}
/** `now`: the current result. `good` and `imported`: its valid manifests and their values, with the last valid state of broken ones. */
type KnownFile = { text: string; now: ParsedFile; good: PlacedManifest[]; imported?: ImportedValues }

/** Remembers parsed files, so that `scan` parses only changed ones. */
export class ManifestFiles {
  readonly #paths: readonly string[]
  readonly #env: Readonly<Record<string, string>>
  readonly #own: Address | undefined
  #known = new Map<string, KnownFile>()

  /** `env`: values for variables in client configs. `own`: the address of this gateway; servers with this address are left out. */
  constructor(paths: readonly string[], env: Readonly<Record<string, string>> = {}, own?: Address) {
    this.#paths = paths.map(path => resolve(path))
    this.#env = env
    this.#own = own
  }

  /**
   * The folders to watch, as of the last scan. For a file it is the parent folder, because editors replace files; a missing path itself is
   * among them, too.
   */
  async folders(): Promise<string[]> {
    const folders = await Promise.all(
      this.#paths.map(async path => {
        const found = await stat(path).catch(() => undefined)
        if (!found) return [path, dirname(path)]
        return found.isDirectory() ? path : dirname(path)
      }),
    )
    return [...new Set([...folders.flat(), ...this.#envFiles().map(file => dirname(file))])]
  }

  /** Whether a change of this file can change the result of `scan`. */
  concerns(file: string): boolean {
    return EXTENSIONS.has(extname(file)) || this.#paths.includes(file) || this.#envFiles().includes(file)
  }

  #envFiles(): string[] {
    return [...this.#known.values()].flatMap(({ now }) => [...(now.envFiles?.keys() ?? [])])
  }

  /** Never throws: files that cannot be read become problems. */
  async scan(): Promise<Loaded> {
    const problems: Problem[] = []
    const files = await this.#list(problems)
    const known = new Map<string, KnownFile>()
    for (const { file, given, kept } of files) known.set(file, kept ?? (await this.#read(file, given)))
    this.#known = withoutMoved(known, files)
    const all = [...this.#known.values()]
    const folders = new Map(all.flatMap(({ good }) => good).map(placed => [placed.manifest, placed.folder]))
    const merged = mergeManifests(all.map(({ now, good }) => ({ ...now, manifests: good, skipped: [] })))
    if (merged.manifests.length + merged.problems.length + problems.length === 0)
      problems.push(nothingFound(this.#paths))
    const own = this.#own
    const ourselves = merged.manifests.filter(
      ({ manifest }) => own && manifest.kind === 'McpServer' && isOurselves(own, manifest),
    )
    const notes = all.flatMap(({ now }) => now.notes ?? []).filter(note => !renames(note, ourselves))
    return {
      manifests: merged.manifests
        .filter(found => !ourselves.includes(found))
        .map(found => ({ ...found, folder: folders.get(found.manifest) ?? dirname(found.file) })),
      imported: all.flatMap(({ imported }) => imported ?? []),
      problems: [...problems, ...merged.problems],
      notes: [...notes, ...ourselves.map(ownAddress)],
      brokenGateways: [
        ...[...this.#known].flatMap(([file, found]) =>
          keepsGateway(found) ? [] : brokenGateways(found.now, found.text, file),
        ),
        ...(merged.manifests.some(({ manifest }) => manifest.kind === 'McpGateway')
          ? []
          : [...problems, ...merged.problems].filter(mayHideGateway).map(hidden)),
      ],
      files: files.map(({ file }) => file),
    }
  }

  /**
   * Files in the order of the paths, by name within a folder; not recursive, like kubectl. `given`: named by a path itself. `kept`: the last
   * state, if the path cannot be read.
   */
  async #list(problems: Problem[]): Promise<{ file: string; given: boolean; kept?: KnownFile }[]> {
    const files = new Map<string, { given: boolean; kept?: KnownFile }>()
    for (const path of this.#paths) {
      try {
        if ((await stat(path)).isDirectory()) {
          const names = (await readdir(path)).sort()
          const wanted = names.filter(name => EXTENSIONS.has(extname(name)) && !name.startsWith('.'))
          for (const name of wanted)
            if (!files.has(join(path, name))) files.set(join(path, name), { given: false })
        } else files.set(path, { given: true })
      } catch (error) {
        const last = [...this.#known].filter(([file]) => file === path || dirname(file) === path)
        for (const [file, kept] of last) if (!files.has(file)) files.set(file, { given: file === path, kept })
        problems.push(unreadablePath(path, error, last.length > 0))
      }
    }
    const list = [...files].map(([file, found]) => ({ file, ...found }))
    if (list.length > MAX_FILES)
      problems.push({ reason: 'TooLarge', message: `at most ${MAX_FILES} files are read` })
    return list.slice(0, MAX_FILES)
  }

  async #read(file: string, given: boolean): Promise<KnownFile> {
    const known = this.#known.get(file)
    const read = await readText(file)
    if (read.problem)
      return {
        ...(known ?? { text: '', good: [] }),
        now: { manifests: [], problems: [read.problem], broken: [] },
      }
    if (known?.text === read.text && !hasUnreadable(known.now) && !envFilesChanged(known.now.envFiles))
      return known
    const now = this.#parse(read.text, file, given)
    return { text: read.text, now, ...lastGood(now, known) }
  }

  #parse(text: string, file: string, given: boolean): ParsedFile {
    if (extname(file) === '.json' || given) {
      if (isClientConfig(text)) return readClientConfig(text, file, this.#env)
    }
    const { manifests, problems, broken, skipped } = parseManifestText(text, file)
    const folder = dirname(file)
    if (given && manifests.length === 0 && problems.length === 0) {
      const message =
        skipped.length === 0
          ? 'is empty'
          : 'has no McpServer, McpGateway or McpScript, and is not a client config'
      problems.push({ reason: 'NothingFound', message, file })
    }
    return { manifests: manifests.map(found => ({ ...found, folder })), problems, broken }
  }
}

/** Whether an earlier valid state of an McpGateway is used in place of a broken manifest. */
function keepsGateway({ now, good }: KnownFile): boolean {
  return good.some(placed => placed.manifest.kind === 'McpGateway' && !now.manifests.includes(placed))
}

/** The files without the kept manifests that another file has now: they were moved, and may have changed. */
function withoutMoved(
  known: ReadonlyMap<string, KnownFile>,
  files: readonly { file: string; kept?: KnownFile }[],
): Map<string, KnownFile> {
  const kept = new Set(files.flatMap(({ file, kept }) => (kept ? [file] : [])))
  const read = [...known].flatMap(([file, { good }]) => (kept.has(file) ? [] : good.map(manifestKey)))
  const there = new Set(read)
  const stays = (placed: PlacedManifest) => !there.has(manifestKey(placed))
  const withoutThose = (found: KnownFile) => ({ ...found, good: found.good.filter(stays) })
  return new Map([...known].map(([file, found]) => [file, kept.has(file) ? withoutThose(found) : found]))
}

/** Whether a path or file that cannot be read may have an McpGateway. Of the JSON files in a folder, most are something else. */
function mayHideGateway({ reason, file = '' }: Problem): boolean {
  return reason === UNREADABLE && extname(file) !== '.json'
}

function hidden(problem: Problem): Problem {
  return { ...problem, message: `${problem.file} ${problem.message}, and it may have an McpGateway` }
}

/** Whether a note says that one of the servers has another name than in its client config. */
function renames(note: Problem, servers: readonly LocatedManifest[]): boolean {
  const isAt = ({ file, line, column }: LocatedManifest) =>
    file === note.file && line === note.line && column === note.column
  return note.reason === RENAMED && servers.some(isAt)
}

function ownAddress({ manifest, file, line, column }: LocatedManifest): Problem {
  const title = manifest.kind === 'McpServer' ? manifest.spec.title : undefined
  const message = `${title ?? manifest.metadata.name} is left out: it is this gateway itself`
  return { reason: 'OwnAddress', message, file, line, column }
}

function unreadablePath(file: string, error: unknown, isKept: boolean): Problem {
  const stays = isKept ? '; what it contained is kept until it is back or the gateway is restarted' : ''
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? { reason: 'FileNotFound', message: `there is no such file or folder${stays}`, file }
    : { reason: UNREADABLE, message: `cannot be read: ${messageOf(error)}${stays}`, file }
}

function nothingFound(paths: readonly string[]): Problem {
  const [file] = paths.length === 1 ? paths : []
  const message = `${file ? 'has' : 'the paths have'} no McpServer and no client config`
  return { reason: 'NothingFound', message, file }
}

/** Whether this file could not be read; it may be readable now. */
function hasUnreadable({ problems }: ParsedFile): boolean {
  return problems.some(({ reason }) => reason === UNREADABLE)
}

async function readText(file: string): Promise<{ text: string; problem?: undefined } | { problem: Problem }> {
  const unread = (reason: string, message: string) => ({ problem: { reason, message, file } })
  try {
    const stats = await stat(file)
    if (stats.isDirectory()) return unread('NotAFile', 'is a folder, and folders in a folder are not read')
    if (stats.size <= MAX_FILE_BYTES) return { text: await readFile(file, 'utf8') }
    const message = 'is too large for a manifest'
    return unread((await beginsWithGateway(file)) ? UNREADABLE : 'TooLarge', message)
  } catch (error) {
    // A link that leads nowhere, or a file that was deleted since the folder was read.
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'FileNotFound' : UNREADABLE
    return unread(reason, `cannot be read: ${messageOf(error)}`)
  }
}

/** Whether the part of a file that is as large as a manifest may be names an McpGateway. */
async function beginsWithGateway(file: string): Promise<boolean> {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(MAX_FILE_BYTES) })
  return buffer.subarray(0, bytesRead).includes('McpGateway')
}

/** Keeps the last valid state of broken manifests. If a name is not known, keeps every earlier manifest that is no longer in the file. */
function lastGood(now: ParsedFile, known: KnownFile | undefined): Pick<KnownFile, 'good' | 'imported'> {
  if (!known || now.broken.length === 0) return { good: now.manifests, imported: now.imported }
  const keyOf = ({ manifest }: PlacedManifest) => `${manifest.kind}/${manifest.metadata.name}`
  const fresh = new Set(now.manifests.map(keyOf))
  // After a syntax error, the documents that follow may be missing from the result.
  const isSyntaxError = now.problems.some(({ reason }) => reason === 'InvalidYaml')
  const earlier = new Set(known.good.map(keyOf))
  const named = new Set(now.broken.map(({ kind, name }) => `${kind}/${name}`))
  const keepAll = isSyntaxError || [...named].some(key => !earlier.has(key))
  const kept = known.good.filter(placed => !fresh.has(keyOf(placed)) && (keepAll || named.has(keyOf(placed))))
  return { good: [...now.manifests, ...kept], imported: joined(known.imported, now.imported) }
}

/** Both values; those of `now` take precedence. */
function joined(
  old: ImportedValues | undefined,
  now: ImportedValues | undefined,
): ImportedValues | undefined {
  if (!old || !now) return now ?? old
  return { secrets: { ...old.secrets, ...now.secrets }, inputs: { ...old.inputs, ...now.inputs } }
}
