/** Exchanges the counts of quotas with the other routers of the gateway, over their admin ports. */
import type { FastifyRequest } from 'fastify'
import type { Agent } from 'undici'
import { type Clock, delay } from '../../core/async.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { MAX_BODY_BYTES } from '../../core/mcp/server/bodies.ts'
import type { InternalCredentials } from '../access/internal-credential.ts'
import { type Cursor, type Exchange, type Quotas, readExchange, readTold } from '../access/quotas.ts'
import { EXCHANGE_MS } from '../access/window-counts.ts'
import type { App } from './app.ts'
import { addPeerPage, askPeer, createPeerAgent, peerProblem, REFUSED_PEER } from './peer-requests.ts'

export type QuotaExchange = {
  /** Exchanges a last time, so that the others know what was counted here, and ends. Never rejects. */
  close(): Promise<void>
}

export type QuotaPageOptions = {
  quotas: Quotas
  credentials: InternalCredentials
  /** Puts the newest limits in force. */
  adopt: () => void
  /** Called when a request is refused because it is not of a router. */
  onRefused: (request: FastifyRequest) => void
}

export type QuotaExchangeOptions = Omit<QuotaPageOptions, 'onRefused'> & {
  /** Origins of the admin ports of all routers; with or without this one. Rejects if they cannot be found. */
  peers: () => Promise<readonly string[]>
  clock: Clock
  log: Log
}

export const QUOTAS_PATH = '/quotas'
const ANSWER_TIMEOUT_MS = 2_000
const OTHER_LIMITS = 'Other limits are in force here.'
/** Routers a gateway may have. */
const MAX_PEERS = 128

/** `told`: what a peer knows of this router; `heard`: what this one knows of the peer. */
type Known = { told?: Cursor; heard?: Cursor }

/**
 * Until all peers have heard of each other in one round, a router allows its share of what was left before: a peer that is away opens no
 * quota.
 */
export function exchangeQuotas(options: QuotaExchangeOptions): QuotaExchange {
  const { quotas, adopt, clock, log } = options
  const agent = createPeerAgent()
  const stop = new AbortController()
  let known = new Map<string, Known>()
  let isDivided = false

  async function round(): Promise<void> {
    adopt()
    if (quotas.isEmpty()) return
    const tellAll = quotas.mark()
    const problem = await meetAll().then(() => undefined, messageOf)
    if (problem === undefined) tellAll()
    if (isDivided === (problem !== undefined)) return
    isDivided = !isDivided
    if (isDivided) log.warn({ error: problem }, 'quotas are divided: not all routers can be reached')
    else log.info('all routers can be reached: quotas are shared again')
  }

  /** Rejects if not all peers know everything. */
  async function meetAll(): Promise<void> {
    const origins = (await options.peers()).slice(0, MAX_PEERS)
    const before = known
    known = new Map()
    const meetings = origins.map(async origin => {
      const met = await meet(agent, origin, before.get(origin) ?? {}, options)
      known.set(origin, met.known)
      if (!met.isWhole) throw new Fault('unavailable', `${origin} does not know everything yet`)
    })
    await Promise.allSettled(meetings)
    await Promise.all(meetings)
  }

  const running = (async () => {
    while (!stop.signal.aborted) {
      await round().catch(error => log.error({ err: error }, 'quotas cannot be exchanged'))
      await delay(clock, EXCHANGE_MS, stop.signal).catch(() => {})
    }
  })()
  return {
    async close() {
      stop.abort()
      await running
      await round().catch(() => {})
      await agent.destroy()
    },
  }
}

/** Tells a peer what it does not know, and hears what this router does not know. Rejects if it cannot be reached. */
async function meet(
  agent: Agent,
  origin: string,
  { told, heard }: Known,
  { quotas, credentials }: QuotaExchangeOptions,
): Promise<{ known: Known; isWhole: boolean }> {
  const telling = quotas.tell(told)
  const body = JSON.stringify({ told: telling, known: heard } satisfies Exchange)
  const { status, text } = await askPeer(agent, origin, {
    ...{ path: QUOTAS_PATH, body, credentials },
    ...{ timeoutMs: ANSWER_TIMEOUT_MS, maxAnswerBytes: MAX_BODY_BYTES },
  })
  const hearing = status === 200 ? readTold(text) : undefined
  if (!hearing) throw new Fault('invalid_data', `${origin} answered with status ${status}`)
  // After a restart a peer knows nothing any more, and has another name.
  const isSame = heard === undefined || heard.router === hearing.cursor.router
  if (!quotas.hear(hearing) || !isSame) return { known: {}, isWhole: false }
  return {
    known: { told: telling.cursor, heard: hearing.cursor },
    isWhole: telling.isWhole && hearing.isWhole,
  }
}

/** Answers the other routers: POST with an `Exchange`. */
export function addQuotaPage(app: App, { quotas, credentials, adopt, onRefused }: QuotaPageOptions): void {
  addPeerPage(app, {
    path: QUOTAS_PATH,
    credentials: () => credentials,
    onRefused,
    answer(body) {
      adopt()
      const exchange = readExchange(body)
      if (!exchange) return REFUSED_PEER
      if (!quotas.hear(exchange.told)) return peerProblem(409, OTHER_LIMITS)
      return { status: 200, text: JSON.stringify(quotas.tell(exchange.known)) }
    },
  })
}
