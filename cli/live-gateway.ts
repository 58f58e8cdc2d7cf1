/** The gateway that a command uses: a running one, or one in this process that ends with the command. */
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../core/async.ts'
import { readBounded } from '../core/bounded.ts'
import type { Profile } from '../core/catalog/router-config.ts'
import { deadline } from '../core/deadline.ts'
import { Fault } from '../core/errors.ts'
import { plainLine } from '../core/hidden-characters.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { createLog } from '../core/log.ts'
import { connectSdkClient, type SdkClient } from '../core/mcp/client/sdk-client.ts'
import type { Identity } from '../core/mcp/identity.ts'
import { profile } from '../crds/gateway.ts'
import { cacheFolder } from '../local/config.ts'
import { type LocalGateway, startLocal } from '../local/local-gateway.ts'
import type { LocalStatus } from '../local/local-status.ts'
import type { Explanation } from '../router/catalog/search/search-index.ts'
import { USERS_PATH } from '../router/http/users-page.ts'
import type { UserStatus } from '../router/upstream/user-members.ts'
import { callerToken } from './caller-token.ts'
import { CommandError, EXIT } from './command-error.ts'
import type { ManifestOptions } from './options.ts'
import { noteLine, problemLine, type Terminal } from './output.ts'
import { mustExist } from './paths.ts'
import { failureLines } from './server-state.ts'

const ANSWER_TIMEOUT_MS = 10_000
const MAX_PAGE_BYTES = 64 << 20
const CALL_TIMEOUT_MS = 10 * 60_000
const READY_POLL_MS = 50
/** Work that takes longer is reported to the user. */
const PATIENCE_MS = 1_000
const LOOPBACK = '127.0.0.1'

export type LiveGateway = {
  status(): Promise<LocalStatus>
  /** The users who have a session, process or pod at servers with `sessions: perUser`. */
  users(): Promise<UsersOfServer[]>
  /** Ends a user's session, process or pod. Resolves with false if there was none. */
  endUser(server: string, user: string): Promise<boolean>
  /**
   * Sends a request, such as a call of a meta-tool, in the session of a profile, and resolves with its result. Throws a CommandError if no
   * gateway answers or it does not admit the caller, else the Faults of SdkClient.request.
   */
  request(method: string, params: JsonObject, profile?: Profile): Promise<JsonObject>
  /** Why a search finds what it finds. */
  explain(query: string, limit: number): Promise<Explanation>
  close(): Promise<void>
}

export type UsersOfServer = { server: string; users: UserStatus[] }

export type LiveOptions = ManifestOptions & {
  url: string
  paths: readonly string[]
  /** The identity of the caller at the command's own gateway. */
  as?: Identity
  /** Whether the command's own gateway runs scripts, also if its manifest does not enable them. */
  runsScripts?: boolean
  /** Whether enough servers of the command's own gateway are up. Default: all that can be. */
  enough?: (status: LocalStatus) => boolean
  /** Also waits for the vectors of all tools, if there is search by meaning. */
  byMeaning?: boolean
}

/** With paths, starts the command's own gateway on any free port; without, connects to the running one at `url`. */
export async function openGateway(options: LiveOptions, terminal: Terminal): Promise<LiveGateway> {
  const given = callerToken(terminal)
  if (options.paths.length === 0) {
    if (!options.as) return connectTo(options.url, given)
    const message =
      '--as needs PATHs: a gateway that runs knows its callers by their credentials; "portolan up --as" starts one'
    throw new CommandError(message, EXIT.usage)
  }
  const local = await runGateway(options, terminal)
  if (options.byMeaning) await untilEncoded(local, terminal)
  const token = options.as ? undefined : given
  const live = connectTo(local.url.replace(/\/mcp$/, ''), token)
  return {
    ...live,
    close: async () => {
      await live.close()
      await local.close()
    },
  }
}

/** Starts the command's own gateway, waits until enough of it is up, and reports servers that did not start. The caller has to close it. */
export async function runGateway(
  options: Omit<LiveOptions, 'url' | 'byMeaning'>,
  terminal: Terminal,
): Promise<LocalGateway> {
  mustExist(options.paths)
  const local = await startLocal({
    paths: options.paths,
    host: LOOPBACK,
    port: 0,
    gateway: options.gateway,
    secretsFolder: options.secrets,
    as: options.as,
    allowedProfiles: profile.options,
    runsScripts: options.runsScripts,
    watch: false,
    cacheFolder: cacheFolder(terminal.env),
    env: terminal.env,
    log: createLog({ level: 'silent' }),
    onProgress: message => terminal.err(terminal.errColors.dim(plainLine(message))),
    onFindings: ({ problems, notes }) => {
      for (const problem of problems) terminal.err(problemLine(problem, terminal.errColors))
      for (const note of notes) terminal.err(noteLine(note, terminal.errColors))
    },
  })
  await untilReady(local, options.enough)
  for (const line of failureLines(local.status())) terminal.err(terminal.errColors.yellow(line))
  return local
}

async function untilReady(local: LocalGateway, enough: LiveOptions['enough']): Promise<void> {
  while (!local.ready() && !enough?.(local.status())) await wait(READY_POLL_MS)
}

/** Waits for the vectors of tools. Each tool that is new on this machine takes some hundredths of a second, once. */
async function untilEncoded(local: LocalGateway, terminal: Terminal): Promise<void> {
  const missing = () => {
    const { semantic, reason, pending } = local.status().search
    // An embeddings service that fails may keep failing.
    return semantic === 'endpoint' && reason !== undefined ? 0 : pending
  }
  const begun = performance.now()
  let hasReported = false
  while (missing() > 0) {
    await wait(READY_POLL_MS)
    if (hasReported || performance.now() - begun < PATIENCE_MS) continue
    terminal.err(terminal.errColors.dim(`encoding ${missing()} tools for the search by meaning`))
    hasReported = true
  }
}

function connectTo(base: string, token?: string): LiveGateway {
  const url = base.replace(/\/+$/, '').replace(/\/mcp$/, '')
  const parsed = URL.parse(url)
  if (parsed?.username || parsed?.password)
    throw new CommandError(
      '--url must not have credentials: give the token of a caller in PORTOLAN_TOKEN',
      EXIT.usage,
    )
  if (!/^https?:$/.test(parsed?.protocol ?? ''))
    throw new CommandError(`"${base}" is not a URL, such as http://127.0.0.1:8080`, EXIT.usage)
  const clients = new Map<Profile, Promise<SdkClient>>()
  const clientOf = (profile: Profile): Promise<SdkClient> => {
    const client =
      clients.get(profile) ??
      within(ANSWER_TIMEOUT_MS, signal => connectSdkClient(`${url}/mcp/${profile}`, signal, token))
    clients.set(profile, client)
    return client
  }
  return {
    status: () => fetchStatus(url),
    explain: (query, limit) => fetchExplanation(url, query, limit),
    users: () => fetchUsers(url),
    async endUser(server, user) {
      const page = [USERS_PATH, ...[server, user].map(encodeURIComponent)].join('/')
      return (await ask(url, page, 'DELETE')).ok
    },
    async request(method, params, profile = 'hierarchical') {
      try {
        const client = await clientOf(profile)
        return await within(CALL_TIMEOUT_MS, signal => client.request(method, params, signal))
      } catch (error) {
        return refused(error, url, token)
      }
    },
    close: async () => {
      const opened = await Promise.allSettled(clients.values())
      await Promise.all(opened.map(client => client.status === 'fulfilled' && client.value.close()))
    },
  }
}

/** Runs `work` with a signal that aborts after `ms`. */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = deadline(systemClock, ms, 'The gateway does not answer in time')
  try {
    return await work(limit.signal)
  } finally {
    limit.clear()
  }
}

async function fetchStatus(url: string): Promise<LocalStatus> {
  const value = await fetchPage(url, '/debug/status')
  if (isObject(value) && Array.isArray(value.servers)) return value as unknown as LocalStatus
  throw new CommandError(
    `${url} does not show its status: only a gateway that "portolan up" started on this machine does. In a cluster: kubectl get mcpservers`,
  )
}

async function fetchExplanation(url: string, query: string, limit: number): Promise<Explanation> {
  const value = await fetchPage(url, `/debug/explain?${new URLSearchParams({ query, limit: `${limit}` })}`)
  if (isObject(value) && Array.isArray(value.hits)) return value as unknown as Explanation
  throw new CommandError(
    `${url} does not explain its search: only a gateway that "portolan up" started on this machine does`,
  )
}

async function fetchUsers(url: string): Promise<UsersOfServer[]> {
  const value = await fetchPage(url, USERS_PATH)
  if (Array.isArray(value)) return value as UsersOfServer[]
  throw new CommandError(
    `${url} does not show its users: only a gateway that "portolan up" started on this machine does`,
  )
}

/** The page's JSON; undefined if the gateway refuses the request or answers with something else. */
async function fetchPage(url: string, page: string): Promise<unknown> {
  const response = await ask(url, page)
  if (!response.ok) return undefined
  const body = readBounded(response.body ?? [], MAX_PAGE_BYTES, () => new Error('The answer is too large.'))
  return body.then(text => JSON.parse(text.toString('utf8')) as unknown).catch(() => undefined)
}

function ask(url: string, page: string, method = 'GET'): Promise<Response> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
  return fetch(`${url}${page}`, { method, signal }).catch(cause =>
    unreachable(new Fault('upstream_unreachable', 'no answer', { cause }), url),
  )
}

/** Throws the error; if it is about credentials, as a CommandError that says how to give a token. */
function refused(error: unknown, url: string, token: string | undefined): never {
  if (!(error instanceof Fault) || error.code !== 'upstream_auth_required') return unreachable(error, url)
  throw new CommandError(
    token === undefined
      ? `${error.message}: set PORTOLAN_TOKEN to a token that the gateway at ${url} admits`
      : `${error.message}: the gateway at ${url} does not admit the token in PORTOLAN_TOKEN`,
  )
}

/** Throws the error; if no gateway answers, as a CommandError that says how to start one. */
function unreachable(error: unknown, url: string): never {
  if (error instanceof Fault && error.code === 'upstream_unreachable')
    throw new CommandError(
      `no gateway answers at ${url}: start one with "portolan up", name its --url, or give PATHs to run one for this command`,
    )
  throw error
}
