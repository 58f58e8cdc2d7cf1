/** What the test cluster takes from the environment. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../local/config.ts'

export type ClusterConfig = {
  /** Built programs are kept here, one folder for each digest of their sources. */
  cache: string
  /** Each running cluster has a folder of its name in here. */
  folder: string
  /** An existing cluster that tests may use instead of one of their own. */
  context?: string
  /** Cluster tests fail where they cannot run, instead of being skipped. */
  required: boolean
}

export function clusterConfig(env: NodeJS.ProcessEnv = process.env): ClusterConfig {
  const set = Object.fromEntries(Object.entries(env).flatMap(([key, value]) => (value ? [[key, value]] : [])))
  return {
    cache: join(cacheFolder(set), 'cluster'),
    folder: join(tmpdir(), 'portolan-cluster'),
    context: set.PORTOLAN_E2E_CONTEXT,
    required: set.REQUIRE_CLUSTER === '1',
  }
}
