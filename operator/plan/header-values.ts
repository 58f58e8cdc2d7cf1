/** Headers whose value, taken from a ConfigMap, cannot be sent. Pure. */
import type { Problem } from '../../core/errors.ts'
import { REASON } from '../../crds/conditions.ts'
import { HEADER_VALUE } from '../../crds/core-v1.ts'
import type { McpServer } from '../../crds/server.ts'
import type { ReferenceIndex } from './references.ts'

/** Checks only values from ConfigMaps: the schema of the manifest checks those in the manifest itself. */
export function unsendableHeaders({ spec }: McpServer, references: ReferenceIndex): Problem[] {
  return spec.headers.flatMap(({ valueFrom }, index) => {
    const { name, key } = valueFrom?.configMapKeyRef ?? {}
    const value = key === undefined ? undefined : references.get(`ConfigMap/${name}`)?.values?.[key]
    if (value === undefined || HEADER_VALUE.test(value)) return []
    const path = `spec.headers[${index}].valueFrom.configMapKeyRef`
    const message = `the value of "${key}" in the ConfigMap "${name}" is no header: it has a line break or another control character, often at its end`
    return [{ reason: REASON.invalid, path, message }]
  })
}
