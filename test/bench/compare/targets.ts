/** The same call of one tool in different ways: through the router with its names, routes and eras, and through other gateways. */
import type { JsonObject } from '../../../core/json.ts'
import { MCP_HEADERS, requestBody } from '../../support/mcp.ts'
import type { Peer } from './peers.ts'
import type { Named } from './rounds.ts'

/** The gateway's servers for the upstream: one of each era with enough concurrency for all calls, and one with the default. */
export const SERVERS = {
  wide: { path: 'legacy/mcp', limits: { concurrency: 64 } },
  'wide-modern': { path: 'modern/mcp', limits: { concurrency: 64 } },
  narrow: { path: 'legacy/mcp', limits: undefined },
} as const

const ARGUMENTS = { text: 'hello' }
const VERSION = '2026-07-28'
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

type At = { url: string; pid: number }

export function throughPeer({ name, url, pid }: Omit<Peer, 'child' | 'stop'>): Named {
  return legacy(name, { url, pid }, { name: 'echo', arguments: ARGUMENTS })
}

/** Most agents call the meta-tool `execute_mcp_tool`, so it is measured in both eras, with and without a session. */
export async function throughRouter(origin: string, pid: number): Promise<Named[]> {
  const gateway = { url: `${origin}/mcp`, pid }
  const server = { url: `${origin}/servers/wide/mcp`, pid }
  const named = { name: 'wide__echo', arguments: ARGUMENTS }
  const own = { name: 'echo', arguments: ARGUMENTS }
  const session = await sessionAt(gateway.url)
  return [
    legacy(META_TOOL, gateway, execute('wide')),
    legacy('router, meta-tool, with a session', gateway, execute('wide'), { 'mcp-session-id': session }),
    modern('router, meta-tool, 2026-07-28', gateway, execute('wide')),
    legacy('router, the tool by its name', gateway, named),
    legacy("router, a server's own route", server, own),
    modern("router, a server's own route, 2026-07-28", server, own),
    legacy('router, meta-tool, upstream of 2026-07-28', gateway, execute('wide-modern')),
    modern('router, meta-tool, 2026-07-28 on both sides', gateway, execute('wide-modern')),
    legacy(NARROW, gateway, execute('narrow')),
  ]
}

export const META_TOOL = 'router, meta-tool'
export const NARROW = 'router, meta-tool, 16 calls at a time as by default'

function execute(server: string): JsonObject {
  return { name: 'execute_mcp_tool', arguments: { tool_path: `${server}:echo`, arguments: ARGUMENTS } }
}

function legacy(name: string, at: At, params: JsonObject, headers = {}): Named {
  return { name, ...at, body: requestBody('tools/call', params), headers: { ...MCP_HEADERS, ...headers } }
}

function modern(name: string, at: At, params: JsonObject): Named {
  const headers = {
    ...MCP_HEADERS,
    'mcp-protocol-version': VERSION,
    'mcp-method': 'tools/call',
    'mcp-name': `${params.name}`,
  }
  return { name, ...at, body: requestBody('tools/call', { _meta: ENVELOPE, ...params }), headers }
}

async function sessionAt(url: string): Promise<string> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  }
  const body = requestBody('initialize', params)
  const answer = await fetch(url, { method: 'POST', headers: MCP_HEADERS, body })
  const session = answer.headers.get('mcp-session-id')
  if (session === null) throw new Error(`no session at ${url}: ${await answer.text()}`)
  return session
}

/** Throws unless the target returns the upstream's result: an error would also be an answer, and a fast one. */
export async function assertEchoes({ name, url, headers, body }: Named): Promise<void> {
  const answer = await fetch(url, { method: 'POST', headers, body })
  const text = await answer.text()
  if (answer.status !== 200 || !/"text": ?"hello"/.test(text) || /"isError": ?true/.test(text))
    throw new Error(`${name}: HTTP ${answer.status} ${text}`)
}
