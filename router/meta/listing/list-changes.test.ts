/** Who is told which of their lists changed: on a stream, or ahead of an answer, but never twice. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createCaller } from '../../../core/mcp/caller.ts'
import { ANONYMOUS } from '../../../core/mcp/identity.ts'
import type { McpRoute } from '../../../core/mcp/server/handler.ts'
import { createFixture } from '../../../test/meta/fixture.ts'
import { forge, SERVERS, wiki } from '../../../test/meta/servers.ts'
import { createAccess } from '../../access/access.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { createNewest } from '../../source/newest.ts'
import { createOnce } from '../once.ts'
import { createListChanges } from './list-changes.ts'

const DIRECT = { kind: 'gateway', profile: 'direct' } as const
const TOOLS = 'notifications/tools/list_changed'
const RESOURCES = 'notifications/resources/list_changed'
const PROMPTS = 'notifications/prompts/list_changed'

function start(t: TestContext) {
  const served = createNewest<Catalog>()
  const fixture = createFixture(SERVERS)
  served.publish(fixture.catalog())
  const stop = new AbortController()
  t.after(() => stop.abort())
  const changes = createListChanges({ watch: served.watch, access: createAccess(), once: createOnce() })
  const told: string[] = []
  const listen = (route: McpRoute = DIRECT, client?: string, { signal } = stop) =>
    changes.listen({
      route,
      identity: ANONYMOUS,
      client,
      signal,
      tell: ({ method }) => void told.push(method),
    })
  const notice = (client: string | undefined, method: string, more = {}) =>
    changes.notice(
      {
        id: 1,
        method,
        params: {},
        route: DIRECT,
        caller: createCaller({
          client,
          signal: stop.signal,
          notify: notification => void told.push(`${client} ${notification.method}`),
          ...more,
        }),
        text: undefined,
      },
      fixture.catalog(),
    )
  const reload: typeof fixture.reload = (...changed) => {
    fixture.reload(...changed)
    served.publish(fixture.catalog())
  }
  return { changes, told, listen, notice, stop, reload }
}

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

test('of more listeners than may be, the last is sent away, until another one ends', async t => {
  const { listen, stop } = start(t)
  const listening = Array.from({ length: 4_096 }, () => listen())
  await listen()
  stop.abort()
  await Promise.all(listening)
})

test('who listens is told of the lists that changed, and of no other', async t => {
  const { listen, told, reload } = start(t)
  void listen()
  await turn()
  reload({ forge: { ...forge, offers: { ...forge.offers, prompts: [] } }, wiki })
  await turn()
  assert.deepEqual(told.splice(0), [PROMPTS])
  reload({ forge: { ...forge, offers: { ...forge.offers, prompts: [] } } })
  await turn()
  assert.deepEqual(told.splice(0), [TOOLS, RESOURCES])
})

test('an item that reads otherwise is a change', async t => {
  const { listen, told, reload } = start(t)
  void listen()
  await turn()
  const [first, ...rest] = wiki.offers?.tools ?? []
  const tools = [{ ...(first as NonNullable<typeof first>), description: 'Another one' }, ...rest]
  reload({ forge, wiki: { ...wiki, offers: { ...wiki.offers, tools } } })
  await turn()
  assert.deepEqual(told, [TOOLS])
})

test('the same lists told again, or in another state of their server that shows them, are no change', async t => {
  const { listen, told, reload } = start(t)
  void listen()
  void listen({ kind: 'server', server: 'forge' })
  await turn()
  reload({ forge: { ...forge, server: { ...forge.server, title: 'Renamed' } }, wiki })
  await turn()
  reload({ forge: { ...forge, server: { status: { state: 'asleep', hidden: false } } }, wiki })
  await turn()
  assert.deepEqual(told, [])
})

test('who listens at a profile of meta-tools hears of resources and prompts, and never of tools', async t => {
  const { listen, told, reload } = start(t)
  void listen({ kind: 'gateway', profile: 'hierarchical' })
  await turn()
  reload({ wiki })
  await turn()
  assert.deepEqual(told, [RESOURCES, PROMPTS])
})

test('who listens at one server hears of that server alone', async t => {
  const { listen, told, reload } = start(t)
  void listen({ kind: 'server', server: 'wiki' })
  await turn()
  reload({ wiki })
  await turn()
  assert.deepEqual(told, [])
  reload({ wiki: { ...wiki, offers: { ...wiki.offers, tools: [] } } })
  await turn()
  assert.deepEqual(told, [TOOLS])
})

test('a client with a stream is told there of what it missed and of what comes, and not ahead of answers', async t => {
  const { listen, notice, told, reload } = start(t)
  notice('anna', 'tools/list')
  reload({ wiki })
  const stream = new AbortController()
  const listening = listen(DIRECT, 'anna', stream)
  await turn()
  assert.deepEqual(told.splice(0), [TOOLS])
  reload({ forge, wiki })
  notice('anna', 'tools/call')
  await turn()
  assert.deepEqual(told.splice(0), [TOOLS, RESOURCES, PROMPTS])
  stream.abort()
  await listening
  notice('anna', 'tools/call')
  assert.deepEqual(told, [])
  reload({ wiki })
  notice('anna', 'tools/call')
  assert.deepEqual(told, [`anna ${TOOLS}`])
})

test('only a client that has read the list is told, once a change, and not where nothing can be told', t => {
  const { changes, notice, told, reload } = start(t)
  notice('anna', 'tools/list')
  notice('carl', 'tools/list')
  reload({})
  notice('berta', 'tools/call')
  notice(undefined, 'tools/call')
  notice('anna', 'tools/call', { notify: undefined })
  assert.deepEqual(told, [])
  notice('anna', 'tools/call')
  notice('anna', 'tools/call')
  changes.forget('carl')
  notice('carl', 'tools/call')
  assert.deepEqual(told, [`anna ${TOOLS}`])
})
