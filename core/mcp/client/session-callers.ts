/**
 * Records whether several callers have used a shared session. A message that names no call is assumed to belong to the only call in
 * flight, but not on a session that several callers have used: it could belong to a call that has just ended.
 */
import { LISTEN } from '../protocol/message.ts'
import { DISCOVERY_CLIENT, type UpstreamCall } from '../upstream.ts'

export class SessionCallers {
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
