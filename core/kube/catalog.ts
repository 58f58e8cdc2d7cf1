/** Reads a server catalog from the ConfigMaps that carry its slices. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { approvedName, sliceName } from '../catalog/object-names.ts'
import type { ServerCatalog } from '../catalog/server-catalog.ts'
import { decodeSlices, MAX_SLICES, readSlice, type Slice } from '../catalog/slices.ts'
import { catalogVersion } from '../catalog/version.ts'
import { Fault } from '../errors.ts'
import type { KubeClient } from './client.ts'
import type { Kube } from './object.ts'

type Reader = Pick<KubeClient, 'get'>

/**
 * Returns the server's current catalog, or `known` itself if that has the same version. Throws ApiError; Fault `not_found` if a slice
 * is missing; and `invalid_data` if the slices are unreadable or do not belong together.
 */
export async function readCatalog(
  client: Reader,
  namespace: string,
  server: string,
  known: ServerCatalog | undefined,
  signal?: AbortSignal,
): Promise<ServerCatalog> {
  return readSlices(client, namespace, part => sliceName(server, part), known, signal)
}

/** Returns the approved tools of a server as a catalog. Throws as readCatalog does: `not_found` if no tools have been approved yet. */
export async function readApproved(
  client: Reader,
  namespace: string,
  server: string,
  signal?: AbortSignal,
): Promise<ServerCatalog> {
  return readSlices(client, namespace, part => approvedName(server, part), undefined, signal)
}

async function readSlices(
  client: Reader,
  namespace: string,
  nameOf: (part: number) => string,
  known: ServerCatalog | undefined,
  signal: AbortSignal | undefined,
): Promise<ServerCatalog> {
  const read = (part: number) => readPart(client, namespace, nameOf(part), signal)
  const first = await read(0)
  if (known && first.header.digest === catalogVersion(known)) return known
  const count = Math.min(first.header.parts, MAX_SLICES)
  const others = await Promise.all(Array.from({ length: Math.max(0, count - 1) }, (_, at) => read(at + 1)))
  // Unpacking a large catalog blocks the event loop: run what is already waiting first.
  await nextTurn()
  return decodeSlices([first, ...others])
}

async function readPart(
  client: Reader,
  namespace: string,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Slice> {
  const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name }
  const found = await client.get<Kube<V1ConfigMap>>(ref, signal)
  if (!found) throw new Fault('not_found', `There is no ConfigMap ${name}`)
  return readSlice(found)
}
