/** What needs attention, and what to do about it. Pure. */
import type { ConsoleServer, ConsoleState } from '../core/console/shapes.ts'

export type Trouble = { server?: string; reason: string; message: string; todo: string; tab?: string }

/** What to do, by the reason of a failure. */
const TODO: Readonly<Record<string, string>> = {
  AuthRequired: 'Give it credentials in its manifest: spec.headers or spec.auth.',
  CrashLooping: 'Read what it wrote last.',
  StartTimeout: 'Read what it wrote, or raise spec.limits.startTimeout.',
  InstallFailed: 'Read why the package could not be installed.',
  IntegrityChanged: 'The package has other content than before: look at it with portolan approve.',
  SecretNotFound: 'Create the Secret; on a laptop, pass its folder with --secrets.',
}

/** The worst first: servers that cannot be used, then what is only incomplete. */
export function troubles(servers: Iterable<ConsoleServer>, problems: ConsoleState['problems']): Trouble[] {
  const all = [...servers]
  return [
    ...problems.map(({ reason, message, file, line }) => ({
      reason,
      message,
      todo:
        file === undefined ? 'Mend the manifest.' : `Mend ${file}${line === undefined ? '' : `:${line}`}.`,
    })),
    ...all.filter(isDown).map(downOf),
    ...all.flatMap(lesserOf),
  ]
}

export function isDown({ state }: ConsoleServer): boolean {
  return state === 'failed' || state === 'authRequired' || state === 'notAccepted'
}

function downOf({ name, state, reason = state, message = '' }: ConsoleServer): Trouble {
  const tab = state === 'failed' ? 'log' : 'manifest'
  return { server: name, reason, message, todo: TODO[reason] ?? 'Look at its log.', tab }
}

function lesserOf(server: ConsoleServer): Trouble[] {
  const { name, changes, hiddenText, invalid, list, load, incomplete } = server
  const found: Trouble[] = []
  if (changes)
    found.push({
      server: name,
      reason: 'ToolsChanged',
      message: `${changes.changed.length + changes.added.length + changes.removed.length} tools differ from those that were approved${changes.pin === 'Hold' ? '; they are kept from agents' : ''}.`,
      todo: 'Look at the changes and approve them.',
      tab: 'changes',
    })
  if (hiddenText)
    found.push({
      server: name,
      reason: 'HiddenCharacters',
      message: `Its texts hide characters: ${hiddenText.findings[0] ?? ''}`,
      todo: 'Read its tools before agents do.',
      tab: 'tools',
    })
  if (load.breaker.state !== 'closed')
    found.push({
      server: name,
      reason: 'BreakerOpen',
      message: `${load.breaker.failures} calls in a row failed: others are refused, but for one every 5 s.`,
      todo: 'Look at its log.',
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
      message: `${invalid.length} of its tools cannot be used: ${bad.name ?? '?'}: ${bad.reason}`,
      todo: 'Tell the author of the server.',
      tab: 'tools',
    })
  const [part] = incomplete
  if (part)
    found.push({
      server: name,
      reason: 'Incomplete',
      message: `${part.list}: ${part.message}`,
      todo: 'Its tools work all the same.',
      tab: 'tools',
    })
  return found
}
