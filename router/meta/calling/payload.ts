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
/** Of each list or object. */
const MAX_REDACTED_ITEMS = 100

/** `redacted`: only the arguments, as `redact` leaves them. */
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

/** Without values whose names look secret, and with long texts, lists and objects cut. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shorten(value, MAX_REDACTED_TEXT_CHARACTERS)
  if (depth > MAX_REDACTED_DEPTH) return '…'
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_REDACTED_ITEMS).map(item => redact(item, depth + 1))
    return value.length > shown.length ? [...shown, moreThan(shown, value.length)] : shown
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  const shown = entries
    .slice(0, MAX_REDACTED_ITEMS)
    .map(([key, inner]) => [key, SECRET_KEY.test(key) ? '[redacted]' : redact(inner, depth + 1)])
  if (entries.length > shown.length) shown.push(['…', moreThan(shown, entries.length)])
  return Object.fromEntries(shown)
}

function moreThan(shown: readonly unknown[], count: number): string {
  return `${count - shown.length} more`
}
