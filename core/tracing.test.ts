/** OpenTelemetry's environment variables: what they switch on, and the problems of invalid ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from './log.ts'
import { openTracing, tracingSettings } from './tracing.ts'

const standard = { sampler: 'parentbased_always_on', ratio: 1 }

test('tracing is off unless an endpoint or the exporter is given', async () => {
  for (const env of [{}, { OTEL_SERVICE_NAME: 'x', OTEL_EXPORTER_OTLP_ENDPOINT: '' }])
    assert.deepEqual(tracingSettings(env), { problems: [] })
  assert.equal(await openTracing({ problems: [] }, 'test', createLog({ level: 'silent' })), undefined)
})

test('an endpoint, the endpoint for traces, or just the exporter switches tracing on', () => {
  const url = (env: Record<string, string>) => tracingSettings(env).settings?.url
  assert.deepEqual(tracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }), {
    settings: { url: 'http://collector:4318/v1/traces', ...standard },
    problems: [],
  })
  assert.equal(
    url({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://b/in' }),
    'https://b/in',
  )
  assert.equal(url({ OTEL_TRACES_EXPORTER: 'otlp' }), 'http://localhost:4318/v1/traces')
})

test('tracing can be switched off although an endpoint is given', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }
  for (const off of [{ OTEL_TRACES_EXPORTER: 'none' }, { OTEL_SDK_DISABLED: 'TRUE' }])
    assert.deepEqual(tracingSettings({ ...endpoint, ...off }), { problems: [] })
})

test('a sampler is used with its ratio', () => {
  const { settings } = tracingSettings({
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  })
  assert.deepEqual([settings?.sampler, settings?.ratio], ['parentbased_traceidratio', 0.25])
})

const WRONG: [Record<string, string>, RegExp, boolean][] = [
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /OTEL_TRACES_EXPORTER must be otlp or none/, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, /must be an http:\/\/ or https:\/\/ URL/, false],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /is grpc, but only http\/protobuf is supported/, true],
  [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /OTEL_TRACES_SAMPLER must be one of parentbased/, true],
  [{ OTEL_TRACES_SAMPLER_ARG: '2' }, /OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1/, true],
]

for (const [env, problem, on] of WRONG)
  test(`an invalid variable is a problem: ${JSON.stringify(env)}`, () => {
    const { settings, problems } = tracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', ...env })
    assert.match(problems.join(), problem)
    assert.equal(settings !== undefined, on)
    if (settings) assert.deepEqual(settings, { ...standard, url: 'http://c/v1/traces' })
  })
