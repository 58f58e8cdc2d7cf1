/** Finds the tools that must be called before a tool, according to its descriptions: "uid: as list_datasources gives it". Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'

const MAX_PREREQUISITES = 2
/** How much of a text is read. */
const MAX_CHARACTERS = 4_000
const MAX_PARAMETERS = 100
/**
 * Names with a separator or inner capitals. Others are not recognized, since a tool may be named like an everyday word: `search`. Each begins
 * where a word does, so that a long word is tried only once.
 */
const NAME =
  /(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)+|[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+)/g
const SENTENCE_END = /[.!?;](?:\s|$)|\n/
/**
 * Words in sentences that name a tool to call before this one. A word of INSTEAD shows that a sentence names an alternative, or a next step
 * (`next.js` is none), a word of SOMETIMES one that is not always needed.
 */
const BEFORE =
  /\b(?:first|before|from|returned by|results? of|obtain(?:ed)?|requires?|must|needs?|prior|previous(?:ly)?|output of)\b/i
const INSTEAD = /\b(?:instead|rather|unlike|prefer|alternative|otherwise|not|n't|after this|next(?!\.\w))\b/i
const SOMETIMES = /\b(?:when|if|unless|again)\b/i
/** What is done after this tool: `inspect conflicts before attempting merge_merge_request`. */
const AFTERWARDS = /\bbefore\b[^,]*/gi

/**
 * Paths of tools of the same server that the description says to call before, or that the description of a required parameter names;
 * undefined if there are none.
 */
export function needsOf(catalog: Pick<Catalog, 'toolByName'>, tool: ToolRoute): string[] | undefined {
  const paths = prerequisitesOf(catalog, tool)
  return paths.length > 0 ? paths : undefined
}

function prerequisitesOf(
  { toolByName }: Pick<Catalog, 'toolByName'>,
  { server, tool, definition }: ToolRoute,
): string[] {
  const texts = [...sentencesOf(definition.description), ...parameterTexts(definition.inputSchema)]
  const paths = new Set<string>()
  for (const text of texts)
    for (const [name] of text.matchAll(NAME)) {
      const known = name === tool ? undefined : toolByName.get(`${server}:${name}`)
      if (known && paths.size < MAX_PREREQUISITES) paths.add(known.path)
    }
  return [...paths]
}

/** The sentences of a description that name tools to call before. */
function sentencesOf(description: JsonValue | undefined): string[] {
  if (typeof description !== 'string') return []
  const sentences = description.slice(0, MAX_CHARACTERS).split(SENTENCE_END)
  return sentences
    .filter(sentence => BEFORE.test(sentence) && !INSTEAD.test(sentence) && !SOMETIMES.test(sentence))
    .map(sentence => sentence.replace(AFTERWARDS, ''))
}

/** The descriptions of required parameters. */
function parameterTexts(schema: JsonObject | undefined): string[] {
  const { properties, required } = schema ?? {}
  if (!isObject(properties) || !Array.isArray(required)) return []
  return required.slice(0, MAX_PARAMETERS).flatMap(name => {
    const parameter = typeof name === 'string' && Object.hasOwn(properties, name) ? properties[name] : {}
    const text = isObject(parameter) ? parameter.description : undefined
    return typeof text === 'string' && !INSTEAD.test(text) ? [text.slice(0, MAX_CHARACTERS)] : []
  })
}
