/** Two callers of one gateway who share no server: whichever replica answers, neither learns anything of the other's server. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Profile } from '../../../core/catalog/router-config.ts'
import { type Attempt, attempts, leaks } from '../../front/access-attempts.ts'
import { initialize, modernised, send } from '../../front/access-router.ts'
import { SCRIPT_TOOLS, scriptAttempts, scriptOf } from '../../front/access-scripts.ts'
import { until } from '../../support/until.ts'
import { fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Portolan } from '../support/portolan.ts'
import type { Stories } from '../support/story.ts'

const RED = 'of-the-red-caller-0123456789abcdefghij'
const BLUE = 'of-the-blue-caller-0123456789abcdefghi'
const CALLERS = [
  [RED, 'vermilion', 'cobalt'],
  [BLUE, 'cobalt', 'vermilion'],
] as const
const PROFILES = Object.keys(SCRIPT_TOOLS) as Profile[]
const REPLICAS = 2
/** A connection for each request, so that the Service spreads them over the replicas. */
const NEW_CONNECTION = { connection: 'close' }
const AT_ONCE = 8
/** How often a request is repeated, so that each replica gets some. */
const REPEATS = 8

export const crossingStories: Stories = (running, options) => {
  test('two callers with nothing in common learn nothing of each other at any replica', options, async t => {
    const origin = await serve(running(), t)
    for (const [token, own, canary] of CALLERS) {
      const asked = await learnsNothing(origin, token, own, canary)
      t.diagnostic(`${asked} requests revealed nothing of ${canary}`)
      await usesItsOwn(origin, token, own)
    }
    await checkKeptResults(origin)
    await checkSession(origin)
  })
}

/** Asks in every profile for everything of the other caller; resolves with the number of requests. */
async function learnsNothing(origin: string, token: string, own: string, canary: string): Promise<number> {
  const requests = [initialize as Attempt, ...attempts(canary)]
  const profiles = PROFILES.map(profile => `/mcp/${profile}`)
  const paths = [...profiles, `/servers/${own}/mcp`, `/servers/${canary}/mcp`]
  const asked = paths.flatMap(path => requests.map(request => ({ path, request })))
  const ask = async ([at, { path, request }]: [number, (typeof asked)[number]]) => {
    const answer = await answerOf(origin, { path, token, isModern: at % 2 === 1 }, request)
    assert.ok(!leaks(answer, canary, { request, path }), `${path} ${JSON.stringify(request)}: ${answer}`)
  }
  const left = [...asked.entries()].values()
  const work = async () => {
    for (const one of left) await ask(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const scripts = scriptAttempts(SCRIPT_TOOLS.code, canary).map(request => ({ path: '/mcp/code', request }))
  for (const one of scripts.entries()) await ask(one)
  return asked.length + scripts.length
}

/** A result that either replica keeps for one caller is read by that caller at both, and by the other at none. */
async function checkKeptResults(origin: string): Promise<void> {
  const path = '/mcp/code'
  const run = (source: string) => answerOf(origin, { path, token: RED }, scriptOf(SCRIPT_TOOLS.code, source))
  const handles = new Map<string, string>()
  await until('each replica has kept a result', async () => {
    const answer = await run('return keep(await tools.vermilion.vermilion_get({}))')
    const [handle, owner] = /portolan\|result\/([^/]+)\/[\w-]{24}/.exec(answer) ?? assert.fail(answer)
    handles.set(owner as string, handle)
    return handles.size === REPLICAS
  })
  for (const handle of handles.values())
    for (let times = 0; times < REPEATS; times++) {
      assert.match(await run(`return read("${handle}")`), /Answer of vermilion/)
      for (const request of readings(handle)) {
        const answer = await answerOf(origin, { path, token: BLUE, isModern: times % 2 === 1 }, request)
        assert.ok(!leaks(answer, 'vermilion', request), `${JSON.stringify(request)}: ${answer}`)
      }
    }
}

/** A session of one caller is answered to the other as one that does not exist. */
async function checkSession(origin: string): Promise<void> {
  const path = '/mcp/direct'
  const begun = await send(origin, initialize, { path, token: RED })
  const session = begun.headers.get('mcp-session-id') ?? assert.fail('no session')
  const within = (token: string, id: string) =>
    send(
      origin,
      { method: 'tools/list' },
      { path, token, headers: { 'mcp-session-id': id, ...NEW_CONNECTION } },
    )
  const unknown = await within(BLUE, 'unknown')
  assert.equal(unknown.status, 404)
  for (let times = 0; times < REPEATS; times++) {
    const { status, text } = await within(BLUE, session)
    assert.deepEqual([status, text], [unknown.status, unknown.text])
    assert.match((await within(RED, session)).text, /vermilion__vermilion_get/)
  }
}

/** Applies a gateway with one server for each caller; resolves with the origin at which its Service is reached. */
async function serve({ namespace, cluster }: Portolan, t: TestContext): Promise<string> {
  const space = await namespace('crossing', t)
  const rule = (name: string, part: string) => ({
    name,
    subjects: [{ kind: 'Token', name }],
    servers: { matchLabels: { part } },
  })
  await space.apply(
    secret('callers', { red: RED, blue: BLUE }),
    ...CALLERS.map(([, own]) => canaryServer(own)),
    gateway('tools', {
      router: { replicas: REPLICAS },
      profiles: { allowed: PROFILES },
      expose: { servers: true },
      code: { enabled: true },
      auth: { tokens: { secretName: 'callers' } },
      access: [rule('red', 'vermilion'), rule('blue', 'cobalt')],
    }),
  )
  await space.untilServing('tools', { ready: CALLERS.length })
  const { port, stop } = await cluster.forward({ namespace: space.name, name: 'tools-gateway', port: 80 })
  t.after(stop)
  return `http://127.0.0.1:${port}`
}

function canaryServer(word: string) {
  const about = {
    title: `Title ${word}`,
    description: `Description ${word}`,
    category: `category-${word}`,
    keywords: [`keyword-${word}`],
  }
  return server(word, { ...fixture('canary', word), ...about }, { part: word })
}

type Asking = { path: string; token: string; isModern?: boolean }

async function answerOf(
  origin: string,
  { path, token, isModern = false }: Asking,
  request: Attempt,
): Promise<string> {
  const { message, headers } = isModern ? modernised(request) : { message: request, headers: {} }
  const answer = await send(origin, message, { path, token, headers: { ...headers, ...NEW_CONNECTION } })
  return `${answer.text} ${[...answer.headers].flat().join(' ')}`
}

/** What the caller has in every profile: what it lists, finds and calls. */
async function usesItsOwn(origin: string, token: string, own: string): Promise<void> {
  const call = (name: string, args: object) => ({
    method: 'tools/call',
    params: { name, arguments: { ...args } },
  })
  const uses: [path: string, request: Attempt, expected: RegExp][] = [
    ['/mcp/direct', { method: 'tools/list', params: {} }, new RegExp(`${own}__${own}_get`)],
    [
      '/mcp/hierarchical',
      call('discover_mcp_tools', { query: `get ${own}` }),
      new RegExp(`${own}:${own}_get`),
    ],
    ['/mcp/search', call('mcp_search_tools', { query: `get ${own}` }), new RegExp(`${own}_get`)],
    ['/mcp/registry', call('discover', { query: `get ${own}` }), new RegExp(`${own}:${own}_get`)],
    ['/mcp/code', call('find_tools', { query: `get ${own}` }), new RegExp(`tools.${own}.${own}_get`)],
    [
      '/mcp/code',
      scriptOf(SCRIPT_TOOLS.code, `return tools.${own}.${own}_get({})`),
      new RegExp(`Answer of ${own}`),
    ],
  ]
  for (const [path, request, expected] of uses)
    assert.match(await answerOf(origin, { path, token }, request), expected)
}

/** Every way to read a handle. */
function readings(handle: string): Attempt[] {
  const call = (name: string, args: Record<string, string>) => ({
    method: 'tools/call',
    params: { name, arguments: args },
  })
  return [
    scriptOf(SCRIPT_TOOLS.code, `return read("${handle}")`),
    { method: 'resources/read', params: { uri: handle } },
    { method: 'resources/read', params: { uri: handle.replace('|', '+') } },
    { method: 'resources/read', params: { uri: handle.replace('|', '+').replace('result/', 'result:///') } },
    call('read_mcp_resource', { uri: handle }),
    call('execute_mcp_tool', { tool_path: handle }),
  ]
}
