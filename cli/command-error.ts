/** How a command fails: a sentence for standard error, and an exit code. */
import { Fault, messageOf } from '../core/errors.ts'

export const EXIT = { ok: 0, failure: 1, usage: 2 } as const

/** A mistake in how the command was called, or a failure that needs no stack. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failure) {
    super(message)
    this.name = 'CommandError'
    this.exitCode = exitCode
  }
}

/** The message and exit code for anything that was thrown: only bugs show their stack. Pure. */
export function describeFailure(error: unknown): { message: string; exitCode: number } {
  if (error instanceof CommandError) return { message: error.message, exitCode: error.exitCode }
  if (error instanceof Fault) return { message: error.message, exitCode: EXIT.failure }
  if (isSystemError(error)) return { message: error.message, exitCode: EXIT.failure }
  const stack = error instanceof Error && error.stack ? error.stack : messageOf(error)
  return { message: `this is a bug in portolan, please report it\n${stack}`, exitCode: EXIT.failure }
}

/** Whether the operating system refused something, such as a file without permission (EACCES) or a full disk (ENOSPC). */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string'
}
