/** The decisions, for audit and metrics, about requests that are refused before their body is read. Pure. */
import type { Identity } from '../../core/mcp/identity.ts'
import type { Refused } from '../access/bearer.ts'
import type { Limited } from '../access/limits.ts'
import { type Decision, shownAddress } from './line.ts'

type Address = string | undefined

/** A credential was refused. */
export function loginRefused({ status, reason }: Refused, address: Address): Decision {
  const decision = status === 403 ? 'denied' : 'unauthenticated'
  return { event: 'login', decision, reason, from: { address: shownAddress(address) } }
}

/** An address had too many refused credentials. */
export function loginLimited({ text }: Limited, address: Address): Decision {
  const from = { address: shownAddress(address) }
  return { event: 'login', decision: 'limited', reason: 'LoginLimit', rule: text, from }
}

/** A caller sent too many requests. */
export function requestLimited({ text }: Limited, identity: Identity, address: Address): Decision {
  const from = { address: shownAddress(address) }
  return { event: 'denial', decision: 'limited', reason: 'RequestLimit', rule: text, identity, from }
}

/** A request for the endpoint of a server that the caller does not see. */
export function serverHidden(server: string, identity: Identity, address: Address): Decision {
  const from = { address: shownAddress(address) }
  return { event: 'denial', decision: 'denied', reason: 'NotGranted', identity, from, target: { server } }
}
