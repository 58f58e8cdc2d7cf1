/** What Prometheus is configured to scrape: processes of this machine, or what the chart's PodMonitors select in a cluster. Pure. */
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'

export type Target = { job: string; address: string; labels: Record<string, string>; honorLabels?: boolean }

const OFTEN = { scrape_interval: '1s', evaluation_interval: '1s' }

/** prometheus.yml for processes of this machine, with the labels that they would have in a cluster. */
export function configOfTargets(targets: readonly Target[], ruleFiles: readonly string[]): object {
  const scrapes = targets.map(({ job, address, labels, honorLabels = false }) => ({
    job_name: job,
    honor_labels: honorLabels,
    static_configs: [{ targets: [address], labels }],
  }))
  return { global: OFTEN, rule_files: ruleFiles, scrape_configs: scrapes }
}

export type PodMonitor = KubeObject & {
  spec: {
    namespaceSelector: { any?: boolean; matchNames?: string[] }
    selector: {
      matchLabels?: Record<string, string>
      matchExpressions?: { key: string; operator: 'Exists' }[]
    }
    podMetricsEndpoints: {
      port: string
      path: string
      honorLabels?: boolean
      relabelings?: { sourceLabels: string[]; targetLabel: string }[]
    }[]
  }
}

/** prometheus.yml as the Prometheus operator makes it of PodMonitors, over the pods that are there now. */
export function configOfPodMonitors(
  monitors: readonly PodMonitor[],
  pods: readonly Kube<V1Pod>[],
  ruleFiles: readonly string[],
): object {
  const scrapes = monitors.flatMap(({ metadata, spec }) => {
    const { any, matchNames = [] } = spec.namespaceSelector
    const chosen = pods.filter(pod => any || matchNames.includes(pod.metadata.namespace ?? ''))
    return spec.podMetricsEndpoints.map(({ port, path, honorLabels, relabelings = [] }) => ({
      job_name: `${metadata.namespace}/${metadata.name}/${port}`,
      metrics_path: path,
      honor_labels: honorLabels ?? false,
      static_configs: chosen.flatMap(discovered),
      relabel_configs: [
        ...keptPods(spec.selector),
        { action: 'keep', source_labels: [`${POD}_container_port_name`], regex: port },
        { source_labels: ['__meta_kubernetes_namespace'], target_label: 'namespace' },
        { source_labels: [`${POD}_name`], target_label: 'pod' },
        { source_labels: [`${POD}_container_name`], target_label: 'container' },
        ...relabelings.map(({ sourceLabels, targetLabel }) => {
          return { source_labels: sourceLabels, target_label: targetLabel }
        }),
      ],
    }))
  })
  return { global: OFTEN, rule_files: ruleFiles, scrape_configs: scrapes }
}

const POD = '__meta_kubernetes_pod'

/** A target for each port of a pod, with the labels that Prometheus would discover itself if Debian built it with Kubernetes. */
function discovered({ metadata, spec, status }: Kube<V1Pod>) {
  const labels = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => [
    [`${POD}_label_${nameOf(key)}`, value],
    [`${POD}_labelpresent_${nameOf(key)}`, 'true'],
  ])
  const common = {
    ...Object.fromEntries(labels),
    __meta_kubernetes_namespace: metadata.namespace,
    [`${POD}_name`]: metadata.name,
    [`${POD}_phase`]: status?.phase,
  }
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
  return containers.flatMap(({ name, ports = [] }) =>
    ports.map(({ name: port, containerPort }) => ({
      targets: [`${status?.podIP}:${containerPort}`],
      labels: { ...common, [`${POD}_container_name`]: name, [`${POD}_container_port_name`]: port ?? '' },
    })),
  )
}

function keptPods({ matchLabels = {}, matchExpressions = [] }: PodMonitor['spec']['selector']) {
  return [
    { action: 'drop', source_labels: [`${POD}_phase`], regex: 'Failed|Succeeded' },
    ...Object.entries(matchLabels).map(([label, value]) => {
      return { action: 'keep', source_labels: [`${POD}_label_${nameOf(label)}`], regex: value }
    }),
    ...matchExpressions.map(({ key }) => {
      return {
        action: 'keep',
        source_labels: [`${POD}_labelpresent_${nameOf(key)}`],
        regex: 'true',
      }
    }),
  ]
}

function nameOf(label: string): string {
  return label.replace(/[^a-zA-Z0-9_]/g, '_')
}
