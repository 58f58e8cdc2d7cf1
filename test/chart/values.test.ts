/** Checks that the chart's values, schema and versions agree, without rendering the chart. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { isObject } from '../../core/json.ts'
import { CHART } from './helm.ts'

const read = (...path: string[]) => readFileSync(join(CHART, ...path), 'utf8')

test('the schema describes every value of values.yaml, and no others', () => {
  const schema = JSON.parse(read('values.schema.json'))
  const documented = propertiesOf(schema, '').filter(path => !['global', 'enabled'].includes(path))
  assert.deepEqual(documented.sort(), pathsOf(parse(read('values.yaml')), schema, '').sort())
})

test('the install container requests as much as the server, so that it does not increase what the pod reserves', () => {
  const { install, server } = parse(read('values.yaml')).servers.resources
  assert.deepEqual(install.requests, server.requests)
})

test('the chart has the version of the project and requires Kubernetes 1.30 or newer', () => {
  const { version } = JSON.parse(readFileSync(join(CHART, '..', '..', 'package.json'), 'utf8'))
  const chart = parse(read('Chart.yaml'))
  assert.deepEqual([chart.version, chart.appVersion], [version, version])
  assert.equal(chart.kubeVersion, '>=1.30.0-0')
})

type Schema = { description?: string; properties?: Record<string, Schema> }

function propertiesOf(schema: Schema, path: string): string[] {
  const entries = Object.entries(schema.properties ?? {})
  for (const [name, { description }] of entries) assert.ok(description, `${path}${name} is not described`)
  return entries.flatMap(([name, inner]) => [`${path}${name}`, ...propertiesOf(inner, `${path}${name}.`)])
}

/** Paths of all values, as deep as the schema describes them. */
function pathsOf(value: unknown, schema: Schema | undefined, path: string): string[] {
  if (!isObject(value) || !schema?.properties) return []
  return Object.entries(value).flatMap(([name, inner]) => [
    `${path}${name}`,
    ...pathsOf(inner, schema.properties?.[name], `${path}${name}.`),
  ])
}
