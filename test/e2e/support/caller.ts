/** A client of a gateway on this machine, for many calls at once. */
import type { Cluster } from '../../cluster/cluster.ts'
import { request, type ToolAnswer } from '../../support/mcp.ts'
import { textOf } from './agent.ts'

const ADMIN_PORT = 8081

export type Caller = {
  /** The text that a tool answers; rejects with it if it is an error. */
  call(toolPath: string, args: object, signal?: AbortSignal): Promise<string>
  find(query: string): Promise<string>
  /** What calls wait for, as one of the gateway's routers reports it. */
  waiting(): Promise<{ server: string; instance?: string }[]>
  stop(): void
}

export async function callerOf(
  cluster: Cluster,
  namespace: string,
  gateway: string,
  token?: string,
): Promise<Caller> {
  const agents = await cluster.forward({ namespace, name: `${gateway}-gateway`, port: 80 })
  const admin = await cluster.forward({ namespace, name: `${gateway}-gateway-admin`, port: ADMIN_PORT })
  const use = async (name: string, args: object, signal?: AbortSignal) => {
    const params = { name, arguments: args }
    const url = `http://127.0.0.1:${agents.port}/mcp`
    return textOf((await request(url, 'tools/call', params, signal, token)) as ToolAnswer)
  }
  return {
    call: (path, args, signal) => use('execute_mcp_tool', { tool_path: path, arguments: args }, signal),
    find: query => use('discover_mcp_tools', { query }),
    async waiting() {
      const status = await fetch(`http://127.0.0.1:${admin.port}/status`)
      return ((await status.json()) as { waiting: { server: string }[] }).waiting
    },
    stop() {
      agents.stop()
      admin.stop()
    },
  }
}
