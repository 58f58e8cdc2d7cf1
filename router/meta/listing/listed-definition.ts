/** A tool as a gateway lists it: the upstream's definition under its listed name. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import { listedItem } from './listed-item.ts'

/** Tokens of the listed definition: as counted at discovery, plus the longer name. */
export function listedTokens({ tokens, tool, listedName }: ToolRoute): number {
  return tokens + estimateTokens(listedName) - estimateTokens(tool)
}

/** The definition as a gateway lists it. */
export function listedDefinition({ server, listedName, definition }: ToolRoute): JsonObject {
  return { ...listedItem(server, definition), name: listedName }
}
