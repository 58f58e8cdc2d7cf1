/** A bridge with `sessions: perClient`, and client sessions, for tests. */
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { errorOf, legacy, post } from '../front/post.ts'
import { childrenOf, rudeCommand, textOf } from '../upstreams/rude/rude.ts'
import { startTestBridge, type TestBridge, type TestBridgeOptions } from './bridge.ts'

export const IDLE_MS = 180_000

/** Starts a bridge that has a separate child process for each session. */
export async function startSessionBridge(t: TestContext, options: TestBridgeOptions = {}) {
  const mark = `mark-${Math.random()}`
  const { args, ...command } = rudeCommand(options.mode ?? 'polite', 0, mark)
  const bridge = await startTestBridge(t, {
    sessions: 'perClient',
    idleAfterMs: IDLE_MS,
    command: { ...command, args, startTimeoutMs: IDLE_MS },
    ...options,
  })
  return { ...bridge, children: () => childrenOf(process.pid, mark) }
}

export type TestSession = {
  id: string
  call(name: string, args?: JsonObject): Promise<string>
  post(method: string, params?: JsonObject): ReturnType<typeof post>
}

/** Begins a session. */
export async function openSession({ url }: TestBridge): Promise<TestSession> {
  const { headers } = await post(url, legacy('initialize', { protocolVersion: '2025-11-25' }))
  const id = headers.get('mcp-session-id') ?? ''
  const send = (method: string, params: JsonObject = {}) =>
    post(url, legacy(method, params), { 'mcp-session-id': id })
  return {
    id,
    post: send,
    async call(name, args = {}) {
      const answer = await send('tools/call', { name, arguments: args })
      if (answer.json.error) throw new Error(String(errorOf(answer).message))
      return textOf({ result: answer.json.result as JsonObject })
    },
  }
}
