/**
 * `npm run conformance [PATH…] [-- --scenario NAME] [--verbose]`: the suite of modelcontextprotocol.io on each path and revision. One
 * closing line each; exit code 1 where a required scenario failed.
 */
import { parseArgs } from 'node:util'
import { testGatewayAsClient } from './client.ts'
import { PATHS, type Path, type PathName } from './paths.ts'
import { closingLines } from './report.ts'
import { type Outcome, REVISIONS, type Revision, testServer } from './suite.ts'

/** Without a cluster, which is started only where it is asked for. */
const DEFAULT = [...Object.keys(PATHS), 'client']
const NAMES = [...DEFAULT, 'cluster']
const { values, positionals } = parseArgs({
  options: { scenario: { type: 'string' }, verbose: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const unknown = positionals.filter(name => !NAMES.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`there is no path ${unknown.join(', ')}: ${NAMES.join(', ')}\n`)
  process.exit(2)
}

const lines: string[] = []
for (const name of positionals.length > 0 ? positionals : DEFAULT) {
  for await (const [revision, outcome] of runPath(name)) {
    if (values.verbose) process.stdout.write(outcome.output)
    const said = closingLines(name, revision, outcome)
    process.stdout.write(`${said.join('\n')}\n`)
    lines.push(...said)
    if (outcome.failed.length > 0) process.exitCode = 1
  }
}

async function* runPath(name: string): AsyncGenerator<[Revision, Outcome]> {
  if (name === 'client') {
    for (const revision of REVISIONS) yield [revision, await testGatewayAsClient(revision, values.scenario)]
    return
  }
  const path = await openPath(name)
  try {
    for (const revision of REVISIONS) yield [revision, await testServer(path.url, revision, values.scenario)]
  } finally {
    await path.stop()
  }
}

async function openPath(name: string): Promise<Path> {
  if (name !== 'cluster') return PATHS[name as PathName]()
  const { openClusterPath } = await import('./cluster-path.ts')
  return openClusterPath()
}
