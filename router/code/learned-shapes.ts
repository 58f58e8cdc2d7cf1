/** Remembers, in memory only, which shapes of results tools without an outputSchema returned: keys and types, never values. */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { merged, type Shape, shapeOf, shownShape } from './shape.ts'

const MAX_TOOLS = 2_000
/** A shape is learned from this many results of a tool; later ones hardly change it. */
const MAX_SAMPLES = 50

export type LearnedShapes = {
  /** Adds a result of a tool to what is known of it. `tool`: its path. */
  learn(tool: string, value: JsonValue | undefined): void
  /** The return type for declarations, such as `Promise<{id: number}[]> // seen`; undefined if no result was seen. */
  returns(tool: string): string | undefined
}

export function createLearnedShapes(): LearnedShapes {
  const seen = new BoundedMap<{ shape: Shape; samples: number }>(MAX_TOOLS)
  return {
    learn(tool, value) {
      const before = seen.get(tool)
      if (before && before.samples >= MAX_SAMPLES) return
      const shape = shapeOf(value)
      seen.set(tool, {
        shape: before ? merged(before.shape, shape) : shape,
        samples: (before?.samples ?? 0) + 1,
      })
    },
    returns(tool) {
      const known = seen.get(tool)
      return known && `Promise<${shownShape(known.shape)}> // seen`
    },
  }
}

/** Keys can be data, so nothing is learned where callers have different views, or sessions of their own at the server. */
export function mayLearn({ config, view }: Catalog, { sessions }: RouterServer): boolean {
  return (
    config.code?.learnTypes === true && !view && config.access.rules.length === 0 && sessions === 'shared'
  )
}
