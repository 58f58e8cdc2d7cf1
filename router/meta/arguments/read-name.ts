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

function textAt(call: JsonObject, key: string): string | undefined {
  const value = ownValue(call, key)
  return typeof value === 'string' && value !== '' ? value : undefined
}
