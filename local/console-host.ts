/** The data and the actions of a local gateway's console: wake or restart a server, read its lists again, approve its changed tools. */

import { changesOf } from '../core/catalog/tool-changes.ts'
import { diffTools } from '../core/catalog/tool-diff.ts'
import type { ConsoleAction } from '../core/console/shapes.ts'
import { shownManifest } from '../core/console/shown-manifest.ts'
import { Fault } from '../core/errors.ts'
import type { ConsoleHost } from '../router/console/host.ts'
import type { Approvals } from './approvals.ts'
import { distinguishesCallers } from './caller-tokens.ts'
import { type Children, subjectOf } from './children.ts'
import type { Reloader } from './reloader.ts'
import type { StderrTails } from './stderr-tails.ts'

export type ConsoleHostOptions = {
  children: Children
  approvals: Approvals
  tails: StderrTails
  reloader: Pick<Reloader, 'problems'>
  isReady: () => boolean
}

export function createConsoleHost(options: ConsoleHostOptions): ConsoleHost {
  const { children, approvals, tails, reloader, isReady } = options
  const approvalsOf = (name: string) => {
    const wanted = children.desiredServer(name)
    return wanted && approvals.load(subjectOf(wanted.server, wanted.folder))
  }
  return {
    placement: 'local',
    actions: ['wake', 'restart', 'read', 'approve'],
    distinguishesCallers,
    state: () => ({ ready: isReady(), problems: reloader.problems() }),
    server: name => serverOf(children, name),
    stderr: tails.lines,
    manifest(name) {
      const wanted = children.desiredServer(name)
      return wanted && shownManifest(wanted.server)
    },
    async changes(name) {
      const { approved, found } = (await approvalsOf(name)) ?? { approved: [] }
      if (!found) return { changes: [] }
      return { digest: changesOf(approved, found)?.digest, changes: diffTools(approved, found) }
    },
    act: action => act(action, options),
  }
}

async function act(action: ConsoleAction, options: ConsoleHostOptions): Promise<void> {
  const { children } = options
  const { server } = action
  if (!children.desiredServer(server)) throw notRunning(server)
  if (action.action === 'approve') return approve(server, action.digest, options)
  if (action.action === 'read') children.refresh(server)
  else if (action.action === 'wake') await children.wake(server)
  else await children.restart(server)
}

/** Approves only the changes with this digest: if the tools have changed again since they were shown, nothing is approved. */
async function approve(
  server: string,
  digest: string,
  { children, approvals }: ConsoleHostOptions,
): Promise<void> {
  const wanted = children.desiredServer(server)
  if (!wanted) throw notRunning(server)
  const subject = subjectOf(wanted.server, wanted.folder)
  const { approved, found } = (await approvals.load(subject)) ?? { approved: [] }
  if (!found || changesOf(approved, found)?.digest !== digest)
    throw new Fault(
      'conflict',
      `The tools of ${server} have changed again: review them before you approve them.`,
    )
  await approvals.save(subject, { approved: found })
  await children.readApprovals()
}

function serverOf(children: Children, name: string): ReturnType<ConsoleHost['server']> {
  const observed = children.observed(name)
  if (!observed) return undefined
  const { since, discoveredAt, cached, failure, changes, hidden } = observed
  const pin = children.desiredServer(name)?.server.spec.tools.pin
  return {
    since,
    list: {
      at: discoveredAt,
      cached,
      failure: failure && { reason: failure.reason, message: failure.message },
    },
    changes: changes && { ...changes, pin },
    hiddenText: hidden,
  }
}

function notRunning(server: string): Fault {
  return new Fault(
    'not_found',
    `The server ${server} does not run here: see its manifest and the reported problems.`,
  )
}
