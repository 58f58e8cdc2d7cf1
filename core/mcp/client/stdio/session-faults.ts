/** The faults of a stdio session: failed starts, exits, and invalid answers. Pure. */
import { Fault, type FaultCode, messageOf } from '../../../errors.ts'
import type { ChildExit } from './child.ts'

const LAST_LINE_CHARACTERS = 200

/** What is known when the handshake has failed. */
export type StartFacts = {
  /** The child ended before it was ready. */
  exit: ChildExit | undefined
  /** Lines that were not JSON-RPC. */
  garbage: { lines: number; first: string }
  stderr: string[]
}

/** The fault for a failed start: `details.reason` is CamelCase, the message ends with the last line of stderr. */
export function startFault(error: unknown, { exit, garbage, stderr }: StartFacts): Fault {
  const code = error instanceof Fault ? error.code : undefined
  const fault = (as: FaultCode, reason: string, message: string) =>
    new Fault(as, message, { cause: error, retryable: true, details: { reason } })
  if (exit?.notStarted !== undefined) return fault('upstream_unreachable', 'CommandNotFound', exit.notStarted)
  if (exit) {
    const message = `The server ended ${exitText(exit)} before it was ready${errorLineOf(stderr)}`
    return fault('upstream_unreachable', 'ExitedAtStart', message)
  }
  if (garbage.lines > 0 && (code === 'upstream_timeout' || code === 'cancelled'))
    return fault('upstream_protocol', 'NotMcp', `The command does not write MCP messages: ${garbage.first}`)
  if (code === 'upstream_timeout')
    return fault('upstream_timeout', 'StartTimeout', `${messageOf(error)}${errorLineOf(stderr)}`)
  if (code === 'upstream_protocol') return fault('upstream_protocol', 'HandshakeFailed', messageOf(error))
  return fault('upstream_unreachable', 'StartFailed', messageOf(error))
}

/** The fault for calls that were in flight when the child ended. */
export function diedFault(exit: ChildExit, stderr: string[]): Fault {
  return new Fault('upstream_died', `The server ended ${exitText(exit)}${errorLineOf(stderr)}`, {
    retryable: true,
    details: {
      ...(exit.code === null ? {} : { exitCode: exit.code }),
      ...(exit.signal === null ? {} : { signal: exit.signal }),
    },
  })
}

export function stoppedFault(): Fault {
  return new Fault('upstream_died', 'The server was stopped', { retryable: true })
}

export function tooLargeFault(maxBytes: number): Fault {
  return new Fault('upstream_too_large', `The answer is larger than ${maxBytes} bytes`, {
    details: { maxBytes },
  })
}

export function unreadableFault(): Fault {
  return new Fault('upstream_protocol', 'The answer is neither a result nor an error')
}

/** `with exit code 1`, `by SIGKILL`. */
export function exitText({ code, signal }: ChildExit): string {
  return signal === null ? `with exit code ${code}` : `by ${signal}`
}

const LOOKS_LIKE_AN_ERROR =
  /error|cannot|can't|fail|denied|not found|no such|refused|unable|missing|invalid|required/i

/** The last line of stderr that looks like an error, else the last line, formatted to end a sentence. */
export function errorLineOf(stderr: readonly string[]): string {
  const line = stderr.findLast(other => LOOKS_LIKE_AN_ERROR.test(other)) ?? stderr.at(-1)
  const last = line?.slice(0, LAST_LINE_CHARACTERS)
  return last === undefined ? '' : `: ${last}`
}
