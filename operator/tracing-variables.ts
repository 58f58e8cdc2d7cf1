/** The variables of OpenTelemetry that the operator passes on to routers. */

/** Tracing variables without secrets: these go into the routers' pod templates. */
const PASSED_ON = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
]

export function tracingVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(PASSED_ON.flatMap(name => (env[name] ? [[name, env[name]]] : [])))
}
