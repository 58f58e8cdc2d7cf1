/** The operator's configuration from environment variables, which the chart sets. */
import { hostname } from 'node:os'
import * as z from 'zod'
import { modelFileOf } from '../core/encoder/model-place.ts'
import { Fault } from '../core/errors.ts'
import { isAddressRange } from '../core/host-guard.ts'
import { tryParseJson } from '../core/json.ts'
import type { LogLevel } from '../core/log.ts'
import { clusterProxies, type ProxyFor } from '../core/proxies.ts'
import { type TracingChoice, tracingSettings } from '../core/tracing.ts'
import { areCertificates, NO_CERTIFICATES } from '../core/trusted-certificates.ts'
import { labelSelector } from '../crds/core-v1.ts'
import { MAX_DURATION_MS, parseDuration } from '../crds/quantity.ts'
import { POWERFUL_FIELDS } from './plan/pod-fields.ts'
import type { OperatorSettings, Permitted, Resources } from './plan/settings.ts'
import { proxyVariables } from './proxy-variables.ts'
import type { Namespaces } from './runtime/cache.ts'
import { tracingVariables } from './tracing-variables.ts'

/*
 * PORTOLAN_MODEL                  file of the sentence encoder                                (beside the program)
 * PORTOLAN_NAMESPACE              the operator's own namespace, which holds its Lease         (that of its ServiceAccount)
 * PORTOLAN_POD                    name of its pod, shown in the Lease and in events           (the host's name)
 * PORTOLAN_WATCH_NAMESPACES       namespaces to serve, separated by commas                    (all)
 * PORTOLAN_IMAGE                  image of Portolan for routers, sidecars and bridges         required
 * PORTOLAN_IMAGE_PULL_POLICY      Always, IfNotPresent or Never                               (IfNotPresent)
 * PORTOLAN_IMAGE_PULL_SECRETS     Secrets in the pods' namespaces, separated by commas        (none)
 * PORTOLAN_DELIVERY               initContainer or imageVolume                                (initContainer)
 * PORTOLAN_USER                   user and group of pods: a number, or "assigned" by the cluster  (65532)
 * PORTOLAN_NPM_IMAGE              image that npm servers run in                               (node:24-bookworm-slim)
 * PORTOLAN_NPM_REGISTRY           registry of packages whose manifest names none              (the image's own)
 * PORTOLAN_PYPI_IMAGE             image that PyPI servers run in                              (python:3.13-slim-bookworm)
 * PORTOLAN_PYPI_INDEX             index of packages whose manifest names none                 (the image's own)
 * PORTOLAN_UPGRADE_SHARE          how many servers an upgrade rolls at a time, in percent of all  (10%)
 * PORTOLAN_UPGRADE_PER_NAMESPACE  and how many of a namespace                                 (1)
 * PORTOLAN_NETWORK_POLICIES       whether NetworkPolicies are written: true or false          (true)
 * PORTOLAN_DNS                    JSON list of NetworkPolicy peers that answer servers' DNS queries  (none)
 * PORTOLAN_TOKEN_REVIEW_BINDING   ClusterRoleBinding of routers that may review tokens         (none)
 * PORTOLAN_METRICS_FROM           JSON list of NetworkPolicy peers that read routers' metrics (none)
 * PORTOLAN_PERMITTED              JSON {podFields, registries, remoteHosts, refusedAddresses}     (no powerful pod field, everything else)
 * PORTOLAN_RESOURCES              JSON {server, router, install: {requests, limits}}          (none)
 * PORTOLAN_TRUSTED_CERTIFICATES   certificate authorities of remote servers and issuers, in PEM    (only the usual ones)
 * HTTPS_PROXY, HTTP_PROXY         HTTP proxies to remote servers, issuers and embeddings services, without credentials  (none)
 * NO_PROXY                        hosts that are reached directly, separated by commas        (this cluster's own)
 * PORTOLAN_PROXY_SECRET           Secret in the pods' namespaces with the keys username and password, for the proxies  (none)
 * PORTOLAN_PROXY_USERNAME, PORTOLAN_PROXY_PASSWORD   their values
 * PORTOLAN_RESYNC                 how often every server and gateway is reconciled            (10m)
 * PORTOLAN_DISCOVERY_CONCURRENCY  how many servers are discovered at the same time            (16)
 * PORTOLAN_LOG_LEVEL              trace, debug, info, warn, error or fatal                    (info)
 * PORTOLAN_PORT                   port of /healthz, /readyz and /metrics                      (8080)
 * PORTOLAN_CONSOLE_PORT           port of the console, on loopback                            (none: there is no console)
 * PORTOLAN_CONSOLE_ACCOUNT        the operator's ServiceAccount, which routers give their data      required with a console
 * PORTOLAN_CONSOLE_TOKEN_FILE     its token for the audience portolan-console                 required with a console
 * OTEL_*                          where traces are sent and their sampling, see core/tracing.ts; passed on to routers
 */
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const MIN_RESYNC_MS = 1_000
const MAX_DISCOVERY_CONCURRENCY = 256
const MAX_PEERS = 64
const MAX_USER = 2 ** 31 - 1
/** The value for clusters that assign a user to each pod, such as OpenShift. */
const ASSIGNED = 'assigned'

export type OperatorConfig = {
  settings: Omit<OperatorSettings, 'namespace'>
  /** Default: the namespace of the credentials. */
  namespace?: string
  pod: string
  /** Address or name of the API server; absent outside of clusters. */
  apiServerHost?: string
  proxyFor?: ProxyFor
  namespaces: Namespaces
  resyncMs: number
  discoveryConcurrency: number
  /** The sentence encoder's file; it may be missing. */
  modelFile: string
  logLevel: LogLevel
  tracing: TracingChoice
  port: number
  /** Absent: no console is served. */
  console?: { port: number; tokenFile: string }
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
  const consoleSettings = consoleIn(set)
  return {
    settings: {
      image: set.PORTOLAN_IMAGE,
      imagePullPolicy: set.PORTOLAN_IMAGE_PULL_POLICY,
      imagePullSecrets: set.PORTOLAN_IMAGE_PULL_SECRETS,
      delivery: set.PORTOLAN_DELIVERY,
      user: set.PORTOLAN_USER,
      npm: { image: set.PORTOLAN_NPM_IMAGE, registry: set.PORTOLAN_NPM_REGISTRY },
      pypi: { image: set.PORTOLAN_PYPI_IMAGE, index: set.PORTOLAN_PYPI_INDEX },
      waves: { share: set.PORTOLAN_UPGRADE_SHARE, perNamespace: set.PORTOLAN_UPGRADE_PER_NAMESPACE },
      networkPolicies: set.PORTOLAN_NETWORK_POLICIES,
      dns: set.PORTOLAN_DNS,
      tokenReviewBinding: set.PORTOLAN_TOKEN_REVIEW_BINDING,
      metricsFrom: set.PORTOLAN_METRICS_FROM,
      permitted: withApiServer(set.PORTOLAN_PERMITTED, env),
      resources: set.PORTOLAN_RESOURCES,
      trustedCertificates: set.PORTOLAN_TRUSTED_CERTIFICATES,
      ...(consoleSettings && { consoleAccount: consoleSettings.account }),
      proxy: { variables: proxyVariables(env), secret: set.PORTOLAN_PROXY_SECRET },
      routerTracing: tracing.settings ? tracingVariables(env) : {},
    },
    namespace: set.PORTOLAN_NAMESPACE,
    apiServerHost: env.KUBERNETES_SERVICE_HOST,
    proxyFor: clusterProxies(env, {
      username: set.PORTOLAN_PROXY_USERNAME,
      password: set.PORTOLAN_PROXY_PASSWORD,
    }),
    pod: set.PORTOLAN_POD ?? hostname(),
    namespaces: set.PORTOLAN_WATCH_NAMESPACES.length > 0 ? set.PORTOLAN_WATCH_NAMESPACES : 'all',
    resyncMs: set.PORTOLAN_RESYNC,
    discoveryConcurrency: set.PORTOLAN_DISCOVERY_CONCURRENCY,
    modelFile: modelFileOf(env),
    logLevel: set.PORTOLAN_LOG_LEVEL,
    tracing,
    port: set.PORTOLAN_PORT,
    ...(consoleSettings && { console: { port: consoleSettings.port, tokenFile: consoleSettings.tokenFile } }),
  }
}

/** The settings of the console; undefined without a port. Throws Fault `bad_request` if there is a port but not the rest. */
function consoleIn(set: z.output<typeof variables>) {
  const { PORTOLAN_CONSOLE_PORT: port, PORTOLAN_CONSOLE_ACCOUNT: account } = set
  const { PORTOLAN_CONSOLE_TOKEN_FILE: tokenFile } = set
  if (port === undefined) return undefined
  if (account !== undefined && tokenFile !== undefined) return { port, account, tokenFile }
  throw new Fault(
    'bad_request',
    'The operator cannot start: PORTOLAN_CONSOLE_PORT needs PORTOLAN_CONSOLE_ACCOUNT and PORTOLAN_CONSOLE_TOKEN_FILE',
  )
}

/**
 * A manifest may not make the operator or a router send requests to the API server, whose address Kubernetes sets in every pod. If it is a
 * name, each of them looks it up itself.
 */
function withApiServer(permitted: Permitted, { KUBERNETES_SERVICE_HOST = '' }: NodeJS.ProcessEnv): Permitted {
  if (!isAddressRange(KUBERNETES_SERVICE_HOST)) return permitted
  return { ...permitted, refusedAddresses: [KUBERNETES_SERVICE_HOST, ...permitted.refusedAddresses] }
}

const DNS_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const NAMESPACE_HELP = 'must be the name of a namespace, such as "default"'

const choice = <const Words extends readonly [string, ...string[]]>(
  words: Words,
  defaultValue: Words[number],
) => z.enum(words, `must be one of ${words.join(', ')}`).default(defaultValue as never)

const list = z
  .string()
  .default('')
  .transform(text => text.split(',').flatMap(word => word.trim() || []))

const wholeNumber = (text: z.ZodType<string, string | undefined>, from: number, to: number) =>
  text.transform(Number).refine(value => Number.isInteger(value) && value >= from && value <= to, {
    error: `must be a whole number from ${from} to ${to}`,
  })

const number = (from: number, to: number, defaultValue: number) =>
  wholeNumber(z.string().default(String(defaultValue)), from, to)

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

/** An empty peer is refused, as the API server does: it could mean nobody or everybody. */
const peers = z
  .array(
    z
      .strictObject({
        namespaceSelector: labelSelector.optional(),
        podSelector: labelSelector.optional(),
        ipBlock: z.strictObject({ cidr: z.string(), except: z.array(z.string()).optional() }).optional(),
      })
      .refine(peer => Object.keys(peer).length > 0),
  )
  .max(MAX_PEERS)

/** A variable with JSON of this shape. `message` says what it has to look like. */
const json = <Schema extends z.ZodType>(schema: Schema, defaultValue: '{}' | '[]', message: string) =>
  z
    .string()
    .default(defaultValue)
    .transform((text, context): z.output<Schema> => {
      const parsed = schema.safeParse(tryParseJson(text))
      if (parsed.success) return parsed.data
      context.addIssue({ code: 'custom', message })
      return z.NEVER
    })

const permitted = z.strictObject({
  podFields: z.array(z.enum(POWERFUL_FIELDS as [string, ...string[]])).default([]),
  registries: z.array(z.string().min(1)).default([]),
  remoteHosts: z.array(z.string().min(1)).default([]),
  refusedAddresses: z.array(z.string()).default([]),
})

const peersOf = (example: string) =>
  json(
    peers,
    '[]',
    `must be a JSON list of NetworkPolicy peers such as [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "${example}"}}}]`,
  )

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
  PORTOLAN_USER: z
    .string()
    .default('65532')
    .transform(text => (text === ASSIGNED ? undefined : Number(text)))
    .refine(user => user === undefined || (Number.isInteger(user) && user >= 1 && user <= MAX_USER), {
      error: `must be a number from 1 to ${MAX_USER}, or "${ASSIGNED}"`,
    }),
  PORTOLAN_NPM_IMAGE: z.string().default('node:24-bookworm-slim'),
  PORTOLAN_NPM_REGISTRY: url.optional(),
  PORTOLAN_PYPI_IMAGE: z.string().default('python:3.13-slim-bookworm'),
  PORTOLAN_PYPI_INDEX: url.optional(),
  PORTOLAN_UPGRADE_SHARE: z
    .string()
    .regex(/^([1-9]\d?|100)%$/, 'must be a share of all servers from 1% to 100%')
    .default('10%')
    .transform(text => Number.parseInt(text, 10) / 100),
  PORTOLAN_UPGRADE_PER_NAMESPACE: number(1, 1_000, 1),
  PORTOLAN_NETWORK_POLICIES: choice(['true', 'false'], 'true').transform(word => word === 'true'),
  PORTOLAN_DNS: peersOf('kube-system'),
  PORTOLAN_TOKEN_REVIEW_BINDING: z.string().default(''),
  PORTOLAN_METRICS_FROM: peersOf('monitoring'),
  PORTOLAN_PERMITTED: json(
    permitted,
    '{}',
    `must be JSON such as {"podFields": ["hostPath"], "registries": ["registry.example.com"], "remoteHosts": ["*.example.com"], "refusedAddresses": ["10.0.0.0/8"]}; pod fields are ${POWERFUL_FIELDS.join(', ')}`,
  ).refine(({ refusedAddresses }) => refusedAddresses.every(isAddressRange), {
    error: ({ input }) =>
      `has "${(input as Permitted).refusedAddresses.find(text => !isAddressRange(text))}" in refusedAddresses, which is neither an address nor a subnet such as 10.0.0.0/8`,
  }),
  PORTOLAN_RESOURCES: json(
    resources,
    '{}',
    'must be JSON such as {"server": {"requests": {"cpu": "20m"}, "limits": {"memory": "512Mi"}}}, with the parts server, router and install',
  ),
  PORTOLAN_TRUSTED_CERTIFICATES: z.string().refine(areCertificates, NO_CERTIFICATES).optional(),
  PORTOLAN_PROXY_SECRET: z.string().regex(DNS_NAME, 'must be the name of a Secret').optional(),
  PORTOLAN_PROXY_USERNAME: z.string().optional(),
  PORTOLAN_PROXY_PASSWORD: z.string().optional(),
  PORTOLAN_RESYNC: z
    .string()
    .default('10m')
    .transform(parseDuration)
    .refine(ms => ms >= MIN_RESYNC_MS && ms <= MAX_DURATION_MS, {
      error: 'must be a duration from 1s to 168h, such as "10m"',
    }),
  PORTOLAN_DISCOVERY_CONCURRENCY: number(1, MAX_DISCOVERY_CONCURRENCY, 16),
  PORTOLAN_LOG_LEVEL: choice(LOG_LEVELS, 'info'),
  PORTOLAN_PORT: number(0, 65_535, 8080),
  PORTOLAN_CONSOLE_PORT: wholeNumber(z.string(), 0, 65_535).optional(),
  PORTOLAN_CONSOLE_ACCOUNT: z.string().regex(DNS_NAME, 'must be the name of a ServiceAccount').optional(),
  PORTOLAN_CONSOLE_TOKEN_FILE: z.string().optional(),
})
