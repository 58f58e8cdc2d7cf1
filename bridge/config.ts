/** The configuration of the bridge, from its command line and environment. */

import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { ANY_ADDRESS } from '../core/addresses.ts'
import type { PackageSource } from '../core/packages/install.ts'
import { parseDuration } from '../crds/quantity.ts'

type Env = Readonly<Record<string, string>>

export type ServeConfig = {
  kind: 'serve'
  port: number
  host: string
  sessions: 'shared' | 'perClient'
  bearerFile?: string
  /** Revision of this instance, which serves only one user. */
  instance?: string
  tlsFolder?: string
  metricsPort?: number
  startTimeoutMs: number
  /** How long to wait for calls in flight after a termination signal. */
  drainMs: number
  idleAfterMs: number
  name: string
  /** File with `{command, args}`, written by `install`; `command` then contains additional arguments. */
  startFile?: string
  command: string[]
  env: Env
  /** Values of environment variables whose names suggest secrets. */
  secrets: string[]
  terminationLog: string
}

export type BridgeConfig =
  | ServeConfig
  | { kind: 'probe'; url: string; timeoutMs: number }
  | {
      kind: 'install'
      source: PackageSource
      registry?: string
      /** Records of earlier installations. If set, the package is compared with them, and a new record is reported. */
      integrityFile?: string
      into: string
      /** The folder outlives the pod: a complete installation in it is used again. */
      keep: boolean
      env: Env
      secrets: string[]
      terminationLog: string
    }
  /** Copies the bridge from its own folder `from` into a volume, so that it can run in any image. */
  | { kind: 'deliver'; from: string; into: string }
  | { kind: 'problem'; message: string }

export const USAGE = `usage:
  bridge [--port 8080] [--host ADDRESS] [--sessions shared|perClient] [--bearer-file FILE] [--tls-folder DIR] [--metrics-port PORT]
         [--instance REVISION]
         [--start-timeout 60s] [--drain 25s] [--idle-after 3m] [--name SERVER] [--start-file FILE] [--termination-log FILE] -- COMMAND ARGS…
  bridge --probe URL [--timeout 5s]
  bridge install npm|pypi PACKAGE [--version V] [--bin B] [--registry URL] [--integrity-file FILE] --into DIR [--keep]
                 [--termination-log FILE]
  bridge deliver DIR
ADDRESS: by default 127.0.0.1; in pods ::
`

const TERMINATION_LOG = '/dev/termination-log'
const SECRET_NAME = /token|secret|passw|credential|api_?key|private|authorization|dsn/i
const OPTIONS = {
  port: { type: 'string', default: '8080' },
  host: { type: 'string', default: ANY_ADDRESS },
  sessions: { type: 'string', default: 'shared' },
  'bearer-file': { type: 'string' },
  instance: { type: 'string' },
  'tls-folder': { type: 'string' },
  'metrics-port': { type: 'string' },
  'start-timeout': { type: 'string', default: '60s' },
  drain: { type: 'string', default: '25s' },
  'idle-after': { type: 'string', default: '3m' },
  name: { type: 'string', default: 'server' },
  'start-file': { type: 'string' },
  'termination-log': { type: 'string', default: TERMINATION_LOG },
  probe: { type: 'string' },
  timeout: { type: 'string', default: '5s' },
  version: { type: 'string' },
  bin: { type: 'string' },
  registry: { type: 'string' },
  'integrity-file': { type: 'string' },
  into: { type: 'string' },
  keep: { type: 'boolean', default: false },
} as const

/** Reads the command line, in which the server's command follows `--`. Returns a `problem` if it is invalid; never throws. */
export function readConfig(args: readonly string[], process: NodeJS.Process): BridgeConfig {
  const end = args.indexOf('--')
  const bridgeArgs = end === -1 ? [...args] : args.slice(0, end)
  const command = end === -1 ? [] : args.slice(end + 1)
  try {
    const { values, positionals } = parseArgs({ args: bridgeArgs, options: OPTIONS, allowPositionals: true })
    const env = environment(process.env)
    const [verb, ...rest] = positionals
    if (verb === 'install') return readInstall(rest, values, env)
    if (verb === 'deliver') return readDeliver(rest, dirname(process.argv[1] ?? ''))
    if (verb !== undefined)
      return problem(`${verb} is not a command of the bridge; the server's command goes after --`)
    if (values.probe !== undefined) return readProbe(values.probe, values.timeout)
    return readServe(values, command, env)
  } catch (error) {
    return problem(error instanceof Error ? error.message : String(error))
  }
}

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values']

function readServe(values: Values, command: string[], env: Env): BridgeConfig {
  const { sessions, name, host } = values
  const port = Number(values.port)
  const startTimeoutMs = parseDuration(values['start-timeout'])
  const drainMs = parseDuration(values.drain)
  const idleAfterMs = parseDuration(values['idle-after'])
  for (const option of ['port', 'metrics-port'] as const)
    if (!isPort(values[option] ?? '0')) return problem(`--${option} ${values[option]} is not a port`)
  if (sessions !== 'shared' && sessions !== 'perClient')
    return problem('--sessions must be shared or perClient')
  if (!(startTimeoutMs > 0)) return problem('--start-timeout must be a duration, such as 60s')
  if (!(drainMs >= 0)) return problem('--drain must be a duration, such as 25s')
  if (!(idleAfterMs > 0)) return problem('--idle-after must be a duration, such as 3m')
  if (values['start-file'] === undefined && command.length === 0)
    return problem("the server's command is missing: bridge [options] -- COMMAND ARGS…")
  return {
    kind: 'serve',
    port,
    host,
    sessions,
    bearerFile: values['bearer-file'],
    instance: values.instance,
    tlsFolder: values['tls-folder'],
    metricsPort: values['metrics-port'] === undefined ? undefined : Number(values['metrics-port']),
    startTimeoutMs,
    drainMs,
    idleAfterMs,
    name,
    startFile: values['start-file'],
    command,
    env,
    secrets: secretsOf(env),
    terminationLog: values['termination-log'],
  }
}

function isPort(text: string): boolean {
  const port = Number(text)
  return Number.isInteger(port) && port >= 0 && port <= 65_535
}

function readProbe(url: string, timeout: string): BridgeConfig {
  const timeoutMs = parseDuration(timeout)
  if (!URL.canParse(url)) return problem(`--probe ${url} is not a URL`)
  if (!(timeoutMs > 0)) return problem('--timeout must be a duration, such as 5s')
  return { kind: 'probe', url, timeoutMs }
}

function readInstall([kind, name, ...more]: string[], values: Values, env: Env): BridgeConfig {
  if ((kind !== 'npm' && kind !== 'pypi') || !name || more.length > 0)
    return problem('install takes npm or pypi, and one package')
  if (!values.into) return problem('install requires --into DIR')
  const { version, bin, registry } = values
  if (registry !== undefined && !URL.canParse(registry)) return problem(`--registry ${registry} is not a URL`)
  return {
    kind: 'install',
    source: { kind, package: name, version, bin },
    registry,
    integrityFile: values['integrity-file'],
    into: values.into,
    keep: values.keep,
    env,
    secrets: secretsOf(env),
    terminationLog: values['termination-log'],
  }
}

function readDeliver([into, ...more]: string[], from: string): BridgeConfig {
  return into && more.length === 0 ? { kind: 'deliver', from, into } : problem('deliver takes one folder')
}

function problem(message: string): BridgeConfig {
  return { kind: 'problem', message }
}

function environment(env: NodeJS.ProcessEnv): Env {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function secretsOf(env: Env): string[] {
  return Object.entries(env).flatMap(([name, value]) => (SECRET_NAME.test(name) ? [value] : []))
}
