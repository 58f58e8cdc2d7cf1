/** Headers whose value, taken from a ConfigMap, cannot be sent. Pure. */
import type { Problem } from '../../core/errors.ts'
import { ownValue } from '../../core/own-value.ts'
import { REASON } from '../../crds/conditions.ts'
import { HEADER_VALUE, MAX_HEADER_CHARACTERS } from '../../crds/core-v1.ts'
import type { McpServer } from '../../crds/server.ts'
import type { ReferenceIndex } from './references.ts'

/** Checks only values from ConfigMaps: the schema of the manifest checks those in the manifest itself. */
export function unsendableHeaders({ spec }: McpServer, references: ReferenceIndex): Problem[] {
  return spec.headers.flatMap(({ valueFrom }, index) => {
    const { name, key } = valueFrom?.configMapKeyRef ?? {}
    const { values } = references.get(`ConfigMap/${name}`) ?? {}
    const value = key === undefined ? undefined : ownValue(values, key)
    const why = value === undefined ? undefined : whyUnsendable(value)
    if (why === undefined) return []
    const path = `spec.headers[${index}].valueFrom.configMapKeyRef`
    const message = `the value of "${key}" in the ConfigMap "${name}" is no header: ${why}`
    return [{ reason: REASON.invalid, path, message }]
  })
}

function whyUnsendable(value: string): string | undefined {
  if (!HEADER_VALUE.test(value)) return 'it has a line break or another control character, often at its end'
  if (value.length <= MAX_HEADER_CHARACTERS) return undefined
  return `it has more than ${MAX_HEADER_CHARACTERS} characters`
}
