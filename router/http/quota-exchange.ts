/** Exchanges the counts of quotas with the other routers of the gateway, over their admin ports. */
import type { FastifyRequest } from 'fastify'
import type { Agent } from 'undici'
import { type Clock, delay } from '../../core/async.ts'
import { deadline } from '../../core/deadline.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { MAX_BODY_BYTES } from '../../core/mcp/server/bodies.ts'
import type { InternalCredentials } from '../access/internal-credential.ts'
import { type Cursor, type Exchange, type Quotas, readExchange, readQuotaReport } from '../access/quotas.ts'
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
export const ANSWER_TIMEOUT_MS = 2_000
const OTHER_LIMITS = 'Other limits are in force here.'
/** Limit of routers that are asked. */
const MAX_PEERS = 128

/** `sent`: what a peer knows of this router; `received`: what this one knows of the peer. */
type Known = { sent?: Cursor; received?: Cursor }

/**
 * Exchanges counts with all peers, again and again. Until a round in which all have reported, a router allows only its share of what was
 * left before, so that peers that cannot reach each other do not exceed a quota together.
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
    const allKnow = quotas.mark()
    const problem = await exchangeWithAll().then(() => undefined, messageOf)
    if (problem === undefined) allKnow()
    if (isDivided === (problem !== undefined)) return
    isDivided = !isDivided
    if (isDivided) log.warn({ error: problem }, 'quotas are divided: not all routers can be reached')
    else log.info('all routers can be reached: quotas are shared again')
  }

  /** Rejects if not all peers know everything. */
  async function exchangeWithAll(): Promise<void> {
    const origins = (await options.peers()).slice(0, MAX_PEERS)
    const before = known
    known = new Map()
    const exchanges = origins.map(async origin => {
      const exchanged = await exchangeWith(agent, origin, before.get(origin) ?? {}, options)
      known.set(origin, exchanged.known)
      if (!exchanged.isWhole) throw new Fault('unavailable', `${origin} does not know everything yet`)
    })
    await Promise.allSettled(exchanges)
    await Promise.all(exchanges)
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

/** Reports to a peer what it does not know, and merges what this router does not know. Rejects if it cannot be reached. */
async function exchangeWith(
  agent: Agent,
  origin: string,
  { sent, received }: Known,
  { quotas, credentials, clock }: QuotaExchangeOptions,
): Promise<{ known: Known; isWhole: boolean }> {
  const report = quotas.report(sent)
  const body = JSON.stringify({ report, known: received } satisfies Exchange)
  const limit = deadline(clock, ANSWER_TIMEOUT_MS, `${origin} does not answer in time`)
  const { status, text } = await askPeer(agent, origin, {
    ...{ path: QUOTAS_PATH, body, credentials },
    ...{ signal: limit.signal, maxAnswerBytes: MAX_BODY_BYTES },
  }).finally(limit.clear)
  const answer = status === 200 ? readQuotaReport(text) : undefined
  if (!answer) throw new Fault('invalid_data', `${origin} answered with status ${status}`)
  // After a restart a peer has lost its counts, and has another name.
  const isSame = received === undefined || received.router === answer.cursor.router
  if (!quotas.merge(answer) || !isSame) return { known: {}, isWhole: false }
  return {
    known: { sent: report.cursor, received: answer.cursor },
    isWhole: report.isWhole && answer.isWhole,
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
      if (!quotas.merge(exchange.report)) return peerProblem(409, OTHER_LIMITS)
      return { status: 200, text: JSON.stringify(quotas.report(exchange.known)) }
    },
  })
}
