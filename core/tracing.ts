/** Starts tracing if OpenTelemetry's environment variables say so; the libraries are loaded only then. */
import { messageOf } from './errors.ts'
import type { Log } from './log.ts'
import type { Tracer } from './trace.ts'

export type Tracing = {
  tracer: Tracer
  /** Sends the remaining spans, for a few seconds at most. Never rejects. */
  close(): Promise<void>
}

export type TracingSettings = {
  /** Spans are posted to this URL, as OTLP over HTTP. */
  url: string
  sampler: (typeof SAMPLERS)[number]
  /** For the samplers by ratio: the share of traces that is sent, 0 to 1. */
  ratio: number
}

/** The outcome of reading the environment; without settings tracing is off. */
export type TracingChoice = { settings?: TracingSettings; problems: string[] }

type Env = Readonly<Record<string, string | undefined>>

const SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const
const PROTOCOL = 'http/protobuf'
const STANDARD_ENDPOINT = 'http://localhost:4318'
const PATH = 'v1/traces'

/**
 * Undefined if tracing is off or cannot be started. `service` is the default of OTEL_SERVICE_NAME. Invalid variables are logged and
 * otherwise ignored.
 */
export async function openTracing(
  { settings, problems }: TracingChoice,
  service: string,
  log: Log,
): Promise<Tracing | undefined> {
  if (problems.length > 0) log.warn({ problems }, 'environment variables for tracing are not valid')
  if (!settings) return undefined
  try {
    const { createOtlpTracing } = await import('./trace-otlp.ts')
    const tracing = createOtlpTracing({ ...settings, service, log })
    log.info({ sampler: settings.sampler }, 'tracing started')
    return tracing
  } catch (error) {
    log.error({ error: messageOf(error) }, 'tracing could not be started')
    return undefined
  }
}

/**
 * Tracing is off unless an endpoint or the exporter `otlp` is given. As OpenTelemetry specifies, an empty variable counts as unset, and an
 * invalid one is reported and ignored. Pure.
 */
export function tracingSettings(env: Env): TracingChoice {
  const problems: string[] = []
  const endpoint = endpointOf(env)
  const exporter = env.OTEL_TRACES_EXPORTER || (endpoint === undefined ? 'none' : 'otlp')
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || exporter === 'none') return { problems }
  if (exporter !== 'otlp') return { problems: ['OTEL_TRACES_EXPORTER must be otlp or none'] }
  const url = endpoint ?? `${STANDARD_ENDPOINT}/${PATH}`
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    return { problems: ['OTEL_EXPORTER_OTLP_ENDPOINT must be an http:// or https:// URL'] }
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL || PROTOCOL
  if (protocol !== PROTOCOL)
    problems.push(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, but only ${PROTOCOL} is supported`)
  const named = env.OTEL_TRACES_SAMPLER || SAMPLERS[0]
  const sampler = SAMPLERS.find(name => name === named)
  if (!sampler) problems.push(`OTEL_TRACES_SAMPLER must be one of ${SAMPLERS.join(', ')}`)
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || 1)
  const valid = ratio >= 0 && ratio <= 1
  if (!valid) problems.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1')
  return { settings: { url, sampler: sampler ?? SAMPLERS[0], ratio: valid ? ratio : 1 }, problems }
}

/** The endpoint for traces is used as it is; to the common endpoint the path is appended. */
function endpointOf(env: Env): string | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: common, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: forTraces } = env
  if (forTraces) return forTraces
  return common ? `${common.replace(/\/+$/, '')}/${PATH}` : undefined
}
