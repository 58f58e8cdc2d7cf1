/** Reads a file of items: JSON Lines, or a list in YAML or JSON. Errors name the invalid line or item. */
import { parse } from 'yaml'
import type * as z from 'zod'
import { messageOf } from '../core/errors.ts'
import { CommandError, EXIT } from './command-error.ts'
import { readGiven } from './paths.ts'

/** Throws a CommandError if the file does not exist, has no items, or has an invalid one. */
export function readItems<T>(file: string, schema: z.ZodType<T>): T[] {
  const items = parseItems(file, readGiven(file))
  if (items.length === 0)
    throw new CommandError(
      `${file} has no items: write one JSON object per line, or a list in YAML`,
      EXIT.usage,
    )
  return items.map(({ place, value }) => {
    const checked = schema.safeParse(value)
    if (checked.success) return checked.data
    const [issue] = checked.error.issues
    const field = (issue?.path ?? []).map(String).join('.')
    throw new CommandError(`${[place, field].join('  ').trim()}  ${issue?.message}`, EXIT.usage)
  })
}

/** `place`: file and line, or file and number of the item. */
type Item = { place: string; value: unknown }

function parseItems(file: string, text: string): Item[] {
  if (/^\s*\{/.test(text)) return parseLines(file, text)
  const value = parsed(file, () => parse(text))
  if (value === null) return []
  if (Array.isArray(value)) return value.map((value, at) => ({ place: `${file} item ${at + 1}`, value }))
  throw new CommandError(`${file} has no list of items`, EXIT.usage)
}

function parseLines(file: string, text: string): Item[] {
  const lines = text.split('\n').map((line, at) => ({ place: `${file}:${at + 1}`, line }))
  return lines
    .filter(({ line }) => line.trim())
    .map(({ place, line }) => ({ place, value: parsed(place, () => JSON.parse(line)) }))
}

function parsed(place: string, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    throw new CommandError(`${place} cannot be read: ${messageOf(error)}`, EXIT.usage)
  }
}
