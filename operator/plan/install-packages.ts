/** The init container that installs the package of an npm or PyPI server into a volume. Pure. */
import type { V1Container, V1EnvVar, V1Volume, V1VolumeMount } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import { RUNTIME } from './delivery.ts'
import { containerSecurity } from './security.ts'
import type { OperatorSettings } from './settings.ts'

const FOLDER = '/opt/mcp'
const VOLUME = 'package'
const SIZE_LIMIT = '2Gi'

/** The installer writes the command to start into this file. */
export const START_FILE = `${FOLDER}/start.json`

/** Arguments of the installer, and the image in which both it and the server run. */
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
  volume: JsonOf<V1Volume>
  /** The server's mount, read-only. */
  mount: JsonOf<V1VolumeMount>
  initContainer: JsonOf<V1Container>
}

/** The installer gets the server's environment, which may hold proxies and registry credentials. */
export function installation(
  { image, args }: Package,
  settings: OperatorSettings,
  environment: { env: JsonOf<V1EnvVar>[]; envFrom?: McpServer['spec']['envFrom'] },
  mounts: JsonOf<V1VolumeMount>[],
): Installation {
  const mount = { name: VOLUME, mountPath: FOLDER }
  return {
    volume: { name: VOLUME, emptyDir: { sizeLimit: SIZE_LIMIT } },
    mount: { ...mount, readOnly: true },
    initContainer: {
      name: 'install',
      image,
      command: [...RUNTIME],
      args: ['install', ...args, '--into', FOLDER],
      ...environment,
      volumeMounts: [...mounts, mount],
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
