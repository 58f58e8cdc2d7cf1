/** Reads a resource, or a whole kept result, for a script. */
import { Fault } from '../../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { wantsInput } from '../../core/mcp/protocol/message.ts'
import { ScopesMissing } from '../access/missing-scopes.ts'
import { forward } from '../meta/calling/forward.ts'
import type { Work } from '../meta/meta-tool.ts'
import { findResource } from '../meta/resources/resource-target.ts'
import { isHandle, parseHandle, shownHandle } from '../meta/results/handle.ts'
import { reportRefusal } from '../meta/wording/answers.ts'
import { faultSentence, refusalSentence } from '../meta/wording/sentences.ts'
import { type InnerFailure, kindOf } from './inner-call.ts'
import { parsedText } from './result-value.ts'

type Read = { value: JsonValue | undefined } | { failure: InnerFailure }

const MAX_PARTS = 4_096
const RESULT_GONE = 'That kept result is gone, or was kept for somebody else.'

/** `uri`: that of a resource in any form that agents use, or a handle of a kept result. */
export async function readResource(work: Work, uri: string): Promise<Read> {
  if (isHandle(uri)) return readKept(work, uri)
  const target = findResource(work.catalog, uri)
  if ('refusal' in target) {
    reportRefusal(work, target)
    return failed(target.refusal, target.outcome === 'unavailable' ? 'unavailable' : 'rejected')
  }
  const { server } = target
  const params = { ...work.request.params, uri: target.uri }
  const answer = await forward(work, { server, method: 'resources/read', params }).catch(scopesMissing)
  if (answer instanceof ScopesMissing) return failed(answer.message, 'denied')
  if (answer instanceof Fault) return failed(faultSentence(answer, server, work.words), kindOf(answer))
  if (answer.error) return failed(refusalSentence(server, uri, answer.error), 'tool_error')
  if (wantsInput(answer.result))
    return failed(`${uri} asks a question first: read it outside of a script.`, 'rejected')
  const { contents } = answer.result
  const parts = Array.isArray(contents) ? contents.filter(isObject).map(contentValue) : []
  return { value: parts.length === 1 ? parts[0] : parts }
}

function scopesMissing(error: unknown): ScopesMissing {
  if (error instanceof ScopesMissing) return error
  throw error
}

function contentValue(content: JsonObject): JsonValue {
  return typeof content.text === 'string' ? parsedText(content.text) : content
}

/** Reads and joins all parts of a kept result. The store reads only what it kept for this caller. */
async function readKept({ results, request }: Work, uri: string): Promise<Read> {
  const { identity, signal } = request.caller
  let next = parseHandle(uri)
  let text: string | undefined
  try {
    for (let part = 0; next && results && part < MAX_PARTS; part++) {
      const read = await results.read(shownHandle(next), identity.id, signal)
      text = (text ?? '') + read.text
      next = read.next
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    // Another replica that cannot be reached may still have it.
    if (error.code !== 'not_found')
      return failed(`The kept result was not read: ${error.message}.`, kindOf(error))
    return failed(RESULT_GONE, 'unavailable')
  }
  return text === undefined ? failed(RESULT_GONE, 'unavailable') : { value: parsedText(text) }
}

function failed(message: string, kind: InnerFailure['kind']): Read {
  return { failure: { message, kind } }
}
