/** The state of a server in words, for tables and messages. Pure. */
import { plainLine } from '../core/hidden-characters.ts'
import { REASON } from '../crds/conditions.ts'
import type { LocalStatus, ServerStatusLine } from '../local/local-status.ts'

/** The state in the words of `kubectl get mcpservers`. */
export function wordOf({ state, reason, transport, discovery }: ServerStatusLine): string {
  switch (state) {
    case 'ready':
      return REASON.ready
    case 'asleep':
      return REASON.asleep
    case 'starting':
      return transport === 'stdio' && discovery.at !== undefined ? REASON.waking : REASON.starting
    case 'suspended':
      return REASON.suspended
    case 'authRequired':
      return REASON.authRequired
    case 'notAccepted':
      return REASON.notAccepted
    case 'failed':
      return reason ?? 'Failed'
  }
}

/** What is wrong with a server, or with its lists; empty if nothing is. */
export function remark(server: ServerStatusLine): string {
  const { reason, message, invalid, incomplete, discovery } = server
  if (reason && message) return reason === wordOf(server) ? message : `${reason}: ${message}`
  const parts = [
    discovery.failure && `list not read again: ${discovery.failure.message}`,
    invalid.length > 0 &&
      `${invalid.length} invalid: ${invalid[0]?.name ?? '?'}: ${invalid[0]?.reason ?? ''}`,
    ...incomplete.map(({ list, message }) => `${list}: ${message}`),
  ]
  return parts.filter(part => part).join('; ')
}

/** A line for each server that did not start: name, state and what is wrong. */
export function failureLines({ servers }: Pick<LocalStatus, 'servers'>): string[] {
  return servers
    .filter(({ state }) => state === 'failed' || state === 'authRequired')
    .map(server => [server.name, wordOf(server), remark(server)].filter(part => part !== '').join(': '))
    .map(plainLine)
}
