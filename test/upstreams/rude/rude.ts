/** The rude server in tests: its command, calls of its tools, and checks whether its processes are running. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { groupExists } from '../../../core/mcp/client/stdio/process-group.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import type { UpstreamCall } from '../../../core/mcp/upstream.ts'
import { callOf } from '../../support/call.ts'

const SERVER = join(import.meta.dirname, 'server.mjs')

/** The command of a rude server; modes.mjs documents the modes. */
export function rudeCommand(mode: string, ...args: (string | number)[]) {
  return {
    command: process.execPath,
    args: [SERVER, mode, ...args.map(String)],
    env: {} as Record<string, string>,
  }
}

/** A call of a tool of the rude server. */
export function toolCall(name: string, args: Record<string, string | number> = {}): UpstreamCall {
  return callOf({ params: { name, arguments: args }, maxBytes: 1024 * 1024 })
}

/** The text of a tool's answer. */
export function textOf({ result }: McpResponse): string {
  const [content] = (result?.content ?? []) as { text?: string }[]
  return content?.text ?? ''
}

/** Whether a process of the group is running. On Linux, zombies do not count. */
export function isGroupAlive(group: number): boolean {
  if (!groupExists(group)) return false
  return (
    process.platform !== 'linux' || processes().some(other => other.group === group && other.state !== 'Z')
  )
}

/** Children of a process whose command line contains `mark` (Linux only). */
export function childrenOf(parent: number, mark: string): number[] {
  return processes()
    .filter(other => other.parent === parent && other.state !== 'Z' && commandLine(other.pid).includes(mark))
    .map(({ pid }) => pid)
}

function processes() {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      const stat = read(`/proc/${name}/stat`)
      const [state, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return stat === '' ? [] : [{ pid: Number(name), state, parent: Number(parent), group: Number(group) }]
    })
}

function commandLine(pid: number): string {
  return read(`/proc/${pid}/cmdline`)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // The process has ended in the meantime.
  }
}
