/** Measures what a session of an agent costs: replays the tasks of a file as agents of a profile work, and counts the tokens. */
import * as z from 'zod'
import type { Profile } from '../core/catalog/router-config.ts'
import { isObject, type JsonObject, type JsonValue, tryParseJson } from '../core/json.ts'
import { sum } from '../core/sum.ts'
import { toolText } from '../core/tokens.ts'
import { PROFILES } from '../router/meta/profiles/profiles.ts'
import type { NamedCall } from '../router/meta/wording/profile-words.ts'
import { readItems } from './items.ts'
import type { LiveGateway } from './live-gateway.ts'
import { answerText } from './tool-answer.ts'

const task = z.strictObject({
  /** The query of the agent. */
  query: z.string().min(1),
  /** The tool that it then calls; absent if it only searches. */
  call: z
    .strictObject({ tool: z.string().min(1), arguments: z.record(z.string(), z.json()).default({}) })
    .optional(),
})

export type Task = z.output<typeof task>

/** In tokens, except `missed`. */
export type SessionCost = {
  profile: Profile
  /** tools/list, once. */
  definitions: number
  /** Answers to searches, with the schemas in them. */
  discovery: number
  /** Answers with the schemas of tools, for those that a search did not show. */
  schema: number
  /** Answers that only report an error. */
  error: number
  total: number
  /** Tasks whose tool the search did not show: its schema was asked for by its name. */
  missed: number
}

export type ReplayOptions = {
  gateway: LiveGateway
  count: (texts: readonly string[]) => Promise<number[]>
  /** Whether the tools are really called. */
  execute: boolean
}

/** Throws a CommandError that names the first invalid task. */
export function readScenario(file: string): Task[] {
  return readItems(file, task)
}

/** Replays one session: the definitions once, then for each task a search, the schema if it was not shown yet, and the call. */
export async function replaySession(
  profile: Profile,
  tasks: readonly Task[],
  { gateway, count, execute }: ReplayOptions,
): Promise<SessionCost> {
  const listed = toolsIn(await gateway.request('tools/list', {}, profile))
  const answers = { discovery: [] as string[], schema: [] as string[], error: [] as string[] }
  const shown = new Set<string>()
  let missed = 0
  const callMetaTool = async (kind: 'discovery' | 'schema', { name, args }: NamedCall) => {
    const result = await gateway.request('tools/call', { name, arguments: args }, profile)
    const text = answerText(result)
    answers[result.isError === true ? 'error' : kind].push(text)
    return text
  }
  const { words } = PROFILES[profile]
  for (const { query, call } of tasks) {
    const found = words.search ? readFound(await callMetaTool('discovery', words.search(query))) : []
    for (const tool of found) if (tool.hasSchema) shown.add(tool.path)
    if (!call) continue
    if (words.search && !found.some(({ path }) => path === call.tool)) missed++
    if (words.search && !shown.has(call.tool)) await callMetaTool('schema', words.schema(call.tool))
    shown.add(call.tool)
    if (!execute) continue
    const result = await gateway.request(
      'tools/call',
      { name: call.tool, arguments: call.arguments },
      profile,
    )
    if (result.isError === true) answers.error.push(answerText(result))
  }
  const tokensOf = async (texts: readonly string[]) => sum(await count(texts))
  const definitions = await tokensOf(listed.map(toolText))
  const [discovery, schema, error] = await Promise.all(
    [answers.discovery, answers.schema, answers.error].map(tokensOf),
  )
  const costs = { definitions, discovery: discovery ?? 0, schema: schema ?? 0, error: error ?? 0 }
  const total = sum(Object.values(costs))
  return { profile, ...costs, total, missed }
}

type Found = { path: string; hasSchema: boolean }

/** The tools of a search's answer, in the form of any profile. */
function readFound(text: string): Found[] {
  const answer = tryParseJson(text)
  const tools = isObject(answer) && Array.isArray(answer.tools) ? answer.tools.filter(isObject) : []
  return tools.map(({ tool_path, name, serverId, toolName, input_schema }) => ({
    path: String(tool_path ?? name ?? `${serverId}:${toolName}`),
    hasSchema: isObject(input_schema) && !JSON.stringify(input_schema).includes('"$comment":"folded'),
  }))
}

type ListedTool = { name: string; description?: JsonValue; inputSchema?: JsonValue }

function toolsIn({ tools }: JsonObject): ListedTool[] {
  return Array.isArray(tools)
    ? tools.filter(isObject).map(tool => ({ ...tool, name: String(tool.name) }))
    : []
}
