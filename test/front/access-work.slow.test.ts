/**
 * Requests for what is hidden do as much work as requests for what does not exist, so that the time of an answer reveals nothing: counted in
 * calls of functions, over HTTP, against a running router.
 */
import assert from 'node:assert/strict'
import { Session } from 'node:inspector/promises'
import { type TestContext, test } from 'node:test'
import type { FixtureServer } from '../meta/fixture.ts'
import { type Attempt, attempts } from './access-attempts.ts'
import { initialize, RED, rule, SERVERS, send, start } from './access-router.ts'

/** Of equal lengths, and equally far from every name that the caller sees. */
const HIDDEN = 'cobalt'
const MISSING = 'kobalt'
const PATHS = ['/mcp/hierarchical', '/mcp/direct']
const LIST: Attempt = { method: 'tools/list', params: {} }
/** The allowed difference in calls of functions per request, of some hundreds: denials are recorded for audit and metrics. */
const MAX_DIFFERENCE = 5
/** So many that work for each of them would show. */
const MANY = 200
const OWN_SOURCES = /\/(?:router|core)\/(?!.*\.test\.ts)/
/** Only audit and metrics may know the difference. Connections are opened when the client likes. */
const MAY_KNOW = /\/router\/audit\/|\/mcp\/server\/connection/

/** The hidden server, with many items of each kind. */
function withMany(): FixtureServer {
  const numbers = Array.from({ length: MANY }, (_, at) => at)
  const item = (at: number) => ({ name: `${HIDDEN}_many_${at}`, description: 'One of many' })
  const offers = {
    ...SERVERS[HIDDEN]?.offers,
    tools: [
      ...(SERVERS[HIDDEN]?.offers?.tools ?? []),
      ...numbers.map(at => ({ ...item(at), inputSchema: { type: 'object' } })),
    ],
    resources: numbers.map(at => ({ ...item(at), uri: `file:///${HIDDEN}/many/${at}` })),
    resourceTemplates: numbers.map(at => ({
      ...item(at),
      uriTemplate: `file:///${HIDDEN}/many/${at}/{name}`,
    })),
  }
  return { ...SERVERS[HIDDEN], offers }
}

/** Hidden servers that all have a tool of the same name. */
function namesakes(): Record<string, FixtureServer> {
  const offers = { tools: [{ name: `${HIDDEN}_get`, inputSchema: { type: 'object' } }] }
  return Object.fromEntries(Array.from({ length: MANY }, (_, at) => [`namesake-${at}`, { offers }]))
}

/** Searches are left out, because their work depends on their words. */
function isByName({ params }: Attempt): boolean {
  return !('query' in ((params.arguments ?? {}) as object))
}

/** Counts how often each function of the project is called. */
async function createCounter(t: TestContext) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  t.after(() => session.disconnect())
  return async (run: () => Promise<unknown>): Promise<Map<string, number>> => {
    await session.post('Profiler.takePreciseCoverage')
    await run()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const counts = new Map<string, number>()
    for (const { url, functions } of result)
      if (OWN_SOURCES.test(url) && !MAY_KNOW.test(url))
        for (const { functionName, ranges } of functions) {
          const [range] = ranges
          const file = url.slice(url.lastIndexOf('/') + 1)
          if (range && range.count > 0)
            counts.set(`${file} ${functionName} ${range.startOffset}`, range.count)
        }
    return counts
  }
}

test('requests for what is hidden do as much work as requests for what does not exist', async t => {
  const rules = [rule('red', 'vermilion'), rule('blue', HIDDEN)]
  const { origin } = await start(t, { rules }, {}, undefined, { ...SERVERS, [HIDDEN]: withMany() })
  const count = await createCounter(t)
  const places = (name: string) => [
    ...PATHS.map(path => ({ path, requests: attempts(name).filter(isByName) })),
    { path: `/servers/${name}/mcp`, requests: [initialize as Attempt, LIST] },
  ]
  const all = async (name: string, at: number) => {
    const { path, requests } = places(name)[at] as ReturnType<typeof places>[number]
    for (const request of requests) await send(origin, request, { path, token: RED })
    return requests.length
  }
  for (const [
    at,
    {
      path,
      requests: { length: requests },
    },
  ] of places(HIDDEN).entries()) {
    // First do what is done once for each catalog, so that it is not counted.
    for (const name of [HIDDEN, MISSING]) await all(name, at)
    const [hidden, missing] = [await count(() => all(HIDDEN, at)), await count(() => all(MISSING, at))]
    const sum = (counts: ReadonlyMap<string, number>) => counts.values().reduce((a, b) => a + b, 0)
    const difference = Math.abs(sum(hidden) - sum(missing)) / requests
    const differing = [...new Set([...hidden.keys(), ...missing.keys()])]
      .filter(name => hidden.get(name) !== missing.get(name))
      .map(name => `${name}: ${hidden.get(name) ?? 0} ${missing.get(name) ?? 0}`)
    assert.ok(sum(hidden) > 40 * requests)
    assert.ok(difference <= MAX_DIFFERENCE, `${path} ${difference} ${differing.join('\n')}`)
  }
})

test('a call by a name that many hidden tools have does as much work as one by a name that no tool has', async t => {
  const { origin } = await start(t, { rules: [rule('red', 'vermilion')] }, {}, undefined, {
    ...SERVERS,
    ...namesakes(),
  })
  const count = await createCounter(t)
  const work = async (name: string) => {
    const params = { name: 'execute_mcp_tool', arguments: { tool_path: `${name}_get`, arguments: {} } }
    const ask = () => send(origin, { method: 'tools/call', params }, { token: RED })
    await ask()
    return (await count(ask)).values().reduce((a, b) => a + b, 0)
  }
  const [hidden, missing] = [await work(HIDDEN), await work(MISSING)]
  assert.ok(Math.abs(hidden - missing) <= MAX_DIFFERENCE, `${hidden} ${missing}`)
})
