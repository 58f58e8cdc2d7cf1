/** The built page: its files by name, as the bundle carries them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../json.ts'

/** The text of each file by its name; all but `index.html` have a hash of their content in it. */
export type ConsolePage = ReadonlyMap<string, string>

/** The file of the bundle that scripts/console.ts makes. */
export const PAGE_FILE = 'console.json'

/** Undefined where the program runs from its sources: only the bundle has the page. */
export async function readConsolePage(
  file = join(import.meta.dirname, PAGE_FILE),
): Promise<ConsolePage | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  const files: unknown = text === undefined ? undefined : JSON.parse(text)
  if (!isObject(files)) return undefined
  return new Map(
    Object.entries(files).flatMap(([name, text]) => (typeof text === 'string' ? [[name, text]] : [])),
  )
}

export type PageFile = { text: string; type: string; cache: string }

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}
const FOREVER = 'public, max-age=31536000, immutable'
const INDEX = 'index.html'

/** A file of the page with its headers; undefined if there is none. Browsers may cache only files with a hash in their name. */
export function fileOf(page: ConsolePage, name = INDEX): PageFile | undefined {
  const text = page.get(name)
  const type = TYPES[name.split('.').at(-1) ?? '']
  if (text === undefined || type === undefined) return undefined
  return { text, type, cache: name === INDEX ? 'no-store' : FOREVER }
}
