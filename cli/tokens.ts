/** `portolan tokens`: what the tools cost an agent directly, and what they cost it through the gateway. */
import { Command } from 'commander'
import { createTokenCounter } from '../core/tokens.ts'
import { profile } from '../crds/gateway.ts'
import type { LocalStatus } from '../local/local-status.ts'
import type { TokenUses } from '../router/token-use.ts'
import { CommandError, EXIT } from './command-error.ts'
import { type LiveGateway, openGateway } from './live-gateway.ts'
import { type AskOptions, withGateway } from './options.ts'
import { type Column, count, type OutputFormat, type Terminal, table } from './output.ts'
import { readScenario, replaySession, type SessionCost, type Task } from './scenario.ts'
import { warnOfUnknown } from './unknown-tools.ts'

type TokensOptions = AskOptions & { tools?: boolean; scenario?: string; execute?: boolean }

export function tokensCommand(terminal: Terminal): Command {
  const command = new Command('tokens')
    .description('show what the tools cost an agent directly, and through the gateway (o200k_base)')
    .option('--tools', 'show each tool, the most expensive first')
    .option(
      '--scenario <file>',
      'show what a whole session costs with the tasks in this file: a list of {query, call: {tool, arguments}}',
    )
    .option('--execute', 'with --scenario: call the tools too, and count answers that are errors')
  return withGateway(command)
    .addHelpText('after', '\nExample:\n  portolan tokens --scenario docs/scenario.yaml examples/laptop')
    .action(async (paths: string[], options: TokensOptions) => {
      if (options.execute && options.scenario === undefined)
        throw new CommandError('--execute calls the tools of a scenario: add --scenario FILE', EXIT.usage)
      const tasks = options.scenario === undefined ? undefined : readScenario(options.scenario)
      const gateway = await openGateway({ ...options, paths, byMeaning: tasks !== undefined }, terminal)
      try {
        if (tasks)
          await warnOfUnknown(
            gateway,
            tasks.flatMap(({ call }) => call?.tool ?? []),
            terminal,
          )
        const text = tasks ? await replay(gateway, tasks, options) : await show(gateway, options)
        terminal.out(text)
      } finally {
        await gateway.close()
      }
    })
}

async function show(gateway: LiveGateway, { tools, output }: TokensOptions): Promise<string> {
  const status = await gateway.status()
  return output === 'json' ? JSON.stringify(asJson(status), null, 2) : asTable(status, tools === true)
}

/** The costs in two sentences. Pure. */
export function costLines({ tools, tokens }: CostFacts): string {
  const { direct, exposed } = tokens
  const directly = `${count(tools.total)} tools would cost an agent ${count(direct)} tokens directly.`
  if (exposed === undefined) return directly
  const saved = 100 * (1 - exposed / direct)
  const compared = direct > 0 ? `, ${Math.abs(saved).toFixed(1)} % ${saved < 0 ? 'more' : 'less'}` : ''
  return `${directly}\nThrough the gateway they cost it ${count(exposed)}${compared}.`
}

type CostFacts = { tools: { total: number }; tokens: Pick<LocalStatus['tokens'], 'direct' | 'exposed'> }

/** How many tokens were saved since the start, as part of a sentence; undefined if there was no request. Pure. */
export function savedLine({ direct, served, saved }: TokenUses): string | undefined {
  if (direct === 0 && served === 0) return undefined
  const verb = saved < 0 ? 'cost' : 'saved'
  const more = saved < 0 ? ' more' : ''
  return `${verb} ${count(Math.abs(saved))}${more} tokens: ${count(direct)} direct, ${count(served)} served`
}

function asTable(status: LocalStatus, withTools: boolean): string {
  const shown = status.servers.filter(({ hidden }) => !hidden)
  const rows = withTools
    ? shown.flatMap(({ name, toolTokens }) =>
        toolTokens.map(tool => ({ name: `${name}:${tool.name}`, tokens: tool.tokens })),
      )
    : shown
  const sorted = [...rows].sort((a, b) => b.tokens - a.tokens)
  const costs = table(
    [{ title: withTools ? 'TOOL' : 'SERVER' }, right('TOKENS')],
    sorted.map(({ name, tokens }) => [name, count(tokens)]),
  )
  const since = savedLine(status.tokens.sinceStart)
  return [
    costs,
    '',
    profileTable(status),
    '',
    costLines(status),
    ...(since ? [`So far: ${since}.`] : []),
  ].join('\n')
}

function profileTable({ tokens: { profiles, direct } }: LocalStatus): string {
  const known = profile.options.filter(name => profiles[name] !== undefined)
  const rows = known.map(name => [name, count(profiles[name] ?? 0), savedOf(direct, profiles[name] ?? 0)])
  return table([{ title: 'PROFILE' }, right('TOOLS/LIST'), right('SAVED')], rows)
}

/** The profiles whose agents search and then call a tool. Agents of `code` write scripts, whose cost cannot be told from a list of calls. */
const REPLAYED = profile.options.filter(one => one !== 'direct' && one !== 'code')

async function replay(
  gateway: LiveGateway,
  tasks: readonly Task[],
  { output, execute = false }: TokensOptions,
): Promise<string> {
  const counter = createTokenCounter()
  try {
    const { tokens } = await gateway.status()
    const costs: SessionCost[] = []
    for (const name of REPLAYED.filter(one => tokens.profiles[one] !== undefined))
      costs.push(await replaySession(name, tasks, { gateway, count: counter.count, execute }))
    return scenarioText(costs, tasks, tokens.direct, output)
  } finally {
    await counter.close()
  }
}

function scenarioText(
  costs: readonly SessionCost[],
  tasks: readonly Task[],
  direct: number,
  output: OutputFormat,
): string {
  if (output === 'json') {
    const profiles = costs.map(cost => ({ ...cost, saved: direct === 0 ? null : 1 - cost.total / direct }))
    return JSON.stringify({ tasks: tasks.length, direct, profiles }, null, 2)
  }
  const titles = ['DEFINITIONS', 'DISCOVERY', 'SCHEMAS', 'ERRORS', 'TOTAL', 'SAVED', 'MISSED']
  const rows = costs.map(cost => [
    cost.profile,
    ...[cost.definitions, cost.discovery, cost.schema, cost.error, cost.total].map(count),
    savedOf(direct, cost.total),
    count(cost.missed),
  ])
  const directRow = ['no gateway', count(direct), '0', '0', '0', count(direct), savedOf(direct, direct), '0']
  const summary = `${count(tasks.length)} ${tasks.length === 1 ? 'task' : 'tasks'} in one session; results of tools cost the same everywhere and are left out.`
  return `${table([{ title: 'PROFILE' }, ...titles.map(right)], [...rows, directRow])}\n\n${summary}`
}

/** The saved share in percent. */
function savedOf(direct: number, cost: number): string {
  return direct === 0 ? '–' : `${(100 * (1 - cost / direct)).toFixed(1)} %`
}

function right(title: string): Column {
  return { title, align: 'right' }
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
