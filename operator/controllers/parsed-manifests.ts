/** Parses the caches' McpServers, McpGateways and McpScripts, each version of an object once. */
import type { GivenScript } from '../../core/catalog/resolve-scripts.ts'
import { inspectScript } from '../../core/code/inspect-script.ts'
import type { Problem } from '../../core/errors.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { parseManifest } from '../../crds/parse.ts'
import type { McpScript } from '../../crds/script.ts'
import type { McpServer } from '../../crds/server.ts'

export type Read<Manifest> =
  | { manifest: Manifest; problems?: undefined }
  /** Only if another version of the CRD admitted something that this operator does not know. */
  | { problems: Problem[]; manifest?: undefined }

/** A script with the result of inspecting its code. */
export type ReadScript =
  | { script: GivenScript; problems?: undefined }
  | { problems: Problem[]; script?: undefined }

export type Manifests = {
  server(object: KubeObject): Read<McpServer>
  gateway(object: KubeObject): Read<McpGateway>
  script(object: KubeObject): ReadScript
}

/** Cached objects are frozen, so parsed results can be kept by object identity. */
export function createManifests(): Manifests {
  const servers = new WeakMap<KubeObject, Read<McpServer>>()
  const gateways = new WeakMap<KubeObject, Read<McpGateway>>()
  const scripts = new WeakMap<KubeObject, ReadScript>()
  return {
    server: object => remembered(servers, object, read<McpServer>),
    gateway: object => remembered(gateways, object, read<McpGateway>),
    script: object => remembered(scripts, object, readScript),
  }
}

function read<Manifest>(object: KubeObject): Read<Manifest> {
  const { manifest, problems = [] } = parseManifest(object)
  return manifest ? { manifest: manifest as Manifest } : { problems }
}

function readScript(object: KubeObject): ReadScript {
  const { manifest, problems } = read<McpScript>(object)
  return manifest ? { script: { manifest, inspected: inspectScript(manifest.spec.code) } } : { problems }
}

function remembered<T>(
  known: WeakMap<KubeObject, T>,
  object: KubeObject,
  make: (object: KubeObject) => T,
): T {
  const found = known.get(object)
  if (found) return found
  const made = make(object)
  known.set(object, made)
  return made
}
