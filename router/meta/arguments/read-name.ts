/** Reads the name of the tool from a call of a meta-tool, also from the fields that models use instead. Pure. */

import type { JsonObject } from '../../../core/json.ts'
import { ownValue } from '../../../core/own-value.ts'

export type ReadName = {
  name: string
  /** The other fields of the call. */
  rest: JsonObject
  notes: string[]
}

/** Field names used by the execute meta-tools of the profiles, by other gateways and by the protocol. */
const NAME_KEYS = ['tool_path', 'toolName', 'tool', 'tool_name', 'name']
/** More fields are refused: copying very many keeps all other calls waiting. */
const MAX_FIELDS = 1_000
const SERVER_KEYS = ['serverId', 'server_name', 'server', 'serverName']

/**
 * Reads the name from `key`; without it, from another field, and puts the server in front if a further field names one. Undefined if there is
 * no name.
 */
export function readName(call: JsonObject, key: string): ReadName | undefined {
  const used = [key, ...NAME_KEYS].find(candidate => textAt(call, candidate) !== undefined)
  if (used === undefined) return undefined
  const { [used]: _, ...rest } = call
  const name = textAt(call, used) as string
  if (used === key) return { name, rest, notes: [] }
  const server = SERVER_KEYS.map(candidate => textAt(call, candidate)).find(text => text !== undefined)
  const path = server === undefined || name.includes(':') ? name : `${server}:${name}`
  return { name: path, rest, notes: [`Note: ${key} was given as ${used}.`] }
}

/** Whether a call of a meta-tool has too many fields to read its name. The arguments, in a field of their own, may have any number. */
export function hasTooManyFields(call: JsonObject): boolean {
  let fields = 0
  for (const _name in call) if (++fields > MAX_FIELDS) return true
  return false
}

export const TOO_MANY_FIELDS = {
  refusal: `The call has more than ${MAX_FIELDS} fields beside the arguments. Give the arguments of the tool in one object, in the field for arguments.`,
  outcome: 'rejected',
} as const

function textAt(call: JsonObject, key: string): string | undefined {
  const value = ownValue(call, key)
  return typeof value === 'string' && value !== '' ? value : undefined
}
