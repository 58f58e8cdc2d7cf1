/** Checks a script without running it: whether its syntax is valid, and which tools it names. */
import { Script } from 'node:vm'
import { lastLine, placeIn, SCRIPT_FILE, unfenced, wrapped } from './script-forms.ts'
import { accessesIn } from './tool-accesses.ts'
import { removeTypes } from './type-remover.ts'

export type InspectedScript = {
  /** Why it cannot run, with line and column. */
  problem?: string
  /** The tools that it names, in the order of the code, each once: `server:tool`, or `tool` where it names no server. */
  tools: string[]
}

const MAX_TOOLS = 1_000

export function inspectScript(source: string): InspectedScript {
  const code = unfenced(source)
  const problem = syntaxProblem(code)
  return { ...(problem !== undefined && { problem }), tools: namedTools(code) }
}

/** Compiles the code as the sandbox does: as an expression or a body, as JavaScript or else without its type annotations. */
function syntaxProblem(code: string): string | undefined {
  const forms = wrapped(code)
  const failureOf = (form: string) => failureIn(form, lastLine(code))
  const plain = forms.map(failureOf)
  if (plain.includes(undefined)) return undefined
  let refusal: string | undefined
  for (const stripped of removeTypes(forms)) {
    if ('refusal' in stripped) refusal ??= stripped.refusal
    else if (stripped.text !== undefined && failureOf(stripped.text) === undefined) return undefined
  }
  return refusal ?? plain.at(-1)
}

/** Why a form cannot be compiled, with the line if it is known; undefined if it can. */
function failureIn(form: string, last: number): string | undefined {
  try {
    new Script(form, { filename: SCRIPT_FILE })
    return undefined
  } catch (error) {
    const { message, stack = '' } = error as Error
    const { line } = placeIn(stack) ?? {}
    return line === undefined ? message : `line ${Math.min(line, last)} of the code: ${message}`
  }
}

const STEP = /\.\s*([A-Za-z_$][\w$]*)|\[\s*(?:'([^']*)'|"([^"]*)")\s*\]/g
/** Properties of a tool's function, which are not names of tools. */
const NOT_NAMES = new Set(['raw', 'call', 'apply', 'bind'])

/** The tools that the code names. Does not find computed names, nor tools that are called through another variable than `tools`. */
function namedTools(code: string): string[] {
  const found = new Set<string>()
  for (const access of accessesIn(code)) {
    if (found.size >= MAX_TOOLS) break
    const steps = [...access.matchAll(STEP)].map(([, name, single, double]) => name ?? single ?? double ?? '')
    const [first = '', second] = steps
    if (first === '' || NOT_NAMES.has(first)) continue
    const isComplete = first.includes(':') || second === undefined || NOT_NAMES.has(second)
    found.add(isComplete ? first : `${first}:${second}`)
  }
  return [...found]
}
