/** Malformed requests, equal for equal seeds: messages of both eras with wrong values, changed bytes, headers that contradict the body. */
import fc from 'fast-check'
import { LEGACY_HEADERS } from '../front/post.ts'
import { HOST, requestText } from './raw.ts'

export type BrokenRequest = {
  method: string
  path: string
  headers: Record<string, string>
  body?: Uint8Array
}

const METHODS = [
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'server/discover',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/roots/list_changed',
  'tasks/get',
  '__proto__',
  'constructor',
  '',
]
const NAMES = [
  'discover_mcp_tools',
  'execute_mcp_tool',
  'list_mcp_resources',
  'read_mcp_resource',
  'forge:create_issue',
  'forge__create_issue',
  'mcp_search_tools',
  'activate',
  '__proto__',
]
const PATHS = [
  '/mcp',
  '/mcp/',
  '/mcp/search',
  '/mcp/registry',
  '/mcp/direct',
  '/servers/forge/mcp',
  '/servers/nobody/mcp',
  '/mcp/%2e%2e',
  '/mcp/%00',
  '/mcp?x=%zz',
  '/metrics/..',
]
const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', '2027-01-01', 'x']
const META = 'io.modelcontextprotocol'

const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(...NAMES, -1, 2 ** 60, ''))
const envelope = fc.record(
  {
    [`${META}/protocolVersion`]: mostly<unknown>(
      '2026-07-28',
      fc.oneof(fc.constantFrom(...VERSIONS), anything),
    ),
    [`${META}/clientInfo`]: mostly<unknown>({ name: 'fuzz', version: '1' }, anything),
    [`${META}/clientCapabilities`]: mostly<unknown>({ elicitation: {} }, anything),
    [`${META}/logLevel`]: mostly<unknown>('debug', anything),
    progressToken: anything,
    traceparent: anything,
  },
  { requiredKeys: [] },
)
const args = fc.record(
  {
    query: anything,
    tool_path: fc.oneof(fc.constantFrom(...NAMES), anything),
    arguments: anything,
    uri: fc.oneof(fc.constantFrom('forge|file:///readme.md', 'forge+file:///readme.md', 'a:b'), anything),
    tools: anything,
    limit: anything,
    cursor: anything,
  },
  { requiredKeys: [] },
)
const params = fc.record(
  {
    name: fc.oneof(fc.constantFrom(...NAMES), anything),
    arguments: fc.oneof(args, anything),
    uri: anything,
    ref: anything,
    argument: anything,
    cursor: anything,
    level: anything,
    notifications: fc.oneof(
      fc.constant({ toolsListChanged: true, resourceSubscriptions: ['forge+file:///readme.md'] }),
      anything,
    ),
    requestId: anything,
    requestState: anything,
    inputResponses: anything,
    protocolVersion: fc.oneof(fc.constantFrom(...VERSIONS), anything),
    capabilities: anything,
    _meta: fc.oneof(envelope, anything),
  },
  { requiredKeys: [] },
)
const message = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 20, arbitrary: fc.constant('2.0') }, anything),
    id: fc.oneof({ weight: 12, arbitrary: fc.nat() }, fc.constant(undefined), anything),
    method: fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...METHODS) }, anything),
    params: fc.oneof({ weight: 20, arbitrary: params }, anything),
    result: mostly<unknown>(undefined, anything),
    error: mostly<unknown>(undefined, anything),
  },
  { requiredKeys: ['jsonrpc', 'method', 'id', 'params'] },
)
const jsonBody = fc
  .oneof({ weight: 20, arbitrary: message }, fc.array(message, { maxLength: 60 }), anything)
  .map(value => Buffer.from(JSON.stringify(value) ?? ''))
const deep = fc
  .tuple(fc.constantFrom('[', '{"a":', '{"method":"tools/call","params":'), fc.nat(50_000))
  .map(([open, depth]) => Buffer.from(open.repeat(depth)))
const body = fc.oneof(
  { weight: 12, arbitrary: jsonBody },
  { weight: 2, arbitrary: mutated(jsonBody) },
  fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
  deep,
)

/** With a few bytes changed, removed or inserted. */
function mutated(whole: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    drop: fc.nat(3),
    put: fc.uint8Array({ maxLength: 3 }),
  })
  return fc.tuple(whole, fc.array(change, { minLength: 1, maxLength: 4 })).map(([bytes, changes]) =>
    changes.reduce((text, { at, drop, put }) => {
      const place = Math.floor(at * text.length)
      return Buffer.concat([text.subarray(0, place), put, text.subarray(place + drop)])
    }, bytes),
  )
}

const printable = fc.string({
  maxLength: 40,
  unit: fc.integer({ min: 33, max: 126 }).map(code => String.fromCharCode(code)),
})

/** Nearly always `usual`. */
function mostly<T>(usual: T, odd: fc.Arbitrary<T>, weight = 15): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: fc.constant(usual) }, odd)
}

/** `session` is a valid id: it is used as it is, with a letter added, and twice in one header. */
function headersOf(session: string): fc.Arbitrary<Record<string, string>> {
  const sometimes = (...values: string[]) =>
    mostly<string | undefined>(undefined, fc.oneof(fc.constantFrom(...values), printable), 8)
  const usual = fc.record({
    accept: mostly(LEGACY_HEADERS.accept, fc.constantFrom('*/*', 'text/html', '')),
    'content-type': mostly(
      'application/json',
      fc.constantFrom('text/plain', 'application/json;charset=utf-8', '/', 'application/json; x'),
    ),
    'mcp-protocol-version': sometimes(...VERSIONS),
    'mcp-method': sometimes(...METHODS),
    'mcp-name': sometimes(...NAMES, '=?base64?x?=', '=?base64?Zm9v?='),
    'mcp-session-id': mostly<string | undefined>(
      undefined,
      fc.constantFrom(session, session, session, `${session}x`, `${session}, ${session}`, '..'),
      1,
    ),
    'last-event-id': sometimes('1'),
    'mcp-param-region': sometimes('eu', '=?base64?!!?='),
    traceparent: sometimes('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
    origin: mostly<string | undefined>(undefined, fc.constantFrom('http://localhost', 'null', 'x')),
    'content-encoding': mostly<string | undefined>(undefined, fc.constantFrom('gzip', 'identity')),
    'portolan-forwarded': sometimes('1'),
  })
  return usual.map(headers =>
    Object.fromEntries(
      Object.entries(headers).filter((one): one is [string, string] => one[1] !== undefined),
    ),
  )
}

export function brokenRequests(session: string, count: number, seed: number): BrokenRequest[] {
  const method = fc.oneof(
    { weight: 20, arbitrary: fc.constant('POST') },
    fc.constantFrom('GET', 'GET', 'PUT', 'OPTIONS', 'HEAD', 'DELETE'),
  )
  const path = fc.oneof({ weight: 3, arbitrary: fc.constant('/mcp') }, fc.constantFrom(...PATHS))
  const request = fc.record({ method, path, headers: headersOf(session), body, agrees: fc.boolean() })
  return fc.sample(request, { numRuns: count, seed }).map(({ agrees, ...one }) => {
    if (one.method === 'DELETE')
      return { ...one, headers: { ...one.headers, 'mcp-session-id': `${session}x` } }
    if (!takesBody(one.method)) return { ...one, body: undefined }
    return agrees ? { ...one, headers: { ...one.headers, ...repeatedIn(one.body) } } : one
  })
}

/** The headers of 2026-07-28 that repeat values of the body, where a header can hold these. */
function repeatedIn(body: Uint8Array): Record<string, string> {
  const repeated: Record<string, string> = {}
  try {
    const { method, params } = JSON.parse(Buffer.from(body).toString())
    const values = {
      'mcp-method': method,
      'mcp-name': params.name ?? params.uri,
      'mcp-protocol-version': params._meta?.[`${META}/protocolVersion`],
    }
    for (const [name, value] of Object.entries(values))
      if (typeof value === 'string' && /^[!-~]*$/.test(value)) repeated[name] = value
  } catch {
    // The body has nothing that could be repeated.
  }
  return repeated
}

function takesBody(method: string): boolean {
  return method === 'POST' || method === 'PUT'
}

/** Requests as the bytes that go over a socket, a few of them changed. */
export function brokenBytes(session: string, count: number, seed: number): Uint8Array[] {
  const bytes = fc
    .record({ path: fc.constantFrom(...PATHS), headers: headersOf(session), body: jsonBody })
    .map(({ path, headers, body }) => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
      return Buffer.from(requestText(path, { lines: [HOST, ...lines], body: body.toString() }))
    })
  return fc.sample(mutated(bytes), { numRuns: count, seed })
}
