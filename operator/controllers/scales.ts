/** Remembers for each server, between two reconciles, what was decided about its scaling. */
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import type { Scale, ScaleMemory } from '../plan/scale.ts'

type Deployment = Kube<V1Deployment>
/** `generation`: that of the Deployment when this was decided. */
type Decided = { memory: ScaleMemory; wanted: number; generation: number | undefined }

export class Scales {
  readonly #decided = new Map<string, Decided>()

  memory(server: string): ScaleMemory {
    return this.#decided.get(server)?.memory ?? {}
  }

  /** The wanted number of instances: the last decision, until the cache has the Deployment that was written for it. */
  standing(server: string, deployment: Deployment | undefined): number | undefined {
    const decided = this.#decided.get(server)
    const isUnseen = decided && deployment && decided.generation === deployment.metadata.generation
    return isUnseen ? decided.wanted : deployment?.spec?.replicas
  }

  /** Stores a decision; true if it wakes a server that slept. */
  decide(server: string, { memory, wanted }: Scale, deployment: Deployment | undefined): boolean {
    const isWoken = this.standing(server, deployment) === 0 && wanted > 0
    this.#decided.set(server, { memory, wanted, generation: deployment?.metadata.generation })
    return isWoken
  }

  forget(server: string): void {
    this.#decided.delete(server)
  }
}
