/** The operator's configuration from environment variables, which the chart sets. */
import { hostname } from 'node:os'
import * as z from 'zod'
import { modelFileOf } from '../core/encoder/model-place.ts'
import { Fault } from '../core/errors.ts'
import { isObject } from '../core/json.ts'
import type { LogLevel } from '../core/log.ts'
import { type TracingChoice, tracingSettings } from '../core/tracing.ts'
import { parseDuration } from '../crds/quantity.ts'
import type { OperatorSettings, Resources } from './plan/settings.ts'
import type { Namespaces } from './runtime/cache.ts'

/*
 * PORTOLAN_MODEL                  file of the sentence encoder                                (beside the program)
 * PORTOLAN_NAMESPACE              the operator's own namespace, which holds its Lease         (that of its ServiceAccount)
 * PORTOLAN_POD                    name of its pod, shown in the Lease and in events           (the host's name)
 * PORTOLAN_WATCH_NAMESPACES       namespaces to serve, separated by commas                    (all)
 * PORTOLAN_IMAGE                  image of Portolan for routers, sidecars and bridges         required
 * PORTOLAN_IMAGE_PULL_POLICY      Always, IfNotPresent or Never                               (IfNotPresent)
 * PORTOLAN_IMAGE_PULL_SECRETS     Secrets in the pods' namespaces, separated by commas        (none)
 * PORTOLAN_DELIVERY               initContainer or imageVolume                                (initContainer)
 * PORTOLAN_NPM_IMAGE              image that npm servers run in                               (node:24-bookworm-slim)
 * PORTOLAN_NPM_REGISTRY           registry of packages whose manifest names none              (the image's own)
 * PORTOLAN_PYPI_IMAGE             image that PyPI servers run in                              (python:3.13-slim-bookworm)
 * PORTOLAN_PYPI_INDEX             index of packages whose manifest names none                 (the image's own)
 * PORTOLAN_NETWORK_POLICIES       whether NetworkPolicies are written: true or false          (true)
 * PORTOLAN_RESOURCES              JSON {server, router, install: {requests, limits}}          (none)
 * PORTOLAN_RESYNC                 how often every server and gateway is reconciled            (10m)
 * PORTOLAN_DISCOVERY_CONCURRENCY  how many servers are asked for their lists at once          (16)
 * PORTOLAN_LOG_LEVEL              trace, debug, info, warn, error or fatal                    (info)
 * PORTOLAN_PORT                   port of /healthz, /readyz and /metrics                      (8080)
 * OTEL_*                          where traces are sent and their sampling, see core/tracing.ts; passed on to routers
 */
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const MIN_RESYNC_MS = 1_000
const MAX_DISCOVERY_CONCURRENCY = 256

export type OperatorConfig = {
  settings: Omit<OperatorSettings, 'namespace'>
  /** Default: the namespace of the credentials. */
  namespace?: string
  pod: string
  namespaces: Namespaces
  resyncMs: number
  discoveryConcurrency: number
  /** The sentence encoder's file; it may be missing. */
  modelFile: string
  logLevel: LogLevel
  tracing: TracingChoice
  port: number
}

/** Throws Fault `bad_request`, which names every invalid variable. */
export function readConfig({ env }: { env: NodeJS.ProcessEnv }): OperatorConfig {
  // Charts set values that are not given to empty strings.
  const given = Object.entries(env).filter(([name, value]) => name.startsWith('PORTOLAN_') && value !== '')
  const parsed = variables.safeParse(Object.fromEntries(given))
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) => `${String(path[0])} ${message}`)
    throw new Fault('bad_request', `The operator cannot start: ${wrong.join('; ')}`)
  }
  const set = parsed.data
  const tracing = tracingSettings(env)
  return {
    settings: {
      image: set.PORTOLAN_IMAGE,
      imagePullPolicy: set.PORTOLAN_IMAGE_PULL_POLICY,
      imagePullSecrets: set.PORTOLAN_IMAGE_PULL_SECRETS,
      delivery: set.PORTOLAN_DELIVERY,
      npm: { image: set.PORTOLAN_NPM_IMAGE, registry: set.PORTOLAN_NPM_REGISTRY },
      pypi: { image: set.PORTOLAN_PYPI_IMAGE, index: set.PORTOLAN_PYPI_INDEX },
      networkPolicies: set.PORTOLAN_NETWORK_POLICIES,
      resources: set.PORTOLAN_RESOURCES,
      routerTracing: tracing.settings ? tracingEnv(env) : {},
    },
    namespace: set.PORTOLAN_NAMESPACE,
    pod: set.PORTOLAN_POD ?? hostname(),
    namespaces: set.PORTOLAN_WATCH_NAMESPACES.length > 0 ? set.PORTOLAN_WATCH_NAMESPACES : 'all',
    resyncMs: set.PORTOLAN_RESYNC,
    discoveryConcurrency: set.PORTOLAN_DISCOVERY_CONCURRENCY,
    modelFile: modelFileOf(env),
    logLevel: set.PORTOLAN_LOG_LEVEL,
    tracing,
    port: set.PORTOLAN_PORT,
  }
}

/** Tracing variables without secrets: these go into the routers' pod templates. */
const PASSED_ON = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
]

function tracingEnv(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(PASSED_ON.flatMap(name => (env[name] ? [[name, env[name]]] : [])))
}

const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const NAMESPACE_HELP = 'must be the name of a namespace, such as "default"'

const choice = <const Words extends readonly [string, ...string[]]>(words: Words, normal: Words[number]) =>
  z.enum(words, `must be one of ${words.join(', ')}`).default(normal as never)

const list = z
  .string()
  .default('')
  .transform(text => text.split(',').flatMap(word => word.trim() || []))

const number = (from: number, to: number, normal: number) =>
  z
    .string()
    .default(String(normal))
    .transform(Number)
    .refine(value => Number.isInteger(value) && value >= from && value <= to, {
      error: `must be a whole number from ${from} to ${to}`,
    })

const url = z.string().refine(text => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), {
  error: 'must be an http or https URL',
})

const quantities = z.record(z.string(), z.union([z.string(), z.number().transform(String)])).optional()
const containerResources: z.ZodType<Resources> = z
  .strictObject({ requests: quantities, limits: quantities })
  .default({})
const resources = z.strictObject({
  server: containerResources,
  router: containerResources,
  install: containerResources,
})

const variables = z.object({
  PORTOLAN_NAMESPACE: z.string().regex(NAMESPACE, NAMESPACE_HELP).optional(),
  PORTOLAN_POD: z.string().optional(),
  PORTOLAN_WATCH_NAMESPACES: list.refine(names => names.every(name => NAMESPACE.test(name)), {
    error: 'must be names of namespaces separated by commas, such as "team-a,team-b"',
  }),
  PORTOLAN_IMAGE: z.string('is required: the image of Portolan, such as "portolan/portolan:1.0.0"'),
  PORTOLAN_IMAGE_PULL_POLICY: choice(['Always', 'IfNotPresent', 'Never'], 'IfNotPresent'),
  PORTOLAN_IMAGE_PULL_SECRETS: list,
  PORTOLAN_DELIVERY: choice(['initContainer', 'imageVolume'], 'initContainer'),
  PORTOLAN_NPM_IMAGE: z.string().default('node:24-bookworm-slim'),
  PORTOLAN_NPM_REGISTRY: url.optional(),
  PORTOLAN_PYPI_IMAGE: z.string().default('python:3.13-slim-bookworm'),
  PORTOLAN_PYPI_INDEX: url.optional(),
  PORTOLAN_NETWORK_POLICIES: choice(['true', 'false'], 'true').transform(word => word === 'true'),
  PORTOLAN_RESOURCES: z.string().default('{}').transform(parseResources),
  PORTOLAN_RESYNC: z
    .string()
    .default('10m')
    .transform(parseDuration)
    .refine(ms => ms >= MIN_RESYNC_MS, { error: 'must be a duration of a second or more, such as "10m"' }),
  PORTOLAN_DISCOVERY_CONCURRENCY: number(1, MAX_DISCOVERY_CONCURRENCY, 16),
  PORTOLAN_LOG_LEVEL: choice(LOG_LEVELS, 'info'),
  PORTOLAN_PORT: number(0, 65_535, 8080),
})

function parseResources(text: string, context: z.RefinementCtx): OperatorSettings['resources'] {
  const parsed = resources.safeParse(jsonOf(text))
  if (parsed.success) return parsed.data
  const message =
    'must be JSON such as {"server": {"requests": {"cpu": "20m"}, "limits": {"memory": "512Mi"}}}, with the parts server, router and install'
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
