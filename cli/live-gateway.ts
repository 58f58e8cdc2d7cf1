/** The gateway that a command asks: one that runs, or one of its own in this process for as long as the command takes. */
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../core/async.ts'
import { Fault } from '../core/errors.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { createLog } from '../core/log.ts'
import { createHttpUpstream } from '../core/mcp/http/streamable.ts'
import { cacheFolder } from '../local/config.ts'
import { type LocalGateway, startLocal } from '../local/gateway.ts'
import type { LocalStatus } from '../local/status.ts'
import { CommandError } from './failure.ts'
import type { ManifestOptions } from './options.ts'
import { noteLine, problemLine, type Terminal } from './output.ts'

const ANSWER_TIMEOUT_MS = 10_000
const CALL_TIMEOUT_MS = 10 * 60_000
const READY_POLL_MS = 50
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const LOOPBACK = '127.0.0.1'

export type LiveGateway = {
  status(): Promise<LocalStatus>
  /** Calls a meta-tool, or sends any other request. Throws a CommandError with what the gateway said. */
  request(method: string, params: JsonObject): Promise<JsonObject>
  close(): Promise<void>
}

export type LiveOptions = ManifestOptions & {
  url: string
  paths: readonly string[]
  /** When enough of the gateway of one's own is up; default: all that can be. */
  enough?: (status: LocalStatus) => boolean
}

/** With paths, a gateway of one's own on any free port; without, the one at `url`. */
export async function openGateway(options: LiveOptions, terminal: Terminal): Promise<LiveGateway> {
  if (options.paths.length === 0) return connectTo(options.url)
  const local = await startLocal({
    paths: options.paths,
    host: LOOPBACK,
    port: 0,
    gateway: options.gateway,
    secretsFolder: options.secrets,
    watch: false,
    cacheFolder: cacheFolder(terminal.env),
    env: terminal.env,
    log: createLog({ level: 'silent' }),
    onProgress: message => terminal.err(terminal.errColors.dim(message)),
    onFindings: ({ problems, notes }) => {
      for (const problem of problems) terminal.err(problemLine(problem, terminal.errColors))
      for (const note of notes) terminal.err(noteLine(note, terminal.errColors))
    },
  })
  await untilReady(local, options.enough)
  const live = connectTo(local.url.replace(/\/mcp$/, ''))
  return {
    ...live,
    close: async () => {
      await live.close()
      await local.close()
    },
  }
}

async function untilReady(local: LocalGateway, enough: LiveOptions['enough']): Promise<void> {
  while (!local.ready() && !enough?.(local.status())) await wait(READY_POLL_MS)
}

function connectTo(base: string): LiveGateway {
  const url = base.replace(/\/+$/, '').replace(/\/mcp$/, '')
  if (!URL.canParse(url)) throw new CommandError(`"${base}" is not a URL, such as http://127.0.0.1:8080`, 2)
  const spec = {
    url: `${url}/mcp`,
    transport: 'streamable-http',
    sessions: 'shared',
    startTimeoutMs: ANSWER_TIMEOUT_MS,
  } as const
  const upstream = createHttpUpstream(spec, { clock: systemClock })
  return {
    status: () => fetchStatus(url),
    async request(method, params) {
      const call = { method, params, maxBytes: MAX_ANSWER_BYTES }
      const answer = await upstream
        .request(call, AbortSignal.timeout(CALL_TIMEOUT_MS))
        .catch(error => unreachable(error, url))
      if (answer.error) throw new CommandError(answer.error.message)
      return answer.result
    },
    close: () => upstream.close(),
  }
}

async function fetchStatus(url: string): Promise<LocalStatus> {
  const response = await fetch(`${url}/debug/status`, {
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  }).catch(cause => unreachable(new Fault('upstream_unreachable', 'no answer', { cause }), url))
  const value: unknown = response.ok ? await response.json().catch(() => undefined) : undefined
  if (!isObject(value) || !Array.isArray(value.servers))
    throw new CommandError(
      `${url} does not show its status: only a gateway that "portolan up" started on this machine does. In a cluster: kubectl get mcpservers`,
    )
  return value as unknown as LocalStatus
}

function unreachable(error: unknown, url: string): never {
  if (error instanceof Fault && error.code === 'upstream_unreachable')
    throw new CommandError(
      `no gateway answers at ${url}: start one with "portolan up", name its --url, or give PATHs to run one for this command`,
    )
  throw error
}
