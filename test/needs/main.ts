/** `node test/needs/main.ts [plan]`: builds and fetches what slow tests need, or only lists it. */
import { clusterConfig } from '../cluster/config.ts'
import { withProgress } from '../support/progress.ts'
import { clusterObstacle, type Need, needs } from './needs.ts'

const say = (line: string) => void process.stderr.write(`${line}\n`)
const missing = needs().filter(need => !need.ready())

if (process.argv[2] === 'plan') plan()
else for (const need of missing) await make(need)

function plan(): void {
  if (missing.length > 0) say('Needed for the slow tests, and made before them:')
  for (const { title, takes } of missing) say(`  ${title} (${takes})`)
  const obstacle = clusterObstacle()
  if (obstacle) say(`Cluster tests will be skipped: ${obstacle}`)
}

/** A failure is only reported: the tests that need this say themselves why they cannot run. */
async function make({ title, make }: Need): Promise<void> {
  try {
    await withProgress(title, make)
  } catch (error) {
    say(`${title} failed: ${error instanceof Error ? error.message : error}`)
    if (clusterConfig().required) process.exit(1)
  }
}
