/** `portolan up`: runs the gateway on this machine until it is stopped. */
import { randomBytes } from 'node:crypto'
import type { Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { Command, Option } from 'commander'
import type { Profile } from '../core/catalog/router-config.ts'
import { readConsolePage } from '../core/console/page.ts'
import { onShutdown } from '../core/lifecycle.ts'
import { createLog, type Log } from '../core/log.ts'
import type { Identity } from '../core/mcp/identity.ts'
import type { Tracer } from '../core/trace.ts'
import { openTracing, tracingSettings } from '../core/tracing.ts'
import { profile } from '../crds/gateway.ts'
import { cacheFolder } from '../local/config.ts'
import { type LocalGateway, startLocal } from '../local/local-gateway.ts'
import type { LocalStatus } from '../local/local-status.ts'
import { openAuditFile } from './audit-file.ts'
import { callerToken } from './caller-token.ts'
import { clientHelp, tokenHelp } from './client-help.ts'
import { CommandError, EXIT } from './command-error.ts'
import { finishStart, settleHeap } from './heap.ts'
import { assumedIdentity, type WhoOptions, withWho } from './identity.ts'
import {
  DEFAULT_PORT,
  gatewayOption,
  type ManifestOptions,
  type OutputOption,
  outputOption,
  secretsOption,
  wholeNumber,
} from './options.ts'
import type { Terminal } from './output.ts'
import { mustExist } from './paths.ts'
import { createProgress, type Progress } from './progress.ts'
import { serverTable } from './servers.ts'
import { costLines, savedLine } from './tokens.ts'

const READY_POLL_MS = 100
const LOOPBACK_HOST = /^(?:localhost|::1|127\.\d+\.\d+\.\d+)$/
const TOKEN_BYTES = 32
const MIN_TOKEN = 32
/** How long to wait for servers before the table shows them as "starting". Installations do not count: they are always waited for. */
const PATIENCE_MS = 15_000

type UpOptions = ManifestOptions &
  OutputOption &
  Partial<WhoOptions> & {
    port: number
    host: string
    anonymous?: boolean
    profile?: Profile
    servers?: boolean
    code?: boolean
    console: boolean
    audit?: string
  }

export function upCommand(terminal: Terminal): Command {
  const command = new Command('up')
    .description('run a gateway on this machine, and apply changes of its manifests while it runs')
    .argument(
      '<paths...>',
      'manifests (files or folders) and client configurations (mcp.json, claude_desktop_config.json)',
    )
    .option(
      '--port <port>',
      'the port to listen on; 0 chooses a free one',
      wholeNumber(0, 65_535),
      DEFAULT_PORT,
    )
    .option(
      '--host <host>',
      'the address to listen on; if other machines can reach it, callers need a token',
      '127.0.0.1',
    )
    .option('--anonymous', 'require no token: everyone who can reach the port may call every tool')
  return withWho(command, 'act as this caller for requests from this machine without a token')
    .addOption(
      new Option(
        '--profile <profile>',
        "the profile to serve at /mcp, instead of the manifest's default",
      ).choices(profile.options),
    )
    .addOption(gatewayOption())
    .addOption(secretsOption())
    .option('--servers', 'also serve each server alone, at /servers/<name>/mcp')
    .option(
      '--code',
      'enable code mode: agents may run scripts that call tools; also serves the profile code at /mcp/code',
    )
    .option('--no-console', 'do not serve the console, the web page at /')
    .option(
      '--audit <file>',
      "append the audit lines (the gateway's spec.audit) to a file instead of standard output",
    )
    .addOption(outputOption())
    .action(async (paths: string[], options: UpOptions) => {
      mustExist(paths)
      await run(paths, options, terminal)
    })
}

/** Runs until a signal, which ends the process. */
async function run(paths: string[], options: UpOptions, terminal: Terminal): Promise<void> {
  settleHeap()
  const log = await logFor(terminal)
  const progress = createProgress(terminal, log)
  const tracing = await openTracing(tracingSettings(terminal.env), 'portolan', log)
  const as = assumedBy(options)
  const token = tokenFor(options, terminal)
  const audit = openAuditFile(options.audit)
  const starting = start(paths, options, {
    terminal,
    log,
    progress,
    tracer: tracing?.tracer,
    token,
    audit,
    as,
  })
  onShutdown(async reason => {
    progress.end()
    if (terminal.interactive) terminal.err(`\n${terminal.errColors.dim(`stopping (${reason})`)}`)
    const gateway = await starting.catch(() => undefined)
    await gateway?.close()
    await tracing?.close()
    if (gateway) reportSaved(gateway.status(), terminal, log)
  })
  const gateway = await starting
  await untilReady(gateway, progress)
  // Not at the end of the process, which may be killed and then writes no compile cache.
  finishStart()
  progress.end()
  const isLate = !gateway.ready()
  const json = options.output === 'json'
  terminal.out(
    json
      ? JSON.stringify({ url: gateway.url, token, ...gateway.status() })
      : report(gateway, token, terminal),
  )
  if (gateway.consoleUrl !== undefined && !json)
    terminal.out(`\n${terminal.colors.bold('Console')}  ${terminal.colors.cyan(gateway.consoleUrl)}`)
  if (token !== undefined && !json) terminal.out(tokenHelp(token, terminal.colors))
  // From now on calls are shown on a terminal too.
  log.level = 'info'
  while (isLate && !gateway.ready()) await wait(READY_POLL_MS)
  if (isLate && !json)
    terminal.out(`\n${serverTable(gateway.status(), terminal.colors)}\n\n${costLines(gateway.status())}`)
  await new Promise(() => {})
}

/** If callers without a credential have an identity, the port must not be reachable from other machines. */
function assumedBy({ host, as, scopes, claim, client }: UpOptions): Identity | undefined {
  const identity = assumedIdentity({ as, scopes, claim, client })
  if (!identity || LOOPBACK_HOST.test(host)) return identity
  throw new CommandError(
    `--as is for this machine alone: others could reach ${host} and would be that caller too`,
    EXIT.usage,
  )
}

/** The token that callers must send if other machines can reach the gateway; else undefined. `PORTOLAN_TOKEN` keeps it over restarts. */
function tokenFor({ host, anonymous }: UpOptions, terminal: Terminal): string | undefined {
  if (anonymous || LOOPBACK_HOST.test(host)) return undefined
  const given = terminal.env.PORTOLAN_TOKEN
  if (given === undefined || given === '') return randomBytes(TOKEN_BYTES).toString('base64url')
  if (given.length < MIN_TOKEN)
    throw new CommandError(`PORTOLAN_TOKEN is shorter than ${MIN_TOKEN} characters`, EXIT.usage)
  return callerToken(terminal)
}

/** The last line: the tokens that the gateway saved, if it answered anything. */
function reportSaved({ tokens: { sinceStart } }: LocalStatus, terminal: Terminal, log: Log): void {
  const line = savedLine(sinceStart)
  if (line === undefined) return
  const { direct, served, saved } = sinceStart
  if (terminal.interactive) terminal.err(line)
  else log.info({ direct, served, saved }, 'tokens saved')
}

/** The log as JSON, or for people on a terminal, where calls are shown once the gateway is up. */
async function logFor({ interactive }: Terminal): Promise<Log> {
  if (!interactive) return createLog()
  const { prettyLine } = await import('../core/pretty-log.ts')
  return createLog({ level: 'warn', pretty: prettyLine() })
}

type StartContext = {
  terminal: Terminal
  log: Log
  progress: Progress
  tracer?: Tracer
  token?: string
  as?: Identity
  audit?: Writable
}

async function start(
  paths: string[],
  options: UpOptions,
  { terminal, log, progress, tracer, token, audit, as }: StartContext,
): Promise<LocalGateway> {
  const gateway = await startLocal({
    paths,
    host: options.host,
    port: options.port,
    token,
    as,
    profile: options.profile,
    gateway: options.gateway,
    secretsFolder: options.secrets,
    exposeServers: options.servers,
    runsScripts: options.code,
    watch: true,
    cacheFolder: cacheFolder(terminal.env),
    env: terminal.env,
    log,
    onProgress: detail => progress.say('packages', { detail }),
    onFindings: findings => progress.tell(findings),
    tracer,
    auditStream: audit && (() => audit),
    page: options.console ? await readConsolePage() : undefined,
  })
  if (options.profile === 'code' && !gateway.catalog()?.config.code) {
    await gateway.close()
    const message = 'the profile code runs scripts, which are off: add --code, or set spec.code.enabled'
    throw new CommandError(message, EXIT.usage)
  }
  progress.say('listening', { url: gateway.url })
  return gateway
}

async function untilReady(gateway: LocalGateway, progress: Progress): Promise<void> {
  while (!gateway.ready() && (gateway.installing() > 0 || progress.quietForMs() < PATIENCE_MS)) {
    const { servers } = gateway.status()
    const waiting = servers.filter(
      ({ state, discovery }) => state === 'starting' && discovery.at === undefined,
    )
    const names = waiting.map(({ name }) => name).join(', ')
    const doing = gateway.installing() > 0 ? 'installing for' : 'waiting for'
    const rest = names === '' ? 'preparing the search' : `${doing} ${names}`
    progress.show(`${servers.length - waiting.length} of ${servers.length} servers; ${rest}`)
    await wait(READY_POLL_MS)
  }
}

function report(gateway: LocalGateway, token: string | undefined, { colors }: Terminal): string {
  const status = gateway.status()
  const others = profile.options.filter(
    name => name !== status.gateway.profile && status.tokens.profiles[name] !== undefined,
  )
  const help = clientHelp(gateway.url, { others, token }, colors)
  return ['', serverTable(status, colors), '', costLines(status), '', help].join('\n')
}
