/** Decides whether cluster tests run here, and says loudly where they do not. */
import { clusterConfig } from './config.ts'
import { obstacleToRunning } from './machine.ts'
import { programsBuilt } from './programs.ts'

const HOW =
  'Run them with: npm run cluster -- build (some minutes, once), then npm test; or set REQUIRE_CLUSTER=1.'

/**
 * False where cluster tests run: where they are required, a cluster is named or the programs are built. Else the reason, for
 * the option `skip` of a test, after writing it to stderr.
 */
export function skipCluster(config = clusterConfig()): false | string {
  if (config.required || config.context) return false
  const obstacle =
    obstacleToRunning() ?? (programsBuilt(config.cache) ? undefined : 'its programs are not built')
  if (obstacle === undefined) return false
  process.stderr.write(`\nCLUSTER TESTS SKIPPED: no Kubernetes here, ${obstacle}. ${HOW}\n\n`)
  return `no cluster: ${obstacle}`
}
