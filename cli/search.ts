/** `portolan search`: what an agent finds for a query. */
import { Command } from 'commander'
import { isObject, type JsonObject } from '../core/json.ts'
import { CommandError } from './failure.ts'
import { openGateway } from './live-gateway.ts'
import {
  gatewayOption,
  type ManifestOptions,
  type OutputOption,
  outputOption,
  secretsOption,
  type UrlOption,
  urlOption,
  wholeNumber,
} from './options.ts'
import { type Colors, type Terminal, table } from './output.ts'
import { answerText } from './tool-answer.ts'

const DESCRIPTION_WIDTH = 80

type SearchOptions = UrlOption & OutputOption & ManifestOptions & { limit: number }

export function searchCommand(terminal: Terminal): Command {
  return new Command('search')
    .description('find tools as an agent does')
    .argument('<query>', 'product, verb and object, or the exact name of a tool')
    .argument('[paths...]', 'manifests or client configs to run for this; default: the gateway at --url')
    .option('--limit <n>', 'results at most', wholeNumber(1, 50), 10)
    .addOption(urlOption())
    .addOption(gatewayOption())
    .addOption(secretsOption())
    .addOption(outputOption())
    .action(async (query: string, paths: string[], { limit, output, ...options }: SearchOptions) => {
      const gateway = await openGateway({ ...options, paths }, terminal)
      try {
        const result = await gateway.request('tools/call', {
          name: 'discover_mcp_tools',
          arguments: { query, limit },
        })
        const text = answerText(result)
        if (result.isError === true) throw new CommandError(text)
        terminal.out(output === 'json' ? text : asTable(JSON.parse(text), terminal.colors))
      } finally {
        await gateway.close()
      }
    })
}

function asTable(answer: JsonObject, colors: Colors): string {
  const tools = Array.isArray(answer.tools) ? answer.tools.filter(isObject) : []
  if (tools.length === 0) return 'no tool was found'
  const rows = tools.map(tool => [
    `${Number(tool.relevance_score).toFixed(2)}${tool.weak === true ? ' weak' : ''}`,
    colors.bold(String(tool.tool_path)),
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
