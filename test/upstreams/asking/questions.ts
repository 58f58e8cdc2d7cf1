/** The questions of the asking servers of both eras, the answers of test clients, and the commands of the servers. */
import { join } from 'node:path'
import type { JsonObject } from '../../../core/json.ts'

export const QUESTIONS = {
  form: {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
  },
  url: {
    method: 'elicitation/create',
    params: {
      mode: 'url',
      message: 'Please log in',
      url: 'https://example.com/login',
      elicitationId: 'login',
    },
  },
  sampling: {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say hello' } }], maxTokens: 10 },
  },
  roots: { method: 'roots/list', params: {} },
} as const satisfies Record<string, { method: string; params: JsonObject }>

export type Kind = keyof typeof QUESTIONS

/** The answers of test clients. */
export const ANSWERS = {
  form: { action: 'accept', content: { name: 'Ann' } },
  url: { action: 'accept' },
  sampling: { role: 'assistant', model: 'test-model', content: { type: 'text', text: 'hello' } },
  roots: { roots: [{ uri: 'file:///mine', name: 'mine' }] },
} as const satisfies Record<Kind, JsonObject>

export const CAN_ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } }
export const NOTE_URI = 'note://one'

/**
 * The command of an asking server: `legacy` uses SDK 1.x, `dual` SDK 2.x, `modern` SDK 2.x without the 2025 era. Tools: `ask`,
 * `declared`, `log`, `progress`, `touch`, `grow`, `hang`, `die`, `pid`; `legacy` also has `hidden` and, with `roots-first`, `start-roots`.
 */
export function askingCommand(kind: 'legacy' | 'dual' | 'modern', ...args: string[]) {
  const file = join(import.meta.dirname, kind === 'legacy' ? 'legacy.ts' : 'modern.ts')
  const own = kind === 'modern' ? ['reject'] : []
  return {
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', file, ...own, ...args],
    env: {} as Record<string, string>,
  }
}
