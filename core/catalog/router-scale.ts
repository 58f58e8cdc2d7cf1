/** How many routers a gateway has in a cluster. Pure. */
import type { McpGateway } from '../../crds/gateway.ts'

/** Default maxReplicas of the autoscaler. */
const MAX_REPLICAS = 5

/** `replicas` is absent if an autoscaler decides, between `min` and `max`. */
export type RouterScale = { replicas?: number; min: number; max: number }

/** An empty `autoscaling` means no autoscaler. */
export function routerScale({ spec }: McpGateway): RouterScale {
  const { replicas, autoscaling = {} } = spec.router
  if (Object.keys(autoscaling).length === 0) return { replicas, min: replicas, max: replicas }
  const given = (field: string, fallback: number) => {
    const value = autoscaling[field]
    return typeof value === 'number' ? value : fallback
  }
  const min = given('minReplicas', Math.max(1, replicas))
  return { min, max: given('maxReplicas', Math.max(MAX_REPLICAS, min)) }
}
