/** Which tools an answer names as prerequisites of another. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../core/json.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import { needsOf } from './prerequisites.ts'

const NAMES = ['query_metrics', 'list_datasources', 'listFolders', 'search']
const routes = NAMES.map(tool => ({ server: 'graphs', tool, path: `graphs:${tool}` }))
const toolByName = new Map(routes.map(route => [route.path, route])) as unknown as Catalog['toolByName']

function needs(description: string, inputSchema: JsonObject = {}): string[] | undefined {
  const definition = { name: 'query_metrics', description, inputSchema }
  const tool = { server: 'graphs', tool: 'query_metrics', definition } as unknown as ToolRoute
  return needsOf({ toolByName }, tool)
}

test('the description of a required parameter names the tool that its value comes from', () => {
  const properties = {
    uid: { type: 'string', description: 'uid of the datasource (list_datasources)' },
    folder: { type: 'string', description: 'see listFolders' },
  }
  assert.deepEqual(needs('', { properties, required: ['uid'] }), ['graphs:list_datasources'])
  assert.deepEqual(needs('', { properties, required: ['folder', 'uid'] }), [
    'graphs:listFolders',
    'graphs:list_datasources',
  ])
  assert.equal(needs('', { properties }), undefined)
})

test('the description names the tool to call first; alternatives, the tool itself and everyday words do not count', () => {
  assert.deepEqual(needs('Queries metrics. Requires a uid from list_datasources.'), [
    'graphs:list_datasources',
  ])
  for (const text of [
    'For all of them use list_datasources instead.',
    'Similar to list_datasources.',
    'Call query_metrics first.',
    'You must search first.',
    'Needs a uid from list_dashboards.',
  ])
    assert.equal(needs(text), undefined, text)
})

test('a tool that the description names as the next step, or only for some cases, is no prerequisite', () => {
  for (const text of [
    'Use this to inspect the metrics before calling list_datasources.',
    'Use list_datasources when the uid itself must change.',
    'Later queries require a uid unless list_datasources is called again.',
    'If you have no uid, take it from list_datasources.',
  ])
    assert.equal(needs(text), undefined, text)
  for (const text of [
    'Before you query metrics, call list_datasources.',
    'Use list_datasources before this tool.',
    'Requires a uid, from list_datasources, of a server such as next.js.',
  ])
    assert.deepEqual(needs(text), ['graphs:list_datasources'], text)
})

test('an example in the description of a parameter hides no prerequisite', () => {
  const uid = { type: 'string', description: "Id (e.g. '/vercel/next.js') retrieved from list_datasources" }
  assert.deepEqual(needs('', { properties: { uid }, required: ['uid'] }), ['graphs:list_datasources'])
})

test('malformed schemas name no prerequisites', () => {
  for (const schema of [
    { properties: [], required: ['a'] },
    { properties: { a: 1 }, required: ['a', 2] },
    { required: 'a' },
  ])
    assert.equal(needs('', schema as JsonObject), undefined)
})
