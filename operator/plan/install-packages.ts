/** The init container that installs the package of an npm or PyPI server into a volume. Pure. */
import type { V1Container, V1EnvVar, V1Volume, V1VolumeMount } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import { RUNTIME } from './delivery.ts'
import { packagesName } from './names.ts'
import { packageClaim } from './package-claim.ts'
import { INSTALLER, PACKAGES_KEY } from './package-records.ts'
import { containerSecurity } from './security.ts'
import type { OperatorSettings } from './settings.ts'

const FOLDER = '/opt/mcp'
const VOLUME = 'package'
/** Limit of the volume if it is not a claim. */
const SIZE_LIMIT = '2Gi'

const RECORDS_FOLDER = '/var/run/portolan/packages'
const RECORDS_VOLUME = 'records'

/** The installer writes the command to start into this file. */
export const START_FILE = `${FOLDER}/start.json`

/** `args`: arguments of the installer. `image`: the one in which both the installer and the server run. */
export type Package = { image: string; args: string[]; registry?: string }

/** The package of a server; undefined if it has another source. */
export function packageOf(
  { spec: { npm, pypi } }: McpServer,
  settings: OperatorSettings,
): Package | undefined {
  if (npm) {
    const registry = npm.registry ?? settings.npm.registry
    return { image: settings.npm.image, registry, args: argsOf('npm', npm, registry) }
  }
  if (pypi) {
    const registry = pypi.index ?? settings.pypi.index
    return { image: settings.pypi.image, registry, args: argsOf('pypi', pypi, registry) }
  }
  return undefined
}

export type Installation = {
  volumes: JsonOf<V1Volume>[]
  /** The server's mount, read-only. */
  mount: JsonOf<V1VolumeMount>
  initContainer: JsonOf<V1Container>
}

/**
 * `wanted`: the package of the server. The installer gets the server's environment, which may contain proxies and registry credentials.
 * The ConfigMap of records is optional: the operator creates it from the report of the server's first pod.
 */
export function installation(
  server: McpServer,
  wanted: Package,
  settings: OperatorSettings,
  environment: { env: JsonOf<V1EnvVar>[]; envFrom?: McpServer['spec']['envFrom'] },
  mounts: JsonOf<V1VolumeMount>[],
): Installation {
  const { image, args } = wanted
  const claim = packageClaim(server, wanted)
  const keepOption = claim ? ['--keep'] : []
  const mount = { name: VOLUME, mountPath: FOLDER }
  const records = { name: RECORDS_VOLUME, mountPath: RECORDS_FOLDER, readOnly: true }
  return {
    volumes: [
      {
        name: VOLUME,
        ...(claim
          ? { persistentVolumeClaim: { claimName: claim.metadata.name } }
          : { emptyDir: { sizeLimit: SIZE_LIMIT } }),
      },
      { name: RECORDS_VOLUME, configMap: { name: packagesName(server.metadata.name), optional: true } },
    ],
    mount: { ...mount, readOnly: true },
    initContainer: {
      name: INSTALLER,
      image,
      command: [...RUNTIME],
      args: [
        ...['install', ...args, '--integrity-file', `${RECORDS_FOLDER}/${PACKAGES_KEY}`],
        ...['--into', FOLDER, ...keepOption],
      ],
      ...environment,
      volumeMounts: [...mounts, mount, records],
      resources: settings.resources.install,
      securityContext: containerSecurity(),
      terminationMessagePolicy: 'FallbackToLogsOnError',
    },
  }
}

function argsOf(
  kind: 'npm' | 'pypi',
  source: { package: string; version: string; bin: string },
  registry: string | undefined,
): string[] {
  const option = (name: string, value = '') => (value === '' ? [] : [name, value])
  return [
    kind,
    source.package,
    ...option('--version', source.version),
    ...option('--bin', source.bin),
    ...option('--registry', registry),
  ]
}
