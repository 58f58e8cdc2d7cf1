/** `portolan tokens`: what the tools cost an agent directly, and what the gateway costs it. */
import { Command } from 'commander'
import type { LocalStatus } from '../local/status.ts'
import { openGateway } from './live-gateway.ts'
import {
  gatewayOption,
  type ManifestOptions,
  type OutputOption,
  outputOption,
  secretsOption,
  type UrlOption,
  urlOption,
} from './options.ts'
import { count, type Terminal, table } from './output.ts'

type TokensOptions = UrlOption & OutputOption & ManifestOptions & { tools?: boolean }

export function tokensCommand(terminal: Terminal): Command {
  return new Command('tokens')
    .description('show what the tools cost an agent directly, and through the gateway (o200k_base)')
    .argument('[paths...]', 'manifests or client configs to run for this; default: the gateway at --url')
    .option('--tools', 'each tool, the costliest first')
    .addOption(urlOption())
    .addOption(gatewayOption())
    .addOption(secretsOption())
    .addOption(outputOption())
    .action(async (paths: string[], { tools, output, ...options }: TokensOptions) => {
      const gateway = await openGateway({ ...options, paths }, terminal)
      try {
        const status = await gateway.status()
        terminal.out(
          output === 'json' ? JSON.stringify(asJson(status), null, 2) : asTable(status, tools === true),
        )
      } finally {
        await gateway.close()
      }
    })
}

/** The costs in two sentences. Pure. */
export function costLines({ tools, tokens }: Pick<LocalStatus, 'tools' | 'tokens'>): string {
  const { direct, exposed } = tokens
  const directly = `${count(tools.total)} tools would cost an agent ${count(direct)} tokens directly.`
  if (exposed === undefined) return directly
  const saved = 100 * (1 - exposed / direct)
  const compared = direct > 0 ? `, ${Math.abs(saved).toFixed(1)} % ${saved < 0 ? 'more' : 'less'}` : ''
  return `${directly}\nThrough the gateway they cost it ${count(exposed)}${compared}.`
}

function asTable(status: LocalStatus, withTools: boolean): string {
  const shown = status.servers.filter(({ hidden }) => !hidden)
  const right = 'right' as const
  const rows = withTools
    ? shown.flatMap(({ name, toolTokens }) =>
        toolTokens.map(tool => ({ name: `${name}:${tool.name}`, tokens: tool.tokens })),
      )
    : shown
  const sorted = [...rows].sort((a, b) => b.tokens - a.tokens)
  const columns = [{ title: withTools ? 'TOOL' : 'SERVER' }, { title: 'TOKENS', align: right }]
  return `${table(
    columns,
    sorted.map(({ name, tokens }) => [name, count(tokens)]),
  )}\n\n${costLines(status)}`
}

function asJson({ servers, tools, tokens }: LocalStatus) {
  return {
    ...tokens,
    tools: tools.total,
    servers: servers.map(({ name, hidden, tokens, toolTokens }) => ({
      name,
      hidden,
      tokens,
      tools: toolTokens,
    })),
  }
}
