/** Answers requests for the next part of a cut result: as a tool result or as a resources/read result. */
import { Fault } from '../../../core/errors.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { refuseNatively } from '../calling/rpc-errors.ts'
import type { Work } from '../meta-tool.ts'
import { type Refusal, refuse } from '../wording/answers.ts'
import { cutNote } from './cut-note.ts'
import { isHandle } from './handle.ts'
import { nativePart, type Part } from './part.ts'
import { KEPT_MINUTES } from './store.ts'

/** Answers with the part as a tool result. Undefined if the name is not a handle: it then refers to something else. */
export function readKept(work: Work, name: string): Promise<McpResponse> | undefined {
  return isHandle(name) ? replyWithPart(work, name) : undefined
}

/** The same as a result of resources/read. */
export function readKeptNatively(work: Work, uri: string): Promise<McpResponse> | undefined {
  return isHandle(uri) ? replyNatively(work, uri) : undefined
}

async function replyWithPart(work: Work, name: string): Promise<McpResponse> {
  const part = await partOf(work, name)
  if ('refusal' in part) return refuse(work, part)
  const texts = part.next ? [part.text, cutNote(work, part.end, part.bytes, part.next)] : [part.text]
  return { result: { content: texts.map(text => ({ type: 'text', text })) } }
}

async function replyNatively(work: Work, uri: string): Promise<McpResponse> {
  const part = await partOf(work, uri)
  return 'refusal' in part ? refuseNatively(work, part) : { result: nativePart(uri, part) }
}

async function partOf({ results, request }: Work, name: string): Promise<Part | Refusal> {
  const { identity, signal } = request.caller
  try {
    return results ? await results.read(name, identity.id, signal) : GONE
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.code === 'upstream_unreachable' ? OWNER_GONE : GONE
  }
}

const GONE: Refusal = {
  refusal: `That part of a result is no longer kept: results are kept for ${KEPT_MINUTES} minutes, the newest ones first. Call the tool again, or ask it for less.`,
  outcome: 'rejected',
}
const OWNER_GONE: Refusal = {
  refusal: 'The replica that kept that result is gone. Call the tool again, or ask it for less.',
  outcome: 'unavailable',
}
