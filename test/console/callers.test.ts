/** What callers of one gateway get of its console: over HTTP, against a running router with a manual clock. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AccessConfig } from '../../core/catalog/access-config.ts'
import type { ConsoleState } from '../../core/console/shapes.ts'
import { HEARTBEAT_MS } from '../../core/mcp/server/heartbeats.ts'
import { createClusterHost } from '../../router/console/for-operator.ts'
import { LOOK_MS } from '../../router/console/looks.ts'
import { BLUE, initialize, RED, rule, SERVERS, send, start, TOKENS } from '../front/access-router.ts'
import { audited, execute } from '../front/audit-router.ts'
import { type EventReader, readEvents } from '../front/event-reader.ts'
import { echo, type FixtureServer } from '../meta/fixture.ts'
import { until } from '../support/until.ts'

const CONSOLE = { page: new Map(), host: createClusterHost(() => ({ ready: true })) }
const ANYBODY = { ...TOKENS, anonymous: true }
const CALL = execute('vermilion:vermilion_get')

const startConsole = (t: TestContext, access: Partial<AccessConfig>) =>
  start(t, access, {}, echo, SERVERS, { console: CONSOLE })
const bearer = (token?: string): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

/** The numbers of the calls that a page gets when it opens. */
async function callsSeen(
  t: TestContext,
  { origin, clock }: Awaited<ReturnType<typeof startConsole>>,
  token?: string,
) {
  const response = await fetch(`${origin}/console/events`, { headers: bearer(token), signal: t.signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  // The first heartbeat comes after all that the page gets at once.
  clock.advance(HEARTBEAT_MS)
  while (!/^:/m.test(text)) text += (await reader?.read())?.value ?? assert.fail('the stream ended')
  await reader?.cancel()
  return [...text.matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq))
}

/** The servers with another text as the description of one tool of `vermilion`. */
function describedAnew(tool: string, description: string): Record<string, FixtureServer> {
  const { vermilion, ...others } = SERVERS
  const tools = vermilion?.offers?.tools?.map(one => (one.name === tool ? { ...one, description } : one))
  return { ...others, vermilion: { ...vermilion, offers: { ...vermilion?.offers, tools } } }
}

/** The digest in the next event of a page's stream that has the state of the gateway. */
async function nextDigest(page: EventReader): Promise<string | undefined> {
  for (;;) {
    const event = (await page.next()) ?? assert.fail('the stream ended')
    if ('totals' in event) return (event as unknown as ConsoleState).catalogDigest
  }
}

test('anonymous callers of a gateway with auth see no calls of each other, and one with a token sees its own', async t => {
  const running = await startConsole(t, { auth: ANYBODY })
  const { origin } = running
  const status = async (seq: number, token?: string) =>
    (await fetch(`${origin}/console/call?seq=${seq}`, { headers: bearer(token) })).status
  await send(origin, CALL)
  await send(origin, CALL, { token: RED })
  assert.deepEqual([await callsSeen(t, running), await callsSeen(t, running, RED)], [[], [2]])
  assert.deepEqual([await status(1), await status(1, RED), await status(2, RED)], [404, 404, 200])
})

test('after many unknown tokens the answer says when to try again', async t => {
  const { origin } = await startConsole(t, { auth: ANYBODY })
  const ask = () => fetch(`${origin}/console/call?seq=1`, { headers: bearer('unknown') })
  let refused = await ask()
  for (let tries = 0; refused.status === 401 && tries < 100; tries++) refused = await ask()
  assert.equal(refused.status, 429)
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.match(((await refused.json()) as { error: string }).error, /is reached; again in/)
})

test('without auth, whoever is at the machine sees all calls', async t => {
  const running = await startConsole(t, { auth: undefined })
  await send(running.origin, CALL)
  assert.deepEqual(await callsSeen(t, running), [1])
  assert.equal((await fetch(`${running.origin}/console/call?seq=1`)).status, 200)
})

test('with onOverflow Refuse, the console gives no data and acts on nothing while no audit line can be written', async t => {
  const access = { auth: undefined, rules: [rule('all', 'vermilion', { subjects: [] })] }
  const audit = { arguments: 'Full', onOverflow: 'Refuse' } as const
  const { origin, sink } = await audited(t, audit, access, echo, { console: CONSOLE })
  const ask = () => fetch(`${origin}/console/tools`)
  const act = () =>
    fetch(`${origin}/console/action`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: '{"action":"restart","server":"vermilion"}',
    })
  assert.deepEqual([(await ask()).status, (await act()).status], [200, 400])
  sink.block()
  const big = execute('vermilion:vermilion_get', { vermilionId: 'a'.repeat(15_000) })
  await until(async () => (await send(origin, big)).status !== 200)
  const refused = await ask()
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
  assert.match(await refused.text(), /must not go unrecorded/)
  assert.equal((await act()).status, 503)
  assert.equal((await fetch(`${origin}/console/events`)).status, 503)
  sink.unblock()
  assert.equal((await ask()).status, 200)
})

test('if auth is added, streams that were opened without a credential end', async t => {
  const { origin, change } = await startConsole(t, { auth: undefined })
  const begun = await send(origin, initialize)
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const stream = await readEvents(t, `${origin}/mcp`, session)
  const page = await fetch(`${origin}/console/events`, { signal: t.signal })
  const pageEnded = page.text()
  assert.deepEqual([stream.status, page.status], [200, 200])
  await change({ auth: ANYBODY }, 2)
  await change({ auth: TOKENS }, 3)
  assert.equal(await stream.next(), undefined)
  assert.match(await pageEnded, /event: state/)
})

test('the digest of the catalog changes with what its caller sees, and does not show changes of anything else', async t => {
  const get = { tools: { allow: ['vermilion_get'], deny: [], readOnly: false } }
  const rules = [rule('red', 'vermilion', get), rule('blue', 'vermilion')]
  const { origin, clock, change } = await startConsole(t, { rules })
  const open = (token: string) => readEvents(t, `${origin}/console/events`, bearer(token))
  const [red, blue] = [await open(RED), await open(BLUE)]
  const [redFirst, blueFirst] = [await nextDigest(red), await nextDigest(blue)]
  assert.match(redFirst ?? '', /^[0-9a-f]{32}$/)
  const changed = async (tool: string, generation: number) => {
    await change({ rules }, generation, describedAnew(tool, 'About other things'))
    clock.advance(LOOK_MS)
  }
  await changed('vermilion_delete', 2)
  assert.notEqual(await nextDigest(blue), blueFirst)
  await changed('vermilion_get', 3)
  const redNext = await nextDigest(red)
  assert.notEqual(redNext, redFirst)
  // If the stream had shown the first change, it would be behind a page that is opened now.
  assert.equal(await nextDigest(await open(RED)), redNext)
})
