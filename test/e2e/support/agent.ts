/** An agent in a pod: a real MCP client, which gets its requests by `kubectl exec`. */
import type { KubeObject } from '../../../core/kube/object.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import type { Answers, ClientRequest } from '../../images/client/ask.ts'
import type { FoundTool, ToolAnswer } from '../../support/mcp.ts'

const IMAGE = 'portolan-test/client:1'
const PROGRAM = ['/usr/local/bin/node', '/client/main.js']

export type Agent = {
  /** Sends requests in a new session, one after the other; rejects if one is answered with an error. */
  session(...requests: ClientRequest[]): Promise<Record<string, unknown>[]>
  /** Names of the tools that the gateway lists. */
  list(): Promise<string[]>
  /** Paths of the tools found, best first. */
  find(query: string): Promise<string[]>
  /** All that a search finds, as text. */
  describe(query: string): Promise<string>
  /** The text that a tool of a server answers; rejects with it if it is an error. */
  call(toolPath: string, args?: Record<string, unknown>): Promise<string>
  /** Calls tools in one session; resolves with their texts. */
  calls(...calls: [toolPath: string, args?: Record<string, unknown>][]): Promise<string[]>
  get(url: string, headers?: Record<string, string>): Promise<{ status: number; body: string }>
  /** Runs a script in the agent's container; resolves with what it prints. */
  script(code: string): Promise<string>
  /** The same agent, as a client of another endpoint. */
  at(url: string): Agent
}

export type AgentOptions = { labels?: Record<string, string>; nodeName?: string }

/** The pod of an agent. With `args` it runs this command instead of waiting for requests. */
export function agentPod(
  name: string,
  options: AgentOptions & { args?: readonly string[] } = {},
): KubeObject {
  const { labels, nodeName, args = ['idle'] } = options
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      ...(nodeName && { nodeSelector: { 'kubernetes.io/hostname': nodeName } }),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65_532,
        runAsGroup: 65_532,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'agent',
          image: IMAGE,
          imagePullPolicy: 'Never',
          args,
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  }
  return pod as KubeObject
}

/** Waits for an agent's pod, which is a client of `url`. */
export async function readyAgent(
  cluster: Cluster,
  namespace: string,
  name: string,
  url: string,
): Promise<Agent> {
  const kubectl = (...args: string[]) => cluster.run(['kubectl', '--namespace', namespace, ...args])
  await kubectl('wait', '--for=condition=Ready', '--timeout=120s', `pod/${name}`)
  return agentAt(url, command => kubectl('exec', name, '--container', 'agent', '--', ...command))
}

function agentAt(url: string, exec: (command: string[]) => Promise<string>): Agent {
  const session = async (...requests: ClientRequest[]) => {
    const { answers } = JSON.parse(await exec([...PROGRAM, 'ask', url, JSON.stringify(requests)])) as Answers
    return answers.map(answer => {
      if ('error' in answer) throw new Error(answer.error.message)
      return answer.result
    })
  }
  const calls = async (...list: [string, Record<string, unknown>?][]) => {
    const results = await session(...list.map(([path, args = {}]) => execution(path, args)))
    return results.map(result => textOf(result as ToolAnswer))
  }
  const describe = async (query: string) => {
    const [result] = await session(use('discover_mcp_tools', { query }))
    return textOf(result as ToolAnswer)
  }
  return {
    session,
    calls,
    async list() {
      const [result] = await session({ method: 'tools/list' })
      return (result as { tools: { name: string }[] }).tools.map(tool => tool.name).sort()
    },
    describe,
    async find(query) {
      const { tools } = JSON.parse(await describe(query)) as { tools: FoundTool[] }
      return tools.map(tool => tool.tool_path)
    },
    call: async (path, args) => (await calls([path, args]))[0] ?? '',
    get: async (target, headers = {}) => {
      const lines = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`])
      return JSON.parse(await exec([...PROGRAM, 'get', target, ...lines]))
    },
    script: code => exec(['/usr/local/bin/node', '--input-type=module', '--eval', code]),
    at: other => agentAt(other, exec),
  }
}

/** The request by which an agent uses a meta-tool. */
export function use(name: string, args: Record<string, unknown>): ClientRequest {
  return { method: 'tools/call', params: { name, arguments: args } }
}

export function execution(toolPath: string, args: Record<string, unknown>): ClientRequest {
  return use('execute_mcp_tool', { tool_path: toolPath, arguments: args })
}

export function textOf(result: ToolAnswer): string {
  const text = result.content[0]?.text ?? ''
  if (result.isError) throw new Error(text)
  return text
}
