/** Exports spans with the OpenTelemetry SDK, in bounded batches as OTLP over HTTP, without ever delaying a call. */
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import packageJson from '../package.json' with { type: 'json' }
import { type Clock, delay, systemClock } from './async.ts'
import { messageOf } from './errors.ts'
import type { Log } from './log.ts'
import type { Span, SpanStart, TraceContext, Tracer } from './trace.ts'
import type { Tracing, TracingSettings } from './tracing.ts'

/** Limit of spans that wait to be sent; further spans are dropped. */
const MAX_WAITING_SPANS = 4_096
const MAX_BATCH_SPANS = 512
const BATCH_EVERY_MS = 2_000
/** Time limit for one batch, retries included. */
const SEND_LIMIT_MS = 10_000
const CLOSE_LIMIT_MS = 3_000
/** Names come from servers, so their length is bounded. */
const MAX_VALUE_LENGTH = 256
const WARN_EVERY_MS = 60_000

export type OtlpOptions = TracingSettings & { service: string; log: Log; clock?: Clock }

/** Starts tracing. Throws if the SDK rejects the settings of the environment. */
export function createOtlpTracing(options: OtlpOptions): Tracing {
  const { url, service, log, clock = systemClock } = options
  const exporter = withWarnings(new OTLPTraceExporter({ url, timeoutMillis: SEND_LIMIT_MS }), log, clock)
  const batches = new BatchSpanProcessor({
    exporter,
    maxQueueSize: MAX_WAITING_SPANS,
    maxExportBatchSize: MAX_BATCH_SPANS,
    scheduledDelayMillis: BATCH_EVERY_MS,
    exportTimeoutMillis: SEND_LIMIT_MS,
  })
  const provider = new TracerProvider({
    resource: resourceOf(service),
    sampler: samplerOf(options),
    spanProcessors: [batches],
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_LENGTH },
  })
  return {
    tracer: tracerOf(provider.getTracer('portolan', packageJson.version)),
    close: () =>
      Promise.race([provider.shutdown(), delay(clock, CLOSE_LIMIT_MS)]).catch(error => {
        log.warn({ error: messageOf(error) }, 'the last spans could not be sent')
      }),
  }
}

function tracerOf(tracer: OtelTracer): Tracer {
  const propagator = new W3CTraceContextPropagator()
  const begin = (start: SpanStart, under: Context): Span => {
    const { name, kind, attributes } = start
    const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, under)
    const within = trace.setSpan(under, span)
    return {
      begin: start => begin(start, within),
      context() {
        const context = {}
        propagator.inject(within, context, defaultTextMapSetter)
        return context as TraceContext
      },
      rename: name => void span.updateName(name),
      set: attributes => void span.setAttributes(attributes),
      end: error => end(span, error),
    }
  }
  return {
    begin: (start, parent) =>
      begin(start, parent ? propagator.extract(ROOT_CONTEXT, parent, defaultTextMapGetter) : ROOT_CONTEXT),
  }
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }

function end(span: OtelSpan, error: string | undefined): void {
  if (error !== undefined) {
    span.setAttribute('error.type', error)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio)
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() })
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() })
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
  }
}

/** The attributes of this process; those of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence. */
function resourceOf(service: string): Resource {
  const defaults = { 'service.name': service, 'service.version': packageJson.version }
  return defaultResource()
    .merge(resourceFromAttributes(defaults))
    .merge(detectResources({ detectors: [envDetector] }))
}

/** Warns, at most once a minute, how many spans could not be delivered. Reports each export to the SDK as successful. */
function withWarnings(exporter: OTLPTraceExporter, log: Log, clock: Clock): SpanExporter {
  let lost = 0
  let warnedAt = Number.NEGATIVE_INFINITY
  const onResult = ({ code, error }: ExportResult, spans: number) => {
    if (code === ExportResultCode.SUCCESS) return
    lost += spans
    if (clock.elapsed() - warnedAt < WARN_EVERY_MS) return
    log.warn({ spans: lost, error: error && messageOf(error) }, 'traces could not be delivered')
    warnedAt = clock.elapsed()
    lost = 0
  }
  return {
    export: (spans, done) =>
      exporter.export(spans, result => {
        onResult(result, spans.length)
        // Otherwise the SDK would log the failure a second time.
        done({ code: ExportResultCode.SUCCESS })
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  }
}
