/** Carries out one request of a script: to call a tool, to search, to read a resource, or to keep a value. */
import type { CodeLimits } from '../../core/catalog/router-config.ts'
import { isObject, type JsonValue } from '../../core/json.ts'
import { limitedSentence } from '../access/limits.ts'
import { HIGHEST_LIMIT, LIMIT_WRONG, readLimit } from '../meta/finding/search-request.ts'
import { expandSelections, isSelection } from '../meta/finding/selection.ts'
import type { Work } from '../meta/meta-tool.ts'
import { shownHandle } from '../meta/results/handle.ts'
import { reportRefusal } from '../meta/wording/answers.ts'
import { findDeclarations } from './declarations.ts'
import { callInner, type InnerCalls, type InnerFailure } from './inner-call.ts'
import { readResource } from './read-resource.ts'
import type { RequestKind } from './sandbox-messages.ts'

export type Performing = InnerCalls & { limits: CodeLimits }

/** `tool`: the path of the tool that was found; `notes`: what was corrected. */
export type Reply = { tool?: string; notes?: readonly string[] } & (
  | { value: JsonValue | undefined }
  | { failure: InnerFailure }
)

/** Kept values are read in parts of this many bytes. */
export const PART_BYTES = 16 * 1024
const DEFAULT_HITS = 5

/** `path`: the tool of a call, or the URI to read; `args`: those of the call, or of `discover` and `keep`. */
export async function performRequest(
  given: Performing,
  kind: Exclude<RequestKind, 'sleep'>,
  path: string,
  args: JsonValue,
): Promise<Reply> {
  const { work, code } = given
  const limited = limitedRequest(work)
  if (limited !== undefined) return refused(limited)
  switch (kind) {
    case 'call':
    case 'raw': {
      const outcome = await callInner(given, path, args)
      const { tool, notes } = outcome
      return 'failure' in outcome
        ? outcome
        : { tool, notes, value: kind === 'raw' ? outcome.result : outcome.value }
    }
    case 'discover': {
      const { query, limit } = isObject(args) ? args : {}
      const words = typeof query === 'string' ? query.trim() : ''
      const most = readLimit(limit, isSelection(words) ? HIGHEST_LIMIT : DEFAULT_HITS)
      if (!most) return refused(LIMIT_WRONG.refusal)
      if (words === '') return refused('discover("words") needs words')
      const { queries, left } = expandSelections(work, [words], HIGHEST_LIMIT)
      if (left > 0) return refused(`discover("select:…") takes at most ${HIGHEST_LIMIT} tools`)
      if (queries.length === 0) return refused('discover("select:…") needs names')
      return { value: (await findDeclarations(work, code, queries, most)).found }
    }
    case 'read':
      return readResource(work, path)
    case 'keep':
      return { value: keep(given, isObject(args) ? args.value : undefined) }
  }
}

/** The reply to a request that is not carried out. */
export function refused(message: string): Reply {
  return { failure: { message, kind: 'rejected' } }
}

/** Keeps a value and returns its handle, which a later script or the agent can read. */
function keep({ work }: Performing, value: JsonValue | undefined): JsonValue | undefined {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  const { identity } = work.request.caller
  const kept = work.results?.keep(Buffer.from(text), 0, PART_BYTES, identity.id)
  return kept && shownHandle(kept.handle)
}

/** Why a request exceeds a limit of its caller; undefined if it does not. Each counts as it would outside of a script. */
function limitedRequest(work: Work): string | undefined {
  const { limits, catalog, request } = work
  const limited = limits.request(catalog.config, request.caller.identity)
  if (!limited) return undefined
  const refusal = limitedSentence(limited)
  reportRefusal(work, { refusal, outcome: 'rejected', limited })
  return refusal
}
