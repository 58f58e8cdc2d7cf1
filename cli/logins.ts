/** `portolan logins`: shows and deletes the logins of users at servers, on this machine (without a running gateway) or in a cluster. */
import { Command } from 'commander'
import { cacheFolder } from '../local/config.ts'
import { LoginFiles } from '../local/logins/login-files.ts'
import { CommandError } from './command-error.ts'
import { contextOption, namespaceOption, type OutputOption, outputOption } from './options.ts'
import { type Terminal, table } from './output.ts'

type LoginsOptions = OutputOption & { delete?: boolean; namespace?: string; context?: string }

/** The logins of one user or of all users, at one server or at all servers. */
type Chosen = { server: string | undefined; user: string | undefined }

type Shown = { server: string; subject: string; url: string; since: string; scope: string }

type Logins = {
  list(): Promise<Shown[]>
  /** How many were deleted. */
  delete(server: string): Promise<number>
  close(): Promise<void>
}

const HELP = `
  portolan logins                                       that this machine keeps
  portolan logins linear --delete                       deletes all of a server
  portolan logins --namespace mcp                       of all gateways of a namespace in a cluster

In a cluster you need the rights to list pods and to create pods/portforward.`

export function loginsCommand(terminal: Terminal): Command {
  return new Command('logins')
    .description(
      'show the logins of users at servers, which are stored on this machine or in a cluster, or delete them',
    )
    .argument('[server]', 'only of this server')
    .argument('[user]', 'only of this user: issuer#subject')
    .option('--delete', 'delete them here; this does not withdraw the consent at the authorization server')
    .addOption(namespaceOption())
    .addOption(contextOption())
    .addOption(outputOption())
    .addHelpText('after', HELP)
    .action(async (server: string | undefined, user: string | undefined, options: LoginsOptions) => {
      const { namespace, context } = options
      if (options.delete && server === undefined) throw new CommandError('--delete needs the server', 2)
      const isHere = namespace === undefined && context === undefined
      const chosen = { server, user }
      const logins = isHere ? loginsHere(terminal, chosen) : await loginsThere(options, chosen, terminal)
      try {
        if (options.delete && server !== undefined) {
          const deleted = await logins.delete(server)
          if (deleted === 0)
            throw new CommandError(`there is no login at ${server}${user ? ` of ${user}` : ''}`)
          return terminal.out(`deleted: ${deleted}`)
        }
        const found = await logins.list()
        terminal.out(options.output === 'json' ? JSON.stringify(found, null, 2) : loginsTable(found))
      } finally {
        await logins.close()
      }
    })
}

function loginsHere(terminal: Terminal, chosen: Chosen): Logins {
  const files = new LoginFiles(cacheFolder(terminal.env))
  return {
    async list() {
      return (await files.list())
        .map(({ login }) => login)
        .filter(({ name, subject }) => isChosen(chosen, name, subject))
        .map(({ name, tokens, ...login }) => shown({ ...login, server: name, scope: tokens.scope ?? '' }))
    },
    delete: name => files.deleteOf(name, chosen.user),
    close: async () => {},
  }
}

function isChosen({ server, user }: Chosen, at: string, subject: string): boolean {
  return (server ?? at) === at && (user ?? subject) === subject
}

function shown(login: Omit<Shown, 'since'> & { sinceMs: number }): Shown {
  const { server, subject, url, sinceMs, scope } = login
  return { server, subject, url, since: new Date(sinceMs).toISOString(), scope }
}

async function loginsThere(options: LoginsOptions, chosen: Chosen, terminal: Terminal): Promise<Logins> {
  const { placeIn } = await import('./routers-in-cluster.ts')
  const { deleteInCluster, loginsInCluster } = await import('./logins-in-cluster.ts')
  const place = await placeIn(options, terminal)
  const found = async () =>
    (await loginsInCluster(place)).filter(({ server, subject }) => isChosen(chosen, server, subject))
  return {
    async list() {
      return (await found()).map(shown)
    },
    async delete() {
      const matching = await found()
      await deleteInCluster(place, matching)
      return matching.length
    },
    close: () => place.client.close(),
  }
}

function loginsTable(found: readonly Shown[]): string {
  if (found.length === 0) return 'no logins'
  const titles = ['SERVER', 'SUBJECT', 'URL', 'SINCE', 'SCOPE']
  return table(
    titles.map(title => ({ title })),
    found.map(({ server, subject, url, since, scope }) => [server, subject, url, since, scope]),
  )
}
