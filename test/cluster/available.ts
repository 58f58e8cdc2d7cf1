/** Decides whether tests with Kubernetes run here. */
import { clusterConfig } from './config.ts'
import { obstacleToRunning } from './machine.ts'
import { BUILD_TAKES, programsBuilt } from './programs.ts'

export const NOT_BUILT = `its programs are not built (npm run cluster -- build, once: ${BUILD_TAKES})`

/**
 * False where cluster tests run: where they are required, a cluster is named or the programs are built. Else the reason and
 * what to do, for the option `skip` of a test.
 */
export function skipCluster(config = clusterConfig()): false | string {
  if (config.required || config.context) return false
  const obstacle = obstacleToRunning() ?? (programsBuilt(config.cache) ? undefined : NOT_BUILT)
  return obstacle !== undefined && `no cluster: ${obstacle}`
}
