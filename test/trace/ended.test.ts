/** Every span ends, also if a bug of Portolan interrupts what it covers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { Fault } from '../../core/errors.ts'
import { createCaller } from '../../core/mcp/caller.ts'
import type { Span, SpanStart } from '../../core/trace.ts'
import { createAccess } from '../../router/access/access.ts'
import { createLimits } from '../../router/access/limits.ts'
import { createHandler } from '../../router/meta/handler.ts'
import { searched } from '../../router/meta/spans.ts'
import { createFixture, createWitness, GATEWAY } from '../meta/fixture.ts'
import { SERVERS } from '../meta/servers.ts'

/** A handler whose pool throws, and the spans that it began: each with the errors with which it was ended. */
function start() {
  const fixture = createFixture(SERVERS)
  const spans: { name: string; ends: (string | undefined)[] }[] = []
  const begin = ({ name }: SpanStart): Span => {
    const ends: (string | undefined)[] = []
    spans.push({ name, ends })
    const context = () => ({ traceparent: '' })
    return { begin, context, rename() {}, set() {}, end: error => void ends.push(error) }
  }
  const handler = createHandler({
    current: fixture.catalog,
    access: createAccess(),
    limits: createLimits(systemClock),
    pool: { ...fixture.pool, call: () => Promise.reject(new Error('a bug')) },
    observer: { ...createWitness().observer, tracer: { begin } },
  })
  const call = (name: string, args: object) =>
    handler.handle({
      ...{ id: 1, method: 'tools/call', params: { name, arguments: { ...args } } },
      ...{ route: GATEWAY, caller: createCaller({}), text: undefined },
    })
  return { call, begin, spans }
}

test('the span of a call to a server ends if it fails with a bug', async () => {
  const { call, spans } = start()
  await assert.rejects(Promise.resolve(call('forge:show_board', {})), /a bug/)
  assert.deepEqual(
    spans.map(({ ends }) => ends),
    [['bug'], ['bug']],
  )
})

test('the span of a search ends if it fails, with the code of a fault', async () => {
  const { begin, spans } = start()
  const parent = begin({ name: 'request', kind: 'server' })
  for (const error of [new Error('a bug'), new Fault('cancelled', 'cancelled')])
    await assert.rejects(
      searched(parent, () => Promise.reject(error)),
      error,
    )
  assert.deepEqual(
    spans.map(({ ends }) => ends),
    [[], ['bug'], ['cancelled']],
  )
})
