/** Files of examples/, unchanged except for addresses that no test cluster has: a test can replace them. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../../core/kube/object.ts'

export const EXAMPLES = join(import.meta.dirname, '..', '..', '..', 'examples')

/** Addresses in the examples, and those that a test uses instead. */
export type Places = Readonly<Record<string, string>>

/** The manifests below a folder of the examples, sorted. */
export function manifestFiles(...folder: string[]): string[] {
  const root = join(EXAMPLES, ...folder)
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
  return names
    .filter(name => name.endsWith('.yaml'))
    .sort()
    .map(name => join(root, name))
}

/** The documents of a file. With `places`, no other address of an example may be in it. */
export function documentsOf(path: string, places: Places = {}): KubeObject[] {
  let text = readFileSync(path, 'utf8')
  for (const [from, to] of Object.entries(places)) text = text.replaceAll(from, to)
  const documents = parseAllDocuments(text).map(part => part.toJS() as KubeObject)
  // Comments may name other hosts.
  if (Object.keys(places).length > 0) assert.doesNotMatch(JSON.stringify(documents), /\.example\b/, path)
  return documents
}

/** A value of a Secret in a file. */
export function secretIn(path: string, name: string, key: string): string {
  const found = documentsOf(path).find(({ kind, metadata }) => kind === 'Secret' && metadata.name === name)
  const { stringData = {} } = (found ?? {}) as { stringData?: Record<string, string> }
  return stringData[key] ?? assert.fail(`${path} has no Secret ${name} with ${key}`)
}
