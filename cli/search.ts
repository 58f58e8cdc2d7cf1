/** `portolan search`: shows what an agent finds for a query. */
import { Command } from 'commander'
import { plainLine } from '../core/hidden-characters.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { LocalStatus } from '../local/local-status.ts'
import { CommandError, EXIT } from './command-error.ts'
import { explanationText } from './explanation.ts'
import { type LiveGateway, openGateway } from './live-gateway.ts'
import { type AskOptions, wholeNumber, withGateway } from './options.ts'
import { type Colors, type Terminal, table } from './output.ts'
import { answerText } from './tool-answer.ts'

const DESCRIPTION_WIDTH = 80

type SearchOptions = AskOptions & { limit: number; explain?: boolean }

export function searchCommand(terminal: Terminal): Command {
  const command = new Command('search')
    .description('find tools as an agent does')
    .argument('<query>', 'product, verb and object, or the exact name of a tool')
    .option('--limit <n>', 'maximum number of results', wholeNumber(1, 50), 10)
    .option(
      '--explain',
      'show how each hit is scored: matched words, similarity of meaning, and factors; and the confidence in the first',
    )
  return withGateway(command).action(async (query: string, paths: string[], options: SearchOptions) => {
    if (query.trim() === '') throw new CommandError('the query is empty', EXIT.usage)
    const gateway = await openGateway({ ...options, paths, byMeaning: true }, terminal)
    try {
      terminal.out(await (options.explain ? explain : find)(gateway, query, options, terminal))
    } finally {
      await gateway.close()
    }
  })
}

async function find(
  gateway: LiveGateway,
  query: string,
  { limit, output }: SearchOptions,
  { colors }: Terminal,
): Promise<string> {
  const params = { name: 'discover_mcp_tools', arguments: { query, limit } }
  const result = await gateway.request('tools/call', params)
  const text = answerText(result)
  if (result.isError === true) throw new CommandError(text)
  if (output === 'json') return text
  const table = asTable(JSON.parse(text), colors)
  // Only gateways that `portolan up` started on this machine show their status.
  const status = await gateway.status().catch(() => undefined)
  const search = status?.search
  return search?.reason === undefined
    ? table
    : `${table}\n${colors.dim(plainLine(troubleLine(search.semantic, search.reason)))}`
}

function troubleLine(semantic: LocalStatus['search']['semantic'], reason: string): string {
  return `${semantic === 'off' ? 'By words alone' : 'Search by meaning has trouble'}: ${reason}`
}

async function explain(
  gateway: LiveGateway,
  query: string,
  { limit, output }: SearchOptions,
  { colors }: Terminal,
): Promise<string> {
  const explanation = await gateway.explain(query, limit)
  return output === 'json' ? JSON.stringify(explanation, null, 2) : explanationText(explanation, colors)
}

function asTable(answer: JsonObject, colors: Colors): string {
  const tools = Array.isArray(answer.tools) ? answer.tools.filter(isObject) : []
  const more = typeof answer.more === 'string' ? `\n${colors.dim(plainLine(answer.more))}` : ''
  if (tools.length === 0) return `no tool was found${more}`
  const rows = tools.map(tool => [
    `${Number(tool.relevance_score).toFixed(2)}${tool.weak === true ? ' weak' : ''}`,
    [String(tool.tool_path), colors.bold] as const,
    shorten(String(tool.description ?? '')),
  ])
  const titles = ['SCORE', 'TOOL', 'DESCRIPTION'].map(title => ({ title }))
  const found = `${String(answer.total_found)} found in ${String(answer.search_time_ms)} ms`
  return `${table(titles, rows)}\n\n${colors.dim(found)}`
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= DESCRIPTION_WIDTH ? line : `${line.slice(0, DESCRIPTION_WIDTH - 1)}…`
}
