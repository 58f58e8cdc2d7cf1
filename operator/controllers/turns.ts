/** Decides whose turn it is in an upgrade: counts the servers whose pods are being replaced, in total and in each namespace. */
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { LABEL } from '../plan/names.ts'
import type { Queued } from '../plan/plan.ts'
import { isUpgrading, maxRolling, type Waves } from '../plan/upgrade.ts'
import type { Cache } from '../runtime/cache.ts'

type Deployment = Kube<V1Deployment>

const MAX_NAMED = 3

export class Turns {
  readonly #deployments: Cache<Deployment>
  readonly #waves: Waves
  /** Servers whose turn has begun, with the generation of their Deployment at that time. They count as rolling until the cache has a newer one. */
  readonly #admitted = new Map<string, number>()
  /** Servers by namespace. */
  readonly #waiting = new Map<string, Set<string>>()
  #wake: (server: string) => void = () => {}

  constructor(deployments: Cache<Deployment>, waves: Waves) {
    this.#deployments = deployments
    this.#waves = waves
    deployments.onChange((before, now) => {
      if (before && isUpgrading(before) && !(now && isUpgrading(now))) this.#wakeNext()
    })
  }

  /** Calls `wake` with servers that wait, `namespace/name`, when their turn may have come. */
  onFree(wake: (server: string) => void): void {
    this.#wake = wake
  }

  /** Begins the turn of a server, or returns what it waits for. A server without a Deployment does not wait. */
  ask(server: string, deployment: Deployment | undefined): Queued | undefined {
    const namespace = server.split('/', 1)[0] as string
    if (!deployment) {
      this.#admitted.delete(server)
      if (this.#leave(server, namespace)) this.#wakeNext()
      return undefined
    }
    const all = [...this.#deployments.objects.values()].filter(isOfServer)
    const rolling = all.filter(one => nameOf(one) !== server && this.#isRolling(one))
    const inNamespace = rolling.filter(({ metadata }) => metadata.namespace === namespace)
    if (
      rolling.length < maxRolling(this.#waves, all.length) &&
      inNamespace.length < this.#waves.perNamespace
    ) {
      this.#leave(server, namespace)
      this.#admitted.set(server, deployment.metadata.generation ?? 0)
      return undefined
    }
    const others = this.#waiting.get(namespace) ?? new Set()
    this.#waiting.set(namespace, others.add(server))
    return { rolling: rolling.map(nameOf).sort().slice(0, MAX_NAMED) }
  }

  #leave(server: string, namespace: string): boolean {
    const others = this.#waiting.get(namespace)
    const found = others?.delete(server) ?? false
    if (others?.size === 0) this.#waiting.delete(namespace)
    return found
  }

  /** Wakes as many servers of each namespace as may roll there. Those that find no place wait again. */
  #wakeNext(): void {
    for (const servers of this.#waiting.values())
      for (const server of [...servers].slice(0, this.#waves.perNamespace)) this.#wake(server)
  }

  #isRolling(deployment: Deployment): boolean {
    const before = this.#admitted.get(nameOf(deployment))
    if (before !== undefined && (deployment.metadata.generation ?? 0) <= before) return true
    return isUpgrading(deployment)
  }
}

function isOfServer({ metadata }: Deployment): boolean {
  return metadata.labels?.[LABEL.component] === 'server'
}

/** The key of the server that it runs. */
function nameOf({ metadata }: Deployment): string {
  return `${metadata.namespace}/${metadata.labels?.[LABEL.instance]}`
}
