/**
 * Runs every benchmark and prints a report of this run. docs/bench.md is written by hand, with figures of several such reports.
 * `main.ts search`, `callers`, `code`, `tasks`, `encoder`, `start`, `compare`, `life`, `memory`, `bridge`, `cluster`, `sleep` run only one part. `tasks` also writes docs/bench-code.md.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { skipCluster } from '../cluster/available.ts'
import { benchBridge } from './bridge.ts'
import { benchCallers } from './callers.ts'
import { benchCallersGateway } from './callers-gateway.ts'
import { benchCluster } from './cluster.ts'
import { benchCode } from './code.ts'
import { benchEncoder } from './encoder.ts'
import { benchGateway } from './gateway.ts'
import { MEMORY_SECTION } from './memory.ts'
import { type BenchRow, table } from './row.ts'
import { benchSearch } from './search.ts'
import { benchSleep } from './sleep.ts'
import { measureTasks, tasksPage } from './tasks.ts'

const say = (text: string) => process.stderr.write(`${text}\n`)
const PARTS = [
  'search',
  'callers',
  'code',
  'tasks',
  'encoder',
  'start',
  'compare',
  'life',
  'memory',
  'bridge',
  'cluster',
  'sleep',
] as const
const parts = new Set(process.argv.length > 2 ? process.argv.slice(2) : PARTS)
const folder = mkdtempSync(join(tmpdir(), 'portolan-bench-'))
const rows: BenchRow[] = []
const sections: string[] = []
try {
  if (parts.has('search')) {
    say('search and index build')
    rows.push(...(await benchSearch()))
  }
  if (parts.has('callers')) {
    say('callers with rules')
    rows.push(...(await benchCallers()), ...(await benchCallersGateway(folder)))
  }
  if (parts.has('code')) {
    say('scripts')
    rows.push(...(await benchCode()))
  }
  if (parts.has('tasks')) {
    say('tasks of agents')
    writeFileSync('docs/bench-code.md', tasksPage(await measureTasks()))
  }
  if (parts.has('encoder')) {
    say('sentence encoder')
    rows.push(...(await benchEncoder()))
  }
  if (['start', 'compare', 'life', 'memory'].some(part => parts.has(part))) {
    const measured = await benchGateway(folder, parts)
    rows.push(...measured.rows)
    sections.push(measured.section)
  }
  if (parts.has('bridge')) {
    say('bridge')
    rows.push(...(await benchBridge(folder)))
  }
  if (parts.has('cluster') && !skipCluster()) rows.push(...(await benchCluster()))
  if (parts.has('sleep') && !skipCluster()) rows.push(...(await benchSleep()))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const report = `# Benchmarks

Figures of one run of \`npm run bench\` on ${cpus().length} cores, which load generator, gateway and upstream share. On other machines the rates
differ, but the ratios should be similar.

${table(rows)}

${sections.join('\n')}
${MEMORY_SECTION}`
process.stdout.write(report)
