/** Reads all pages of one list of an upstream, with limits on pages, items, bytes and time. */
import type { Clock } from '../../async.ts'
import { Fault } from '../../errors.ts'
import type { JsonValue } from '../../json.ts'
import type { JsonRpcError } from '../protocol/json-rpc.ts'
import { DISCOVERY, type Upstream } from '../upstream.ts'
import { upstreamDeadline } from '../upstream-deadline.ts'

export const MAX_PAGES = 200
export const MAX_ITEMS = 20_000
/** Reading takes about ten times a list's size in memory, and a gateway or operator reads many. A tool has 1 to 4 KB. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024
/** For all lists of one discovery together. */
export const MAX_DISCOVERY_BYTES = 16 * 1024 * 1024
export const LIST_TIMEOUT_MS = 30_000
const MAX_QUOTED_CHARACTERS = 300

export type ListName = 'tools' | 'resources' | 'resourceTemplates' | 'prompts'

const METHODS: Record<ListName, string> = {
  tools: 'tools/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
}

export type ListReader = {
  upstream: Upstream
  clock: Clock
  /** Counts down while lists are read. */
  budget: { bytes: number }
}

export type Listed =
  | {
      items: JsonValue[]
      /** Why the list was not read to its end. */
      cut?: string
      error?: undefined
    }
  /** The upstream answered the first page with a JSON-RPC error. */
  | { error: JsonRpcError; items?: undefined }

/**
 * All items of a list. A list that exceeds a limit, or repeats a cursor, is cut, with the reason in `cut`.
 * Throws Fault upstream_timeout, upstream_protocol, upstream_rejected (an error on a later page) and what the upstream throws.
 */
export async function readList(reader: ListReader, list: ListName, signal: AbortSignal): Promise<Listed> {
  const limit = upstreamDeadline(reader.clock, LIST_TIMEOUT_MS, `${METHODS[list]} took too long`, signal)
  try {
    return await readPages(reader, list, limit.signal)
  } finally {
    limit.clear()
  }
}

async function readPages(reader: ListReader, list: ListName, signal: AbortSignal): Promise<Listed> {
  const items: JsonValue[] = []
  const seen = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await readPage(reader, list, cursor, signal)
    if (answer.error) {
      if (page === 0) return { error: answer.error }
      throw rejection(list, answer.error)
    }
    const listed = answer.result[list]
    if (!Array.isArray(listed))
      throw new Fault('upstream_protocol', `${METHODS[list]} was answered without an array "${list}"`)
    for (const item of listed) items.push(item)
    if (items.length > MAX_ITEMS)
      return { items: items.slice(0, MAX_ITEMS), cut: `cut at ${MAX_ITEMS} items` }
    const next = answer.result.nextCursor
    if (typeof next !== 'string' || next === '') return { items }
    if (seen.has(next)) return { items, cut: `page ${page + 1} repeats an earlier cursor` }
    if (reader.budget.bytes <= 0) return { items, cut: `cut at ${MAX_DISCOVERY_BYTES} bytes` }
    seen.add(next)
    cursor = next
  }
  return { items, cut: `cut at ${MAX_PAGES} pages` }
}

async function readPage(reader: ListReader, list: ListName, cursor: string | undefined, signal: AbortSignal) {
  const answer = await reader.upstream.request(
    {
      method: METHODS[list],
      ...(cursor === undefined ? {} : { params: { cursor } }),
      caller: DISCOVERY,
      maxBytes: Math.min(MAX_PAGE_BYTES, Math.max(reader.budget.bytes, 1)),
    },
    signal,
  )
  if (answer.result) reader.budget.bytes -= sizeOf(answer)
  return answer
}

function sizeOf(answer: { result: JsonValue; resultText?: string }): number {
  if (answer.resultText !== undefined) return answer.resultText.length
  try {
    return JSON.stringify(answer.result).length
  } catch {
    throw new Fault('upstream_protocol', 'The answer is nested too deeply')
  }
}

/** The fault of a list that the upstream refused to give. */
export function rejection(list: ListName, error: JsonRpcError): Fault {
  const message = error.message.slice(0, MAX_QUOTED_CHARACTERS)
  return new Fault('upstream_rejected', `${METHODS[list]} failed: ${message}`, {
    details: { code: error.code },
  })
}
