/** The file of `portolan up --audit`, to which audit lines are written instead of standard output. */
import { createWriteStream, openSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { messageOf } from '../core/errors.ts'
import { CommandError } from './command-error.ts'

const OWNER_ONLY = 0o600

/** Opens the file to append to. Throws a CommandError if that is not possible; undefined without a file. */
export function openAuditFile(file: string | undefined): Writable | undefined {
  if (file === undefined) return undefined
  try {
    return createWriteStream(file, { fd: openSync(file, 'a', OWNER_ONLY) })
  } catch (error) {
    throw new CommandError(`the file for audit lines cannot be opened: ${messageOf(error)}`)
  }
}
