/** Parses the caches' McpServers, McpGateways and McpScripts, each version of an object once. */
import type { GivenScript } from '../../core/catalog/resolve-scripts.ts'
import { inspectScript } from '../../core/code/inspect-script.ts'
import type { Problem } from '../../core/errors.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { parseStored } from '../../crds/parse.ts'
import type { McpScript } from '../../crds/script.ts'
import type { McpServer } from '../../crds/server.ts'

/** `problems`: the object does not match the schema of this operator, because another version of the CRD admitted it. */
export type Parsed<Manifest> =
  | { manifest: Manifest; problems?: undefined }
  | { problems: Problem[]; manifest?: undefined }

/** A script with the result of inspecting its code. */
export type ParsedScript =
  | { script: GivenScript; problems?: undefined }
  | { problems: Problem[]; script?: undefined }

export type Manifests = {
  server(object: KubeObject): Parsed<McpServer>
  gateway(object: KubeObject): Parsed<McpGateway>
  script(object: KubeObject): ParsedScript
}

/** Cached objects are frozen, so parsed results can be kept by object identity. */
export function createManifests(): Manifests {
  const servers = new WeakMap<KubeObject, Parsed<McpServer>>()
  const gateways = new WeakMap<KubeObject, Parsed<McpGateway>>()
  const scripts = new WeakMap<KubeObject, ParsedScript>()
  return {
    server: object => remembered(servers, object, read<McpServer>),
    gateway: object => remembered(gateways, object, read<McpGateway>),
    script: object => remembered(scripts, object, readScript),
  }
}

function read<Manifest>(object: KubeObject): Parsed<Manifest> {
  const { manifest, problems = [] } = parseStored(object)
  return manifest ? { manifest: manifest as Manifest } : { problems }
}

function readScript(object: KubeObject): ParsedScript {
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
