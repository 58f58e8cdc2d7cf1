/** Runs scripts within their limits and with the rights of their caller. Nothing of a script remains after it has ended. */
import { randomUUID } from 'node:crypto'
import type { CodeConfig } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import type { Work } from '../meta/meta-tool.ts'
import { errorReply, refuse } from '../meta/wording/answers.ts'
import { createLearnedShapes, type LearnedShapes } from './learned-shapes.ts'
import type { Sandboxes } from './sandbox-threads.ts'
import { createScriptGate } from './script-gate.ts'
import { type GivenScript, type ScriptDependencies, ScriptRun } from './script-run.ts'

export type Scripts = {
  /** Runs a script and answers its caller. Rejects only with the caller's own faults, and with `upstream_busy` if a script called one too many. */
  run(work: Work, code: CodeConfig, script: GivenScript): Promise<McpResponse>
  /** How many scripts run now. */
  running(): number
  /** See `Sandboxes.warm`. */
  warm(): void
  /** The types of what tools returned to scripts. */
  readonly shapes: LearnedShapes
  close(): Promise<void>
}

const BUSY = 'Too many scripts run at the moment: try again in a moment.'

export function createScripts(sandboxes: Sandboxes, dependencies: ScriptDependencies): Scripts {
  const gate = createScriptGate()
  const inTurn = createTurns()
  const begin = async (work: Work, given: CodeConfig, script: GivenScript): Promise<McpResponse> => {
    const { reviewed, input } = script
    const code = reviewed?.readOnly ? { ...given, tools: { ...given.tools, readOnly: true } } : given
    const json = input === undefined ? undefined : JSON.stringify(input)
    const tooLong = tooLongOf(script, json, code.limits.sourceBytes)
    if (tooLong !== undefined) return refuse(work, { refusal: tooLong, outcome: 'rejected' })
    const isCalled = work.script !== undefined
    const place = gate.enter(clientOf(work), code.limits, isCalled)
    if (!place) {
      recordBusy(work, script)
      // To a script, an answer would mean that the called one ran.
      if (isCalled) throw new Fault('upstream_busy', 'too many scripts', { details: { scripts: true } })
      return errorReply(work, BUSY)
    }
    const run = new ScriptRun(work, code, place, script, dependencies)
    try {
      return await run.run(sandboxes, json)
    } finally {
      run.end()
    }
  }
  return {
    shapes: createLearnedShapes(),
    run(work, code, script) {
      const started = () => begin(work, code, script)
      return work.script === undefined ? started() : inTurn(work.script, started)
    },
    running: gate.running,
    warm: sandboxes.warm,
    close: sandboxes.close,
  }
}

/** Runs the reviewed scripts that one script calls one after another, so that a script has at most two threads. */
function createTurns() {
  const last = new Map<string, Promise<unknown>>()
  return <T>(script: string, start: () => Promise<T>): Promise<T> => {
    const before = last.get(script) ?? Promise.resolve()
    const now = before.then(start)
    const settled = now
      .catch(() => {})
      .then(() => {
        if (last.get(script) === settled) last.delete(script)
      })
    last.set(script, settled)
    return now
  }
}

/** Why a script is refused for its size. The size of a reviewed script is limited by its manifest. */
function tooLongOf(
  { source, reviewed }: GivenScript,
  input: string | undefined,
  most: number,
): string | undefined {
  const isOver = (text: string) => Buffer.byteLength(text) > most
  const what =
    !reviewed && isOver(source) ? 'code' : input !== undefined && isOver(input) ? 'input' : undefined
  return what && `The ${what} is larger than ${most} bytes: split it, or keep data with keep(value).`
}

/** The key by which scripts of one client are counted. Anonymous callers are distinguished by session, or else by address. */
function clientOf({ request: { caller } }: Work): string {
  const { identity, client, address } = caller
  return identity.id === '' ? `${client ?? address}` : identity.id
}

/** Records a script that was refused because too many run. */
function recordBusy(work: Work, { source, reviewed }: GivenScript): void {
  const { observer, request, arrivedMs } = work
  observer.scriptBegan()
  observer.scriptRan({
    id: randomUUID(),
    outcome: 'busy',
    calls: 0,
    sandboxMs: 0,
    toolsMs: 0,
    askedMs: 0,
    totalMs: performance.now() - arrivedMs,
    keptTokens: 0,
    source,
    reviewed: reviewed?.name,
    parent: work.script,
    client: request.caller.label,
    by: work,
  })
}
