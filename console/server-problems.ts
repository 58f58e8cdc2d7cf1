/** Finds problems of a gateway's servers and manifests, and says what to do about them. Pure. */
import type { ConsoleServer, ConsoleState } from '../core/console/shapes.ts'

export type ServerProblem = { server?: string; reason: string; message: string; todo: string; tab?: string }

/** What to do, by the reason of a failure. */
const TODO: Readonly<Record<string, string>> = {
  AuthRequired: 'Give it credentials in its manifest: spec.headers or spec.auth.',
  CrashLooping: 'Read its last log lines.',
  StartTimeout: 'Read its log, or raise spec.limits.startTimeout.',
  InstallFailed: 'Read why the package could not be installed.',
  IntegrityChanged: 'The content of the package has changed: review it with portolan approve.',
  NeedsLogin: 'Open the page that its message names, and log in.',
  SecretNotFound: 'Create the Secret; on a laptop, pass its folder with --secrets.',
}

/** The most severe first: broken manifests, servers that cannot be used, then lesser problems. */
export function serverProblems(
  servers: Iterable<ConsoleServer>,
  problems: ConsoleState['problems'],
): ServerProblem[] {
  const all = [...servers]
  return [
    ...problems.map(({ reason, message, file, line }) => ({
      reason,
      message,
      todo:
        file === undefined
          ? 'Correct the manifest.'
          : `Correct ${file}${line === undefined ? '' : `:${line}`}.`,
    })),
    ...all.filter(isDown).map(downOf),
    ...all.flatMap(lesserOf),
  ]
}

export function isDown({ state }: ConsoleServer): boolean {
  return state === 'failed' || state === 'authRequired' || state === 'notAccepted'
}

function downOf({ name, state, reason = state, message = '' }: ConsoleServer): ServerProblem {
  const tab = state === 'failed' ? 'log' : reason === 'NeedsLogin' ? undefined : 'manifest'
  const todo = TODO[reason] ?? (tab === 'log' ? 'Read its log.' : 'Correct its manifest.')
  return { server: name, reason, message, todo, tab }
}

function lesserOf(server: ConsoleServer): ServerProblem[] {
  const { name, changes, hiddenText, invalid, moreInvalid = 0, list, load, incomplete } = server
  const found: ServerProblem[] = []
  if (changes)
    found.push({
      server: name,
      reason: 'ToolsChanged',
      message: `${changes.changed.length + changes.added.length + changes.removed.length} tools differ from the approved ones${changes.pin === 'Hold' ? '; they are held back from agents' : ''}.`,
      todo: 'Review the changes and approve them.',
      tab: 'changes',
    })
  if (hiddenText)
    found.push({
      server: name,
      reason: 'HiddenCharacters',
      message: `Its texts contain hidden characters: ${hiddenText.findings[0] ?? ''}`,
      todo: 'Read its tools before agents do.',
      tab: 'tools',
    })
  if (load.breaker.state !== 'closed')
    found.push({
      server: name,
      reason: 'BreakerOpen',
      message: `${load.breaker.failures} calls in a row failed: calls are refused, except for one every 5 s.`,
      todo: 'Read its log.',
      tab: 'log',
    })
  if (list.failure && !isDown(server))
    found.push({
      server: name,
      reason: list.failure.reason,
      message: `Its lists could not be read again: ${list.failure.message}`,
      todo: 'The last good lists are served.',
      tab: 'log',
    })
  const [bad] = invalid
  if (bad)
    found.push({
      server: name,
      reason: 'InvalidTools',
      message: `${invalid.length + moreInvalid} of its tools cannot be used: ${bad.name ?? '?'}: ${bad.reason}`,
      todo: 'Tell the author of the server.',
      tab: 'tools',
    })
  const [part] = incomplete
  if (part)
    found.push({
      server: name,
      reason: 'Incomplete',
      message: `${part.list}: ${part.message}`,
      todo: 'Its tools can be used nevertheless.',
      tab: 'tools',
    })
  return found
}
