/** Stores the approved tools of servers on disk, separate from the cached catalogs: deleting those does not approve anything. */
import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ToolDefinition } from '../core/catalog/server-catalog.ts'
import { isObject } from '../core/json.ts'
import { replaceFile } from '../core/replace-file.ts'

const FORMAT = 1
const MAX_FILE_BYTES = 64 * 1024 * 1024
const MAX_FILES = 1_000
const UNREADABLE: ApprovalRecord = { approved: [], unreadable: true }

/** A server of a manifest. If its version or address changes, it is still the same server, and its tools are compared. */
export type Subject = {
  /** metadata.name of the McpServer. */
  server: string
  namespace: string
  /** The folder of its manifest. */
  folder: string
}

/** What is stored for a server. */
export type ApprovalRecord = {
  approved: ToolDefinition[]
  /** All tools of the list that was read last, if they differ from the approved ones. */
  found?: ToolDefinition[]
  /** The file exists but cannot be read. Saved over only if the user approves. */
  unreadable?: true
}

export type Approvals = {
  /** The folder that contains the files. */
  folder: string
  /** Undefined if nothing was ever approved. If the file cannot be read, no tool is approved. */
  load(subject: Subject): Promise<ApprovalRecord | undefined>
  /** Writes atomically; throws if that fails. */
  save(subject: Subject, kept: ApprovalRecord): Promise<void>
  /** All records of servers with this name, in any namespace and folder. Records that cannot be read are left out. */
  of(server: string): Promise<(Subject & ApprovalRecord)[]>
}

/** `cacheFolder`: the root of the cache. Deleting it loses all approvals; the next list of each server is then approved as its first. */
export function createApprovals(cacheFolder: string): Approvals {
  const folder = join(cacheFolder, 'approved')
  const fileOf = (subject: Subject) => join(folder, nameOf(subject))
  return {
    folder,
    async load(subject) {
      try {
        return (await read(fileOf(subject))) ?? UNREADABLE
      } catch (error) {
        return isMissing(error) ? undefined : UNREADABLE
      }
    },
    async save(subject, kept) {
      await replaceFile(fileOf(subject), JSON.stringify({ format: FORMAT, ...subject, ...kept }))
    },
    async of(server) {
      const names = await readdir(folder).catch(() => [])
      // Also matches files of other servers whose name begins with this one; these are filtered out below.
      const matching = names.filter(name => name.startsWith(`${server}-`) && name.endsWith('.json'))
      const reading = matching
        .slice(0, MAX_FILES)
        .map(name => read(join(folder, name)).catch(() => undefined))
      const found = (await Promise.all(reading)).filter(kept => kept !== undefined)
      return found.filter(kept => kept.server === server)
    },
  }
}

function nameOf({ server, namespace, folder }: Subject): string {
  const key = createHash('sha256')
    .update(JSON.stringify([server, namespace, folder]))
    .digest('hex')
  return `${server}-${key.slice(0, 24)}.json`
}

/** Undefined if the file is not a valid record. Throws if it cannot be read. */
async function read(file: string): Promise<(Subject & ApprovalRecord) | undefined> {
  if ((await stat(file)).size > MAX_FILE_BYTES) return undefined
  const value: unknown = JSON.parse(await readFile(file, 'utf8'))
  if (!isObject(value) || value.format !== FORMAT) return undefined
  const { server, namespace, folder, approved, found } = value
  if (typeof server !== 'string' || typeof namespace !== 'string' || typeof folder !== 'string')
    return undefined
  if (!areTools(approved) || (found !== undefined && !areTools(found))) return undefined
  return { server, namespace, folder, approved, ...(found && { found }) }
}

function areTools(value: unknown): value is ToolDefinition[] {
  return (
    Array.isArray(value) &&
    value.every(tool => isObject(tool) && typeof tool.name === 'string' && isObject(tool.inputSchema))
  )
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOENT'
}
