/** Remembers the last scaling decision for each server between two reconciles. */
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import type { Scale, ScaleMemory } from '../plan/scale.ts'

type Deployment = Kube<V1Deployment>
/** `generation`: the Deployment's generation at the time of the decision. */
type Decision = { memory: ScaleMemory; wanted: number; generation: number | undefined }

export class Scales {
  readonly #decided = new Map<string, Decision>()

  /** The memory of the last decision; empty if there is none. */
  memory(server: string): ScaleMemory {
    return this.#decided.get(server)?.memory ?? {}
  }

  /** The wanted number of instances now: the last decision, until the cache has the Deployment that was written for it. */
  current(server: string, deployment: Deployment | undefined): number | undefined {
    const decided = this.#decided.get(server)
    const isUnseen = decided && deployment && decided.generation === deployment.metadata.generation
    return isUnseen ? decided.wanted : deployment?.spec?.replicas
  }

  /** Stores a decision; true if it wakes a server that slept. */
  decide(server: string, { memory, wanted }: Scale, deployment: Deployment | undefined): boolean {
    const isWoken = this.current(server, deployment) === 0 && wanted > 0
    this.#decided.set(server, { memory, wanted, generation: deployment?.metadata.generation })
    return isWoken
  }

  forget(server: string): void {
    this.#decided.delete(server)
  }
}
