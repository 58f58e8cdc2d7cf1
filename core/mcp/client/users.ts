/**
 * Whose calls a shared session has carried. A message that names no call is guessed to belong to the only one in flight, but never on a
 * session that several callers have used: it could be of a call that has just ended.
 */
import { DISCOVERY_CLIENT, type UpstreamCall } from '../upstream.ts'

const LISTEN = 'subscriptions/listen'

export class Users {
  #first: string | undefined
  #several = false

  get several(): boolean {
    return this.#several
  }

  add({ method, caller: { identity, client } }: UpstreamCall): void {
    if (client === DISCOVERY_CLIENT || method === LISTEN) return
    this.#first ??= identity.id
    this.#several ||= this.#first !== identity.id
  }
}
