/** Panels about processes: memory, CPU, event loop. */
import type { PanelContent } from './content.ts'
import { ofProcesses, rate } from './queries.ts'

/** Panels for the processes with these labels that report the metric `own`. `remedy`: what to do if their CPU is near 100 %. */
export function processPanels(
  what: string,
  labels: string,
  own: string,
  remedy = 'add replicas',
): PanelContent[] {
  const legend = '{{namespace}}/{{pod}}'
  return [
    {
      kind: 'lines',
      title: 'Memory',
      description: `Resident memory of each ${what}. Near the pod's limit: raise the limit, or the pod will be killed.`,
      unit: 'bytes',
      queries: [[ofProcesses(`process_resident_memory_bytes{${labels}}`, own), legend]],
    },
    {
      kind: 'lines',
      title: 'CPU',
      description: `CPU of each ${what}. 100 % is one core; the event loop can use only one. Near 100 %: ${remedy}.`,
      unit: 'percentunit',
      queries: [[ofProcesses(rate('process_cpu_seconds_total', labels), own), legend]],
    },
    {
      kind: 'lines',
      title: 'Event loop',
      description: `Delay of the event loop of each ${what} (p99). Above about 100 ms, everything waits: it needs more CPU.`,
      unit: 's',
      queries: [[ofProcesses(`nodejs_eventloop_lag_p99_seconds{${labels}}`, own), legend]],
    },
  ]
}
