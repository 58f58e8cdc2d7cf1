/** A running router whose audit lines a test reads, and requests that are denied. */
import { Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import type { AccessConfig, AuditConfig } from '../../core/catalog/access-config.ts'
import type { RouterOptions } from '../../router/router.ts'
import { echo } from '../meta/fixture.ts'
import { rule, SERVERS, start } from './access-router.ts'

export const EVERYTHING: AuditConfig = {
  events: ['Calls', 'Denials', 'Logins'],
  arguments: 'None',
  sink: 'Stdout',
  onOverflow: 'Drop',
}
const RULES = [rule('red', 'vermilion'), rule('blue', 'cobalt')]

export type Line = Record<string, unknown> & {
  target?: Record<string, string>
  caller?: Record<string, string>
  count?: number
}

/** Starts a router with rules, whose audit lines a test reads. */
export async function audited(
  t: TestContext,
  audit: Partial<AuditConfig> = {},
  access: Partial<AccessConfig> = {},
  answer = echo,
  options: Partial<RouterOptions> = {},
) {
  const sink = createSink()
  const given = { rules: RULES, ...access, audit: { ...EVERYTHING, ...audit } }
  const running = await start(t, given, {}, answer, SERVERS, { auditStream: () => sink.stream, ...options })
  /** Closes the router, which writes the waiting lines. */
  const lines = async (): Promise<Line[]> => {
    await running.router.close(0)
    return sink.lines()
  }
  return { ...running, sink, lines }
}

/** A stream that keeps what is written; while it is blocked, it accepts nothing more. */
export function createSink() {
  let text = ''
  let waiting: (() => void) | undefined
  let blocked = false
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      text += chunk
      if (blocked) waiting = done
      else done()
    },
  })
  return {
    stream,
    block: () => {
      blocked = true
    },
    unblock: () => {
      blocked = false
      waiting?.()
    },
    text: () => text,
    lines: () =>
      text
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as Line),
  }
}

export const call = (name: string, args: object = {}) => ({
  method: 'tools/call',
  params: { name, arguments: args },
})
export const execute = (path: string, args: object = {}) =>
  call('execute_mcp_tool', { tool_path: path, arguments: args })

/** Requests for what only the other caller may use, and what the audit line must name. */
export function denials(canary: string): { path?: string; request: object; target: object }[] {
  const tool = { server: canary, tool: `${canary}_get` }
  const prompt = { server: canary, prompt: `${canary}_prompt` }
  const server = { server: canary }
  const uri = `file:///${canary}/one`
  const resource = { server: canary, uri }
  const one = `${canary}:${canary}_get`
  const read = (text: string) => ({ method: 'resources/read', params: { uri: text } })
  const complete = (ref: object) => ({
    method: 'completion/complete',
    params: { ref, argument: { name: 'name', value: '' } },
  })
  const promptRef = { type: 'ref/prompt', name: `${canary}:${canary}_prompt` }
  return [
    ...[one, `${canary}__${canary}_get`, `${canary}_get`, one.toUpperCase(), one.replace(':', '/')].flatMap(
      name => [
        { request: execute(name), target: tool },
        { path: '/mcp/search', request: call('mcp_execute_tool', { toolName: name }), target: tool },
        { path: '/mcp/registry', request: call('execute', { tool: name }), target: tool },
        { path: '/mcp/registry', request: call('activate', { tools: [name] }), target: tool },
        { path: '/mcp/direct', request: call(name), target: tool },
      ],
    ),
    { path: '/mcp/search', request: call('mcp_get_tool_schema', { toolName: one }), target: tool },
    { path: '/mcp/search', request: call('mcp_search_tools', { query: `select:${one}` }), target: tool },
    {
      path: '/mcp/registry',
      request: call('activate', { tools: ['vermilion:vermilion_get', one] }),
      target: tool,
    },
    { request: execute(`${canary}:nothing`), target: server },
    { request: call('list_mcp_resources', { server: canary }), target: server },
    {
      path: '/mcp/search',
      request: call('mcp_execute_tool', { toolName: 'x', serverId: canary }),
      target: server,
    },
    { path: `/servers/${canary}/mcp`, request: { method: 'tools/list', params: {} }, target: server },
    { request: execute(`${canary}:${canary}_prompt`), target: prompt },
    {
      request: { method: 'prompts/get', params: { name: `${canary}:${canary}_prompt` } },
      target: prompt,
    },
    { request: complete(promptRef), target: prompt },
    { request: complete({ type: 'ref/resource', uri }), target: resource },
    ...[`${canary}|${uri}`, `${canary}+${uri}`, uri].flatMap(text => [
      { request: read(text), target: resource },
      { request: call('read_mcp_resource', { uri: text }), target: resource },
    ]),
    { request: execute(`${canary}|${uri}`), target: resource },
  ]
}
