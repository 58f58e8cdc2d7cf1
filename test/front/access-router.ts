/** A running router with two servers and two callers, for tests of access. */
import type { TestContext } from 'node:test'
import type { AccessConfig, AccessRule, AuthConfig } from '../../core/catalog/access-config.ts'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { Profile } from '../../core/catalog/router-config.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { createLog } from '../../core/log.ts'
import { standardHeaders } from '../../core/mcp/protocol/standard-headers.ts'
import type { UpstreamCall } from '../../core/mcp/upstream.ts'
import { type RouterOptions, startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { type Answerer, echo, type FixtureServer, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'

export const NOW = 1_800_000_000_000
export const RED = 'red-caller-token-0123456789abcdefghij'
export const BLUE = 'blue-caller-token-0123456789abcdefghi'
const CALLERS = { red: RED, blue: BLUE }
export const PROFILES: readonly Profile[] = ['hierarchical', 'search', 'registry', 'direct']

/** Everything of a server contains its canary, so that a test finds whatever leaks to the other caller. */
function serverOf(canary: string): FixtureServer {
  const item = (name: string) => ({ name: `${canary}_${name}`, description: `About ${canary} things` })
  return {
    server: {
      title: `Title ${canary}`,
      description: `Description ${canary}`,
      category: `category-${canary}`,
    },
    offers: {
      instructions: `Instructions ${canary}`,
      tools: ['get', 'delete', 'list'].map(verb => ({
        ...item(verb),
        inputSchema: { type: 'object', properties: { [`${canary}Id`]: { type: 'string' } } },
      })),
      prompts: [item('prompt')],
      resources: [{ ...item('resource'), uri: `file:///${canary}/one` }],
      resourceTemplates: [{ ...item('template'), uriTemplate: `file:///${canary}/{name}` }],
    },
  }
}

export const SERVERS: Record<string, FixtureServer> = {
  vermilion: serverOf('vermilion'),
  cobalt: serverOf('cobalt'),
}

export function rule(name: string, server: string, more: Partial<AccessRule> = {}): AccessRule {
  return {
    name,
    subjects: [{ kind: 'Token', name }],
    servers: [server],
    tools: { allow: ['*'], deny: [], readOnly: false },
    resources: { allow: ['*'], deny: [] },
    prompts: { allow: ['*'], deny: [] },
    scopes: [],
    challenge: false,
    ...more,
  }
}

export const TOKENS: AuthConfig = {
  anonymous: false,
  jwt: [],
  tokens: { secretName: 'callers' },
  revoked: [],
}

export async function start(
  t: TestContext,
  access: Partial<AccessConfig>,
  config: object = {},
  answer: Answerer = echo,
  servers: Record<string, FixtureServer> = SERVERS,
  options: Partial<RouterOptions> = {},
) {
  const clock = createManualClock(NOW)
  const source = createInProcessSource()
  const reached: Reached[] = []
  const secrets: Record<string, Record<string, string>> = { callers: CALLERS }
  const router = await startRouter({
    source,
    connect: ({ name }) =>
      upstreamOf((call, signal) => {
        reached.push({ server: name, call })
        return answer(call, signal)
      }),
    host: '127.0.0.1',
    port: 0,
    clock,
    log: createLog({ level: 'silent' }),
    credentials: { secret: name => secrets[name] },
    ...options,
  })
  t.after(() => router.close(0))
  const publish = (changed: Partial<AccessConfig>, generation: number, offered = servers) =>
    source.publish(
      snapshotOf(
        offered,
        {
          access: { ...OPEN_ACCESS, auth: TOKENS, ...changed },
          allowedProfiles: [...PROFILES],
          exposeServers: true,
          ...config,
        },
        generation,
      ),
    )
  /** Publishes a config, and waits until the router serves it. */
  const change = async (changed: Partial<AccessConfig>, generation: number, offered = servers) => {
    publish(changed, generation, offered)
    await until(() => router.catalog()?.generation === generation)
  }
  await change(access, 1)
  const origin = new URL(router.url).origin
  return { router, clock, publish, change, origin, reached, secrets }
}

/** A call that reached an upstream. */
type Reached = { server: string; call: UpstreamCall }

type Sent = { path?: string; token?: string; headers?: Record<string, string>; method?: string }

export async function send(
  origin: string,
  message: object,
  { path = '/mcp', token, headers = {} }: Sent = {},
) {
  const response = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
}

/** The same request as a client of 2026-07-28 sends it: its message, and the headers that belong to it. */
export function modernised({ method, params }: { method: string; params?: JsonObject }) {
  const message = { method, params: { ...params, _meta: { ...ENVELOPE, ...metaOf(params) } } }
  return { message, headers: standardHeaders(message, '2026-07-28') }
}

function metaOf(params: JsonObject | undefined): JsonObject {
  return isObject(params?._meta) ? params._meta : {}
}

export const initialize = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
