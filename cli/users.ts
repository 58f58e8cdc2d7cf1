/** `portolan users`: shows which users have their own session, process or pod at which server, or ends one. */
import { Command } from 'commander'
import { plainLine } from '../core/hidden-characters.ts'
import type { UserStatus } from '../router/upstream/user-members.ts'
import { CommandError } from './command-error.ts'
import { openGateway, type UsersOfServer } from './live-gateway.ts'
import {
  contextOption,
  namespaceOption,
  type OutputOption,
  outputOption,
  type UrlOption,
  urlOption,
} from './options.ts'
import { type Terminal, table } from './output.ts'
import type { ClusterUsers } from './users-in-cluster.ts'

type UsersOptions = UrlOption & OutputOption & { end?: boolean; namespace?: string; context?: string }

const HELP = `
  portolan users                                   at the gateway on this machine
  portolan users --namespace mcp                   of all gateways of a namespace in a cluster
  portolan users notes token#ada --end -n mcp      ends the session or pod of one user

In a cluster you need the rights to list pods and deployments and to create pods/portforward; to end a pod, also to delete deployments.`

export function usersCommand(terminal: Terminal): Command {
  return new Command('users')
    .description(
      'show which users have their own session, process or pod at servers with sessions: perUser, or end one',
    )
    .argument('[server]', 'only of this server')
    .argument('[user]', 'only of this user: the id, or issuer#subject')
    .option(
      '--end',
      "end the user's session, process or pod after its calls in flight; the next call starts a new one",
    )
    .addOption(urlOption())
    .addOption(namespaceOption())
    .addOption(contextOption())
    .addOption(outputOption())
    .addHelpText('after', HELP)
    .action(async (server: string | undefined, user: string | undefined, options: UsersOptions) => {
      const gateway = await sourceOf(options, terminal)
      try {
        const found = ofWhom(await gateway.users(), server, user)
        if (options.end) {
          const [one] = found
          const [ended] = one?.users ?? []
          if (server === undefined || user === undefined)
            throw new CommandError('--end needs the server and the user', 2)
          if (!one || !ended || !(await gateway.endUser(one.server, ended.user)))
            throw new CommandError(`${user} has no session, process or pod of their own at ${server}`)
          terminal.out(plainLine(`ended the session, process or pod of ${ended.subject} at ${one.server}`))
        } else
          terminal.out(
            options.output === 'json' ? JSON.stringify(found, null, 2) : usersTable(found, Date.now()),
          )
      } finally {
        await gateway.close()
      }
    })
}

async function sourceOf(options: UsersOptions, terminal: Terminal): Promise<ClusterUsers> {
  const { namespace, context, url } = options
  if (namespace === undefined && context === undefined) return openGateway({ url, paths: [] }, terminal)
  const { usersInCluster } = await import('./users-in-cluster.ts')
  return usersInCluster({ namespace, context }, terminal)
}

/** The users of the given server, or the given user (by id or subject); undefined means all. Servers without any are left out. Pure. */
export function ofWhom(
  all: readonly UsersOfServer[],
  server: string | undefined,
  user: string | undefined,
): UsersOfServer[] {
  const isChosen = ({ user: id, subject }: UserStatus) =>
    user === undefined || user === id || user === subject
  return all
    .filter(({ server: name }) => server === undefined || name === server)
    .map(({ server, users }) => ({ server, users: users.filter(isChosen) }))
    .filter(({ users }) => users.length > 0)
}

/** One line for each user of a server. Pure. */
export function usersTable(found: readonly UsersOfServer[], nowMs: number): string {
  const rows = found.flatMap(({ server, users }) =>
    users.map(({ user, subject, sinceMs, usedMs, active, breaker }) => [
      server,
      user,
      subject,
      agoText(nowMs - sinceMs),
      active > 0 ? `${active} in flight` : agoText(nowMs - usedMs),
      breaker === 'closed' ? '' : 'failing',
    ]),
  )
  if (rows.length === 0) return 'no user has a session, process or pod of their own'
  const titles = ['SERVER', 'USER', 'SUBJECT', 'SINCE', 'USED', '']
  return table(
    titles.map(title => ({ title })),
    rows,
  )
}

function agoText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds}s`
  return seconds < 3_600 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3_600)}h`
}
