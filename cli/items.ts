/** Reads a file of items: JSON Lines, or a list in YAML or JSON; each item is checked, and the one that is wrong is named. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { z } from 'zod'
import { messageOf } from '../core/errors.ts'
import { CommandError, EXIT } from './failure.ts'

/** Throws a CommandError where the file is not there, holds no item, or one that does not fit. */
export function readItems<T>(file: string, schema: z.ZodType<T>): T[] {
  const items = parseItems(file, readText(file))
  if (items.length === 0) throw new CommandError(`${file} holds no items`, EXIT.usage)
  return items.map((item, at) => {
    const checked = schema.safeParse(item)
    if (checked.success) return checked.data
    const [issue] = checked.error.issues
    const where = [`item ${at + 1}`, ...(issue?.path ?? []).map(String)].join('.')
    throw new CommandError(`${file}: ${where}: ${issue?.message}`, EXIT.usage)
  })
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${messageOf(error)}`, EXIT.usage)
  }
}

function parseItems(file: string, text: string): unknown[] {
  try {
    if (/^\s*\{/.test(text))
      return text
        .split('\n')
        .filter(line => line.trim())
        .map(line => JSON.parse(line))
    const value: unknown = parse(text)
    if (Array.isArray(value)) return value
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${messageOf(error)}`, EXIT.usage)
  }
  throw new CommandError(`${file} holds no list of items`, EXIT.usage)
}
