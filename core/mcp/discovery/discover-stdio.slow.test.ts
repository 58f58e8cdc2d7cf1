/** Discovery of real child processes with invalid lists. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { askingCommand } from '../../../test/upstreams/asking/questions.ts'
import { systemClock } from '../../async.ts'
import type { ServerCatalog } from '../../catalog/server-catalog.ts'
import { createStdioUpstream, type StdioSpec } from '../client/stdio/stdio-upstream.ts'
import { discover } from './discover.ts'

const server = join(import.meta.dirname, '..', '..', '..', 'test', 'upstreams', 'rude', 'server.mjs')
const never = new AbortController().signal

type Command = Pick<StdioSpec, 'command' | 'args' | 'env'>

function discoverMode(...args: string[]): Promise<ServerCatalog> {
  return discoverChild({ command: process.execPath, args: [server, ...args], env: {} }, 'shared')
}

async function discoverChild(command: Command, sessions: StdioSpec['sessions']): Promise<ServerCatalog> {
  const life = { sessions, startTimeoutMs: 20_000, idleAfterMs: 60_000, min: 0 }
  const upstream = createStdioUpstream({ ...command, ...life }, { clock: systemClock })
  try {
    let last: ServerCatalog | undefined
    const countTokens = async (texts: readonly string[]) => texts.map(() => 1)
    for await (const catalog of discover(
      upstream,
      { server: 'rude', clock: systemClock, countTokens },
      never,
    ))
      last = catalog
    assert.ok(last)
    return last
  } finally {
    await upstream.close()
  }
}

const namesOf = (catalog: ServerCatalog) => catalog.tools.map(tool => tool.definition.name)

test('10,000 tools of a child are all found', async () => {
  assert.equal((await discoverMode('many-tools', '10000')).tools.length, 10_000)
})

test('bad tools of a child are left out with their reasons', async () => {
  const catalog = await discoverMode('bad-tools')
  assert.deepEqual(namesOf(catalog), ['also_good', 'good'])
  assert.equal(catalog.invalid.length, 8)
})

test('the list of a child whose pages repeat is cut off', async () => {
  const catalog = await discoverMode('cursor-loop')
  assert.deepEqual(namesOf(catalog), ['again', 'first'])
  assert.match(catalog.invalid[0]?.reason ?? '', /repeats an earlier cursor/)
})

test('names in any language are kept as they are', async () => {
  const names = namesOf(await discoverMode('any-language'))
  assert.deepEqual(new Set(names), new Set(['werkzeug_für_alles', '工具', 'two words', 'a:b/c.d']))
})

test('if resources or prompts of a child fail, the tools stay and a reason is given', async () => {
  const { incomplete, tools } = await discoverMode('failing-lists')
  assert.ok(tools.length > 0)
  assert.deepEqual(
    incomplete.map(({ list }) => list),
    ['resources', 'prompts'],
  )
  assert.match(incomplete[0]?.message ?? '', /the disk is on fire/)
})

test('tools are requested also from a child that does not declare them', async () => {
  assert.ok((await discoverMode('undeclared-tools')).tools.length > 0)
})

test('the death of a child while it lists is a fault', async () => {
  await assert.rejects(discoverMode('die-in-list'), { name: 'Fault' })
})

test('an answer to tools/list without a list is a fault', async () => {
  await assert.rejects(discoverMode('tools-not-a-list'), { code: 'upstream_protocol' })
})

test('a tool that is listed only to clients with all capabilities is found if each client has a child', async () => {
  const command = askingCommand('legacy', 'roots-first')
  assert.ok(namesOf(await discoverChild(command, 'perClient')).includes('hidden'))
  assert.ok(!namesOf(await discoverChild(command, 'shared')).includes('hidden'))
})
