/** Runs one command of the bridge, from its arguments to its exit code. */
import { cp } from 'node:fs/promises'
import { systemClock } from '../core/async.ts'
import { Fault, messageOf } from '../core/errors.ts'
import { onShutdown } from '../core/lifecycle.ts'
import { createLog, type Log } from '../core/log.ts'
import { harmless, secretLines } from '../core/mcp/client/stdio/harmless.ts'
import { startBridge } from './bridge.ts'
import { type BridgeConfig, readConfig, type ServeConfig, USAGE } from './config.ts'
import { install, readStart } from './install.ts'
import { memoryKills } from './out-of-memory.ts'
import { probe } from './probe.ts'
import { type TerminationMessage, writeReport, writeTermination } from './termination.ts'

const USAGE_EXIT = 2
/** Reported if the kernel killed the server but not the bridge: the kubelet then does not report OOMKilled itself. */
const OUT_OF_MEMORY = {
  reason: 'OOMKilled',
  message: 'The server ran out of memory: raise spec.pod.resources.limits.memory',
}

/** Resolves with the exit code when the command has ended. `serve` ends only by giving up: a termination signal ends the process itself. */
export async function runBridge(args: readonly string[], process: NodeJS.Process): Promise<number> {
  const config = readConfig(args, process)
  const print = (text: string) => process.stderr.write(`${text}\n`)
  switch (config.kind) {
    case 'problem':
      print(`error: ${config.message}\n${USAGE}`)
      return USAGE_EXIT
    case 'probe': {
      const why = await probe(config.url, config.timeoutMs)
      if (why !== undefined) print(`not alive: ${why}`)
      return why === undefined ? 0 : 1
    }
    case 'deliver':
      await cp(config.from, config.into, { recursive: true, verbatimSymlinks: true })
      return 0
    case 'install':
      return runInstall(config, process, print)
    case 'serve':
      return runServe(config)
  }
}

async function runInstall(
  config: Extract<BridgeConfig, { kind: 'install' }>,
  process: NodeJS.Process,
  print: (text: string) => void,
): Promise<number> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  process.once('SIGTERM', stop)
  try {
    const { version, record, isKept } = await install({ ...config, signal: stopping.signal })
    if (record) await writeReport(config, record)
    print(`${isKept ? 'already installed:' : 'installed'} ${config.source.package} ${version}`)
    return 0
  } catch (error) {
    const [sentence = '', ...lines] = messageOf(error).split('\n')
    // The output of the installer may name credentials of a private registry, and logs of pods are kept elsewhere.
    const hidden = secretLines(config.secrets)
    for (const line of [sentence, ...lines]) print(harmless(line, hidden))
    await writeTermination(config, { reason: reasonOf(error), message: sentence, lines })
    return 1
  } finally {
    process.off('SIGTERM', stop)
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Fault && typeof error.details.reason === 'string'
    ? error.details.reason
    : 'InstallFailed'
}

async function runServe(config: ServeConfig): Promise<number> {
  const log = createLog().child({ server: config.name })
  const failure = await serveUntilFailure(config, log)
  log.fatal({ reason: failure.reason }, failure.message)
  await writeTermination(config, failure)
  return 1
}

/** Resolves when the bridge gives up, with the reason. A termination signal ends the process before that. */
async function serveUntilFailure(config: ServeConfig, log: Log): Promise<TerminationMessage> {
  const { startFile, command: given, env, secrets, startTimeoutMs } = config
  const killsBefore = await memoryKills()
  try {
    const installed = startFile === undefined ? undefined : await readStart(startFile)
    const [command = '', ...args] = installed ? [installed.command, ...installed.args, ...given] : given
    const spec = { command, args, env, secrets, startTimeoutMs }
    const bridge = await startBridge({ ...config, command: spec }, { clock: systemClock, log })
    const release = onShutdown(() => bridge.close(config.drainMs))
    const { reason, message, stderr } = await bridge.gaveUp
    release()
    await bridge.close(0)
    const isOutOfMemory = (await memoryKills()) > killsBefore
    return isOutOfMemory ? { ...OUT_OF_MEMORY, lines: stderr } : { reason, message, lines: stderr }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { reason: 'StartFailed', message: error.message, lines: [] }
  }
}
