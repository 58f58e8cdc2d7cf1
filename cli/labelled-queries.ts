/** Reads queries with the tools that they should find: JSON Lines, or a list in YAML or JSON. */
import * as z from 'zod'
import { readItems } from './items.ts'

const labelledQuery = z.object({
  id: z.string().optional(),
  query: z.string().min(1),
  /** The kind of query. If a file has several kinds, each is also measured separately. */
  style: z.string().optional(),
  /** Each group stands for one tool that the query should find; any tool of the group counts. By default all tools are one group. */
  relevant: z.array(z.object({ server: z.string(), tool: z.string(), group: z.int().default(0) })).min(1),
})

export type LabelledQuery = z.output<typeof labelledQuery>

/** Throws a CommandError that names the first invalid item. */
export function readLabelledQueries(file: string): LabelledQuery[] {
  return readItems(file, labelledQuery)
}
