/** The stored data of a user's login at an upstream, and the interface of its store. Pure. */
import { isObject } from '../../core/json.ts'
import type { Login } from '../../core/mcp/client/http/login.ts'
import type { User } from '../../core/mcp/user.ts'

export type KeptLogin = Login & {
  /** Name of the McpServer, and the URL that the tokens are for. */
  name: string
  url: string
  /** `<issuer>#<subject>`. */
  subject: string
  /** When the user logged in, and when the tokens were last issued, in milliseconds since the epoch. */
  sinceMs: number
  renewedMs: number
}

/** Stores logins. Callers read a login each time, since another process may have renewed or deleted it. */
export type LoginStore = {
  /** Undefined if there is none for this URL. */
  read(name: string, url: string, user: User): Promise<KeptLogin | undefined>
  write(login: KeptLogin, user: User): Promise<void>
  /** Deletes the login that was read, since it cannot be used any more. A newer login, which another process has written meanwhile, stays. */
  delete(name: string, url: string, user: User): Promise<void>
}

/** Whether a value has the fields of a login: another version, or someone who edited the file, may have written something else. */
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
