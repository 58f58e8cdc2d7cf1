/** Laptop gateways for tests of traces. Each sends its own spans to a collector. */
import { createLog } from '../../core/log.ts'
import { openTracing, type Tracing, tracingSettings } from '../../core/tracing.ts'
import type { LocalGateway } from '../../local/local-gateway.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace, type Workspace } from '../support/manifests.ts'
import type { Collector, ReceivedSpan } from '../support/otlp.ts'

export type TracedGateway = LocalGateway & {
  space: Workspace
  /** Closes it, and sends the remaining spans. */
  end(): Promise<void>
}

/** `collector` absent: traces are off. */
export async function startTraced(
  t: { after(end: () => Promise<void>): void },
  service: string,
  servers: Record<string, object>,
  collector?: Collector,
): Promise<TracedGateway> {
  const space = createWorkspace()
  for (const [name, spec] of Object.entries(servers)) space.write(name, spec)
  const log = createLog({ level: 'silent' })
  const tracing: Tracing | undefined = collector
    ? await openTracing(tracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }), service, log)
    : undefined
  const gateway = await startTestGateway(space, {
    exposeServers: true,
    allowedProfiles: ['direct', 'search', 'registry'],
    log,
    tracer: tracing?.tracer,
  })
  const end = async () => {
    await gateway.close()
    await tracing?.close()
  }
  t.after(async () => {
    await end()
    space.remove()
  })
  return { ...gateway, space, end }
}

/** The span of a service with this name. Throws if there is none, or more than one. */
export function spanOf({ spans }: Collector, service: string, name: string, kind?: string): ReceivedSpan {
  const found = spans.filter(
    span =>
      span.name === name &&
      span.resource['service.name'] === service &&
      (kind === undefined || span.kind === kind),
  )
  const [span] = found
  if (!span || found.length > 1)
    throw new Error(`${found.length} spans ${name} of ${service} among ${spans.map(({ name }) => name)}`)
  return span
}
