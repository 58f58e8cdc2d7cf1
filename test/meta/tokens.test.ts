/** Token counts: that answers keep to their budget, and that estimates are close to o200k_base. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import { estimateTokens } from '../../router/catalog/estimate.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { createFixture, type FixtureServer } from './fixture.ts'
import { forge, SERVERS } from './servers.ts'

const count = (text: string): number => encode(text).length

test('estimates of definitions, descriptions and sentences are within a tenth in sum, and within a third each', async () => {
  const definitions = Object.values(readCatalogs()).flat()
  const fixture = createFixture({
    ...SERVERS,
    forge: { ...forge, server: { status: { state: 'failed', reason: 'CrashLooping', hidden: true } } },
  })
  const sentences = await Promise.all(
    ['forge:create_issue', 'wiki:serch', 'list_issues', 'nobody:nothing'].map(
      async tool_path => (await fixture.call('execute_mcp_tool', { tool_path })).content[0]?.text ?? '',
    ),
  )
  for (const texts of [
    definitions.map(tool => JSON.stringify(tool)),
    definitions.map(tool => tool.description ?? ''),
    sentences,
  ]) {
    const pairs = texts
      .filter(text => text.length > 40)
      .map(text => [estimateTokens(text), count(text)] as const)
    const [estimated, real] = pairs.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0])
    assert.ok(Math.abs(estimated / real - 1) < 0.1, `${estimated} for ${real}`)
    for (const [one, exact] of pairs)
      assert.ok(Math.abs(one / exact - 1) < 0.34 || Math.abs(one - exact) < 12, `${one} for ${exact}`)
  }
})

test('the counted cost of discovery is within a tenth of the real one, and answers stay near their budget', async () => {
  const servers: Record<string, FixtureServer> = {}
  for (const [name, tools] of Object.entries(readCatalogs())) servers[name] = { offers: { tools }, count }
  const fixture = createFixture(servers)
  const queries = [
    'create issue',
    'read file',
    'list pods',
    'search the web',
    'run sql query',
    'send a message',
    'screenshot',
    'delete branch',
  ]
  let real = 0
  for (const query of queries) {
    const text = (await fixture.call('discover_mcp_tools', { query })).content[0]?.text ?? ''
    assert.ok(count(text) <= 1.1 * 1200, `${query}: ${count(text)}`)
    real += count(text)
  }
  const served = (fixture.seen.served.discovery ?? 0) + (fixture.seen.served.schema ?? 0)
  assert.ok(Math.abs(served / real - 1) < 0.1, `${served} for ${real}`)
})

/** Tools by server: the recorded catalogs if they are available, else the project's own. */
function readCatalogs(): Record<string, ToolDefinition[]> {
  return Object.fromEntries(defaultCatalogs().map(({ name, tools }) => [name, tools]))
}
