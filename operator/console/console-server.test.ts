/** How the operator's console answers broken requests. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { ConsolePage } from '../../core/console/page.ts'
import type { Log } from '../../core/log.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { ClusterView } from './cluster-view.ts'
import { serveConsole } from './console-server.ts'
import type { RouterClient } from './router-client.ts'

test('a request whose target is no URL is the fault of the client, and is not logged as an error', async t => {
  const errors: unknown[] = []
  const server = await serveConsole({
    page: {} as ConsolePage,
    view: {} as ClusterView,
    client: {} as RouterClient,
    port: 0,
    log: { error: (fields: unknown) => errors.push(fields) } as unknown as Log,
    clock: createManualClock(),
    random: () => 0.5,
  })
  t.after(() => server.close())
  const socket = connect(server.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET // HTTP/1.1\r\nHost: localhost:${server.port}\r\nConnection: close\r\n\r\n`)
  assert.match(await text(socket), /^HTTP\/1\.1 400 /)
  assert.deepEqual(errors, [])
})
