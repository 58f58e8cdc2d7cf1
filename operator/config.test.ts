/** The operator's environment: defaults, and what is said where it is wrong. */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { readConfig } from './config.ts'

const image = { PORTOLAN_IMAGE: 'portolan/portolan:1.0.0' }
const read = (env: Record<string, string>) => readConfig({ env: { ...image, ...env } })

test('an image is all that must be said', () => {
  const { modelFile, ...config } = read({ UNRELATED: 'x', PORTOLAN_NPM_REGISTRY: '', PORTOLAN_MODEL: '' })
  assert.match(modelFile, /minilm\.bin$/)
  assert.deepEqual(config, {
    settings: {
      image: 'portolan/portolan:1.0.0',
      imagePullPolicy: 'IfNotPresent',
      imagePullSecrets: [],
      delivery: 'initContainer',
      npm: { image: 'node:24-bookworm-slim', registry: undefined },
      pypi: { image: 'python:3.13-slim-bookworm', index: undefined },
      networkPolicies: true,
      resources: { server: {}, router: {}, install: {} },
      routerTracing: {},
    },
    namespace: undefined,
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

test('routers are told where to send traces, and no secret', () => {
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
  [{ PORTOLAN_RESYNC: '5ms' }, /PORTOLAN_RESYNC must be a duration of a second or more/],
  [{ PORTOLAN_PORT: '80a' }, /PORTOLAN_PORT must be a whole number from 0 to 65535/],
  [{ PORTOLAN_DISCOVERY_CONCURRENCY: '0' }, /must be a whole number from 1 to 256/],
  [{ PORTOLAN_NPM_REGISTRY: 'npm.example.com' }, /PORTOLAN_NPM_REGISTRY must be an http or https URL/],
  [{ PORTOLAN_RESOURCES: '{"server": {"cpu": 1}}' }, /PORTOLAN_RESOURCES must be JSON such as/],
  [{ PORTOLAN_RESOURCES: 'none' }, /PORTOLAN_RESOURCES must be JSON such as/],
]

test('what is wrong is named, with what would be right', () => {
  for (const [env, message] of WRONG)
    assert.throws(() => read(env), { name: 'Fault', message }, JSON.stringify(env))
})

test('all that is wrong is said at once', () => {
  assert.throws(
    () => read({ PORTOLAN_PORT: 'x', PORTOLAN_DELIVERY: 'x' }),
    /PORTOLAN_DELIVERY .*; PORTOLAN_PORT /,
  )
})
