/** The operator as a process: from its environment to its exit code. */

import { systemClock } from '../core/async.ts'
import { readConsolePage } from '../core/console/page.ts'
import { createEmbeddedEncoder } from '../core/encoder/embedded.ts'
import { Fault, messageOf } from '../core/errors.ts'
import type { Access } from '../core/kube/access.ts'
import { apiServerAddresses } from '../core/kube/api-server-addresses.ts'
import { KubeClient } from '../core/kube/client.ts'
import { findAccess } from '../core/kube/config.ts'
import { LEASE_REQUEST_TIMEOUT_MS } from '../core/kube/lease.ts'
import { onShutdown } from '../core/lifecycle.ts'
import { createLog, type Log } from '../core/log.ts'
import { openTracing } from '../core/tracing.ts'
import { trustCertificates } from '../core/trusted-certificates.ts'
import { type OperatorConfig, readConfig } from './config.ts'
import { createControllers } from './controllers/controllers.ts'
import { startOperator } from './operator.ts'

/** How long handles that are still open after shutdown may delay the exit. */
const EXIT_LIMIT_MS = 5_000

type Config = OperatorConfig & { apiServer: readonly string[] }

/**
 * Runs until a signal stops it. Resolves with the exit code: 0 after a signal, 1 if it can no longer work (for example after it lost
 * its lease), 2 if its configuration is invalid.
 */
export async function runOperator(process: NodeJS.Process): Promise<number> {
  let config: Config
  let access: Access
  try {
    const read = readConfig(process)
    const apiServer = await apiServerAddresses(read.apiServerHost, systemClock)
    config = { ...read, apiServer }
    access = await findAccess()
  } catch (error) {
    createLog().fatal(error instanceof Fault ? {} : { err: error }, messageOf(error))
    return 2
  }
  const { trustedCertificates } = config.settings
  if (trustedCertificates !== undefined) trustCertificates(trustedCertificates)
  const log = createLog({ level: config.logLevel })
  const client = new KubeClient(access)
  const leaseClient = new KubeClient(access, { timeoutMs: LEASE_REQUEST_TIMEOUT_MS })
  try {
    await run(config, access, client, leaseClient, log)
    return 0
  } catch (error) {
    log.fatal(error instanceof Fault ? { error: messageOf(error) } : { err: error }, 'operator ended')
    systemClock.after(EXIT_LIMIT_MS, () => process.exit(1))
    return 1
  } finally {
    await Promise.all([client.close(), leaseClient.close()])
  }
}

async function run(
  config: Config,
  access: Access,
  client: KubeClient,
  leaseClient: KubeClient,
  log: Log,
): Promise<void> {
  const {
    settings,
    namespace = access.namespace,
    modelFile,
    tracing: tracingConfig,
    console,
    ...rest
  } = config
  const page = console && (await readConsolePage())
  const tracing = await openTracing(tracingConfig, 'portolan-operator', log)
  const openEncoder = () =>
    createEmbeddedEncoder({
      modelFile,
      unavailable: reason => log.warn({ reason }, 'no sentence encoder: search matches words only'),
    })
  const all = { ...rest, settings: { ...settings, namespace }, client, leaseClient, openEncoder }
  const { tracer } = tracing ?? {}
  const consoleWithPage = console && page && { ...console, page }
  const operator = await startOperator({
    ...all,
    console: consoleWithPage,
    createControllers,
    log,
    tracer,
    clock: systemClock,
  })
  log.info(
    {
      ...{ namespace, pod: config.pod, port: operator.port, watched: config.namespaces },
      console: operator.consolePort,
    },
    'operator started',
  )
  const forget = onShutdown(() => operator.stop())
  try {
    await operator.ended
  } finally {
    forget()
    await tracing?.close()
  }
}
