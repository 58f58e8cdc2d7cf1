/** List-watch against a real HTTP server that imitates every known failure of an API server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { type Clock, systemClock } from '../async.ts'
import { createLog } from '../log.ts'
import { KubeClient } from './client.ts'
import { ListWatch, type ListWatchOptions } from './list-watch.ts'
import { type KubeObject, keyOf } from './object.ts'

const MAX_RETRY_MS = 10_000

type Pod = KubeObject & { label?: string }
/** Delays of up to 10 s, as between attempts, end immediately; longer ones do not. */
const hasty: Clock = {
  ...systemClock,
  after: (ms, run) => systemClock.after(ms > MAX_RETRY_MS ? ms : 0, run),
}
type Step = (response: ServerResponse) => void

test('list-watch lists all pages, then watches for changes', async t => {
  const { watch, heard, urls } = await start(t, [
    list('7', [pod('a', 1)], 'page2'),
    list('7', [pod('b', 2)]),
    events(['ADDED', pod('c', 8)], ['MODIFIED', pod('a', 9)], ['DELETED', pod('b', 10)]),
  ])
  await heard('-b')
  assert.deepEqual([...watch.objects.keys()].sort(), ['ns/a', 'ns/c'])
  assert.deepEqual(heard.all, ['+a@1', '+b@2', '+c@8', 'a@1→9', '-b'])
  assert.match(urls[1] ?? '', /continue=page2/)
  assert.match(urls[2] ?? '', /resourceVersion=7&timeoutSeconds=\d+&watch=true&allowWatchBookmarks=true/)
})

test('objects have apiVersion and kind, which lists omit, and are frozen', async t => {
  const { watch } = await start(t, [
    list('1', [{ metadata: { name: 'a', namespace: 'ns' } } as Pod]),
    events(),
  ])
  await watch.synced
  const found = watch.get('ns/a')
  assert.equal(found?.kind, 'Pod')
  assert.throws(() => Object.assign(found?.metadata ?? {}, { name: 'other' }), TypeError)
})

test('the map returned by objects does not change later', async t => {
  const gate = held(events(['DELETED', pod('a', 2)]))
  const { watch, heard } = await start(t, [list('1', [pod('a', 1)]), gate.step])
  await watch.synced
  const before = watch.objects
  gate.open()
  await heard('-a')
  assert.deepEqual([before.size, watch.objects.size], [1, 0])
})

test('the next watch starts from the last bookmark', async t => {
  const bookmark: Pod = { ...pod('', 40), metadata: { name: '', resourceVersion: '40' } }
  const { heard, urls } = await start(t, [
    list('7', []),
    ended(events(['BOOKMARK', bookmark])),
    events(['ADDED', pod('a', 41)]),
  ])
  await heard('+a@41')
  assert.match(urls[2] ?? '', /resourceVersion=40&/)
})

test('410, as an event or as an HTTP status, leads to a new list, which finds the missed changes', async t => {
  const { watch, heard } = await start(t, [
    list('1', [pod('a', 1), pod('b', 1), pod('same', 1)]),
    events(['ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }]),
    list('20', [pod('b', 15), pod('same', 1)]),
    refusal(410, 'Expired'),
    list('30', [pod('c', 25), pod('same', 1)]),
    events(),
  ])
  await heard('-b')
  assert.deepEqual(heard.all, ['+a@1', '+b@1', '+same@1', 'b@1→15', '-a', '+c@25', '-b'])
  assert.equal(watch.objects.size, 2)
})

test('no change is lost if the connection breaks in the middle of an event', async t => {
  const half = (response: ServerResponse) => {
    response.write('{"type":"ADDED","object":{"api')
    setImmediate(() => response.destroy())
  }
  const { heard, urls } = await start(t, [list('7', []), half, events(['ADDED', pod('a', 8)])])
  await heard('+a@8')
  assert.match(urls[2] ?? '', /resourceVersion=7&/)
})

test('synced resolves after the first successful list', async t => {
  const gate = held(list('1', [pod('a', 1)]))
  const { watch } = await start(t, [refusal(500), refusal(403), gate.step, events()])
  const early = await Promise.race([watch.synced.then(() => 'synced'), gate.reached.then(() => 'waiting')])
  assert.deepEqual([early, watch.isSynced], ['waiting', false])
  gate.open()
  await watch.synced
  assert.deepEqual([watch.isSynced, watch.objects.size], [true, 1])
})

test('synced rejects if list-watch is stopped before the first list', async t => {
  const { watch, stop } = await start(t, [refusal(500)])
  stop()
  await assert.rejects(watch.synced, { code: 'cancelled' })
})

test('a listener that throws stops neither the others nor the watch, and a removed listener is not called', async t => {
  const lines: string[] = []
  const { watch, heard } = await start(
    t,
    [list('1', [pod('a', 1)]), events(['ADDED', pod('b', 2)])],
    { log: logInto(lines) },
    watch => {
      watch.onChange(() => assert.fail('a bug'))
      watch.onChange(() => lines.push('heard'))()
    },
  )
  await heard('+b@2')
  assert.equal(watch.objects.size, 2)
  assert.equal(lines.map(line => JSON.parse(line).msg).join(), 'a listener failed,a listener failed')
})

test('a watch that does not end in time is opened again, from the same resourceVersion', async t => {
  const clock = createManualClock()
  const { watch, heard, urls, requested } = await start(
    t,
    [list('7', []), events(), events(['ADDED', pod('a', 8)])],
    { clock, random: () => 0.5 },
  )
  await watch.synced
  await requested(2)
  clock.advance(69_999)
  assert.equal(urls.length, 2)
  clock.advance(1)
  await until(() => clock.pending() > 0) // the delay before the next attempt
  clock.advance(250)
  await heard('+a@8')
  assert.match(urls[2] ?? '', /resourceVersion=7&/)
})

test('the delay grows with each failure, is at least the Retry-After, and is reset by a success', async t => {
  const lines: string[] = []
  const busy: Step = response => response.writeHead(429, { 'retry-after': '0.9' }).end()
  const { heard } = await start(
    t,
    [
      refusal(500),
      refusal(500),
      busy,
      list('7', []),
      ended(events(['ADDED', pod('a', 8)])),
      refusal(500),
      events(['ADDED', pod('b', 9)]),
    ],
    { log: logInto(lines), random: () => 0 },
  )
  await heard('+b@9')
  const waits = lines.flatMap(line => JSON.parse(line).waitMs ?? [])
  assert.deepEqual(waits, [125, 250, 900, 125])
})

test('a watch that ends immediately is a failure, so that it is not repeated without delay', async t => {
  const lines: string[] = []
  const end = (response: ServerResponse) => void response.end()
  const { heard } = await start(t, [list('7', []), end, events(['ADDED', pod('a', 8)])], {
    log: logInto(lines),
  })
  await heard('+a@8')
  assert.match(lines[0] ?? '', /ended as soon as it began/)
})

test('a resync calls the listeners with every object again', async t => {
  const clock = createManualClock()
  const { watch, heard } = await start(t, [list('1', [pod('a', 1), pod('b', 2)]), events()], {
    clock,
    resyncMs: 600_000,
    random: () => 0.5,
  })
  await watch.synced
  clock.advance(600_000)
  await heard('b@2→2')
  assert.deepEqual(heard.all, ['+a@1', '+b@2', 'a@1→1', 'b@2→2'])
})

/** Starts a list-watch on a server that answers each request with the next step. */
async function start(
  t: TestContext,
  steps: Step[],
  options: Partial<ListWatchOptions> = {},
  prepare: (watch: ListWatch<Pod>) => void = () => {},
) {
  const urls: string[] = []
  let arrived = () => {}
  const server = createServer((request, response) => {
    urls.push(request.url ?? '')
    const step = steps[urls.length - 1]
    if (step) step(response)
    arrived()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const access = { server: address, namespace: 'ns', credentials: async () => ({ headers: {}, tls: {} }) }
  const client = new KubeClient(access)
  const query = { apiVersion: 'v1', kind: 'Pod', namespace: 'ns' }
  const watch = new ListWatch<Pod>({
    client,
    query,
    log: createLog({ level: 'silent' }),
    clock: hasty,
    ...options,
  })
  prepare(watch)
  const heard = listen(watch)
  const stopping = new AbortController()
  const running = watch.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await running
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  const requested = async (count: number) => {
    while (urls.length < count) await new Promise<void>(resolve => (arrived = resolve))
  }
  return { watch, heard, urls, requested, stop: () => stopping.abort() }
}

/** Records each change as a short text, such as `+a@1`; the returned function waits for one of them. */
function listen(watch: ListWatch<Pod>) {
  const all: string[] = []
  let changed = () => {}
  watch.onChange((before, now) => {
    const name = keyOf((now ?? before) as Pod).replace('ns/', '')
    const [old, young] = [before, now].map(object => object?.metadata.resourceVersion)
    all.push(before ? (now ? `${name}@${old}→${young}` : `-${name}`) : `+${name}@${young}`)
    changed()
  })
  const heard = async (word: string) => {
    while (!all.includes(word)) await new Promise<void>(resolve => (changed = resolve))
  }
  return Object.assign(heard, { all })
}

function pod(name: string, version: number): Pod {
  const resourceVersion = String(version)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion },
  }
}

function list(resourceVersion: string, items: Pod[], next?: string): Step {
  const bare = items.map(({ metadata }) => ({ metadata }))
  return response =>
    response.end(JSON.stringify({ metadata: { resourceVersion, continue: next }, items: bare }))
}

/** Answers a watch with these events and leaves it open. */
function events(...all: [string, object][]): Step {
  return response => {
    response.flushHeaders()
    for (const [type, object] of all) response.write(`${JSON.stringify({ type, object })}\n`)
  }
}

function ended(step: Step): Step {
  return response => {
    step(response)
    response.end()
  }
}

/** A step that does not answer until `open` is called. */
function held(step: Step) {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const wait: Step = response => {
    reached.resolve()
    opened.promise.then(() => step(response))
  }
  return { step: wait, reached: reached.promise, open: opened.resolve }
}

function refusal(code: number, reason?: string): Step {
  return response => response.writeHead(code).end(JSON.stringify({ kind: 'Status', code, reason }))
}

function logInto(lines: string[]) {
  return createLog({ level: 'debug', destination: { write: line => void lines.push(line) } })
}
