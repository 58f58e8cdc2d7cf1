/** The lines of resources, templates and prompts in a discovery answer, each with the URI or path by which agents get it. Pure. */
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import type { Extra } from '../../catalog/catalog.ts'
import type { Found } from '../finding/search-catalog.ts'
import { argumentNames } from '../resources/prompt-arguments.ts'
import { lineCost } from './lines.ts'
import { shorten } from './shorten.ts'

const MAX_DESCRIPTION_CHARACTERS = 140

export type ExtraLines = { resources?: JsonObject[]; prompts?: JsonObject[]; tokens: number }

/** As many lines as a budget of tokens allows. `extras`: best first. A list without lines is absent. */
export function extraLines(extras: readonly Found<Extra>[], budget: number): ExtraLines {
  const resources: JsonObject[] = []
  const prompts: JsonObject[] = []
  let tokens = 0
  for (const { item } of extras) {
    const line = extraLine(item)
    const cost = lineCost(line)
    if (tokens + cost > budget) break
    tokens += cost
    if ('prompt' in item) prompts.push(line)
    else resources.push(line)
  }
  return {
    resources: resources.length > 0 ? resources : undefined,
    prompts: prompts.length > 0 ? prompts : undefined,
    tokens,
  }
}

function extraLine(extra: Extra): JsonObject {
  if ('prompt' in extra) {
    const { path, definition } = extra.prompt
    return {
      prompt_path: path,
      description: shortened(definition.description),
      arguments: argumentNames(definition),
    }
  }
  const [field, { shownUri, definition }] =
    'template' in extra ? (['uriTemplate', extra.template] as const) : (['uri', extra.resource] as const)
  return {
    [field]: shownUri,
    name: definition.name,
    description: shortened(definition.description),
    mimeType: definition.mimeType,
  }
}

function shortened(description: JsonValue | undefined): string | undefined {
  return typeof description === 'string' ? shorten(description, MAX_DESCRIPTION_CHARACTERS) : undefined
}
