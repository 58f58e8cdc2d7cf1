/** The router as a program in a cluster, fed by the Kubernetes API or, as a sidecar, by its gateway. */

import { readFile } from 'node:fs/promises'
import { ANY_ADDRESS } from '../core/addresses.ts'
import { systemClock } from '../core/async.ts'
import { Fault, messageOf } from '../core/errors.ts'
import { KubeClient } from '../core/kube/client.ts'
import { findAccess } from '../core/kube/config.ts'
import type { SecretValues } from '../core/kube/secret.ts'
import { onShutdown } from '../core/lifecycle.ts'
import { createLog, type Log } from '../core/log.ts'
import { createConnector } from '../core/mcp/client/connector.ts'
import { createRemoteGuard } from '../core/mcp/client/remote-guard.ts'
import { openTracing } from '../core/tracing.ts'
import { trustCertificates } from '../core/trusted-certificates.ts'
import { connectServiceAccounts } from './access/cluster-accounts.ts'
import type { ServiceAccounts } from './access/service-accounts.ts'
import { type RouterSettings, routerSettings } from './config.ts'
import { originAt } from './http/owner.ts'
import { createPeers } from './http/peers.ts'
import {
  type Authenticator,
  createAuthenticator,
  createOperatorAuthenticator,
} from './http/service-account.ts'
import { type ClusterLogins, createClusterLogins } from './logins/cluster-logins.ts'
import { type Router, type RouterOptions, startRouter } from './router.ts'
import { openEmbedded } from './semantic/embedded.ts'
import { createGatewaySource } from './source/gateway-source.ts'
import { createKubernetesSource } from './source/kubernetes-source.ts'

/** How long a closing router still accepts requests; see RouterOptions.lingerMs. */
const LINGER_MS = 2_000
/** The admin port is called from outside the pod: by kubelet, the operator, Prometheus and sidecars. */
const ADMIN_HOST = ANY_ADDRESS
const AUDIENCE = 'portolan'
const MIN_KEY_BYTES = 16

/**
 * Runs the router until a signal stops it, then resolves with exit code 0. Resolves at once with 1 if the router cannot start, and
 * with 2 if its environment is invalid.
 */
export async function runRouter(process: {
  env: Readonly<Record<string, string | undefined>>
}): Promise<number> {
  const { settings, problems } = await routerSettings(process)
  if (!settings) {
    createLog().fatal({ problems }, 'the environment is not valid')
    return 2
  }
  const log = createLog({ level: settings.logLevel })
  if (settings.trustedCertificates !== undefined) trustCertificates(settings.trustedCertificates)
  try {
    const { close } = await startProgram(settings, log)
    return await new Promise(resolve =>
      onShutdown(async reason => {
        log.info({ reason }, 'router ends')
        await close()
        resolve(0)
      }),
    )
  } catch (error) {
    log.fatal(error instanceof Fault ? { error: error.message } : { err: error }, 'the router cannot start')
    return 1
  }
}

export type RunningRouter = { router: Router; close(): Promise<void> }

/** Resolves once the ports are open. Throws if the router cannot start. */
async function startProgram(settings: RouterSettings, log: Log): Promise<RunningRouter> {
  const { gateway, pod, host, port, adminPort, allowedHosts, debug, sessionKeyFile, modelFile } = settings
  const { podAddress: address, peers: name, trustedCertificates, remotes } = settings
  const feeding = settings.catalog
    ? feedByGateway(settings.catalog, settings, log)
    : await feedByKubernetes(settings, log)
  const { source, connect, missing, stale, secret, accounts, authenticate, operator } = feeding
  const life = new AbortController()
  const tracing = await openTracing(settings.tracing, 'portolan-router', log)
  const router = await startRouter({
    source,
    connect,
    host,
    port,
    log,
    address,
    sessionKey: sessionKeyFile === undefined ? undefined : await readKey(sessionKeyFile),
    allowedHosts,
    ready: () => {
      const reason = stale?.()
      return reason === undefined ? { ready: true } : { ready: false, reason }
    },
    debugStatus: debug ? () => ({ pod }) : undefined,
    semantic: {
      openEmbedded: onLost => openEmbedded({ modelFile, onLost }),
      encodesDocuments: false,
      hosts: createRemoteGuard(settings.remotes),
      secret: ({ name, key }) => secret(name)?.[key]?.trim(),
    },
    admin: {
      ...{ host: ADMIN_HOST, port: adminPort, pod, gateway, missing, stale, authenticate },
      console: operator,
      peers:
        name === undefined ? undefined : createPeers({ name, port: adminPort, own: address }, systemClock),
      own: address === undefined ? undefined : originAt(address, adminPort),
      logins: feeding.logins,
      callsForSidecars: url => trustedCertificates !== undefined || remotes.proxyFor?.(url) !== undefined,
    },
    credentials: { secret, accounts, remotes: settings.remotes },
    logins: feeding.logins?.host,
    lingerMs: LINGER_MS,
    tracer: tracing?.tracer,
  })
  const running = feeding.run(life.signal)
  log.info(
    { gateway, pod, port: router.address.port, adminPort: router.adminAddress?.port },
    'router listens',
  )
  return {
    router,
    async close() {
      await router.close(settings.drainMs - LINGER_MS)
      life.abort()
      await running
      await Promise.all([feeding.close(), tracing?.close()])
    },
  }
}

/** The source of a router, and what else depends on whether Kubernetes or a gateway feeds it. */
type Feeding = Pick<RouterOptions, 'source' | 'connect'> & {
  missing: () => string[]
  stale?: () => string | undefined
  secret: (name: string) => SecretValues | undefined
  accounts?: ServiceAccounts
  logins?: ClusterLogins
  authenticate?: Authenticator
  /** Checks whether a token is the operator's. */
  operator?: Authenticator
  run(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

async function feedByKubernetes(
  { gateway, namespace: named, remotes, consoleAccount, loginKeyFile }: RouterSettings,
  log: Log,
): Promise<Feeding> {
  const clock = systemClock
  const access = await findAccess()
  const namespace = named ?? access.namespace
  const client = new KubeClient(access)
  const { accounts, close } = connectServiceAccounts(access, { clock, log })
  const source = createKubernetesSource({ client, namespace, gateway, log })
  const { secret } = source
  const key = loginKeyFile === undefined ? undefined : await readKey(loginKeyFile)
  const logins = key && createClusterLogins({ key, secret, remotes, clock, log })
  return {
    source,
    connect: createConnector({ secret, clock, guard: createRemoteGuard(remotes), logins: logins?.tokens }),
    logins,
    missing: source.missing,
    stale: source.stale,
    secret,
    accounts,
    authenticate: createAuthenticator({ accounts, audience: AUDIENCE, namespace, log, clock }),
    operator: consoleAccount && createOperatorAuthenticator({ accounts, ...consoleAccount, log, clock }),
    run: source.run,
    async close() {
      await Promise.all([client.close(), close()])
    },
  }
}

function feedByGateway(
  { url, tokenFile }: NonNullable<RouterSettings['catalog']>,
  { remotes }: RouterSettings,
  log: Log,
): Feeding {
  const guard = createRemoteGuard(remotes)
  const token = async () => (await readFile(tokenFile, 'utf8')).trim()
  const source = createGatewaySource({ url, token, log })
  const secret = () => undefined
  return {
    source,
    connect: createConnector({ secret, gateway: { url, token }, clock: systemClock, guard }),
    secret,
    missing: source.missing,
    run: source.run,
    close: async () => {},
  }
}

/** Throws Fault `io` if the key cannot be read or is too short. */
async function readKey(file: string): Promise<Buffer> {
  const key = await readFile(file).catch(cause => {
    throw new Fault('io', `A key cannot be read: ${messageOf(cause)}`, { cause })
  })
  if (key.length < MIN_KEY_BYTES)
    throw new Fault('io', `The key in ${file} is shorter than ${MIN_KEY_BYTES} bytes`)
  return key
}
