/** The fields of a tool as lists of terms, from which postings and ranking are built. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { toolActions } from './actions.ts'
import type { Lexicon } from './lexicon.ts'
import type { NameWord } from './name-coverage.ts'
import type { SearchDocument } from './search-index.ts'
import { isPlural, type TermReader, type Word } from './text.ts'

/** The fields of a tool in which words are found, each with its weight in the ranking (FIELD_WEIGHTS). */
export const FIELDS = [
  'name',
  'server',
  'description',
  'parameters',
  'parameterTexts',
  'serverDescription',
] as const
export type Field = (typeof FIELDS)[number]
/** Terms of a tool, read once and reused while the tool is unchanged. */
export type ToolTerms = Readonly<Record<Field, readonly string[]>> & {
  /** The words of the tool's own name, each once, without those of its server's name. */
  readonly ownName: readonly NameWord[]
  /** Bits of its action classes. */
  readonly actions: number
}

/** How many levels of nested properties are read from schemas. */
const MAX_SCHEMA_DEPTH = 3
/** Limits for what one tool may add to the index. */
const MAX_PARAMETERS = 500
const MAX_TEXT_CHARACTERS = 8_000
/** Instructions begin with what the server is about and continue with how to use it. */
const MAX_INSTRUCTIONS_CHARACTERS = 600
const KIND_WORDS = {
  resource: 'resource document read',
  template: 'resource template read',
  prompt: 'prompt instructions',
}

/** Reads the terms of each field of a document. Texts are cut to MAX_TEXT_CHARACTERS. */
export function readTool(document: SearchDocument, reader: TermReader, lexicon: Lexicon): ToolTerms {
  const { server, serverTitle = '', tool, title = '', kind, uri, keywords } = document
  const parameters = parametersOf(document.inputSchema)
  const terms = (...texts: (string | undefined)[]) =>
    texts.flatMap(text => reader.terms(text?.slice(0, MAX_TEXT_CHARACTERS)))
  const serverNames = terms(server, serverTitle)
  const serverKnowledge = terms(document.upstreamTitle, ...(document.serverKeywords ?? []))
  return {
    name: terms(tool, title, ...keywords),
    server: [...serverNames, ...new Set(serverKnowledge.filter(term => !serverNames.includes(term)))],
    description: terms(document.description, kind && KIND_WORDS[kind]),
    parameters: terms(uri, ...parameters.map(parameter => parameter.name)),
    parameterTexts: terms(...parameters.map(parameter => parameter.text)),
    serverDescription: terms(
      document.serverDescription ?? document.instructions?.slice(0, MAX_INSTRUCTIONS_CHARACTERS),
    ),
    ownName: ownNameOf(reader.words(tool), serverNames),
    actions: toolActions(document, reader, lexicon),
  }
}

/** The words of a tool's name without those of its server's name, each once. */
function ownNameOf(words: readonly Word[], server: readonly string[]): NameWord[] {
  const kept = words.filter(({ term }) => !server.includes(term))
  return [...new Map(kept.map(({ term, text }) => [term, { term, plural: isPlural(text) }])).values()]
}

type Parameter = { name: string; text: string }

/** Names of all properties of a schema, each with its description and enum values. */
function parametersOf(schema: JsonObject | undefined): Parameter[] {
  const parameters: Parameter[] = []
  walk(schema, 0, parameters)
  return parameters
}

function walk(schema: JsonValue | undefined, depth: number, found: Parameter[]): void {
  if (!isObject(schema) || depth > MAX_SCHEMA_DEPTH) return
  if (isObject(schema.properties))
    for (const [name, property] of Object.entries(schema.properties)) {
      if (found.length >= MAX_PARAMETERS) return
      found.push({ name, text: textOf(property) })
      walk(property, depth + 1, found)
    }
  walk(schema.items, depth + 1, found)
}

function textOf(property: JsonValue | undefined): string {
  if (!isObject(property)) return ''
  const description = typeof property.description === 'string' ? property.description : ''
  const words = Array.isArray(property.enum) ? property.enum.filter(word => typeof word === 'string') : []
  return `${description} ${words.join(' ')}`
}
