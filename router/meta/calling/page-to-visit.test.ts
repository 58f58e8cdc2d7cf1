/** How clients are asked to open a login page. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import { Fault } from '../../../core/errors.ts'
import { createCaller } from '../../../core/mcp/caller.ts'
import { pageToVisit } from './page-to-visit.ts'

test('each request to open a login page has an id of its own', () => {
  const details = { reason: 'NeedsLogin', page: 'https://tools.example.com/connect/notes' }
  const fault = new Fault('user_refused', 'log in', { details })
  const caller = createCaller({ capabilities: { elicitation: { url: {} } } })
  const server = { name: 'notes' } as RouterServer
  const ids = [1, 2].map(() => {
    const { elicitations } = pageToVisit(fault, server, caller)?.error?.data as {
      elicitations: [{ elicitationId: string }]
    }
    return elicitations[0].elicitationId
  })
  assert.match(ids[0] ?? '', /^login-notes-/)
  assert.notEqual(ids[0], ids[1])
})
