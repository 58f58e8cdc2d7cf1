/** The fields of manifests that have an effect in clusters only: a note for each manifest that gives some. Pure. */
import { defaultGateway } from '../core/catalog/resolve.ts'
import type { Problem } from '../core/errors.ts'
import { canonicalJson, isObject } from '../core/json.ts'
import { placedIn } from '../core/manifests.ts'
import { REASON } from '../crds/conditions.ts'
import { API_VERSION } from '../crds/object-meta.ts'
import { mcpServerSchema } from '../crds/server.ts'
import type { PlacedManifest } from './files.ts'

/** Not those with which a server or gateway is refused on a laptop, such as `spec.egress`. */
const FIELDS: Record<string, readonly string[]> = {
  McpServer: ['scaling.max', 'scaling.callsPerPod', 'scaling.external', 'storage', 'pod', 'tls'],
  McpGateway: ['from', 'router'],
}

/** The notes on the manifests among `used`. */
export function withoutEffect(manifests: readonly PlacedManifest[], used: ReadonlySet<unknown>): Problem[] {
  const plain = plainSpecs()
  return manifests.flatMap(place => {
    const { kind, metadata, ...rest } = place.manifest
    const fields = FIELDS[kind]
    if (!fields || !used.has(place.manifest)) return []
    const given = fields.filter(field => textOf(rest, field) !== textOf(plain[kind], field))
    const [path, ...others] = given.map(field => `spec.${field}`)
    if (path === undefined) return []
    const also = others.length > 0 ? `; the same goes for ${others.join(', ')}` : ''
    const message = `${metadata.name}: has no effect on a laptop, only in clusters${also}`
    return placedIn(place, { reason: REASON.clusterOnly, path, message })
  })
}

/** Manifests that give none of the fields. */
function plainSpecs(): Record<string, object> {
  const metadata = { name: 'a' }
  const spec = { command: { run: 'a' } }
  return {
    McpServer: mcpServerSchema.parse({ apiVersion: API_VERSION, kind: 'McpServer', metadata, spec }),
    McpGateway: defaultGateway(),
  }
}

function textOf(manifest: unknown, field: string): string {
  const value = ['spec', ...field.split('.')].reduce(
    (outer, key) => (isObject(outer) ? outer[key] : undefined),
    manifest,
  )
  return canonicalJson(value) ?? ''
}
