/** What execute_mcp_tool says when there is no result: which tool, which server, what to do next. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouterServer, ServerStatus } from '../../core/catalog/router-config.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { type Answerer, createFixture } from './fixture.ts'
import { forge, ISSUE, SERVERS, wiki } from './servers.ts'

const SECRET_ADDRESS = 'http://10.0.0.7:3000/mcp'

test('the error for an unknown tool names the three nearest, never all', async () => {
  const fixture = createFixture(SERVERS)
  for (const tool_path of ['forge:craete_issue', 'forge__craete_issue', 'craete_issue']) {
    const text = await refusalOf(fixture, { tool_path })
    assert.match(text, /There is no tool ".+"\. The nearest: .*forge:create_issue/)
    assert.ok((text.match(/:\w+_\w+/g) ?? []).length <= 4, text)
  }
  assert.deepEqual(
    fixture.seen.calls.map(({ server, outcome }) => [server, outcome]),
    [...['forge', 'forge', undefined].map(server => [server, 'rejected'])],
    'counted for the server that the name begins with, if it exists',
  )
  assert.equal(fixture.seen.calls[0]?.tool, undefined, 'a name from a request is not used as a label')
  assert.ok((await refusalOf(fixture, { tool_path: 'x'.repeat(100_000) })).length < 500)
})

test('three tools are named if there are three: those of the server first, then others', async () => {
  const tool = (name: string) => ({ name, inputSchema: {} })
  const mail = { offers: { tools: [tool('send'), tool('read')] } }
  const hint = async (servers: Parameters<typeof createFixture>[0], tool_path: string) =>
    await refusalOf(createFixture(servers), { tool_path })
  assert.match(
    await hint({ forge, mail }, 'mail:zzz'),
    /The nearest: mail:(read|send), mail:(read|send), forge:\w+\. Or search/,
  )
  assert.match(await hint({ mail }, 'zzz'), /The nearest: mail:\w+, mail:\w+\. Or search/)
  assert.equal(await hint({}, 'zzz'), 'There is no tool "zzz". Search with discover_mcp_tools.')
})

test('a name without server that several servers have is refused with the full paths', async () => {
  const text = await refusalOf(createFixture(SERVERS), { tool_path: 'list_issues' })
  assert.equal(
    text,
    '"list_issues" is a tool of several servers: forge:list_issues, wiki:list_issues. Give the whole tool_path.',
  )
  const hidden = { ...wiki, server: { status: { state: 'failed', hidden: true } as const } }
  const fixture = createFixture({ forge, wiki: hidden })
  assert.equal(
    (await fixture.call('execute_mcp_tool', { ...ISSUE, tool_path: 'list_issues' })).isError,
    undefined,
  )
})

const STATES: [ServerStatus, RegExp][] = [
  [
    { state: 'failed', reason: 'StartTimeout', message: `No answer: ${SECRET_ADDRESS}`, hidden: true },
    /"forge" is down \(StartTimeout: it was not ready in time\)/,
  ],
  [
    { state: 'authRequired', reason: 'AuthRequired', hidden: true },
    /"forge" needs credentials \(AuthRequired\)/,
  ],
  [{ state: 'suspended', hidden: true }, /"forge" is switched off \(suspended/],
  [
    { state: 'notAccepted', reason: 'SecretNotFound', message: `No Secret ${SECRET_ADDRESS}`, hidden: true },
    /"forge" is not in use: .*\(SecretNotFound: a Secret that it needs is missing\)/,
  ],
  [
    // The manifest at fault can be the gateway's.
    { state: 'notAccepted', reason: 'Invalid', message: 'spec.rateLimits[0]: is per caller', hidden: true },
    /"forge" is not in use: its manifest, or this gateway's, was not accepted \(Invalid: a manifest, .*\)/,
  ],
]
test('the refusal for a server that is down says how soon it is tried again', async () => {
  const status = { state: 'failed', reason: 'Unreachable', hidden: true } as const
  const refusal = async (server: Partial<RouterServer>) => {
    const fixture = createFixture({ forge: { ...forge, server: { ...server, status } } })
    return (await fixture.call('execute_mcp_tool', ISSUE)).content[0]?.text ?? ''
  }
  assert.match(
    await refusal({ transport: 'http' }),
    /\(Unreachable\)\. A call has it tried again: repeat it in a few seconds, or use another server\.$/,
  )
  const withinAMinute =
    /\(Unreachable\)\. It is tried again within a minute: repeat the call then, or use another server\.$/
  assert.match(await refusal({ transport: 'stdio' }), withinAMinute)
  const url = 'http://forge.example/mcp'
  const endpoint = { kind: 'http', url, transport: 'streamable-http', revision: '1' } as const
  assert.match(await refusal({ transport: 'http', endpoint }), withinAMinute)
})

for (const [status, sentence] of STATES)
  test(`calls of a ${status.state} server say so, for known and unknown tools, and do not reach it`, async () => {
    const fixture = createFixture({ forge: { ...forge, server: { status } } })
    for (const tool_path of ['forge:create_issue', 'forge__create_issue', 'forge:anything']) {
      const text = await refusalOf(fixture, { tool_path })
      assert.match(text, sentence)
      assert.doesNotMatch(text, /10\.0\.0\.7/)
    }
    assert.deepEqual(fixture.sent, [])
    assert.deepEqual(fixture.seen.calls[0], {
      ...fixture.seen.calls[0],
      server: 'forge',
      tool: 'create_issue',
      outcome: 'unavailable',
      upstreamMs: 0,
    })
    assert.deepEqual(fixture.seen.calls[2], {
      ...fixture.seen.calls[2],
      server: 'forge',
      tool: undefined,
      outcome: 'unavailable',
    })
  })

test('calls of a server whose tools are not known return its state', async () => {
  for (const state of ['starting', 'asleep', 'ready'] as const) {
    const fixture = createFixture({ forge: { server: { status: { state, hidden: false } } } })
    assert.match(
      await refusalOf(fixture, { tool_path: 'forge:x' }),
      new RegExp(`"forge" is ${state}.* not known yet`),
    )
  }
})

const FAULTS: [FaultCode, RegExp, string][] = [
  ['upstream_timeout', /no answer within 60 s/, 'timeout'],
  ['upstream_died', /connection to server "forge" ended during the call\. Check/, 'upstream_error'],
  ['upstream_unreachable', /cannot be reached/, 'unavailable'],
  ['upstream_starting', /is being started again: try again in 2 s/, 'unavailable'],
  ['upstream_too_large', /too large.*Ask for less/, 'too_large'],
  ['upstream_auth_required', /refused the gateway's credentials/, 'unavailable'],
  ['upstream_protocol', /not valid MCP/, 'upstream_error'],
  ['upstream_busy', /busy with 16 calls/, 'rejected'],
  ['cancelled', /cancelled/, 'cancelled'],
]
for (const [code, sentence, outcome] of FAULTS)
  test(`the fault ${code} becomes a sentence without an address`, async () => {
    const answer: Answerer = () => {
      throw new Fault(code, `cannot reach ${SECRET_ADDRESS}`, {
        details: { exitCode: 3, retryInMs: 2_000, url: SECRET_ADDRESS },
      })
    }
    const fixture = createFixture({ forge: { ...forge, answer } })
    const text = await refusalOf(fixture, ISSUE)
    assert.match(text, sentence)
    assert.doesNotMatch(text, /10\.0\.0\.7/)
    assert.equal(fixture.seen.calls[0]?.outcome, outcome)
    assert.ok((fixture.seen.served.error ?? 0) > 0)
  })

for (const [details, limit] of [
  [{ maxBytes: 64 * 2 ** 20 }, 'it has more than 64 MiB'],
  [{ maxValues: 500_000 }, 'it has more than 500000 JSON values'],
] as const)
  test(`the error for an answer over the limit says that ${limit}, whether router or bridge refused it`, async () => {
    const sentence = `The answer of server "forge" is too large to pass on (${limit}), though the call may have taken effect. Ask for less: a filter, a page or a smaller range.`
    const thrown: Answerer = () => {
      throw new Fault('upstream_too_large', 'x', { details })
    }
    const data = { reason: 'upstream_too_large', retryable: false, ...details }
    const reported: Answerer = () => ({ error: { code: -32000, message: 'x', data } })
    const bridge = { kind: 'http', url: SECRET_ADDRESS, transport: 'streamable-http', revision: '1' } as const
    const bearer = { name: 'forge', key: 'token' }
    for (const server of [
      { ...forge, answer: thrown },
      { ...forge, answer: reported, server: { endpoint: { ...bridge, bearer } } },
    ]) {
      const fixture = createFixture({ forge: server })
      assert.equal(await refusalOf(fixture, ISSUE), sentence)
      assert.equal(fixture.seen.calls[0]?.outcome, 'too_large')
    }
    const remote = createFixture({ forge: { ...forge, answer: reported, server: { endpoint: bridge } } })
    await refusalOf(remote, ISSUE)
    assert.equal(remote.seen.calls[0]?.outcome, 'upstream_error', 'a code of the server’s own')
  })

test('the error for an answer for which there is no room says to try again', async () => {
  const answer: Answerer = () => {
    throw new Fault('upstream_too_large', 'x', { details: { crowded: true } })
  }
  const fixture = createFixture({ forge: { ...forge, answer } })
  assert.match(await refusalOf(fixture, ISSUE), /too many large answers at once.* or try again in a few/)
  assert.equal(fixture.seen.calls[0]?.outcome, 'too_large')
})

test('the error for a child that ended says how, and that it restarts', async () => {
  const answer: Answerer = () => {
    throw new Fault('upstream_died', SECRET_ADDRESS, { details: { exitCode: 3 } })
  }
  const text = await refusalOf(createFixture({ wiki: { ...wiki, answer } }), {
    tool_path: 'wiki:search',
    arguments: { text: 'x' },
  })
  assert.match(text, /"wiki" ended during the call \(exit code 3\)\. It is started again/)
})

test('the error for arguments that are too long for a server says so', async () => {
  const answer: Answerer = () => {
    throw new Fault('bad_request', 'x', { details: { reason: 'RequestTooLarge' } })
  }
  const text = await refusalOf(createFixture({ forge: { ...forge, answer } }), ISSUE)
  assert.match(text, /"forge" did not take the call \(RequestTooLarge: .* send less\)/)
})

test('the error for a server that does not start has the reason', async () => {
  for (const [code, reason, sentence] of [
    [
      'upstream_unreachable',
      'CommandNotFound',
      /cannot be reached \(CommandNotFound: its command is not installed\)/,
    ],
    ['upstream_timeout', 'StartTimeout', /did not start in time \(StartTimeout: it was not ready in time\)/],
    [
      'upstream_starting',
      'CrashLooping',
      /failed \(CrashLooping: it ends again and again\) and is being started again/,
    ],
  ] as const) {
    const answer: Answerer = () => {
      throw new Fault(code, 'x', { details: { reason } })
    }
    assert.match(await refusalOf(createFixture({ forge: { ...forge, answer } }), ISSUE), sentence)
  }
})

test('the error of an open breaker says when to try again', async () => {
  const answer: Answerer = () => {
    throw new Fault('upstream_unreachable', SECRET_ADDRESS)
  }
  const fixture = createFixture({ forge: { ...forge, answer } })
  for (let failure = 0; failure < 5; failure++) await fixture.call('execute_mcp_tool', ISSUE)
  assert.match(await refusalOf(fixture, ISSUE), /"forge" failed several times in a row.*try again in 5 s/)
})

async function refusalOf(fixture: ReturnType<typeof createFixture>, args: JsonObject): Promise<string> {
  const { content, isError } = await fixture.call('execute_mcp_tool', args)
  assert.equal(isError, true)
  assert.equal(content.length, 1)
  return content[0]?.text ?? ''
}
