/** Panels on the processes themselves: memory, CPU, event loop. */
import type { PanelContent } from './content.ts'
import { ofProcesses, rate } from './queries.ts'

/** Of processes with these labels that tell the metric `own`. */
export function processPanels(what: string, labels: string, own: string): PanelContent[] {
  const legend = '{{namespace}}/{{pod}}'
  return [
    {
      kind: 'lines',
      title: 'Memory',
      description: `Resident memory of each ${what}. Near its limit the pod is killed: raise the limit.`,
      unit: 'bytes',
      queries: [[ofProcesses(`process_resident_memory_bytes{${labels}}`, own), legend]],
    },
    {
      kind: 'lines',
      title: 'CPU',
      description: `CPU of each ${what}; 100 % is one core, and one core is all that it can use. Near that: more replicas.`,
      unit: 'percentunit',
      queries: [[ofProcesses(rate('process_cpu_seconds_total', labels), own), legend]],
    },
    {
      kind: 'lines',
      title: 'Event loop',
      description: `How late the event loop of each ${what} is (p99). Above some 100 ms everything waits: it is short of CPU.`,
      unit: 's',
      queries: [[ofProcesses(`nodejs_eventloop_lag_p99_seconds{${labels}}`, own), legend]],
    },
  ]
}
