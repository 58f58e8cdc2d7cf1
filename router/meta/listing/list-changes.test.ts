/** Who is notified of changed lists: on a stream, or before an answer, but never twice. */

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
import { createListChanges, type ListChangesOptions } from './list-changes.ts'

const DIRECT = { kind: 'gateway', profile: 'direct' } as const
const TOOLS = 'notifications/tools/list_changed'
const RESOURCES = 'notifications/resources/list_changed'
const PROMPTS = 'notifications/prompts/list_changed'

function start(t: TestContext, settled?: ListChangesOptions['settled']) {
  const served = createNewest<Catalog>()
  const fixture = createFixture(SERVERS)
  served.publish(fixture.catalog())
  const stop = new AbortController()
  t.after(() => stop.abort())
  const access = createAccess()
  const changes = createListChanges({ watch: served.watch, restrict: access, once: createOnce(), settled })
  const notified: string[] = []
  const listen = (route: McpRoute = DIRECT, client?: string, { signal } = stop) =>
    changes.listen({
      route,
      identity: ANONYMOUS,
      client,
      signal,
      tell: ({ method }) => void notified.push(method),
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
          notify: notification => void notified.push(`${client} ${notification.method}`),
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
  return { changes, notified, listen, notice, stop, reload }
}

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

test('a listener beyond the limit is refused at once', async t => {
  const { listen, stop } = start(t)
  const listening = Array.from({ length: 4_096 }, () => listen())
  await listen()
  stop.abort()
  await Promise.all(listening)
})

test('listeners are notified of the lists that changed, and of no others', async t => {
  const { listen, notified, reload } = start(t)
  void listen()
  await turn()
  reload({ forge: { ...forge, offers: { ...forge.offers, prompts: [] } }, wiki })
  await turn()
  assert.deepEqual(notified.splice(0), [PROMPTS])
  reload({ forge: { ...forge, offers: { ...forge.offers, prompts: [] } } })
  await turn()
  assert.deepEqual(notified.splice(0), [TOOLS, RESOURCES])
})

test('a listener is notified of each change only once the other routers have it too', async t => {
  let settle = () => {}
  const { listen, notified, reload } = start(t, () => new Promise(resolve => (settle = resolve)))
  void listen()
  await turn()
  reload({ wiki })
  await turn()
  assert.deepEqual(notified, [])
  reload({ forge, wiki })
  settle()
  await turn()
  assert.deepEqual(notified.splice(0), [TOOLS, RESOURCES, PROMPTS])
  settle()
  await turn()
  assert.deepEqual(notified, [TOOLS, RESOURCES, PROMPTS])
})

test('a listener that ends while a change settles is notified of nothing', async t => {
  const stream = new AbortController()
  const { listen, notified, reload } = start(
    t,
    signal => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  )
  const listening = listen(DIRECT, 'anna', stream)
  await turn()
  reload({ wiki })
  await turn()
  stream.abort()
  await listening
  assert.deepEqual(notified, [])
})

test('a changed description is a change of the list', async t => {
  const { listen, notified, reload } = start(t)
  void listen()
  await turn()
  const [first, ...rest] = wiki.offers?.tools ?? []
  const tools = [{ ...(first as NonNullable<typeof first>), description: 'Another one' }, ...rest]
  reload({ forge, wiki: { ...wiki, offers: { ...wiki.offers, tools } } })
  await turn()
  assert.deepEqual(notified, [TOOLS])
})

test('equal lists, and another state of a server that stays visible, are no change', async t => {
  const { listen, notified, reload } = start(t)
  void listen()
  void listen({ kind: 'server', server: 'forge' })
  await turn()
  reload({ forge: { ...forge, server: { ...forge.server, title: 'Renamed' } }, wiki })
  await turn()
  reload({ forge: { ...forge, server: { status: { state: 'asleep', hidden: false } } }, wiki })
  await turn()
  assert.deepEqual(notified, [])
})

test('listeners at a profile of meta-tools get changes of resources and prompts, never of tools', async t => {
  const { listen, notified, reload } = start(t)
  void listen({ kind: 'gateway', profile: 'hierarchical' })
  await turn()
  reload({ wiki })
  await turn()
  assert.deepEqual(notified, [RESOURCES, PROMPTS])
})

test('listeners at one server get changes of that server only', async t => {
  const { listen, notified, reload } = start(t)
  void listen({ kind: 'server', server: 'wiki' })
  await turn()
  reload({ wiki })
  await turn()
  assert.deepEqual(notified, [])
  reload({ wiki: { ...wiki, offers: { ...wiki.offers, tools: [] } } })
  await turn()
  assert.deepEqual(notified, [TOOLS])
})

test('a client with a stream gets missed and new changes there, and not before answers', async t => {
  const { listen, notice, notified, reload } = start(t)
  notice('anna', 'tools/list')
  reload({ wiki })
  const stream = new AbortController()
  const listening = listen(DIRECT, 'anna', stream)
  await turn()
  assert.deepEqual(notified.splice(0), [TOOLS])
  reload({ forge, wiki })
  notice('anna', 'tools/call')
  await turn()
  assert.deepEqual(notified.splice(0), [TOOLS, RESOURCES, PROMPTS])
  stream.abort()
  await listening
  notice('anna', 'tools/call')
  assert.deepEqual(notified, [])
  reload({ wiki })
  notice('anna', 'tools/call')
  assert.deepEqual(notified, [`anna ${TOOLS}`])
})

test('only clients that have read the list are notified, once per change, with a request that allows it', t => {
  const { changes, notice, notified, reload } = start(t)
  notice('anna', 'tools/list')
  notice('carl', 'tools/list')
  reload({})
  notice('berta', 'tools/call')
  notice(undefined, 'tools/call')
  notice('anna', 'tools/call', { notify: undefined })
  assert.deepEqual(notified, [])
  notice('anna', 'tools/call')
  notice('anna', 'tools/call')
  changes.forget('carl')
  notice('carl', 'tools/call')
  assert.deepEqual(notified, [`anna ${TOOLS}`])
})
