/** Says why a server is not there, as a state with a reason, from whatever was thrown. Pure. */
import { Fault, type FaultCode, messageOf } from '../core/errors.ts'

const LONGEST_MESSAGE = 300

export type Failure = {
  state: 'failed' | 'authRequired'
  /** CamelCase, as in the resource's condition. */
  reason: string
  /** One bounded line for people; agents are told the reason alone. */
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

export function failureOf(error: unknown): Failure {
  const code = error instanceof Fault ? error.code : undefined
  const named = error instanceof Fault ? error.details.reason : undefined
  return {
    state: code === 'upstream_auth_required' ? 'authRequired' : 'failed',
    reason: typeof named === 'string' ? named : ((code && REASONS[code]) ?? 'DiscoveryFailed'),
    message: oneLine(messageOf(error)),
  }
}

/** Installers and servers say a lot: the state carries the beginning, the log has all of it. */
export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= LONGEST_MESSAGE ? line : `${line.slice(0, LONGEST_MESSAGE - 1)}…`
}
