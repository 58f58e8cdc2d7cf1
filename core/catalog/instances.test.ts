/** How the pod of a user is reached. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { instanceEndpoint } from './instances.ts'

const USER = { id: 'abcdefghij', digest: 'a'.repeat(64) }
const ENDPOINT = { kind: 'http', transport: 'streamable-http', revision: '1', podPerUser: true } as const

test('the pod of a user has its own host name', () => {
  const endpoint = { ...ENDPOINT, url: 'http://mcp-notes.team.svc/mcp' }
  const { url, instance } = instanceEndpoint('notes', endpoint, USER, undefined)
  assert.equal(url, 'http://mcp-notes-u-abcdefghij.team.svc/mcp')
  assert.deepEqual(Object.keys(instance ?? {}), ['user', 'revision'])
})

test('with TLS, the pod of a user has the certificate of the server', () => {
  const authority = { name: 'mcp-notes', key: 'ca.crt' }
  const endpoint = { ...ENDPOINT, url: 'https://mcp-notes.team.svc/mcp', authority }
  const { url, instance } = instanceEndpoint('notes', endpoint, USER, undefined)
  assert.equal(url, 'https://mcp-notes-u-abcdefghij.team.svc/mcp')
  assert.equal(instance?.certificateHost, 'mcp-notes.team.svc')
})
