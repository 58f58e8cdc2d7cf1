/** Selects the parts of a call that may be written to the request log. Pure. */
import type { Payloads } from '../../../core/catalog/router-config.ts'
import { Fault } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import type { CallRecord } from '../../observer.ts'
import { shorten } from '../wording/shorten.ts'
import type { Forwarded } from './forward.ts'

const SECRET_KEY = /pass|secret|token|key|auth|credential|cookie|session/i
const MAX_REDACTED_TEXT_CHARACTERS = 200
const MAX_REDACTED_DEPTH = 6

/** `redacted`: only the arguments, without values whose names look secret, and with long texts cut. */
export function payloadOf(
  allowed: Payloads,
  sent: Forwarded,
  answer: McpResponse | Fault,
): CallRecord['payload'] {
  if (allowed === 'none') return undefined
  const { arguments: args = sent.params } = sent.params
  if (allowed === 'redacted') return { arguments: redact(args) }
  return answer instanceof Fault
    ? { arguments: args }
    : { arguments: args, result: answer.error ?? answer.result }
}

/** Without values whose names look secret, and with long texts cut. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shorten(value, MAX_REDACTED_TEXT_CHARACTERS)
  if (depth > MAX_REDACTED_DEPTH) return '…'
  if (Array.isArray(value)) return value.map(item => redact(item, depth + 1))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      SECRET_KEY.test(key) ? '[redacted]' : redact(inner, depth + 1),
    ]),
  )
}
