/** Parses one line of a stdio server, and finds the id in a line that is too long or not valid. Pure. */
import { Fault } from '../../../errors.ts'
import { type Incoming, readMessages, sliceAnswer } from '../../protocol/message.ts'

/** How far from either end of a line its id is searched for. */
const ENVELOPE_CHARACTERS = 80

/** All messages of a line; undefined if it is not JSON-RPC. Throws Fault `upstream_too_large` if it has too many values or messages. */
export function readLine(line: string): Incoming[] | undefined {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line
  const id = idOfLine(text)
  const answer = id === undefined ? undefined : sliceAnswer(text, id)
  if (answer && id !== undefined) return [{ kind: 'answer', id, answer }]
  try {
    const messages = readMessages(text)
    return messages.length > 0 ? messages : undefined
  } catch (error) {
    if (error instanceof Fault) throw error
    return undefined
  }
}

const HEADS = [
  /^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*"?(\d{1,15})"?\s*,/,
  /^\s*\{\s*"id"\s*:\s*"?(\d{1,15})"?\s*,/,
]
const TAILS = [
  /,\s*"id"\s*:\s*"?(\d{1,15})"?\s*\}\s*$/,
  /,\s*"id"\s*:\s*"?(\d{1,15})"?\s*,\s*"jsonrpc"\s*:\s*"2\.0"\s*\}\s*$/,
]

/** The id of the message on a line, without parsing the line. */
export function idOfLine(text: string): number | undefined {
  return idAround(text.slice(0, ENVELOPE_CHARACTERS), text.slice(-ENVELOPE_CHARACTERS))
}

/** The id at the beginning of a line, where it can only be a key of the outermost object. */
export function idInHead(head: string): number | undefined {
  return firstMatch(HEADS, head)
}

/** The id at the end of a line that is an object, where only the outermost object can close. */
export function idInTail(tail: string): number | undefined {
  return firstMatch(TAILS, tail)
}

/** The id of a line with this beginning and end. A line that is no object may quote a message, as those of logs do: it has no id. */
export function idAround(head: string, tail: string): number | undefined {
  return idInHead(head) ?? (head.trimStart().startsWith('{') ? idInTail(tail) : undefined)
}

/** Whether a line with this beginning is a notification or a request, not an answer. */
export function isAsking(head: string): boolean {
  return /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*[^,{}]{1,64},\s*)?"method"\s*:/.test(head)
}

function firstMatch(patterns: RegExp[], text: string): number | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(text)
    if (match) return Number(match[1])
  }
  return undefined
}
