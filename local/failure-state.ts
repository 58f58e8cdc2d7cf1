/** Converts a thrown error into a server's state and reason. Pure. */
import { Fault, type FaultCode, messageOf } from '../core/errors.ts'

const MAX_MESSAGE_CHARACTERS = 300
const MAX_END_CHARACTERS = 140
/** npm's last line, which names a file. */
const LOG_FILE = /A complete log of this run can be found in/

export type Failure = {
  state: 'failed' | 'authRequired'
  /** CamelCase, as in the resource's condition. */
  reason: string
  /** One line of limited length, for people; agents get only the reason. */
  message: string
}

const REASONS: Partial<Record<FaultCode, string>> = {
  upstream_unreachable: 'Unreachable',
  upstream_timeout: 'Timeout',
  upstream_died: 'Died',
  upstream_auth_required: 'AuthRequired',
  upstream_protocol: 'ProtocolError',
  upstream_too_large: 'TooLarge',
  upstream_starting: 'CrashLooping',
  io: 'StartFailed',
}

/** The reason is that of the Fault's details, if it has one, otherwise by its code. */
export function failureOf(error: unknown): Failure {
  const code = error instanceof Fault ? error.code : undefined
  const named = error instanceof Fault ? error.details.reason : undefined
  return {
    state: code === 'user_refused' || code === 'upstream_auth_required' ? 'authRequired' : 'failed',
    reason: typeof named === 'string' ? named : ((code && REASONS[code]) ?? 'DiscoveryFailed'),
    message: oneLine(messageOf(error)),
  }
}

/**
 * Shortens a text to one line of limited length: its beginning and, if it has several lines, as the output of an installer, its last one, where the error
 * usually is. launch-server.ts logs all that an installer said.
 */
export function oneLine(text: string): string {
  const line = compact(text)
  if (line.length <= MAX_MESSAGE_CHARACTERS) return line
  const [, ...more] = text.split('\n').map(compact)
  const last = more.findLast(each => each !== '' && !LOG_FILE.test(each))
  const end = last === undefined ? '' : ` ${last.slice(-MAX_END_CHARACTERS)}`
  return `${line.slice(0, MAX_MESSAGE_CHARACTERS - 1 - end.length)}…${end}`
}

function compact(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
