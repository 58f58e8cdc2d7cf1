/** Reads the values of one Secret. */
import type { V1Secret } from '@kubernetes/client-node'
import type { KubeClient } from './client.ts'
import type { Kube } from './object.ts'

export type SecretValues = Readonly<Record<string, string>>

/** The decoded values by key; undefined if the Secret does not exist. Throws ApiError. */
export async function readSecret(
  client: Pick<KubeClient, 'get'>,
  namespace: string | undefined,
  name: string,
  signal: AbortSignal,
): Promise<SecretValues | undefined> {
  const ref = { apiVersion: 'v1', kind: 'Secret', namespace, name }
  const found = await client.get<Kube<V1Secret>>(ref, signal)
  if (!found) return undefined
  const values = Object.entries(found.data ?? {}).map(([key, value]) => {
    return [key, Buffer.from(value, 'base64').toString('utf8')] as const
  })
  return Object.fromEntries(values)
}
