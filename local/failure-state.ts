/** Converts a thrown error into a server's state and reason. Pure. */
import { Fault, type FaultCode, messageOf } from '../core/errors.ts'

const MAX_MESSAGE_CHARACTERS = 300

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

/** Shortens a text of several lines, such as the output of an installer, to one line of limited length. The log contains all of it. */
export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= MAX_MESSAGE_CHARACTERS ? line : `${line.slice(0, MAX_MESSAGE_CHARACTERS - 1)}…`
}
