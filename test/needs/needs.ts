/** What slow tests need besides the packages of this project, where it is kept and how it is obtained. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../../local/config.ts'
import { skipCluster } from '../cluster/available.ts'
import { clusterConfig } from '../cluster/config.ts'
import { obstacleToRunning } from '../cluster/machine.ts'
import { BUILD_TAKES, BUILDING, buildPrograms, programsBuilt } from '../cluster/programs.ts'
import { PYTHONS } from '../conformance/pythons.ts'
import { buildImages, imageFolder } from '../images/build.ts'
import { packageFolder, readyPackages } from '../images/packages.ts'
import { prometheusFetched, readyPrometheus } from '../monitoring/programs.ts'
import { pythonHome, pythonWith } from '../support/python-client.ts'
import { clientsInstalled, installClients } from '../support/test-clients.ts'

export type Need = {
  /** Names it in a sentence: "fetching …". */
  title: string
  /** How long the first time takes, in words. */
  takes: string
  /** True if there is nothing to do. */
  ready(): boolean
  /** Builds or fetches it, and gives its progress to `report`. Throws if that fails. */
  make(report: (detail: string) => void): Promise<unknown>
}

/** In the order in which they are made: first what others depend on. */
export function needs(): Need[] {
  const { required, cache } = clusterConfig()
  const withCluster = required || (programsBuilt(cache) && obstacleToRunning() === undefined)
  return [...forAll(), ...(withCluster ? forCluster(cache) : [])]
}

/** What keeps cluster tests from running here, with what to do; undefined if they can run. */
export function clusterObstacle(): string | undefined {
  return skipCluster() || undefined
}

function forAll(): Need[] {
  const requirements = [...new Set(PYTHONS.map(({ requirement }) => requirement))]
  return [
    {
      title: 'installing the conformance suite, the inspector and an authorization server',
      takes: 'half a minute',
      ready: clientsInstalled,
      make: installClients,
    },
    {
      title: `installing Python with ${requirements.join(', ')}`,
      takes: 'half a minute',
      ready: () => requirements.every(requirement => existsSync(pythonHome(requirement))),
      make: async () => {
        for (const requirement of requirements) await pythonWith(requirement)
      },
    },
  ]
}

function forCluster(cache: string): Need[] {
  const registry = join(cacheFolder(process.env), 'registry')
  return [
    {
      title: BUILDING,
      takes: BUILD_TAKES,
      ready: () => programsBuilt(cache),
      make: report => buildPrograms(cache, report),
    },
    {
      title: 'fetching Prometheus',
      takes: 'half a minute',
      ready: prometheusFetched,
      make: readyPrometheus,
    },
    {
      title: 'fetching the packages for the registry in the cluster',
      takes: 'a minute',
      ready: () => existsSync(packageFolder(registry)),
      make: report => readyPackages(registry, report),
    },
    {
      title: 'building the images for the cluster',
      takes: 'half a minute',
      // Only the first build takes long: tests build changed images again themselves.
      ready: () => existsSync(imageFolder()),
      make: () => buildImages(),
    },
  ]
}
