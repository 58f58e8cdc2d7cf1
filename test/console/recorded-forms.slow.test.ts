/** The form model with the schemas of public servers: every example comes back as it was, and the gateway accepts it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftOf, emptyDraft, formOf, valueIn } from '../../console/schema-form.ts'
import { isObject } from '../../core/json.ts'
import { checkArguments } from '../../router/meta/arguments/check-arguments.ts'
import { createSchemaChecks } from '../../router/meta/arguments/schema-checks.ts'
import { sampleArguments } from '../support/sample-arguments.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'

const tools = defaultCatalogs().flatMap(({ tools }) => tools)

test(`the forms of ${tools.length} recorded tools return an example as it was, and the gateway accepts it`, () => {
  const checks = createSchemaChecks()
  for (const { name, inputSchema } of tools) {
    const form = formOf(inputSchema)
    assert.doesNotThrow(() => valueIn(form, emptyDraft(form)), name)
    const example = sampleArguments(inputSchema)
    const { value, problems } = valueIn(form, draftOf(form, example))
    assert.deepEqual(value, example, name)
    assert.deepEqual(problems, [], name)
    assert.ok(isObject(value))
    const route = { definition: { name, inputSchema }, path: name, listedName: name, tool: name }
    const checked = checkArguments(checks, route as never, { value, text: undefined })
    assert.ok('args' in checked, `${name}: ${JSON.stringify(checked)}`)
  }
})

test('less than 5 % of all arguments have to be typed as JSON', () => {
  const fields = tools.flatMap(({ inputSchema }) =>
    formOf(inputSchema).properties.map(({ field }) => field.kind),
  )
  const json = fields.filter(kind => kind === 'json').length
  assert.ok(json < fields.length * 0.05, `${json} of ${fields.length}`)
})
