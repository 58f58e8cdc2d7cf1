/** How our runtime (Node and the bridge) gets into a pod of any image. Pure. */
import type { V1Container, V1Volume, V1VolumeMount } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'
import { containerSecurity } from './security.ts'
import type { OperatorSettings } from './settings.ts'

const FOLDER = '/portolan'
const VOLUME = 'portolan'
/** Where the init container that copies the runtime mounts the volume: its image has the runtime itself in FOLDER. */
const COPY_TO = '/delivered'
const SIZE_LIMIT = '256Mi'

/** The command that starts the bridge, without the bridge's arguments. It uses its own loader and libraries, so that the image needs none. */
export const RUNTIME: readonly string[] = [
  `${FOLDER}/ld.so`,
  '--library-path',
  `${FOLDER}/lib`,
  `${FOLDER}/node`,
  '--disable-warning=ExperimentalWarning',
  '--no-allocation-site-pretenuring',
  '--max-semi-space-size=1',
  '--heap-growing-percent=30',
  `${FOLDER}/bridge.cjs`,
]

export type Delivery = {
  volume: JsonOf<V1Volume>
  /** Needed by every container that starts RUNTIME. */
  mount: JsonOf<V1VolumeMount>
  /** Must come before all other init containers. */
  initContainers: JsonOf<V1Container>[]
}

/** The volume with the runtime: our image itself where clusters can mount images, else an empty one that an init container fills. */
export function delivery(settings: OperatorSettings): Delivery {
  const mount = { name: VOLUME, mountPath: FOLDER, readOnly: true }
  if (settings.delivery === 'imageVolume') {
    const image = { reference: settings.image, pullPolicy: settings.imagePullPolicy }
    // The root of an image volume is the root of the image.
    return {
      volume: { name: VOLUME, image },
      mount: { ...mount, subPath: FOLDER.slice(1) },
      initContainers: [],
    }
  }
  const volume = { name: VOLUME, emptyDir: { sizeLimit: SIZE_LIMIT } }
  return { volume, mount, initContainers: [copyContainer(settings)] }
}

function copyContainer({ image, imagePullPolicy, resources }: OperatorSettings): JsonOf<V1Container> {
  return {
    name: 'portolan',
    image,
    imagePullPolicy,
    command: [...RUNTIME],
    args: ['deliver', COPY_TO],
    volumeMounts: [{ name: VOLUME, mountPath: COPY_TO }],
    resources: resources.install,
    securityContext: containerSecurity(),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  }
}
