/** Startup, readiness and liveness probes. Pure. */
import type { V1Container, V1Probe } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'
import { parseDuration } from '../../crds/quantity.ts'
import type { McpServer } from '../../crds/server.ts'
import { RUNTIME } from './delivery.ts'
import { ADMIN_PORT, HTTP_PORT } from './names.ts'

type Probes = Pick<JsonOf<V1Container>, 'startupProbe' | 'readinessProbe' | 'livenessProbe'>

/** The bridge tries three times to start the server, reports the cause and exits; the startup probe must not kill it before that. */
const BRIDGE_START_SECONDS = 24 * 60 * 60
export const ROUTER_START_SECONDS = 120
const PROBE_SECONDS = 5
/** How long a container that a probe gave up may take to end. The pod's grace period is for calls in flight, which a process that hangs never answers. */
export const PROBE_GRACE_SECONDS = 30
const GIVEN_UP = { terminationGracePeriodSeconds: PROBE_GRACE_SECONDS }

/** Ready while a child process answers; live while the bridge's event loop runs. */
export function bridgeProbes({ spec }: McpServer): Probes {
  return httpProbes(HTTP_PORT, BRIDGE_START_SECONDS, spec.tls)
}

/** Ready while a router answers `/readyz` at its admin port with 200; live while it answers `/healthz`. */
export function routerProbes(): Probes {
  return httpProbes(ADMIN_PORT, ROUTER_START_SECONDS)
}

/** Ready while an MCP server answers, which our runtime checks from inside the container; live while the port is open. */
export function imageProbes(server: McpServer, port: number, path: string): Probes {
  const url = `http://127.0.0.1:${port}${path}`
  const exec = { command: [...RUNTIME, '--probe', url, '--timeout', `${PROBE_SECONDS}s`] }
  const timeoutSeconds = PROBE_SECONDS + 2
  return {
    startupProbe: {
      exec,
      periodSeconds: 1,
      timeoutSeconds,
      failureThreshold: startTimeoutSeconds(server),
      ...GIVEN_UP,
    },
    readinessProbe: { exec, periodSeconds: 15, timeoutSeconds, failureThreshold: 2 },
    livenessProbe: {
      tcpSocket: { port },
      periodSeconds: 20,
      timeoutSeconds: 5,
      failureThreshold: 3,
      ...GIVEN_UP,
    },
  }
}

/** `limits.startTimeout` in whole seconds, at least 1. */
export function startTimeoutSeconds({ spec }: McpServer): number {
  return Math.max(1, Math.ceil(parseDuration(spec.limits.startTimeout) / 1_000))
}

/** The startup probe checks `/readyz` each second, so that a pod is ready soon: the kubelet probes readiness right after it succeeds. */
function httpProbes(port: number, startSeconds: number, tls = false): Probes {
  const scheme = tls ? { scheme: 'HTTPS' } : {}
  const get = (path: string): JsonOf<V1Probe> => ({ httpGet: { path, port, ...scheme } })
  return {
    startupProbe: {
      ...get('/readyz'),
      periodSeconds: 1,
      timeoutSeconds: 2,
      failureThreshold: startSeconds,
      ...GIVEN_UP,
    },
    readinessProbe: { ...get('/readyz'), periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 2 },
    livenessProbe: {
      ...get('/healthz'),
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 6,
      ...GIVEN_UP,
    },
  }
}
