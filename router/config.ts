/** Reads the settings of a router in a cluster from the PORTOLAN_* environment variables set by the operator or the sidecar policy. */
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import * as z from 'zod'
import { modelFileOf } from '../core/encoder/model-place.ts'
import type { LogLevel } from '../core/log.ts'
import { type TracingChoice, tracingSettings } from '../core/tracing.ts'

export type RouterSettings = {
  gateway: string
  /** Default: the namespace of the pod's ServiceAccount. */
  namespace?: string
  pod: string
  /** IP address at which other replicas reach this one; absent in a sidecar, which has no replicas. */
  podAddress?: string
  /** Address of the port for agents. The admin port always listens on all addresses because probes come from outside the pod. */
  host: string
  port: number
  adminPort: number
  allowedHosts: string[]
  sessionKeyFile?: string
  /** Path of the embedded encoder's model; the file may be missing. */
  modelFile: string
  debug: boolean
  logLevel: LogLevel
  tracing: TracingChoice
  /** Set in a sidecar: the gateway's admin port, and the file with the token to present there. */
  catalog?: { url: string; tokenFile: string }
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/
const TOKEN_FILE = '/var/run/portolan/token/token'

const port = (standard: number) =>
  z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(0, 'must be at least 0')
    .max(65_535, 'must be at most 65535')
    .default(standard)

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
  PORTOLAN_HOST: z.string().default('0.0.0.0'),
  PORTOLAN_PORT: port(8080),
  PORTOLAN_ADMIN_PORT: port(8081),
  PORTOLAN_ALLOWED_HOSTS: z.string().default('*'),
  PORTOLAN_SESSION_KEY_FILE: z.string().optional(),
  PORTOLAN_DEBUG: z.enum(['true', 'false', '1', '0'], 'must be true or false').default('false'),
  PORTOLAN_LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  PORTOLAN_CATALOG_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
    .optional(),
  PORTOLAN_TOKEN_FILE: z.string().default(TOKEN_FILE),
})

/** Returns the settings, or one sentence for each invalid variable. Empty variables count as absent. */
export function routerSettings({
  env,
}: {
  env: Readonly<Record<string, string | undefined>>
}): { settings: RouterSettings; problems?: undefined } | { settings?: undefined; problems: string[] } {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  )
  const { success, data, error } = envSchema.safeParse(given)
  if (!success) return { problems: error.issues.map(({ path, message }) => `${path.join('.')} ${message}`) }
  const url = data.PORTOLAN_CATALOG_URL?.replace(/\/+$/, '')
  return {
    settings: {
      gateway: data.PORTOLAN_GATEWAY,
      namespace: data.PORTOLAN_NAMESPACE,
      pod: data.PORTOLAN_POD,
      podAddress: data.PORTOLAN_POD_IP,
      host: data.PORTOLAN_HOST,
      port: data.PORTOLAN_PORT,
      adminPort: data.PORTOLAN_ADMIN_PORT,
      allowedHosts: data.PORTOLAN_ALLOWED_HOSTS.split(',')
        .map(name => name.trim())
        .filter(Boolean),
      sessionKeyFile: data.PORTOLAN_SESSION_KEY_FILE,
      modelFile: modelFileOf(env),
      debug: data.PORTOLAN_DEBUG === 'true' || data.PORTOLAN_DEBUG === '1',
      logLevel: data.PORTOLAN_LOG_LEVEL,
      tracing: tracingSettings(env),
      catalog: url === undefined ? undefined : { url, tokenFile: data.PORTOLAN_TOKEN_FILE },
    },
  }
}
