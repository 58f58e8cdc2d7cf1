/** Caches server catalogs on disk by a digest of their source, so that a restarted gateway can serve all lists at once. */
import { createHash } from 'node:crypto'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { serverCatalogOf } from '../core/catalog/catalog-shape.ts'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import { isObject } from '../core/json.ts'
import { replaceFile } from '../core/replace-file.ts'

/** Part of every key, so that files of another format are never found. */
const FORMAT = 1
const MAX_FILES = 1000
const MAX_FILE_BYTES = 64 * 1024 * 1024

export type CachedCatalog = {
  catalog: ServerCatalog
  /** When it was discovered, in milliseconds since the epoch. */
  at: number
}

export type CatalogCache = {
  /** The catalog cached for this revision of a server; undefined if there is none that can be read. */
  load(server: string, revision: string): Promise<CachedCatalog | undefined>
  /** Writes a catalog atomically. Throws if that fails; the gateway also works without the cache. */
  save(server: string, revision: string, cached: CachedCatalog): Promise<void>
  /** Deletes the oldest files if there are more than the limit. */
  prune(): Promise<void>
}

/** `revision` identifies the source of a list (package, version, arguments, references in env), without secret values. */
export function createCatalogCache(folder: string): CatalogCache {
  const fileOf = (server: string, revision: string) => {
    const key = createHash('sha256')
      .update(JSON.stringify([FORMAT, server, revision]))
      .digest('hex')
    return join(folder, `${server}-${key.slice(0, 24)}.json`)
  }
  return {
    async load(server, revision) {
      try {
        const file = fileOf(server, revision)
        if ((await stat(file)).size > MAX_FILE_BYTES) return undefined
        const cached = cachedOf(JSON.parse(await readFile(file, 'utf8')))
        return cached?.catalog.server === server ? cached : undefined
      } catch {
        return undefined
      }
    },
    async save(server, revision, cached) {
      const text = JSON.stringify(cached)
      if (text.length > MAX_FILE_BYTES) return
      await replaceFile(fileOf(server, revision), text)
    },
    async prune() {
      const names = (await readdir(folder).catch(() => [])).filter(name => name.endsWith('.json'))
      if (names.length <= MAX_FILES) return
      const files = await Promise.all(
        names.map(async name => ({ name, at: await modified(join(folder, name)) })),
      )
      files.sort((a, b) => b.at - a.at)
      await Promise.all(files.slice(MAX_FILES).map(({ name }) => rm(join(folder, name), { force: true })))
    },
  }
}

async function modified(file: string): Promise<number> {
  return stat(file).then(
    found => found.mtimeMs,
    () => 0,
  )
}

/** Validates the file, which may be truncated or written by another version. */
function cachedOf(value: unknown): CachedCatalog | undefined {
  const catalog = isObject(value) ? serverCatalogOf(value.catalog) : undefined
  return catalog && isObject(value) && typeof value.at === 'number' ? { catalog, at: value.at } : undefined
}
