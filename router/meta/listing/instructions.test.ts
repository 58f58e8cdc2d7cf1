/** Which servers the instructions name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drive, type FixtureServer, snapshotOf } from '../../../test/meta/fixture.ts'
import { buildCatalog } from '../../catalog/catalog.ts'
import { instructionsOf } from './instructions.ts'

const tools = [{ name: 'get', inputSchema: { type: 'object' } }]

/** The list of servers in the instructions. `name`: makes names of servers, each of which has a long category of its own. */
function listOf(count: number, name: (at: number) => string): string {
  const categories = Array.from({ length: count }, (_, at) => `category ${at} of things to be done at home`)
  const servers = categories.map((category, at): [string, FixtureServer] => [
    name(at),
    { server: { category }, offers: { tools } },
  ])
  const catalog = drive(buildCatalog(snapshotOf(Object.fromEntries(servers), {}, 1)))
  return instructionsOf(catalog, 'search').split(': search. ')[1] ?? ''
}

test('if the categories do not fit, all names that fit are there, and the number of the others', () => {
  const names = [...'abcdefghijklmnopqrstuvwxy']
  assert.equal(
    listOf(25, at => names[at] as string),
    `Servers: ${names.join(', ')}.`,
  )
  const [, shown = '', more] = /^Servers: (.*) and (\d+) more\.$/.exec(listOf(60, at => `server-${at}`)) ?? []
  assert.equal(shown.split(', ').length + Number(more), 60)
})
