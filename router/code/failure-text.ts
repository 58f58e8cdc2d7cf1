/** The text of a script's failure: what, where, and what was done before it. Pure. */
import type { CodeLimits } from '../../core/catalog/router-config.ts'
import { lastLine, unfenced } from '../../core/code/script-forms.ts'
import { revealBeginning } from '../meta/wording/shorten.ts'
import type { GuestError, SandboxOutcome } from './sandbox-messages.ts'

const MAX_MESSAGE_CHARACTERS = 1_000
const MAX_NAME_CHARACTERS = 100
const MAX_LINE_CHARACTERS = 160
const BYTES_PER_MIB = 1024 * 1024

/** Advice for scripts that use a common name that the sandbox does not have. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [/'(?:setTimeout|setInterval)' is not defined/, 'There are no timers: await sleep(ms) waits.'],
  [/'(?:fetch|XMLHttpRequest|WebSocket)' is not defined/, 'There is no network: call tools.'],
  [
    /'(?:require|process|Buffer|module)' is not defined|could not load module/,
    'This is not Node: there are no modules and no files.',
  ],
  [
    /'(?:URL|TextEncoder|TextDecoder|structuredClone|atob|btoa|crypto|Intl)' is not defined/,
    'Only JavaScript itself is available, without the APIs of browsers or Node.',
  ],
]

/** The first lines of the text about a failed script. `why`: the reason of the signal, if that ended the script. */
export function failureText(
  outcome: Exclude<SandboxOutcome, { kind: 'returned' }>,
  source: string,
  limits: CodeLimits,
  why: string,
): string {
  switch (outcome.kind) {
    case 'threw':
      return thrownText(outcome.error, source, limits)
    case 'stuck':
      return 'The script waits for a promise that nothing will settle.'
    case 'time':
      return `The script computed for more than ${seconds(limits.sandboxMs)}: do less in one script.`
    case 'memory':
      return `The script used more memory than it may, ${Math.round(limits.memoryBytes / BYTES_PER_MIB)} MiB, or nested too deeply.`
    case 'aborted':
      return why
    case 'failed':
      return 'The sandbox failed; the script may have run in part. Try again.'
  }
}

/** Milliseconds as seconds with at most one decimal: `1.9 s`. */
export function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}

/** Whether the interpreter reports that memory ran out. A script can throw an equal error; then only a metric and a hint are wrong. */
export function isMemoryError({ name, message }: GuestError): boolean {
  return name === 'InternalError' && message === 'out of memory'
}

function thrownText(error: GuestError, source: string, limits: CodeLimits): string {
  const code = unfenced(source)
  const { line, column } = withinCode(error, lastLine(code))
  const name = revealBeginning(error.name, MAX_NAME_CHARACTERS)
  const message = revealBeginning(error.message, MAX_MESSAGE_CHARACTERS)
  const first = name === '' ? `The script threw ${message}` : `${name}: ${message}`
  const text = line === undefined ? undefined : code.split(/\r?\n/)[line - 1]
  const hint = isMemoryError(error)
    ? `A script has ${Math.round(limits.memoryBytes / BYTES_PER_MIB)} MiB: read less at once.`
    : adviceOn(error, text)
  return [
    first,
    ...(line === undefined
      ? []
      : [`  line ${line}${column === undefined ? '' : `, column ${column}`}:  ${lineText(text)}`]),
    ...(hint === undefined ? [] : [hint]),
  ].join('\n')
}

/** The place of an error. If the code ends too early, that is after its last line. */
function withinCode({ line, column }: GuestError, last: number): Pick<GuestError, 'line' | 'column'> {
  return line !== undefined && line > last ? { line: last } : { line, column }
}

function adviceOn({ name, message }: GuestError, line = ''): string | undefined {
  // Errors of tools may have the word too; of the interpreter's own, some have it only in the line.
  const isImport = name === 'SyntaxError' && (/\bimport\b/.test(message) || /^\s*import\b/.test(line))
  return isImport ? 'There are no imports.' : INSTEAD.find(([pattern]) => pattern.test(message))?.[1]
}

function lineText(text = ''): string {
  return revealBeginning(text.trim(), MAX_LINE_CHARACTERS)
}
