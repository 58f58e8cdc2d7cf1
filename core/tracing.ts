/** Whether this process is traced, by OpenTelemetry's own environment variables; its libraries are loaded only where it is. */
import { messageOf } from './errors.ts'
import type { Log } from './log.ts'
import type { Tracer } from './trace.ts'

export type Tracing = {
  tracer: Tracer
  /** Sends what is left, for a few seconds at most. Never rejects. */
  close(): Promise<void>
}

export type TracingSettings = {
  /** Where spans are posted to, as OTLP over HTTP. */
  url: string
  sampler: (typeof SAMPLERS)[number]
  /** Of the samplers by ratio: the share of traces that is kept, 0 to 1. */
  ratio: number
}

/** What an environment asks for: nothing where there are no settings. */
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
 * Undefined where no traces are asked for. `service` is the name that they go by unless the environment has another. What is wrong in
 * the environment is said in the log and stops nothing.
 */
export async function openTracing(
  { settings, problems }: TracingChoice,
  service: string,
  log: Log,
): Promise<Tracing | undefined> {
  if (problems.length > 0) log.warn({ problems }, 'the environment of traces is not valid')
  if (!settings) return undefined
  try {
    const { createOtlpTracing } = await import('./trace-otlp.ts')
    const tracing = createOtlpTracing({ ...settings, service, log })
    log.info({ sampler: settings.sampler }, 'traces are sent')
    return tracing
  } catch (error) {
    log.error({ error: messageOf(error) }, 'traces cannot be sent')
    return undefined
  }
}

/**
 * Off unless an endpoint or the exporter `otlp` is named. As the specification of these variables wants it, an empty one is absent, and
 * one that is wrong is told and does not count. Pure.
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
    problems.push(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, but ${PROTOCOL} is what is spoken here`)
  const named = env.OTEL_TRACES_SAMPLER || SAMPLERS[0]
  const sampler = SAMPLERS.find(name => name === named)
  if (!sampler) problems.push(`OTEL_TRACES_SAMPLER must be one of ${SAMPLERS.join(', ')}`)
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || 1)
  const valid = ratio >= 0 && ratio <= 1
  if (!valid) problems.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1')
  return { settings: { url, sampler: sampler ?? SAMPLERS[0], ratio: valid ? ratio : 1 }, problems }
}

/** That of traces is taken as it is; the common one has the path of traces added. */
function endpointOf(env: Env): string | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: common, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = env
  if (own) return own
  return common ? `${common.replace(/\/+$/, '')}/${PATH}` : undefined
}
