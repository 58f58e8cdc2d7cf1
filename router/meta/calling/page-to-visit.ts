/** Asks clients that support URL elicitation to open the login page for their user. */
import { randomUUID } from 'node:crypto'
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import type { Fault } from '../../../core/errors.ts'
import type { Caller } from '../../../core/mcp/caller.ts'
import { missingCapabilities } from '../../../core/mcp/protocol/capabilities.ts'
import { URL_ELICITATION_REQUIRED } from '../../../core/mcp/protocol/error-codes.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'

/**
 * Returns error −32042 (MCP 2025-11-25) instead of a refusal; callers of 2026-07-28 get it as a question. Undefined for other faults, and
 * for clients that did not declare URL elicitation: their answer contains the link as text.
 */
export function pageToVisit(
  { details: { reason, page } }: Fault,
  { name }: RouterServer,
  { capabilities }: Caller,
): McpResponse | undefined {
  if (reason !== 'NeedsLogin' || typeof page !== 'string') return undefined
  const message = `Log in to the server ${name}, which is used for each user with their own account.`
  // The id is unique, since clients keep the elicitations of all servers and users by it.
  const elicitation = { mode: 'url', elicitationId: `login-${name}-${randomUUID()}`, url: page, message }
  if (missingCapabilities({ method: 'elicitation/create', params: elicitation }, capabilities))
    return undefined
  return { error: { code: URL_ELICITATION_REQUIRED, message, data: { elicitations: [elicitation] } } }
}
