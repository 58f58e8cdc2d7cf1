/** Measures a gateway process with access rules: how new tokens slow down calls of other callers, and how soon a changed rule takes effect. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../core/json.ts'
import { MCP_HEADERS, requestBody } from '../support/mcp.ts'
import { type Gateway, startGateway, startScript } from '../support/processes.ts'
import { AUDIENCE, createIssuer, GATEWAY_URL, ISSUER, type Issuer } from './issuer.ts'
import { type Paced, pacedLoad } from './paced.ts'
import { type BenchRow, quantile } from './row.ts'

type Replay = { servers: { name: string; url: string; tools: string[] }[] }

const CALLS_PER_SECOND = 100
const TOKENS_PER_SECOND = 200
const SECONDS = 5
/** Loads with known and with new tokens alternate, so that other work of the machine affects both. */
const ROUNDS = 5
const CHANGES = 20
const MAX_WAIT_MS = 10_000

export async function benchCallersGateway(folder: string): Promise<BenchRow[]> {
  await using running = new AsyncDisposableStack()
  const replay = await startScript<Replay>(['test/upstreams/replay/main.ts'])
  running.defer(() => replay.stop())
  const issuer = await createIssuer('RS256')
  const manifests = join(folder, 'callers')
  mkdirSync(manifests, { recursive: true })
  for (const { name, url } of replay.ready.servers)
    write(
      manifests,
      name,
      manifest('portolan.dev/v1alpha1', 'McpServer', name, { spec: { remote: { url } } }),
    )
  const [allowed, toggled] = searchedTools(replay.ready)
  write(manifests, 'keys', keysOf(issuer))
  write(manifests, 'gateway', gatewayOf([]))
  const gateway = await startGateway([manifests], { cache: join(folder, 'callers-cache') })
  running.defer(() => gateway.stop())
  const known = await issuer.sign('ada', ['dev'])
  return [
    await newTokensRow(gateway, issuer, bodyOf(allowed), known),
    await changedRuleRow(gateway, manifests, { allowed, toggled, known }),
  ]
}

async function newTokensRow(
  { url }: Gateway,
  issuer: Issuer,
  body: string,
  known: string,
): Promise<BenchRow> {
  const count = TOKENS_PER_SECOND * SECONDS
  const fresh = await Promise.all(
    Array.from({ length: count * ROUNDS }, (_, at) => issuer.sign(`user-${at}`, ['dev'])),
  )
  const calls = () => pacedLoad(`${url}/mcp`, [body], CALLS_PER_SECOND, SECONDS, () => bearer(known))
  const tokens = (tokenAt: (turn: number) => string) =>
    pacedLoad(`${url}/mcp`, [body], TOKENS_PER_SECOND, SECONDS, turn => bearer(tokenAt(turn)))
  await calls()
  const loads: Record<'besideKnown' | 'besideNew' | 'withNew', Paced[]> = {
    besideKnown: [],
    besideNew: [],
    withNew: [],
  }
  for (let round = 0; round < ROUNDS; round++) {
    // The load beside the calls is the same, except that its tokens are known.
    const [besideKnown] = await Promise.all([calls(), tokens(() => known)])
    const newTokens = tokens(turn => fresh[round * count + turn] as string)
    const [besideNew, withNew] = await Promise.all([calls(), newTokens])
    loads.besideKnown.push(besideKnown)
    loads.besideNew.push(besideNew)
    loads.withNew.push(withNew)
  }
  const p99 = (some: Paced[]) =>
    quantile(
      some.map(load => load.p99),
      0.5,
    )
  const failed = failures(Object.values(loads).flat())
  const [besideKnown, besideNew] = [p99(loads.besideKnown), p99(loads.besideNew)]
  const ratio = besideNew / besideKnown
  return {
    what: `calls during ${TOKENS_PER_SECOND} requests a second with a new token each: p99 compared with p99 during as many with a known token`,
    aim: '≤ 2 ×',
    measured: `${ratio.toFixed(1)} × (${besideKnown.toFixed(1)} ms, then ${besideNew.toFixed(1)} ms, medians of ${ROUNDS} rounds; requests with new tokens p99 ${p99(loads.withNew).toFixed(1)} ms; ${failed} failed)`,
    ok: ratio <= 2 && failed === 0,
  }
}

/** A rule denies a tool and allows it again, while searches for another tool continue. */
async function changedRuleRow(
  { url }: Gateway,
  manifests: string,
  { allowed, toggled, known }: { allowed: string; toggled: string; known: string },
): Promise<BenchRow> {
  const times: number[] = []
  const ended = new AbortController()
  const searched = keepSearching(url, allowed, known, ended.signal)
  for (let change = 0; change < CHANGES; change++) {
    const isDenied = change % 2 === 0
    const began = performance.now()
    write(manifests, 'gateway', gatewayOf(isDenied ? [toggled.split(':')[1] as string] : []))
    await until(async () => (await finds(url, toggled, known)) !== isDenied)
    times.push(performance.now() - began)
  }
  ended.abort()
  const { calls, failed } = await searched
  const p95 = quantile(times, 0.95)
  return {
    what: 'from the change of a rule until it takes effect, p95',
    aim: '≤ 1 s, no call failed',
    measured: `p50 ${(quantile(times, 0.5) / 1_000).toFixed(2)} s, p95 ${(p95 / 1_000).toFixed(2)} s; ${failed} of ${calls} calls failed`,
    ok: p95 <= 1_000 && failed === 0,
  }
}

/** Searches for a tool, one request after the other, until the signal aborts. */
async function keepSearching(url: string, tool: string, token: string, signal: AbortSignal) {
  let calls = 0
  let failed = 0
  while (!signal.aborted) {
    calls++
    if (!(await finds(url, tool, token).catch(() => false))) failed++
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return { calls, failed }
}

async function finds(url: string, tool: string, token: string): Promise<boolean> {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...MCP_HEADERS, ...bearer(token) },
    body: bodyOf(tool),
  })
  if (!response.ok) throw new Error(`HTTP ${response.status}`)
  return (await response.text()).includes(`tool_path\\":\\"${tool}\\"`)
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + MAX_WAIT_MS
  while (!(await isDone())) {
    if (performance.now() > deadline) throw new Error('a changed rule did not take effect in time')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

/** Two tools, by path. */
function searchedTools({ servers }: Replay): [allowed: string, toggled: string] {
  const paths = servers.flatMap(({ name, tools }) => tools.slice(0, 1).map(tool => `${name}:${tool}`))
  return [paths[0] as string, paths[1] as string]
}

function bodyOf(tool: string): string {
  return requestBody('tools/call', { name: 'discover_mcp_tools', arguments: { query: tool } })
}

function keysOf({ jwks }: Issuer): object {
  return manifest('v1', 'ConfigMap', 'keys', { data: { 'jwks.json': JSON.stringify(jwks) } })
}

function gatewayOf(deny: readonly string[]): object {
  const keys = { configMapKeyRef: { name: 'keys', key: 'jwks.json' } }
  return manifest('portolan.dev/v1alpha1', 'McpGateway', 'bench', {
    spec: {
      url: GATEWAY_URL,
      auth: { jwt: [{ name: 'bench', issuer: ISSUER, audiences: [AUDIENCE], keys }] },
      access: [{ name: 'dev', subjects: [{ kind: 'Group', name: 'dev' }], tools: { deny } }],
    },
  })
}

function manifest(apiVersion: string, kind: string, name: string, more: object): object {
  return { apiVersion, kind, metadata: { name }, ...more }
}

function write(folder: string, name: string, content: object): void {
  writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(content as JsonObject))
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

function failures(loads: readonly Paced[]): number {
  return loads.reduce((sum, { failed }) => sum + failed, 0)
}
