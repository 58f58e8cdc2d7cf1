/** No secret is in 10,000 audit lines of random requests, wherever a request has it: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { BLUE, RED } from './access-router.ts'
import { audited, call, execute } from './audit-router.ts'
import { createRandom, type Random } from './random.ts'

const LINES = 10_000
const SEED = 20_261_123
/** Requests of a batch. */
const AT_ONCE = 50
const SECRET = 'S3CR3T'
const NAMES = [
  'password',
  'apiToken',
  'API_KEY',
  'Authorization',
  'cookie',
  'clientSecret',
  'sessionId',
  'x-auth',
]

/** Arguments with a secret below a name that shows that it is one, at any depth. */
function secretive(random: Random, depth = 0): JsonObject {
  const secret = `${SECRET}${random.below(1e9)}`
  const hidden = random.pick<JsonValue>([secret, [secret], { inner: secret }, [[{ deep: secret }]]])
  const own = { [random.pick(NAMES)]: hidden, [`plain${random.below(9)}`]: random.text(12) }
  if (depth > 4 || random.below(2) === 0) return own
  const below = secretive(random, depth + 1)
  return { ...own, nested: random.pick<JsonValue>([below, [below], [1, [below]]]) }
}

/** URIs with a secret where URIs have them. */
function secretUri(random: Random): string {
  const secret = `${SECRET}${random.below(1e9)}`
  const server = random.pick(['vermilion', 'cobalt', 'nothing'])
  return random.pick([
    `${server}|https://user:${secret}@host/path`,
    `${server}|https://host/path?token=${secret}`,
    `${server}|https://host/path#access_token=${secret}`,
    `${server}+https://${secret}@host`,
    `https://${secret}:x@host/one?a=b`,
  ])
}

function request(random: Random): object {
  const server = random.pick(['vermilion', 'cobalt'])
  const args = secretive(random)
  switch (random.below(7)) {
    case 0:
      return { method: 'resources/read', params: { uri: secretUri(random) } }
    case 1:
      return call('read_mcp_resource', { uri: secretUri(random) })
    case 2:
      return { method: 'prompts/get', params: { name: `${server}:${server}_prompt`, arguments: args } }
    case 3:
      return call('discover_mcp_tools', { query: `get ${random.text(8)}`, ...args })
    case 4:
      return execute(`${server}:${server}_${random.pick(['get', 'delete', 'gte'])}`, args)
    case 5:
      return execute(secretUri(random), args)
    default:
      return {
        method: 'completion/complete',
        params: {
          ref: { type: 'ref/resource', uri: secretUri(random) },
          argument: { name: 'name', value: random.text(6) },
        },
      }
  }
}

test('no token, header, result or secret argument is in 10,000 audit lines', async t => {
  const answer = async () => ({ result: { content: [{ type: 'text', text: `${SECRET}-result` }] } })
  const { origin, sink, lines, clock } = await audited(t, { arguments: 'Redacted' }, {}, answer)
  const random = createRandom(SEED)
  const count = () => sink.text().split('\n').length - 1
  while (count() < LINES) {
    const messages = Array.from({ length: AT_ONCE }, (_, id) => ({ jsonrpc: '2.0', id, ...request(random) }))
    const secret = `${SECRET}${random.below(1e9)}`
    const authorization = random.pick([
      `Bearer ${RED}`,
      `Bearer ${BLUE}`,
      `Bearer ${RED}`,
      `Bearer ${secret}`,
    ])
    const response = await fetch(`${origin}/mcp?token=${secret}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-03-26',
        authorization,
        cookie: `a=${secret}`,
        'x-forwarded-for': secret,
        traceparent: `00-${secret}`,
        baggage: `user=${secret}`,
      },
      body: JSON.stringify(messages),
    })
    await response.text()
    clock.advance(1_000)
  }
  await lines()
  for (const hidden of [SECRET, RED, BLUE]) {
    const at = sink.text().indexOf(hidden)
    assert.equal(at, -1, sink.text().slice(Math.max(0, at - 600), at + 100))
  }
})
