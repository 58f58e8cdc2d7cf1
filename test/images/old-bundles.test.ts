/** Which bundles of a clone are removed. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { removeOld } from '../../scripts/bundled.mjs'

const HOUR_S = 60 * 60

test('the newest bundles are kept, also if another start removes one meanwhile, and what interrupted starts left is removed', t => {
  const cache = mkdtempSync(join(tmpdir(), 'portolan-bundles-'))
  t.after(() => rmSync(cache, { recursive: true }))
  const nowS = Date.now() / 1_000
  const add = (name: string, ageS: number) => {
    mkdirSync(join(cache, name))
    utimesSync(join(cache, name), nowS - ageS, nowS - ageS)
  }
  for (const [at, name] of ['a', 'b', 'c', 'd', 'e'].entries()) add(name, at * HOUR_S)
  // Like a bundle that is removed after the folder was listed: it has a name and no status.
  symlinkSync(join(cache, 'gone'), join(cache, 'f'))
  const running = `g.${randomUUID()}`
  add(running, 60)
  add(`h.${randomUUID()}`, 25 * HOUR_S)
  add('current.json', 25 * HOUR_S)
  removeOld(cache)
  const left = readdirSync(cache).filter(name => name !== 'f')
  assert.deepEqual(left.sort(), ['a', 'b', 'c', 'current.json', 'd', running])
})
