/** A running gateway with scripts, and servers in memory behind it. */
import type { TestContext } from 'node:test'
import type { CodeConfig, CodeLimits, RouterConfig, RouterScript } from '../../core/catalog/router-config.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { createLog } from '../../core/log.ts'
import { type Router, type RouterOptions, startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import {
  type Answerer,
  echo,
  type FixtureServer,
  snapshotOf,
  type ToolResult,
  upstreamOf,
} from '../meta/fixture.ts'
import { until } from '../support/until.ts'

const MI = 1024 * 1024

export const LIMITS: CodeLimits = {
  sourceBytes: 64 * 1024,
  timeoutMs: 60_000,
  sandboxMs: 5_000,
  memoryBytes: 32 * MI,
  calls: 100,
  concurrency: 8,
  resultBytes: 4 * MI,
  scripts: 4,
  scriptsPerClient: 4,
}

export type CodeChanges = Partial<Omit<CodeConfig, 'limits'>> & { limits?: Partial<CodeLimits> }

export function codeOf({ limits, ...changes }: CodeChanges = {}): CodeConfig {
  return {
    tools: { allow: ['*'], deny: [], readOnly: false },
    destructive: 'Ask',
    ask: [],
    resultTokens: 4_000,
    learnTypes: true,
    ...changes,
    limits: { ...LIMITS, ...limits },
  }
}

/** A reviewed script without arguments. */
export function reviewedScript(name: string, code: string, more: Partial<RouterScript> = {}): RouterScript {
  return {
    name,
    description: `The script ${name}`,
    keywords: [],
    inputSchema: { type: 'object', properties: {} },
    readOnly: false,
    code,
    ...more,
  }
}

export type ScriptGateway = {
  router: Router
  /** What reached the servers, as `server:tool`. */
  sent: string[]
  run(code: string, more?: RunOptions): Promise<ToolResult>
  /** The value that a script returned; throws its failure. */
  value(code: string, input?: unknown): Promise<unknown>
}

export type RunOptions = { input?: unknown; token?: string; signal?: AbortSignal; profile?: string }

/** Resolves when the gateway has a catalog; it is closed after the test. */
export async function startScriptGateway(
  t: Pick<TestContext, 'after'>,
  servers: Record<string, FixtureServer>,
  code: CodeChanges = {},
  config: Partial<RouterConfig> = {},
  options: Partial<RouterOptions> = {},
): Promise<ScriptGateway> {
  const sent: string[] = []
  const source = createInProcessSource()
  const answer = (name: string): Answerer => servers[name]?.answer ?? echo
  const router = await startRouter({
    source,
    connect: ({ name }) =>
      upstreamOf((call, signal) => {
        sent.push(`${name}:${call.params?.name ?? call.params?.uri}`)
        return answer(name)(call, signal)
      }),
    host: '127.0.0.1',
    port: 0,
    log: createLog({ level: 'silent' }),
    ...options,
  })
  t.after(() => router.close(0))
  const defaults = { allowedProfiles: ['search', 'registry', 'direct', 'code'] as const }
  const settings = { allowedProfiles: [...defaults.allowedProfiles], code: codeOf(code), ...config }
  source.publish(snapshotOf(servers, settings, 1))
  await until(() => router.catalog())
  const run: ScriptGateway['run'] = async (source, more = {}) => {
    const { profile = 'code', input } = more
    const args = { code: source, ...(input !== undefined && { input: input as JsonObject }) }
    const reply = await post(new URL(`/mcp/${profile}`, router.url), 'run_mcp_script', args, more)
    if (!isObject(reply.result)) throw new Error(JSON.stringify(reply))
    return reply.result as ToolResult
  }
  return {
    router,
    sent,
    run,
    async value(source, input) {
      const { content, isError } = await run(source, { input })
      const text = content[0]?.text ?? ''
      if (isError) throw new Error(text)
      try {
        return JSON.parse(text)
      } catch {
        return text
      }
    },
  }
}

/** Calls a tool over HTTP, as a client of the 2025 era without a session. */
export async function post(
  url: URL,
  name: string,
  args: JsonObject,
  { token, signal }: RunOptions = {},
): Promise<JsonObject> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
    signal,
  })
  const text = await response.text()
  const data = /^data: (\{.*\})$/m.exec(text)?.[1] ?? text
  return JSON.parse(data) as JsonObject
}
