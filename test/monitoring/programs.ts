/** Prometheus and promtool from Debian's package, fetched once into the cache. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../local/config.ts'
import { run } from '../cluster/command.ts'
import { clusterConfig } from '../cluster/config.ts'

const PACKAGE = 'prometheus'
const PROGRAMS = ['prometheus', 'promtool'] as const

export type Programs = Record<(typeof PROGRAMS)[number], string>

export function prometheusFetched(): boolean {
  return Object.values(programs()).every(existsSync)
}

/** Fetches them if they are missing. If that fails, resolves with undefined and says so on stderr, or throws with REQUIRE_CLUSTER=1. */
export async function readyPrometheus(): Promise<Programs | undefined> {
  if (prometheusFetched()) return programs()
  try {
    await fetchInto(folder())
    return programs()
  } catch (cause) {
    const text = `MONITORING TESTS SKIPPED: Prometheus is not here and cannot be fetched (apt-get download ${PACKAGE}).`
    if (clusterConfig().required) throw new Error(text, { cause })
    process.stderr.write(`\n${text}\n\n`)
    return undefined
  }
}

function programs(): Programs {
  const [prometheus, promtool] = PROGRAMS.map(name => join(folder(), name))
  return { prometheus, promtool } as Programs
}

function folder(): string {
  return join(cacheFolder(process.env), PACKAGE)
}

async function fetchInto(folder: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'portolan-prometheus-'))
  try {
    const download = () => run(['apt-get', 'download', PACKAGE], { cwd: work })
    await download().catch(async () => {
      await run(['apt-get', 'update'])
      await download()
    })
    const [file = ''] = readdirSync(work)
    await run(['dpkg', '-x', file, 'unpacked'], { cwd: work })
    mkdirSync(folder, { recursive: true })
    for (const name of PROGRAMS) {
      const unfinished = join(folder, `.${name}.${process.pid}`)
      copyFileSync(join(work, 'unpacked', 'usr', 'bin', name), unfinished)
      renameSync(unfinished, join(folder, name))
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
