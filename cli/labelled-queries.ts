/** Reads queries with the tools that they should find: JSON Lines, or a list in YAML or JSON. */
import * as z from 'zod'
import { readItems } from './items.ts'

const labelledQuery = z.object({
  id: z.string().optional(),
  query: z.string().min(1),
  /** If there are several, each is also measured separately. */
  style: z.string().optional(),
  /** A group is one needed tool; any of its members will do. Without groups any of all will. */
  relevant: z.array(z.object({ server: z.string(), tool: z.string(), group: z.int().default(0) })).min(1),
})

export type LabelledQuery = z.output<typeof labelledQuery>

/** Throws a CommandError that names the item that is not as it should be. */
export function readLabelledQueries(file: string): LabelledQuery[] {
  return readItems(file, labelledQuery)
}
