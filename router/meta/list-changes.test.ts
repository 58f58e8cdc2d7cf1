/** Who listens for changed tools is kept alive, and is not one too many. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createFixture } from '../../test/meta/fixture.ts'
import { SERVERS } from '../../test/meta/servers.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { createNewest } from '../source/newest.ts'
import { createListChanges } from './list-changes.ts'

const ROUTE = { kind: 'gateway', profile: 'direct' } as const

function start(t: TestContext) {
  const clock = createManualClock()
  const served = createNewest<Catalog>()
  const fixture = createFixture(SERVERS)
  served.publish(fixture.catalog())
  const stop = new AbortController()
  t.after(() => stop.abort())
  const changes = createListChanges({ watch: served.watch, clock })
  const seen = { told: 0, beats: 0 }
  const listen = () =>
    changes.listen({
      route: ROUTE,
      signal: stop.signal,
      tell: () => void seen.told++,
      beat: () => void seen.beats++,
    })
  return { clock, changes, seen, listen, stop, fixture }
}

test('a silent stream shows signs of life until it ends', async t => {
  const { clock, seen, listen, stop } = start(t)
  const listening = listen()
  clock.advance(45_000)
  assert.deepEqual(seen, { told: 0, beats: 3 })
  stop.abort()
  await listening
  clock.advance(45_000)
  assert.deepEqual([seen.beats, clock.pending()], [3, 0])
})

test('of more listeners than may be, the last is sent away, until another one ends', async t => {
  const { listen, stop } = start(t)
  const listening = Array.from({ length: 256 }, listen)
  await listen()
  stop.abort()
  await Promise.all(listening)
})

test('only a client that has read the list is told, once a change, and not where nothing can be told', t => {
  const { changes, fixture } = start(t)
  const told: string[] = []
  const notice = (client: string | undefined, method: string, more = {}) =>
    changes.notice(
      {
        method,
        params: {},
        route: ROUTE,
        client,
        signal: new AbortController().signal,
        notify: notification => void told.push(`${client} ${notification.method}`),
        ...more,
      },
      fixture.catalog(),
    )
  notice('anna', 'tools/list')
  notice('carl', 'tools/list')
  fixture.reload({})
  notice('berta', 'tools/call')
  notice(undefined, 'tools/call')
  notice('anna', 'tools/call', { notify: undefined })
  assert.deepEqual(told, [])
  notice('anna', 'tools/call')
  notice('anna', 'tools/call')
  changes.forget('carl')
  notice('carl', 'tools/call')
  assert.deepEqual(told, ['anna notifications/tools/list_changed'])
})
