/** Decides which servers may replace their pods in an upgrade, by counting those that do so now, in total and in each namespace. */
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { LABEL } from '../plan/names.ts'
import type { Queued } from '../plan/plan.ts'
import { isUpgrading, maxRolling, type Waves } from '../plan/upgrade.ts'
import type { Cache } from '../runtime/cache.ts'

type Deployment = Kube<V1Deployment>

/** How many of the rolling servers the status of a waiting one names. */
const MAX_NAMED = 3

export class Turns {
  readonly #deployments: Cache<Deployment>
  readonly #waves: Waves
  /** Servers whose turn has begun, with the generation of their Deployment at that time. They count as rolling until the cache has a newer one. */
  readonly #admitted = new Map<string, number>()
  /** Servers that wait for their turn, by namespace. */
  readonly #waiting = new Map<string, Set<string>>()
  #requeue: (server: string) => void = () => {}

  constructor(deployments: Cache<Deployment>, waves: Waves) {
    this.#deployments = deployments
    this.#waves = waves
    deployments.onChange((before, now) => {
      if (before && isUpgrading(before) && !(now && isUpgrading(now))) this.#requeueNext()
    })
  }

  /** Sets the function that queues a waiting server (`namespace/name`) again when its turn may have come. */
  onFree(requeue: (server: string) => void): void {
    this.#requeue = requeue
  }

  /**
   * Begins the turn of a server, or returns what it waits for. `deployment`: the one to upgrade; undefined if there is nothing to upgrade: the
   * server then waits no longer, and counts only while its Deployment rolls.
   */
  ask(server: string, deployment: Deployment | undefined): Queued | undefined {
    const namespace = server.split('/', 1)[0] as string
    if (!deployment) {
      const wasAdmitted = this.#admitted.delete(server)
      if (this.#leave(server, namespace) || wasAdmitted) this.#requeueNext()
      return undefined
    }
    const { rolling, free } = this.#rollingNow(server)
    if (free > 0 && roomIn(namespace, rolling, this.#waves) > 0) {
      this.#leave(server, namespace)
      this.#admitted.set(server, deployment.metadata.generation ?? 0)
      return undefined
    }
    const others = this.#waiting.get(namespace) ?? new Set()
    this.#waiting.set(namespace, others.add(server))
    return { rolling: rolling.map(serverKeyOf).sort().slice(0, MAX_NAMED) }
  }

  /** Returns whether the server was waiting. */
  #leave(server: string, namespace: string): boolean {
    const others = this.#waiting.get(namespace)
    const found = others?.delete(server) ?? false
    if (others?.size === 0) this.#waiting.delete(namespace)
    return found
  }

  /**
   * Queues as many waiting servers as may begin now, and moves them to the end of the waiting ones: if one of them does not begin, others are
   * queued the next time. A server that still may not roll keeps waiting. Each resync queues all servers, so none waits forever.
   */
  #requeueNext(): void {
    const { rolling, free } = this.#rollingNow()
    let left = free
    for (const [namespace, servers] of [...this.#waiting]) {
      const next = [...servers].slice(0, Math.max(0, Math.min(left, roomIn(namespace, rolling, this.#waves))))
      if (next.length === 0) continue
      left -= next.length
      this.#waiting.delete(namespace)
      this.#waiting.set(namespace, new Set([...servers].filter(one => !next.includes(one)).concat(next)))
      for (const server of next) this.#requeue(server)
    }
  }

  /** The Deployments that roll, and how many more may; both without that of `except`. */
  #rollingNow(except?: string): { rolling: Deployment[]; free: number } {
    const all = [...this.#deployments.objects.values()].filter(isOfServer)
    const rolling = all.filter(one => serverKeyOf(one) !== except && this.#isRolling(one))
    return { rolling, free: maxRolling(this.#waves, all.length) - rolling.length }
  }

  #isRolling(deployment: Deployment): boolean {
    const atBegin = this.#admitted.get(serverKeyOf(deployment))
    if (atBegin !== undefined && (deployment.metadata.generation ?? 0) <= atBegin) return true
    return isUpgrading(deployment)
  }
}

/** How many more servers may roll in a namespace. */
function roomIn(namespace: string, rolling: readonly Deployment[], { perNamespace }: Waves): number {
  return perNamespace - rolling.filter(({ metadata }) => metadata.namespace === namespace).length
}

function isOfServer({ metadata }: Deployment): boolean {
  return metadata.labels?.[LABEL.component] === 'server'
}

/** The key (`namespace/name`) of the server that a Deployment runs. */
function serverKeyOf({ metadata }: Deployment): string {
  return `${metadata.namespace}/${metadata.labels?.[LABEL.instance]}`
}
