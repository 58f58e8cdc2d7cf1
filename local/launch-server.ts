/** Creates the upstream of an McpServer on this machine: a package from the cache, a command, a container, or a remote server. */
import { isAbsolute, resolve } from 'node:path'
import type { Clock } from '../core/async.ts'
import { Fault } from '../core/errors.ts'
import type { HostGuard } from '../core/host-guard.ts'
import type { Log } from '../core/log.ts'
import type { AnswerRoom } from '../core/mcp/answer-room.ts'
import { connectRemote } from '../core/mcp/client/connect.ts'
import { createTokenSource } from '../core/mcp/client/http/oauth.ts'
import type { RemoteSpec } from '../core/mcp/client/http/spec.ts'
import { createTokenExchange } from '../core/mcp/client/http/token-exchange.ts'
import { harmless, secretLines } from '../core/mcp/client/stdio/harmless.ts'
import type { Reaper } from '../core/mcp/client/stdio/reaper.ts'
import { createStdioUpstream } from '../core/mcp/client/stdio/stdio-upstream.ts'
import type { Upstream } from '../core/mcp/upstream.ts'
import type { ConnectedUser, User } from '../core/mcp/user.ts'
import { parseDuration } from '../crds/quantity.ts'
import type { McpServer } from '../crds/server.ts'
import type { DesiredServer } from './children.ts'
import { inheritedEnvironment, installerSecrets } from './environment.ts'
import { LazyUpstream } from './lazy-upstream.ts'
import type { Packages } from './packages/packages.ts'
import { expand } from './secrets.ts'
import type { StderrTails } from './stderr-tails.ts'

export type LaunchDeps = {
  packages: Packages
  reaper: Reaper
  clock: Clock
  log: Log
  tails: StderrTails
  /** How remote servers are reached. Absent: directly. */
  hosts?: HostGuard
  /** Shared by all remote servers. Absent: the answers that are received at once are not bounded together. */
  room?: AnswerRoom
  /** Returns the tokens of a user's login to a server. */
  loginTokens: (desired: DesiredServer, user?: User) => RemoteSpec['auth']
  /** The user's environment; servers inherit part of it. */
  env: Readonly<Record<string, string>>
}

type Command = {
  command: string
  args: string[]
  env: Record<string, string>
  cwd: string
  secrets: string[]
}

/**
 * Nothing is installed or started before the upstream's first use. `user`: the user of the upstream, for `sessions: perUser`. A process of
 * a user runs until the upstream is closed, because the user may come back to its state.
 */
export function launch(desired: DesiredServer, deps: LaunchDeps, user?: ConnectedUser): Upstream {
  if (desired.server.spec.remote) return launchRemote(desired, deps, user)
  const explain = explainInstallation(desired, deps)
  return new LazyUpstream(
    async () => launchStdio(desired.server, await commandOf(desired, deps).catch(explain), deps, user),
    deps.clock,
  )
}

/** Rethrows errors, those of installations without secrets. Logs all that the installer said, but not again if a further attempt fails in the same way. */
function explainInstallation({ server, inputs }: DesiredServer, { env, log }: LaunchDeps) {
  let logged: string | undefined
  return (error: unknown): never => {
    if (!(error instanceof Fault) || error.details.reason !== 'InstallFailed') throw error
    const hidden = secretLines([...inputs.secrets, ...installerSecrets(env)])
    const lines = error.message.split('\n').map(line => harmless(line, hidden))
    const output = lines.join('\n')
    if (output !== logged) log.warn({ server: server.metadata.name, output }, 'the installation failed')
    logged = output
    throw new Fault(error.code, output, { cause: error, details: error.details })
  }
}

function launchRemote(desired: DesiredServer, deps: LaunchDeps, user?: ConnectedUser): Upstream {
  const { remote, limits, sessions } = desired.server.spec
  if (!remote) throw new Error('not a remote server')
  return connectRemote(
    {
      url: remote.url,
      transport: remote.transport,
      headers: desired.inputs.headers,
      auth: authOf(desired, remote, deps, user),
      sessions: sharing(sessions),
      startTimeoutMs: parseDuration(limits.startTimeout),
    },
    { clock: deps.clock, watchesLife: user === undefined, guard: deps.hosts, room: deps.room },
  )
}

/** The login at a remote server: for a user, that user's credentials. Those in the manifest then serve only to read lists. */
function authOf(
  desired: DesiredServer,
  upstream: Pick<RemoteSpec, 'url' | 'transport'>,
  { clock, hosts: guard, loginTokens }: LaunchDeps,
  user: ConnectedUser | undefined,
): RemoteSpec['auth'] {
  const { server, inputs } = desired
  const { oauth, perUser } = server.spec.auth ?? {}
  const { clientSecret = '', exchangeSecret = '' } = inputs
  if (user && perUser) {
    if (perUser.oauth) return loginTokens(desired, user)
    const exchange = perUser.tokenExchange
    const client = { clientSecret: exchangeSecret, upstream, guard }
    return exchange && createTokenExchange({ ...exchange, ...client }, user, clock)
  }
  if (oauth) return createTokenSource({ ...oauth, clientSecret, upstream, guard }, clock)
  if (desired.knowsCallers) return undefined
  // The person at this machine is the only user, and most servers show their lists only to users who are logged in.
  return perUser?.oauth && Object.keys(inputs.headers).length === 0 ? loginTokens(desired) : undefined
}

function launchStdio(
  server: McpServer,
  command: Command,
  { clock, reaper, log, tails }: LaunchDeps,
  user: User | undefined,
): Upstream {
  const { sessions, scaling, limits } = server.spec
  const { name } = server.metadata
  return createStdioUpstream(
    {
      ...command,
      sessions: sharing(sessions),
      startTimeoutMs: parseDuration(limits.startTimeout),
      idleAfterMs: parseDuration(scaling.idleAfter),
      min: user ? 1 : (scaling.min ?? 0),
    },
    { clock, reaper, log: tails.of(name, log.child({ server: name, ...(user && { user: user.id }) })) },
  )
}

/** With `sessions: perUser`, all clients of a user share this user's upstream. */
function sharing(sessions: McpServer['spec']['sessions']): 'shared' | 'perClient' {
  return sessions === 'perClient' ? sessions : 'shared'
}

/** The command that starts a stdio server; installs its package first. */
async function commandOf({ server, folder, inputs }: DesiredServer, deps: LaunchDeps): Promise<Command> {
  const { npm, pypi, image, command } = server.spec
  const { secrets } = inputs
  const env = { ...inheritedEnvironment(deps.env), ...inputs.env }
  const expanded = (args: readonly string[]) => args.map(arg => expand(arg, inputs.env))
  const source = npm
    ? { kind: 'npm' as const, ...npm }
    : pypi
      ? { kind: 'pypi' as const, ...pypi }
      : undefined
  if (source) {
    const start = await deps.packages.ensure(source)
    return {
      command: start.command,
      args: [...start.args, ...expanded(source.args)],
      env,
      secrets,
      cwd: folder,
    }
  }
  if (image) {
    const args = ['run', '--rm', '--init', '-i', ...Object.keys(inputs.env).flatMap(name => ['-e', name])]
    const rest = expanded([...image.command, ...image.args])
    return { command: 'docker', args: [...args, image.name, ...rest], env, secrets, cwd: folder }
  }
  if (!command) throw new Fault('bad_request', 'the server has no source', { details: { reason: 'Invalid' } })
  const cwd = isAbsolute(command.cwd) ? command.cwd : resolve(folder, command.cwd)
  return { command: command.run, args: expanded(command.args), env, secrets, cwd }
}
