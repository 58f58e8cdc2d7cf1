/** What is in the audit stream, and what happens if it is not read: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BLUE, initialize, RED, send } from './access-router.ts'
import { audited, denials, execute } from './audit-router.ts'

test('no token and no secret is in the audit lines of thousands of requests of all kinds', async t => {
  const hidden = (at: number) => `S3CRET${at}x`
  const answer = async () => ({ result: { content: [{ type: 'text', text: `result ${hidden(0)}` }] } })
  const { origin, lines, sink, clock } = await audited(t, { arguments: 'Redacted' }, {}, answer)
  const shapes = denials('cobalt')
  let sent = 0
  for (let round = 0; round < 40; round++) {
    const batch = shapes.map(async ({ request, path }, at) => {
      const secret = hidden(round * 100 + at)
      const [token, authorization] = [
        [RED, undefined],
        [BLUE, undefined],
        [`${secret}${'t'.repeat(30)}`, undefined],
        [undefined, `Basic ${secret}`],
      ][(round + at) % 4] as [string?, string?]
      const headers = {
        ...(authorization && { authorization }),
        cookie: `session=${secret}`,
        'x-forwarded-for': secret,
        'x-api-key': secret,
      }
      await send(origin, request, { path: `${path ?? '/mcp'}?access_token=${secret}`, token, headers })
      const args = { vermilionId: 'v', password: secret, deep: { apiToken: secret } }
      await send(origin, execute('vermilion:vermilion_get', args), { token, headers })
      sent += 2
    })
    await Promise.all(batch)
    clock.advance(1_000)
  }
  const found = await lines()
  assert.ok(sent >= 3_000 && found.length > 1_000, `${sent} ${found.length}`)
  for (const secret of ['S3CRET', RED, BLUE, 'Basic', 'Bearer'])
    assert.ok(!sink.text().includes(secret), `${secret} is in the lines`)
})

const FLOOD = 400

/** Fills the sink with calls that have long arguments; stops when a request is refused. */
async function flood(origin: string): Promise<number[]> {
  const statuses: number[] = []
  for (let at = 0; at < FLOOD; at++) {
    const args = { vermilionId: 'a'.repeat(15_000), at }
    statuses.push((await send(origin, execute('vermilion:vermilion_get', args), { token: RED })).status)
    if (statuses.at(-1) !== 200) break
  }
  return statuses
}

test('Refuse: while the sink is blocked requests get 503, and no line is lost', async t => {
  const { origin, sink, lines, router } = await audited(t, { arguments: 'Full', onOverflow: 'Refuse' })
  sink.block()
  const statuses = await flood(origin)
  assert.equal(statuses.at(-1), 503)
  const refused = await send(origin, initialize, { token: RED })
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
  assert.match(refused.text, /must not go unrecorded/)
  sink.unblock()
  assert.equal((await send(origin, initialize, { token: RED })).status, 200)
  assert.match(await router.metrics.registry.metrics(), /portolan_audit_lines_lost_total 0/)
  const calls = (await lines()).filter(({ event }) => event === 'call')
  assert.equal(calls.length, statuses.length - 1)
})

test('Drop: while the sink is blocked requests are answered, and the lines that are lost are counted', async t => {
  const { origin, sink, router, lines } = await audited(t, { arguments: 'Full' })
  const lost = async () =>
    Number(/portolan_audit_lines_lost_total (\d+)/.exec(await router.metrics.registry.metrics())?.[1])
  sink.block()
  const statuses: number[] = []
  while ((await lost()) < 3 && statuses.length < 2_000)
    statuses.push(
      ...(await Promise.all(
        Array.from({ length: 50 }, async () => {
          const args = { vermilionId: 'a'.repeat(15_000) }
          return (await send(origin, execute('vermilion:vermilion_get', args), { token: RED })).status
        }),
      )),
    )
  assert.deepEqual(new Set(statuses), new Set([200]))
  sink.unblock()
  await send(origin, execute('vermilion:vermilion_get'), { token: RED })
  const count = await lost()
  const found = await lines()
  assert.equal(
    found.reduce((sum, line) => sum + (line.event === 'lost' ? Number(line.count) : 0), 0),
    count,
  )
  assert.equal(found.filter(({ event }) => event === 'call').length, statuses.length + 1 - count)
})
