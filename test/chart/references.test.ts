/** Every field of the schemas that names a Secret or ConfigMap has a case for the tests of the admission policies. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { GATEWAY_REFERENCES, SERVER_REFERENCES } from './references.ts'

const REFERENCE = /^(secret|configMap|\w+Secret|\w+ConfigMap)(KeyRef|Ref|Name)$/

for (const [plural, references] of [
  ['mcpservers', SERVER_REFERENCES],
  ['mcpgateways', GATEWAY_REFERENCES],
] as const)
  test(`the policy for ${plural} is tested with every field that names an object`, () => {
    const file = new URL(`../../crds/portolan.dev_${plural}.yaml`, import.meta.url)
    const { openAPIV3Schema } = parse(readFileSync(file, 'utf8')).spec.versions[0].schema
    assert.deepEqual(referencesIn(openAPIV3Schema.properties.spec).sort(), Object.keys(references).sort())
  })

type Schema = { properties?: Record<string, Schema>; items?: Schema; additionalProperties?: Schema }

function referencesIn({ properties = {}, items, additionalProperties }: Schema, path = ''): string[] {
  if (items) return referencesIn(items, `${path}[]`)
  if (additionalProperties) return referencesIn(additionalProperties, `${path}{}`)
  return Object.entries(properties).flatMap(([name, inner]) => {
    const at = path === '' ? name : `${path}.${name}`
    return REFERENCE.test(name) ? [at] : referencesIn(inner, at)
  })
}
