/** The data that the console asks for, each as one caller sees it. */
import type { ConsoleAction } from '../../core/console/shapes.ts'
import { Fault } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { estimateTokens } from '../catalog/estimate.ts'
import { explainSearch } from '../meta/finding/search-catalog.ts'
import type { QueryEncoder } from '../meta/meta-tool.ts'
import { isOwn, payloadOf } from './calls.ts'
import type { ConsoleFeed } from './feed.ts'
import type { ConsoleHost } from './host.ts'
import { resourcesOf, toolDetailOf, toolsOf } from './offered.ts'
import { seesAll } from './state.ts'

export type AnswersOptions = { host: ConsoleHost; feed: ConsoleFeed; encodeQuery?: QueryEncoder }

/** What a caller asks for: its catalog, and the parameters of the URL. */
export type Ask = { seen: Catalog; identity: Identity; query: Readonly<Record<string, unknown>> }

export type Answers = Readonly<Record<string, (ask: Ask) => unknown>>

const EXPLAIN_TIMEOUT_MS = 10_000
const MAX_EXPLAINED = 60
const MAX_QUERY_CHARACTERS = 2_000
const NOT_HERE = 'There is no such thing here, or this caller may not see it.'

/** The answers to GET requests, by the last part of the path. They throw a Fault `not_found` for what the caller does not see. */
export function createAnswers({ host, feed, encodeQuery }: AnswersOptions): Answers {
  return {
    tools: ({ seen }) => toolsOf(seen),
    tool: ({ seen, query }) => toolDetailOf(seen, textOf(query.path)) ?? nothing(),
    resources: ({ seen }) => resourcesOf(seen),
    search: ({ seen, query }) => {
      const asked = textOf(query.query).slice(0, MAX_QUERY_CHARACTERS)
      const limit = Math.min(MAX_EXPLAINED, Math.max(1, Math.trunc(Number(query.limit)) || 10))
      const signal = AbortSignal.timeout(EXPLAIN_TIMEOUT_MS)
      return explainSearch({ catalog: seen, encodeQuery }, asked, limit, signal)
    },
    call: ({ seen, identity, query }) => {
      const kept = feed.calls.numbered(Number(query.seq))
      if (!kept || (!seesAll(seen, host) && !isOwn(kept, identity.id))) return nothing()
      return payloadOf(kept)
    },
    stderr: ask => ({ lines: host.stderr(serverIn(host, ask)) }),
    manifest: ask => ({ yaml: host.manifest(serverIn(host, ask)) }),
    changes: ask => host.changes(serverIn(host, ask)),
  }
}

/** What pages may send: an action, or a text whose tokens are to be estimated. Throws Faults `bad_request` and `not_found`. */
export async function answerPost(
  host: ConsoleHost,
  seen: Catalog,
  path: string,
  body: JsonObject,
): Promise<unknown> {
  if (path === 'tokens') return { tokens: estimateTokens(textOf(body.text)) }
  const action = actionIn(body)
  if (!action) throw new Fault('bad_request', 'There is no such action.')
  if (!seesAll(seen, host) || !seen.servers.has(action.server)) return nothing()
  await host.act(action)
  return {}
}

/** A caller who sees only a part of the gateway does not see how its servers run. */
function serverIn(host: ConsoleHost, { seen, query }: Ask): string {
  const name = textOf(query.server)
  return seesAll(seen, host) && seen.servers.has(name) ? name : nothing()
}

function actionIn(body: JsonObject): ConsoleAction | undefined {
  const { action, server, digest } = body
  if (!isObject(body) || typeof server !== 'string') return undefined
  if (action === 'wake' || action === 'restart' || action === 'read') return { action, server }
  return action === 'approve' && typeof digest === 'string' ? { action, server, digest } : undefined
}

/** Does not say whether the thing does not exist or the caller may not see it. */
function nothing(): never {
  throw new Fault('not_found', NOT_HERE)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
