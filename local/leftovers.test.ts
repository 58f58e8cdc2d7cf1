/** Temporary files in the cache that a killed gateway has left. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { deleteLeftovers } from './leftovers.ts'

const HOUR_MS = 3_600_000

test('temporary files that are older than an hour are deleted, and nothing else', async t => {
  const cache = mkdtempSync(join(tmpdir(), 'portolan-leftovers-'))
  t.after(() => rmSync(cache, { recursive: true, force: true }))
  const now = 10 * HOUR_MS
  const write = (folder: string, name: string, age: number) => {
    const path = join(cache, folder, name)
    mkdirSync(join(cache, folder), { recursive: true })
    writeFileSync(path, '')
    utimesSync(path, (now - age) / 1_000, (now - age) / 1_000)
    return name
  }
  const old = 2 * HOUR_MS
  const left: Record<string, string[]> = {}
  for (const folder of ['', 'catalogs', 'approved', 'logins', 'vectors', 'integrity']) {
    write(folder, `a.json.${randomUUID()}.new`, old)
    left[folder] = [
      write(folder, 'a.json', old),
      write(folder, 'b.new', old),
      write(folder, `a.json.${randomUUID()}.new`, HOUR_MS / 2),
    ]
  }
  const package_ = write('packages', `a.json.${randomUUID()}.new`, old)
  await deleteLeftovers(cache, now)
  const files = (folder: string) =>
    readdirSync(join(cache, folder), { withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ name }) => name)
  for (const [folder, names] of Object.entries(left)) assert.deepEqual(files(folder).sort(), names.sort())
  assert.deepEqual(files('packages'), [package_])
  await deleteLeftovers(join(cache, 'none'), now)
})
