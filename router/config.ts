/** Reads the settings of a router in a cluster from the PORTOLAN_* environment variables set by the operator or the sidecar policy. */

import { isIP } from 'node:net'
import { hostname } from 'node:os'
import * as z from 'zod'
import { ANY_ADDRESS } from '../core/addresses.ts'
import { type Clock, systemClock } from '../core/async.ts'
import { modelFileOf } from '../core/encoder/model-place.ts'
import { Fault } from '../core/errors.ts'
import { isAddressRange } from '../core/host-guard.ts'
import { apiServerAddresses } from '../core/kube/api-server-addresses.ts'
import type { LogLevel } from '../core/log.ts'
import type { RemoteRules } from '../core/mcp/client/remote-guard.ts'
import { clusterProxies, type ProxyFor } from '../core/proxies.ts'
import { type TracingChoice, tracingSettings } from '../core/tracing.ts'
import { areCertificates, NO_CERTIFICATES } from '../core/trusted-certificates.ts'
import { MAX_DURATION_MS, parseDuration } from '../crds/quantity.ts'

export type RouterSettings = {
  gateway: string
  /** Default: the namespace of the pod's ServiceAccount. */
  namespace?: string
  pod: string
  /** IP address at which other replicas reach this one; absent in a sidecar, which has no replicas. */
  podAddress?: string
  /** DNS name of the admin ports of this gateway's routers; absent in a sidecar. */
  peers?: string
  /** How long calls in flight may take to end after a signal. */
  drainMs: number
  /** Certificate authorities that are trusted besides the usual ones, in PEM. */
  trustedCertificates?: string
  /** Address of the port for agents. The admin port always listens on all addresses because probes come from outside the pod. */
  host: string
  port: number
  adminPort: number
  allowedHosts: string[]
  sessionKeyFile?: string
  /** The key that seals logins of users; absent in a sidecar, at which nobody logs in. */
  loginKeyFile?: string
  /** Which addresses remote servers, issuers and embeddings services may have. */
  remotes: RemoteRules
  /** Path of the embedded encoder's model; the file may be missing. */
  modelFile: string
  debug: boolean
  logLevel: LogLevel
  tracing: TracingChoice
  /** ServiceAccount of the operator that may ask for the console's data; absent: nobody may. */
  consoleAccount?: { namespace: string; name: string }
  /** Set in a sidecar: the gateway's admin port, and the file with the token to present there. */
  catalog?: { url: string; tokenFile: string }
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/
const MIN_DRAIN_MS = 5_000
const TOKEN_FILE = '/var/run/portolan/token/token'

const port = (standard: number) =>
  z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(0, 'must be at least 0')
    .max(65_535, 'must be at most 65535')
    .default(standard)

const list = z
  .string()
  .default('')
  .transform(text => text.split(',').flatMap(word => word.trim() || []))

const envSchema = z.object({
  PORTOLAN_GATEWAY: z
    .string('is required: the name of the McpGateway')
    .regex(DNS_LABEL, 'must be the name of an McpGateway'),
  PORTOLAN_NAMESPACE: z.string().regex(DNS_LABEL, 'must be the name of a namespace').optional(),
  PORTOLAN_POD: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{0,252}$/, 'must be the name of a pod')
    .default(() => hostname().toLowerCase()),
  PORTOLAN_POD_IP: z
    .string()
    .refine(text => isIP(text) !== 0, 'must be an IP address')
    .optional(),
  PORTOLAN_PEERS: z.string().optional(),
  PORTOLAN_DRAIN: z
    .string()
    .default('25s')
    .transform(parseDuration)
    .refine(ms => ms >= MIN_DRAIN_MS && ms <= MAX_DURATION_MS, 'must be a duration from 5s to 168h'),
  PORTOLAN_TRUSTED_CERTIFICATES: z.string().refine(areCertificates, NO_CERTIFICATES).optional(),
  PORTOLAN_PROXY_USERNAME: z.string().optional(),
  PORTOLAN_PROXY_PASSWORD: z.string().optional(),
  PORTOLAN_HOST: z.string().default(ANY_ADDRESS),
  PORTOLAN_PORT: port(8080),
  PORTOLAN_ADMIN_PORT: port(8081),
  PORTOLAN_ALLOWED_HOSTS: list.prefault('*'),
  PORTOLAN_SESSION_KEY_FILE: z.string().optional(),
  PORTOLAN_LOGIN_KEY_FILE: z.string().optional(),
  PORTOLAN_REMOTE_HOSTS: list,
  PORTOLAN_REFUSED_ADDRESSES: list.refine(ranges => ranges.every(isAddressRange), {
    error: 'must be addresses and subnets separated by commas, such as 10.0.0.0/8',
  }),
  KUBERNETES_SERVICE_HOST: z.string().optional(),
  PORTOLAN_DEBUG: z.enum(['true', 'false', '1', '0'], 'must be true or false').default('false'),
  PORTOLAN_LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  PORTOLAN_CONSOLE_ACCOUNT: z
    .string()
    .regex(
      /^[^/]+\/[^/]+$/,
      'must be the namespace and the name of a ServiceAccount, such as portolan-system/portolan',
    )
    .transform(text => {
      const [namespace = '', name = ''] = text.split('/')
      return { namespace, name }
    })
    .optional(),
  PORTOLAN_CATALOG_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
    .optional(),
  PORTOLAN_TOKEN_FILE: z.string().default(TOKEN_FILE),
})

type Read = { settings: RouterSettings; problems?: undefined } | { settings?: undefined; problems: string[] }

/** Resolves with the settings, or with one sentence for each invalid variable. Empty variables count as absent. */
export async function routerSettings(
  { env }: { env: Readonly<Record<string, string | undefined>> },
  clock: Clock = systemClock,
): Promise<Read> {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  )
  const { success, data, error } = envSchema.safeParse(given)
  if (!success) return { problems: error.issues.map(({ path, message }) => `${path.join('.')} ${message}`) }
  const proxies = proxiesOf(env, {
    username: data.PORTOLAN_PROXY_USERNAME,
    password: data.PORTOLAN_PROXY_PASSWORD,
  })
  if ('problem' in proxies) return { problems: [proxies.problem] }
  const apiServer = await addressesOf(data.KUBERNETES_SERVICE_HOST, clock)
  if ('problem' in apiServer) return { problems: [apiServer.problem] }
  const url = data.PORTOLAN_CATALOG_URL?.replace(/\/+$/, '')
  return {
    settings: {
      gateway: data.PORTOLAN_GATEWAY,
      namespace: data.PORTOLAN_NAMESPACE,
      pod: data.PORTOLAN_POD,
      podAddress: data.PORTOLAN_POD_IP,
      peers: data.PORTOLAN_PEERS,
      drainMs: data.PORTOLAN_DRAIN,
      trustedCertificates: data.PORTOLAN_TRUSTED_CERTIFICATES,
      host: data.PORTOLAN_HOST,
      port: data.PORTOLAN_PORT,
      adminPort: data.PORTOLAN_ADMIN_PORT,
      allowedHosts: data.PORTOLAN_ALLOWED_HOSTS,
      sessionKeyFile: data.PORTOLAN_SESSION_KEY_FILE,
      loginKeyFile: data.PORTOLAN_LOGIN_KEY_FILE,
      remotes: {
        remoteHosts: data.PORTOLAN_REMOTE_HOSTS,
        refusedAddresses: [...apiServer.addresses, ...data.PORTOLAN_REFUSED_ADDRESSES],
        ...proxies,
      },
      modelFile: modelFileOf(env),
      debug: data.PORTOLAN_DEBUG === 'true' || data.PORTOLAN_DEBUG === '1',
      logLevel: data.PORTOLAN_LOG_LEVEL,
      tracing: tracingSettings(env),
      consoleAccount: data.PORTOLAN_CONSOLE_ACCOUNT,
      catalog: url === undefined ? undefined : { url, tokenFile: data.PORTOLAN_TOKEN_FILE },
    },
  }
}

/** The addresses of the API server, or what is wrong with its variable. */
async function addressesOf(
  host: string | undefined,
  clock: Clock,
): Promise<{ problem: string } | { addresses: string[] }> {
  try {
    return { addresses: await apiServerAddresses(host, clock) }
  } catch (error) {
    if (error instanceof Fault) return { problem: error.message }
    throw error
  }
}

/** The proxies for remote servers, or what is wrong with their variables. */
function proxiesOf(
  env: Readonly<Record<string, string | undefined>>,
  credentials: Parameters<typeof clusterProxies>[1],
): { problem: string } | { proxyFor?: ProxyFor } {
  try {
    const proxyFor = clusterProxies(env, credentials)
    return proxyFor ? { proxyFor } : {}
  } catch (error) {
    if (error instanceof Fault) return { problem: error.message }
    throw error
  }
}
