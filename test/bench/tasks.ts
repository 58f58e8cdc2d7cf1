/** Measures what tasks of agents cost in tokens: directly, with meta-tools, and with scripts. Replays transcripts against a running gateway. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import type { Profile } from '../../core/catalog/router-config.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { startScriptGateway } from '../code/script-gateway.ts'
import type { FixtureServer } from '../meta/fixture.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { type AgentTask, TASKS } from './task-scripts.ts'
import { taskServers } from './task-servers.ts'

/** `alone`: directly, with only the servers of the task. */
const WAYS = ['direct', 'alone', 'hierarchical', 'code'] as const
type Way = (typeof WAYS)[number]

/** `entered`: tokens that enter the context, each once; `billed`: tokens that the model reads in all its turns; `ms`: time of the calls. */
export type TaskCost = { entered: number; billed: number; turns: number; ms: number }
export type TaskCosts = { task: AgentTask; costs: Record<Way, TaskCost> }

/** Tokens of the task, as the person asks for it. */
const QUESTION_TOKENS = 60

export async function measureTasks(
  tasks: readonly AgentTask[] = TASKS,
): Promise<{ tools: number; measured: TaskCosts[] }> {
  const closing: (() => unknown)[] = []
  const t = { after: (close: () => unknown) => void closing.push(close) }
  const servers: Record<string, FixtureServer> = { ...taskServers(countTokens) }
  for (const { name, tools } of defaultCatalogs()) servers[name] ??= { offers: { tools }, count: countTokens }
  const gateway = await startScriptGateway(t, servers, { resultTokens: 4_000 })
  try {
    const ask = asker(gateway.router.url)
    const lists = new Map<Way, Listed[]>()
    for (const way of WAYS) lists.set(way, await listOf(ask, profileOf(way)))
    const measured: TaskCosts[] = []
    for (const task of tasks) {
      const costs: Partial<Record<Way, TaskCost>> = {}
      for (const way of WAYS)
        costs[way] = await replay(ask, task, way, definitionTokens(task, way, lists.get(way) ?? []))
      measured.push({ task, costs: costs as Record<Way, TaskCost> })
    }
    return { tools: gateway.router.catalog()?.totals.tools ?? 0, measured }
  } finally {
    for (const close of closing) await close()
  }
}

type Request = { name: string; args: JsonObject }
type Ask = (profile: Profile, method: string, params: JsonObject) => Promise<JsonObject>

/** The requests of the agent in each of its turns, as calls of a profile's tools. */
function turnsOf({ id, searches, turns, scripts }: AgentTask, way: Way): Request[][] {
  const withJobId = (text: string) => text.replaceAll('ID', `${id}-${way}`)
  if (way === 'code')
    return [
      [{ name: 'find_tools', args: { query: searches.length === 1 ? (searches[0] as string) : searches } }],
      ...scripts.map(code => [{ name: 'run_mcp_script', args: { code: withJobId(code) } }]),
    ]
  const calls = turns.map(calls =>
    calls.map(({ tool, args }) => {
      const given = JSON.parse(withJobId(JSON.stringify(args))) as JsonObject
      return profileOf(way) === 'direct'
        ? { name: tool.replace(':', '__'), args: given }
        : { name: 'execute_mcp_tool', args: { tool_path: tool, arguments: given } }
    }),
  )
  const found = searches.map(query => ({ name: 'discover_mcp_tools', args: { query } }))
  return profileOf(way) === 'direct' ? calls : [found, ...calls]
}

/** Each turn of the model reads all that is in its context so far; the last one answers the person. */
async function replay(ask: Ask, task: AgentTask, way: Way, definitions: number): Promise<TaskCost> {
  const startedMs = performance.now()
  let context = definitions + QUESTION_TOKENS
  let billed = 0
  const turns = turnsOf(task, way)
  for (const requests of turns) {
    billed += context
    const answers = await Promise.all(
      requests.map(async ({ name, args }) => {
        const result = await ask(profileOf(way), 'tools/call', { name, arguments: args })
        const isMistake = way === 'code' && task.scripts.indexOf(String(args.code)) < task.scripts.length - 1
        if (result.isError === true && task.id !== 'T5' && !isMistake)
          throw new Error(`${task.id} ${way}: ${textOf(result)}`)
        return countTokens(JSON.stringify({ name, args })) + countTokens(textOf(result))
      }),
    )
    context += answers.reduce((sum, one) => sum + one, 0)
  }
  const ms = performance.now() - startedMs
  return { entered: context, billed: billed + context, turns: turns.length + 1, ms }
}

function profileOf(way: Way): Profile {
  return way === 'alone' ? 'direct' : way
}

type Listed = { name: string; tokens: number }

async function listOf(ask: Ask, profile: Profile): Promise<Listed[]> {
  const { tools } = await ask(profile, 'tools/list', {})
  const listed = (Array.isArray(tools) ? tools : []).filter(isObject)
  return listed.map(({ name, description, inputSchema }) => ({
    name: String(name),
    tokens: countTokens(JSON.stringify({ name, description, inputSchema })),
  }))
}

/** Tokens of the tools that tools/list returns. Without code mode, the meta-tool that runs scripts does not count. */
function definitionTokens({ turns }: AgentTask, way: Way, listed: readonly Listed[]): number {
  const servers = turns.flat().map(({ tool }) => `${tool.split(':', 1)[0]}__`)
  const read = listed.filter(
    ({ name }) =>
      (way === 'code' || name !== 'run_mcp_script') &&
      (way !== 'alone' || servers.some(server => name.startsWith(server))),
  )
  return read.reduce((sum, { tokens }) => sum + tokens, 0)
}

/** The content of docs/bench-code.md. Figures differ between runs by a few tokens, because answers contain times. */
export function tasksPage({ tools, measured }: Awaited<ReturnType<typeof measureTasks>>): string {
  const rows = (of: (cost: TaskCost) => number) =>
    measured.map(({ task, costs }) => {
      const [id, what] = [task.id, task.what]
      const cells = WAYS.map(way => Math.round(of(costs[way])).toLocaleString('en-US'))
      const saved = Math.round(100 * (1 - of(costs.code) / of(costs.hierarchical)))
      return `| ${id} | ${what} | ${cells.join(' | ')} | ${saved} % |`
    })
  const head = [
    '| task | | direct | direct, few tools | meta-tools | code | code against meta-tools |',
    '|---|---|---|---|---|---|---|',
  ]
  const losing = measured
    .filter(({ costs }) => costs.code.billed > costs.alone.billed)
    .map(({ task }) => task.id)
  return `# What tasks cost with and without code mode

Written by \`npm run bench -- tasks\`: transcripts of agents, written once by hand (\`test/bench/task-scripts.ts\`), replayed against a gateway with ${tools} tools and counted with the real
tokenizer (o200k_base). No model is asked. "Direct" lists all tools; "direct, few tools" lists only those of the servers that the task needs, as if somebody had chosen them beforehand; "meta-tools" is
the profile \`hierarchical\`, "code" the profile \`code\`. Calls that do not depend on each other are made in one turn.

## Tokens that enter the context

Definitions, questions, calls, scripts and results, each counted once.

${[...head, ...rows(({ entered }) => entered)].join('\n')}

## Billed input

What the model reads in all turns together: each turn reads the whole context again. Caches of providers make this cheaper, not smaller.

${[...head, ...rows(({ billed }) => billed)].join('\n')}

Turns of the model: ${measured.map(({ task, costs }) => `${task.id} ${costs.hierarchical.turns} by meta-tools, ${costs.code.turns} by a script`).join('; ')}.

**Where code mode loses** (billed input): ${losing.join(', ')}, against an agent that has only the servers of the task and lists their tools directly. One call, a few small results, or a document that must be read
whole gain nothing from a script, and pay for its text and for the search. Against meta-tools code mode costs less there too,
only because its answers to searches are declarations, which are shorter than JSON schemas.
`
}

function textOf({ content }: JsonObject): string {
  const blocks = Array.isArray(content) ? content.filter(isObject) : []
  return blocks.map(({ text }) => String(text ?? '')).join('\n')
}

function asker(base: string): Ask {
  return async (profile, method, params) => {
    const response = await fetch(new URL(`/mcp/${profile}`, base), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const text = await response.text()
    const data = /^data: (\{.*\})$/m.exec(text)?.[1] ?? text
    const { result } = JSON.parse(data) as JsonObject
    if (!isObject(result)) throw new Error(data.slice(0, 500))
    return result
  }
}
