/** Creates the upstream of a McpServer on this machine: a package from the cache, a command, a container, or a remote server. */
import { isAbsolute, resolve } from 'node:path'
import type { Clock } from '../core/async.ts'
import { Fault } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { connectRemote } from '../core/mcp/client/connect.ts'
import { createTokenSource } from '../core/mcp/client/http/oauth.ts'
import type { Reaper } from '../core/mcp/client/stdio/reaper.ts'
import { createStdioUpstream } from '../core/mcp/client/stdio/stdio-upstream.ts'
import type { Upstream } from '../core/mcp/upstream.ts'
import { parseDuration } from '../crds/quantity.ts'
import type { McpServer } from '../crds/server.ts'
import type { DesiredServer } from './children.ts'
import { LazyUpstream } from './lazy-upstream.ts'
import type { Packages } from './packages/packages.ts'
import { expand } from './secrets.ts'

export type LaunchDeps = {
  packages: Packages
  reaper: Reaper
  clock: Clock
  log: Log
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

/** Nothing is installed or started before the upstream's first use. */
export function launch(desired: DesiredServer, deps: LaunchDeps): Upstream {
  if (desired.server.spec.remote) return launchRemote(desired, deps)
  return new LazyUpstream(
    async () => launchStdio(desired.server, await commandOf(desired, deps), deps),
    deps.clock,
  )
}

function launchRemote({ server, inputs }: DesiredServer, { clock }: LaunchDeps): Upstream {
  const { remote, auth, limits, sessions } = server.spec
  if (!remote) throw new Error('not a remote server')
  const oauth = auth?.oauth
  return connectRemote(
    {
      url: remote.url,
      transport: remote.transport,
      headers: inputs.headers,
      auth:
        oauth &&
        createTokenSource({ ...oauth, clientSecret: inputs.clientSecret ?? '', upstream: remote }, clock),
      sessions,
      startTimeoutMs: parseDuration(limits.startTimeout),
    },
    { clock, watchesLife: true },
  )
}

function launchStdio(server: McpServer, command: Command, { clock, reaper, log }: LaunchDeps): Upstream {
  const { sessions, scaling, limits } = server.spec
  return createStdioUpstream(
    {
      ...command,
      sessions,
      startTimeoutMs: parseDuration(limits.startTimeout),
      idleAfterMs: parseDuration(scaling.idleAfter),
      min: scaling.min ?? 0,
    },
    { clock, reaper, log: log.child({ server: server.metadata.name }) },
  )
}

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

/** Variables that servers inherit: paths, locale, proxies and certificates, but no tokens. */
const INHERITED =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|LANG|LC_\w+|TMPDIR|XDG_\w+|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY))$/i

/** The part of the user's environment that every server inherits. Pure. */
export function inheritedEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => INHERITED.test(name)))
}
