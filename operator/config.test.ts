/** The operator's environment: defaults and errors. */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { readConfig } from './config.ts'

const image = { PORTOLAN_IMAGE: 'portolan/portolan:1.0.0' }
const read = (env: Record<string, string>) => readConfig({ env: { ...image, ...env } })

test('the image is the only required setting', () => {
  const { modelFile, ...config } = read({ UNRELATED: 'x', PORTOLAN_NPM_REGISTRY: '', PORTOLAN_MODEL: '' })
  assert.match(modelFile, /minilm-[0-9a-f]{8}\.bin$/)
  assert.deepEqual(config, {
    settings: {
      image: 'portolan/portolan:1.0.0',
      imagePullPolicy: 'IfNotPresent',
      imagePullSecrets: [],
      delivery: 'initContainer',
      user: 65_532,
      npm: { image: 'node:24-bookworm-slim', registry: undefined },
      pypi: { image: 'python:3.13-slim-bookworm', index: undefined },
      waves: { share: 0.1, perNamespace: 1 },
      networkPolicies: true,
      tokenReviewBinding: '',
      dns: [],
      metricsFrom: [],
      permitted: { podFields: [], registries: [], remoteHosts: [], refusedAddresses: [] },
      resources: { server: {}, router: {}, install: {} },
      trustedCertificates: undefined,
      proxy: { variables: {}, secret: undefined },
      routerTracing: {},
    },
    proxyFor: undefined,
    namespace: undefined,
    apiServerHost: undefined,
    pod: hostname(),
    namespaces: 'all',
    resyncMs: 600_000,
    discoveryConcurrency: 16,
    logLevel: 'info',
    tracing: { problems: [] },
    port: 8080,
  })
})

test('lists, switches, times and resources are read', () => {
  const { settings, namespaces, resyncMs, modelFile } = read({
    PORTOLAN_WATCH_NAMESPACES: 'one, two',
    PORTOLAN_IMAGE_PULL_SECRETS: 'mine',
    PORTOLAN_NETWORK_POLICIES: 'false',
    PORTOLAN_RESYNC: '1h30m',
    PORTOLAN_MODEL: '/models/minilm.bin',
    PORTOLAN_RESOURCES: '{"server": {"requests": {"cpu": "20m"}, "limits": {"memory": "1Gi"}}}',
  })
  assert.deepEqual(
    [namespaces, settings.imagePullSecrets, settings.networkPolicies],
    [['one', 'two'], ['mine'], false],
  )
  assert.deepEqual([resyncMs, modelFile], [5_400_000, '/models/minilm.bin'])
  assert.deepEqual(settings.resources.server, { requests: { cpu: '20m' }, limits: { memory: '1Gi' } })
  assert.deepEqual(settings.resources.install, {})
})

test('trusted certificates that are not PEM are refused', () => {
  assert.throws(
    () => read({ PORTOLAN_TRUSTED_CERTIFICATES: '/ca.pem' }),
    /PORTOLAN_TRUSTED_CERTIFICATES must be certificates/,
  )
})

test('the user of pods is a number, or the cluster assigns it', () => {
  assert.equal(read({ PORTOLAN_USER: '1001' }).settings.user, 1001)
  assert.equal(read({ PORTOLAN_USER: 'assigned' }).settings.user, undefined)
  for (const wrong of ['0', 'root', '-1', '2147483648'])
    assert.throws(
      () => read({ PORTOLAN_USER: wrong }),
      /PORTOLAN_USER must be a number from 1 to .* or "assigned"/,
    )
})

for (const [variable, setting] of [
  ['PORTOLAN_METRICS_FROM', 'metricsFrom'],
  ['PORTOLAN_DNS', 'dns'],
] as const)
  test(`${variable} is read as peers of a NetworkPolicy`, () => {
    const peer = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }
    const { settings } = read({ [variable]: JSON.stringify([peer]) })
    assert.deepEqual(settings[setting], [peer])
    for (const wrong of ['monitoring', '{}', '[{}]', '[{"namespaces": ["monitoring"]}]'])
      assert.throws(() => read({ [variable]: wrong }), {
        message: new RegExp(`${variable} must be a JSON list of NetworkPolicy peers`),
      })
  })

test("the API server's address is refused at routers too; a name is only looked up by each process itself", () => {
  const { settings, apiServerHost } = read({ KUBERNETES_SERVICE_HOST: 'api.example' })
  assert.deepEqual([apiServerHost, settings.permitted.refusedAddresses], ['api.example', []])
  const known = read({ KUBERNETES_SERVICE_HOST: '10.96.0.1' })
  assert.deepEqual(known.settings.permitted.refusedAddresses, ['10.96.0.1'])
})

test('routers get the endpoint for traces, and no secret', () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret',
    OTEL_SERVICE_NAME: 'operator',
  }
  const { settings, tracing } = read(env)
  assert.equal(tracing.settings?.url, 'http://collector:4318/v1/traces')
  assert.deepEqual(settings.routerTracing, {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    OTEL_TRACES_SAMPLER: 'always_on',
  })
  assert.deepEqual(read({ ...env, OTEL_SDK_DISABLED: 'true' }).settings.routerTracing, {})
})

const WRONG: [Record<string, string>, RegExp][] = [
  [{ PORTOLAN_IMAGE: '' }, /PORTOLAN_IMAGE is required: the image of Portolan/],
  [{ PORTOLAN_DELIVERY: 'sidecar' }, /PORTOLAN_DELIVERY must be one of initContainer, imageVolume/],
  [{ PORTOLAN_NETWORK_POLICIES: 'yes' }, /PORTOLAN_NETWORK_POLICIES must be one of true, false/],
  [{ PORTOLAN_WATCH_NAMESPACES: 'a,B' }, /PORTOLAN_WATCH_NAMESPACES must be names of namespaces/],
  [{ PORTOLAN_NAMESPACE: 'Mine' }, /PORTOLAN_NAMESPACE must be the name of a namespace/],
  [{ PORTOLAN_RESYNC: '10' }, /PORTOLAN_RESYNC must be a duration/],
  [{ PORTOLAN_RESYNC: '5ms' }, /PORTOLAN_RESYNC must be a duration from 1s to 168h/],
  [{ PORTOLAN_RESYNC: '720h' }, /PORTOLAN_RESYNC must be a duration from 1s to 168h/],
  [{ PORTOLAN_PORT: '80a' }, /PORTOLAN_PORT must be a whole number from 0 to 65535/],
  [{ PORTOLAN_DISCOVERY_CONCURRENCY: '0' }, /must be a whole number from 1 to 256/],
  [{ PORTOLAN_NPM_REGISTRY: 'npm.example.com' }, /PORTOLAN_NPM_REGISTRY must be an http or https URL/],
  [{ PORTOLAN_RESOURCES: '{"server": {"cpu": 1}}' }, /PORTOLAN_RESOURCES must be JSON such as/],
  [{ PORTOLAN_PERMITTED: '{"refusedAddresses": "10.0.0.0/8"}' }, /PORTOLAN_PERMITTED must be JSON such as/],
  [
    { PORTOLAN_PERMITTED: '{"refusedAddresses": ["10.0.0.0/8", "10.0.0.0/99"]}' },
    /PORTOLAN_PERMITTED has "10\.0\.0\.0\/99" in refusedAddresses, which is neither an address nor a subnet/,
  ],
  [{ PORTOLAN_RESOURCES: 'none' }, /PORTOLAN_RESOURCES must be JSON such as/],
]

test('an error names the wrong variable and its valid values', () => {
  for (const [env, message] of WRONG)
    assert.throws(() => read(env), { name: 'Fault', message }, JSON.stringify(env))
})

test('all problems are reported at once', () => {
  assert.throws(
    () => read({ PORTOLAN_PORT: 'x', PORTOLAN_DELIVERY: 'x' }),
    /PORTOLAN_DELIVERY .*; PORTOLAN_PORT /,
  )
})

test('a console needs the account and the token by which routers admit it', () => {
  const console = { PORTOLAN_CONSOLE_PORT: '9443', PORTOLAN_CONSOLE_ACCOUNT: 'portolan.operator' }
  const { settings, console: served } = read({ ...console, PORTOLAN_CONSOLE_TOKEN_FILE: '/token' })
  assert.deepEqual(
    [settings.consoleAccount, served],
    ['portolan.operator', { port: 9_443, tokenFile: '/token' }],
  )
  assert.throws(() => read(console), /PORTOLAN_CONSOLE_PORT needs .* PORTOLAN_CONSOLE_TOKEN_FILE/)
})

test('proxies are for the operator and, without credentials, for routers', () => {
  const { settings, proxyFor } = read({
    HTTPS_PROXY: 'http://proxy.example.com:3128',
    NO_PROXY: '.intern',
    PORTOLAN_PROXY_SECRET: 'proxy',
    PORTOLAN_PROXY_USERNAME: 'ann',
    PORTOLAN_PROXY_PASSWORD: 'geheim',
  })
  const variables = { HTTPS_PROXY: 'http://proxy.example.com:3128', NO_PROXY: '.intern' }
  assert.deepEqual(settings.proxy, { variables, secret: 'proxy' })
  const authorization = `Basic ${Buffer.from('ann:geheim').toString('base64')}`
  assert.deepEqual(proxyFor?.(new URL('https://mcp.example.com/')), {
    origin: 'http://proxy.example.com:3128',
    authorization,
  })
  assert.equal(proxyFor?.(new URL('https://mcp-x.team.svc:8080/')), undefined)
  const open = () => read({ HTTPS_PROXY: 'http://ann:geheim@proxy.example.com:3128' })
  assert.throws(
    open,
    ({ message }: Error) => /proxy\.secretName/.test(message) && !message.includes('geheim'),
  )
})
