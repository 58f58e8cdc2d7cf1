/** Parses the caches' McpServers, McpGateways and McpScripts, each version of an object once. */
import type { GivenScript } from '../../core/catalog/resolve-scripts.ts'
import { inspectScript } from '../../core/code/inspect-script.ts'
import { messageOf, type Problem } from '../../core/errors.ts'
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

type Unreadable = { problems: Problem[]; manifest?: undefined; script?: undefined }

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

/** An error of `make` is remembered as a problem, so that one object does not stop what looks at all of its kind. */
function remembered<T extends object>(
  known: WeakMap<KubeObject, T | Unreadable>,
  object: KubeObject,
  make: (object: KubeObject) => T,
): T | Unreadable {
  const found = known.get(object)
  if (found) return found
  const made = madeOf(object, make)
  known.set(object, made)
  return made
}

function madeOf<T>(object: KubeObject, make: (object: KubeObject) => T): T | Unreadable {
  try {
    return make(object)
  } catch (error) {
    return { problems: [{ reason: 'Invalid', message: `cannot be read: ${messageOf(error)}` }] }
  }
}
