/** The metrics of a bridge and of its server's processes. Without a library, which would make up a quarter of the bridge's size. */
import type { StdioLog } from '../core/mcp/client/stdio/stdio-rpc.ts'
import packageJson from '../package.json' with { type: 'json' }

/** Current numbers of open sessions and running processes. */
export type Running = { sessions: number; processes: number }

export type BridgeMetrics = {
  /** All metrics in the text format of Prometheus. */
  text(): string
  /** Counts a process that ended by itself or did not start. `reason`: the CamelCase reason of the failure. */
  failed(reason: string): void
  /** Wraps a log to count the lines of stderr that it gets. */
  counting(log: StdioLog): StdioLog
  /** Sets the function that returns the current numbers; it is called at each scrape. */
  watch(running: () => Running): void
}

/** The content type of `text()`. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const MICROSECONDS_PER_SECOND = 1_000_000

/** `labels` of a sample: empty, or in braces as the text format has them. */
type Metric = { name: string; type: 'counter' | 'gauge'; help: string; samples: [labels: string, number][] }

export function createBridgeMetrics(): BridgeMetrics {
  const startSeconds = Date.now() / 1_000 - process.uptime()
  const failures = new Map<string, number>()
  let lines = 0
  let running: () => Running = () => ({ sessions: 0, processes: 0 })
  return {
    text: () => {
      const own = bridgeMetrics({ failures, lines, running: running() })
      return [...own, ...processMetrics(startSeconds)].map(textOf).join('\n')
    },
    failed: reason => void failures.set(reason, (failures.get(reason) ?? 0) + 1),
    counting: log => ({
      info(fields, message) {
        if ('stderr' in fields) lines += 1 + skippedLines(fields)
        log.info(fields, message)
      },
      warn: (fields, message) => log.warn(fields, message),
    }),
    watch(current) {
      running = current
    },
  }
}

type Counts = { failures: ReadonlyMap<string, number>; lines: number; running: Running }

function bridgeMetrics({ failures, lines, running: { sessions, processes } }: Counts): Metric[] {
  const build = `{version="${packageJson.version}",component="bridge"}`
  const failed = [...failures].map(([reason, count]): [string, number] => [`{reason="${reason}"}`, count])
  return [
    {
      ...{ name: 'portolan_build_info', type: 'gauge', samples: [[build, 1]] },
      help: '1, with the version of Portolan and what the process is.',
    },
    {
      ...{ name: 'portolan_bridge_process_failures_total', type: 'counter', samples: failed },
      help: "Times that a server's process ended by itself, or did not start. It is started again.",
    },
    {
      ...{ name: 'portolan_bridge_stderr_lines_total', type: 'counter', samples: [['', lines]] },
      help: 'Lines that the server wrote to stderr, also those that are not in the log.',
    },
    {
      ...{ name: 'portolan_bridge_sessions', type: 'gauge', samples: [['', sessions]] },
      help: 'Sessions of clients that are open; none for a shared server.',
    },
    {
      ...{ name: 'portolan_bridge_processes', type: 'gauge', samples: [['', processes]] },
      help: 'Processes of the server, those that wait for the next session or call included.',
    },
  ]
}

/** Metrics of the bridge's own process, with the names that Prometheus client libraries use. */
function processMetrics(startSeconds: number): Metric[] {
  const { user, system } = process.cpuUsage()
  const cpuSeconds = (user + system) / MICROSECONDS_PER_SECOND
  return [
    {
      ...{ name: 'process_cpu_seconds_total', type: 'counter', samples: [['', cpuSeconds]] },
      help: 'CPU time of the process, in seconds.',
    },
    {
      ...{ name: 'process_resident_memory_bytes', type: 'gauge', samples: [['', process.memoryUsage.rss()]] },
      help: 'Resident memory of the process, in bytes.',
    },
    {
      ...{ name: 'process_start_time_seconds', type: 'gauge', samples: [['', startSeconds]] },
      help: 'When the process started, in seconds since the epoch.',
    },
  ]
}

function textOf({ name, type, help, samples }: Metric): string {
  const values = samples.map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${values.join('')}`
}

/** How many lines before this one are not in the log: see `StderrOptions.log`. */
function skippedLines(fields: object): number {
  return 'left' in fields && typeof fields.left === 'number' ? fields.left : 0
}
