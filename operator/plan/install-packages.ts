/** Installs the package of an npm or PyPI server into a volume, before the server starts. Pure. */
import type { V1Container, V1EnvVar, V1Volume, V1VolumeMount } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import { RUNTIME } from './delivery.ts'
import { containerSecurity } from './security.ts'
import type { OperatorSettings } from './settings.ts'

const FOLDER = '/opt/mcp'
const VOLUME = 'package'
const SIZE_LIMIT = '2Gi'

/** Where the installer writes what to start. */
export const START_FILE = `${FOLDER}/start.json`

/** What is installed, and in which image: the server runs in the same. */
export type Package = { image: string; words: string[]; registry?: string }

/** The package of a server; undefined where it has another source. */
export function packageOf(
  { spec: { npm, pypi } }: McpServer,
  settings: OperatorSettings,
): Package | undefined {
  if (npm) {
    const registry = npm.registry ?? settings.npm.registry
    return { image: settings.npm.image, registry, words: words('npm', npm, registry) }
  }
  if (pypi) {
    const registry = pypi.index ?? settings.pypi.index
    return { image: settings.pypi.image, registry, words: words('pypi', pypi, registry) }
  }
  return undefined
}

export type Installation = {
  volume: JsonOf<V1Volume>
  /** For the server, which only reads it. */
  mount: JsonOf<V1VolumeMount>
  initContainer: JsonOf<V1Container>
}

/** The installer gets the server's environment: proxies and credentials of registries stand there. */
export function installation(
  { image, words }: Package,
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
      args: ['install', ...words, '--into', FOLDER],
      ...environment,
      volumeMounts: [...mounts, mount],
      resources: settings.resources.install,
      securityContext: containerSecurity(),
      terminationMessagePolicy: 'FallbackToLogsOnError',
    },
  }
}

function words(
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
