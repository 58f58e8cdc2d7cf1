/** What the console's page sends in each profile: the tools and arguments that the profile has. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callIn, scriptToolIn, searchIn } from '../../console/mcp.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { PROFILES } from '../../router/meta/profiles/profiles.ts'

for (const [profile, { tools, script }] of Object.entries(PROFILES)) {
  const assertFits = (params: JsonObject | undefined) => {
    if (!params) return
    const schema = tools.get(String(params.name))?.definition.inputSchema
    assert.ok(isObject(schema?.properties), `${profile} has no tool ${params.name}`)
    const known = Object.keys(schema.properties)
    const given = Object.keys(params.arguments as JsonObject)
    assert.deepEqual(
      given.filter(name => !known.includes(name)),
      [],
    )
    assert.deepEqual(
      ((schema.required ?? []) as string[]).filter(name => !given.includes(name)),
      [],
    )
  }
  test(`${profile}: the page calls, searches and runs scripts with tools and arguments that the profile has`, () => {
    assert.equal(scriptToolIn(profile), script.definition.name)
    assertFits(searchIn(profile, 'read file', 5))
    if (profile !== 'direct') assertFits(callIn(profile, 'files:read', 'files__read', {}))
  })
}
