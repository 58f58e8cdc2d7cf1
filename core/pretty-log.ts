/** Formats log entries for a terminal, one short line each. Loaded only if standard error is a terminal. */
import { prettyFactory } from 'pino-pretty'
import { plainLine, plainLines } from './hidden-characters.ts'

type Entry = Record<string, unknown>

/** Returns a function that turns a JSON line into a coloured one. */
export function prettyLine(): (line: string) => string {
  return prettyFactory({
    colorize: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
    hideObject: true,
    errorLikeObjectKeys: [],
    messageFormat: entry => sentenceOf(entry),
  })
}

/** Requests and the standard error of servers are the most frequent entries, so they have their own format. */
function sentenceOf({ level: _, time: __, msg, ...fields }: Entry): string {
  if (msg === 'server wrote to stderr') return plainLine(`${fields.server} │ ${fields.stderr}`)
  if (msg === 'request' && fields.tool !== undefined) {
    const { server, tool, outcome, durationMs, method: ___, upstreamMs: ____, ...rest } = fields
    return join(`${server}:${tool} ${outcome} in ${durationMs} ms`, rest)
  }
  return join(String(msg), fields)
}

function join(text: string, fields: Entry): string {
  const more = Object.entries(fields).flatMap(([key, value]) => fieldText(key, value))
  return [plainLine(text), ...more].join(' ')
}

function fieldText(key: string, value: unknown): string[] {
  if (value === undefined) return []
  if (key === 'err') return [`\n${plainLines((value as { stack?: string }).stack ?? JSON.stringify(value))}`]
  if (key === 'output') return [`\n${plainLines(String(value))}`]
  const written = typeof value === 'string' && !/[\s"]/.test(value) ? value : JSON.stringify(value)
  return [plainLine(`${key}=${written}`)]
}
