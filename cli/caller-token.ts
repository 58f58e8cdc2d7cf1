/** The token in PORTOLAN_TOKEN, which commands send and `up` admits. */
import { isSendable, TOKEN_CHARACTERS } from '../router/access/bearer.ts'
import { CommandError, EXIT } from './command-error.ts'
import type { Terminal } from './output.ts'

/** Undefined if there is none. Throws a CommandError if it has characters that no request can send. */
export function callerToken({ env }: Pick<Terminal, 'env'>): string | undefined {
  const token = env.PORTOLAN_TOKEN || undefined
  if (token === undefined || isSendable(token)) return token
  throw new CommandError(
    `PORTOLAN_TOKEN has characters that a token cannot have: use ${TOKEN_CHARACTERS}`,
    EXIT.usage,
  )
}
