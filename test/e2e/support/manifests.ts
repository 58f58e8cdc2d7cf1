/** Short forms of the manifests that tests apply. */
import type { KubeObject } from '../../../core/kube/object.ts'
import type { McpServerSpecInput } from '../../../crds/server.ts'

const OURS = 'portolan.dev/v1alpha1'
export const FIXTURES = 'portolan-test/fixtures:1'

type Labels = Record<string, string>

export function server(name: string, spec: McpServerSpecInput, labels: Labels = {}): KubeObject {
  return { apiVersion: OURS, kind: 'McpServer', metadata: { name, labels }, spec } as KubeObject
}

export function gateway(name: string, spec: Record<string, unknown> = {}): KubeObject {
  return { apiVersion: OURS, kind: 'McpGateway', metadata: { name }, spec } as KubeObject
}

/** A gateway over the servers with a label. */
export function gatewayOver(name: string, labels: Labels, replicas = 1): KubeObject {
  return gateway(name, { servers: { selector: { matchLabels: labels } }, router: { replicas } })
}

export function secret(name: string, stringData: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData } as KubeObject
}

/** The server of test/upstreams/rude, over stdio in an image: tools that echo, report their process and environment, or crash. */
export function fixture(mode = 'polite', ...args: string[]): McpServerSpecInput {
  return { image: { name: FIXTURES, command: ['node', '/fixtures/rude/server.mjs', mode, ...args] } }
}
