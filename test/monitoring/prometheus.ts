/** A real Prometheus on a port of the loopback, for as long as a test takes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** One series of an instant query. */
export type Sample = { metric: Record<string, string>; value: number }

export type Rule = {
  name: string
  health: string
  lastError?: string
  state: string
  alerts: { labels: Record<string, string> }[]
}

export type Prometheus = {
  /** The answers to instant queries, in their order; throws what Prometheus says of one that it cannot answer. */
  ask(queries: readonly string[]): Promise<Sample[][]>
  rules(): Promise<Rule[]>
  stop(): Promise<void>
}

export type PrometheusOptions = {
  /** The program. */
  prometheus: string
  /** As in prometheus.yml. */
  config: object
  /** How to run a command and how to ask, if Prometheus is not in this machine's own network. */
  place?: Place
}

export type Place = {
  inside(command: readonly string[]): { command: string[]; env: NodeJS.ProcessEnv }
  /** The bodies of URLs. */
  get(urls: readonly string[]): Promise<string[]>
}

const HERE: Place = {
  inside: command => ({ command: [...command], env: process.env }),
  get: urls => Promise.all(urls.map(async url => (await fetch(url)).text())),
}

/** Resolves when it answers. It is killed when this process ends, in whatever way. */
export async function startPrometheus({
  prometheus,
  config,
  place = HERE,
}: PrometheusOptions): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-prometheus-'))
  const port = await freePort()
  const file = join(folder, 'prometheus.yml')
  writeFileSync(file, JSON.stringify(config))
  const { command, env } = place.inside([
    ...['setpriv', '--pdeathsig', 'KILL', '--', prometheus],
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ])
  const [program = '', ...args] = command
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  const get = async (paths: readonly string[]) => {
    const bodies = await place.get(paths.map(path => `http://127.0.0.1:${port}${path}`))
    return bodies.map(dataOf)
  }
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const stop = async () => {
    const gone = hasEnded() ? undefined : once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('Prometheus answers', async () => hasEnded() || (await get(['/api/v1/status/buildinfo'])))
    if (hasEnded()) throw new Error(`Prometheus ended: ${stderr}`)
  } catch (error) {
    await stop()
    throw error
  }
  return { ask: queries => ask(get, queries), rules: () => rules(get), stop }
}

type Get = (paths: readonly string[]) => Promise<unknown[]>

async function ask(get: Get, queries: readonly string[]): Promise<Sample[][]> {
  const answers = await get(queries.map(query => `/api/v1/query?query=${encodeURIComponent(query)}`))
  return answers.map(answer => {
    const { result } = answer as { result: { metric: Sample['metric']; value: [number, string] }[] }
    return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
  })
}

async function rules(get: Get): Promise<Rule[]> {
  const [answer] = (await get(['/api/v1/rules'])) as [{ groups: { rules: Rule[] }[] }]
  return answer.groups.flatMap(group => group.rules)
}

function dataOf(body: string): unknown {
  const { status, data, error } = JSON.parse(body) as { status: string; data?: unknown; error?: string }
  if (status !== 'success') throw new Error(`Prometheus: ${error}`)
  return data
}
