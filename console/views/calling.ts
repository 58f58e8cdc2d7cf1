/** Sends a tool call, and reports its stages: it runs, its server asks questions, it is done or fails. */
import type { JsonObject } from '../../core/json.ts'
import { request } from '../mcp.ts'
import { keyOf } from '../merge.ts'
import { type Question, questionsIn } from '../result.ts'
import type { Store } from '../store.ts'

export type Stage =
  | { at: 'ready' }
  | { at: 'confirm' }
  | { at: 'running'; stop: AbortController }
  /** `answer` continues the call as it was sent, whatever was edited since. */
  | { at: 'asking'; questions: Question[]; answer(inputResponses: JsonObject): void }
  /** `before`: keys of the calls that were in the log when this one began. */
  | { at: 'done'; result: JsonObject; before: ReadonlySet<string> }
  | { at: 'failed'; message: string }

/** `params`: those of tools/call, with the answers to questions if there were any. Never rejects. */
export async function send(
  store: Store,
  profile: string,
  params: JsonObject,
  setStage: (stage: Stage) => void,
): Promise<void> {
  const stop = new AbortController()
  setStage({ at: 'running', stop })
  const before = new Set(store.known.value.calls.map(keyOf))
  try {
    const result = await request('tools/call', params, {
      profile,
      ...store.mcpOptions(),
      signal: stop.signal,
    })
    const questions = questionsIn(result)
    if (!questions) return setStage({ at: 'done', result, before })
    const answer = (inputResponses: JsonObject) =>
      void send(store, profile, { ...params, inputResponses, requestState: result.requestState }, setStage)
    setStage({ at: 'asking', questions, answer })
  } catch (error) {
    const message = stop.signal.aborted ? 'The call was stopped.' : (error as Error).message
    setStage({ at: 'failed', message })
  }
}
