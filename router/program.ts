/** The router as a program in a cluster, fed by the Kubernetes API or, as a sidecar, by its gateway. */
import { readFile } from 'node:fs/promises'
import { systemClock } from '../core/async.ts'
import { Fault, messageOf } from '../core/errors.ts'
import { KubeClient } from '../core/kube/client.ts'
import { findAccess } from '../core/kube/config.ts'
import type { SecretValues } from '../core/kube/secret.ts'
import { Transport } from '../core/kube/transport.ts'
import { onShutdown } from '../core/lifecycle.ts'
import { createLog, type Log } from '../core/log.ts'
import { createConnector } from '../core/mcp/client/connector.ts'
import { openTracing } from '../core/tracing.ts'
import { createServiceAccounts, type ServiceAccounts } from './access/service-accounts.ts'
import { type RouterSettings, routerSettings } from './config.ts'
import { type Authenticator, createAuthenticator } from './http/service-account.ts'
import { type Router, type RouterOptions, startRouter } from './router.ts'
import { openEmbedded } from './semantic/embedded.ts'
import { createGatewaySource } from './source/gateway-source.ts'
import { createKubernetesSource } from './source/kubernetes-source.ts'

/** The pod's termination grace period is 45 s, and its preStop hook takes 5 s of it. */
const DRAIN_MS = 25_000
const LINGER_MS = 2_000
/** The admin port is called from outside the pod: by kubelet, the operator, Prometheus and sidecars. */
const ADMIN_HOST = '0.0.0.0'
const AUDIENCE = 'portolan'
const MIN_KEY_BYTES = 16

/**
 * Runs the router until a signal stops it, then resolves with exit code 0. Resolves at once with 1 if the router cannot start, and
 * with 2 if its environment is invalid.
 */
export async function runRouter(process: {
  env: Readonly<Record<string, string | undefined>>
}): Promise<number> {
  const { settings, problems } = routerSettings(process)
  if (!settings) {
    createLog().fatal({ problems }, 'the environment is not valid')
    return 2
  }
  const log = createLog({ level: settings.logLevel })
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
  const feeding = settings.catalog
    ? feedByGateway(settings.catalog, log)
    : await feedByKubernetes(settings, log)
  const { source, connect, missing, secret, accounts, authenticate } = feeding
  const life = new AbortController()
  const tracing = await openTracing(settings.tracing, 'portolan-router', log)
  const router = await startRouter({
    source,
    connect,
    host,
    port,
    log,
    address: settings.podAddress,
    sessionKey: sessionKeyFile === undefined ? undefined : await readKey(sessionKeyFile),
    allowedHosts,
    debugStatus: debug ? () => ({ pod }) : undefined,
    semantic: {
      openEmbedded: onLost => openEmbedded({ modelFile, onLost }),
      encodesDocuments: false,
      secret: ({ name, key }) => secret(name)?.[key]?.trim(),
    },
    admin: { host: ADMIN_HOST, port: adminPort, pod, gateway, missing, authenticate },
    credentials: { secret, accounts },
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
      await router.close(DRAIN_MS - LINGER_MS)
      life.abort()
      await running
      await Promise.all([feeding.close(), tracing?.close()])
    },
  }
}

type Feeding = Pick<RouterOptions, 'source' | 'connect'> & {
  missing: () => string[]
  secret: (name: string) => SecretValues | undefined
  accounts?: ServiceAccounts
  authenticate?: Authenticator
  run(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

async function feedByKubernetes({ gateway, namespace: named }: RouterSettings, log: Log): Promise<Feeding> {
  const clock = systemClock
  const access = await findAccess()
  const namespace = named ?? access.namespace
  const client = new KubeClient(access)
  // Reads the API server's public keys: they are no Kubernetes object, and their media type is not application/json.
  const transport = new Transport(access)
  const read = async (path: string): Promise<unknown> =>
    JSON.parse(await transport.send({ method: 'GET', path, accept: '*/*' }))
  const accounts = createServiceAccounts({ read, clock })
  const source = createKubernetesSource({ client, namespace, gateway, log })
  return {
    source,
    connect: createConnector({ secret: source.secret, clock }),
    missing: source.missing,
    secret: source.secret,
    accounts,
    authenticate: createAuthenticator({ accounts, audience: AUDIENCE, namespace, log, clock }),
    run: source.run,
    async close() {
      await Promise.all([client.close(), transport.close()])
    },
  }
}

function feedByGateway({ url, tokenFile }: NonNullable<RouterSettings['catalog']>, log: Log): Feeding {
  const token = async () => (await readFile(tokenFile, 'utf8')).trim()
  const source = createGatewaySource({ url, token, log })
  const secret = () => undefined
  return {
    source,
    connect: createConnector({ secret, gateway: { url, token }, clock: systemClock }),
    secret,
    missing: source.missing,
    run: source.run,
    close: async () => {},
  }
}

async function readKey(file: string): Promise<Buffer> {
  const key = await readFile(file).catch(cause => {
    throw new Fault('io', `The session key cannot be read: ${messageOf(cause)}`, { cause })
  })
  if (key.length < MIN_KEY_BYTES)
    throw new Fault('io', `The session key in ${file} is shorter than ${MIN_KEY_BYTES} bytes`)
  return key
}
