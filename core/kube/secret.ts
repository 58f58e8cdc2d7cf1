/** The values of Secrets: reads those of one, and decodes and encodes them. */
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
  return found && decodedData(found.data)
}

/** The decoded values of the field `data` of a Secret, by key. */
export function decodedData(data: SecretValues = {}): Record<string, string> {
  const values = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()])
  return Object.fromEntries(values)
}

/** A text, encoded for the field `data` of a Secret. */
export function encodedValue(text: string): string {
  return Buffer.from(text).toString('base64')
}
