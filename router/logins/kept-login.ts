/** What is kept of a login of a user at an upstream, and where. Pure. */
import { isObject } from '../../core/json.ts'
import type { Login } from '../../core/mcp/client/http/login.ts'
import type { User } from '../../core/mcp/user.ts'

export type KeptLogin = Login & {
  /** Name of the McpServer, and the URL that the tokens are for. */
  name: string
  url: string
  /** `<issuer>#<subject>`. */
  subject: string
  /** In milliseconds since the epoch. */
  sinceMs: number
  renewedMs: number
}

/** Where logins are kept. Read each time: another process may have renewed or deleted one. */
export type LoginStore = {
  /** Undefined if there is none for this URL. */
  read(name: string, url: string, user: User): Promise<KeptLogin | undefined>
  write(login: KeptLogin, user: User): Promise<void>
  /** Deletes what was read, since it is no longer of use. What another process has written meanwhile stays. */
  delete(name: string, url: string, user: User): Promise<void>
}

/** As far as what another version kept, or what was written to, may differ. */
export function isKeptLogin(value: unknown): value is KeptLogin {
  if (!isObject(value)) return false
  const { name, url, subject, sinceMs, renewedMs, server, client, tokens } = value
  return (
    [name, url, subject].every(text => typeof text === 'string') &&
    [sinceMs, renewedMs].every(Number.isSafeInteger) &&
    [server, client, tokens].every(isObject) &&
    isObject(tokens) &&
    typeof tokens.access_token === 'string'
  )
}
