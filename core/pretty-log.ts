/** The log for people at a terminal, one short line an entry; loaded only there. */
import { prettyFactory } from 'pino-pretty'

type Entry = Record<string, unknown>

/** From a JSON line to a coloured one. */
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

/** Calls, searches and what servers write are read most, so they have a form of their own. */
function sentenceOf({ level: _, time: __, msg, ...fields }: Entry): string {
  if (msg === 'server wrote to stderr') return `${fields.server} │ ${fields.stderr}`
  if (msg === 'request' && fields.tool !== undefined) {
    const { server, tool, outcome, durationMs, method: ___, upstreamMs: ____, ...rest } = fields
    return join(`${server}:${tool} ${outcome} in ${durationMs} ms`, rest)
  }
  return join(String(msg), fields)
}

function join(text: string, fields: Entry): string {
  return [text, ...Object.entries(fields).flatMap(([key, value]) => fieldText(key, value))].join(' ')
}

function fieldText(key: string, value: unknown): string[] {
  if (value === undefined) return []
  if (key === 'err') return [`\n${(value as { stack?: string }).stack ?? JSON.stringify(value)}`]
  return [`${key}=${typeof value === 'string' && !/[\s"]/.test(value) ? value : JSON.stringify(value)}`]
}
