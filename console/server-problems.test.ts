/** What the overview says about servers that cannot be used. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConsoleServer } from '../core/console/shapes.ts'
import { serverProblems } from './server-problems.ts'

const server = (state: ConsoleServer['state'], reason: string) =>
  ({
    ...{ name: 'kit', state, reason, message: reason, invalid: [], incomplete: [], list: {} },
    load: { breaker: { state: 'closed', failures: 0 } },
  }) as unknown as ConsoleServer

test('the advice for a server that cannot be used leads to what helps', () => {
  const servers = [
    server('failed', 'Unheard'),
    server('notAccepted', 'ReferenceNotFound'),
    server('authRequired', 'AuthRequired'),
    server('authRequired', 'NeedsLogin'),
  ]
  assert.deepEqual(
    serverProblems(servers, []).map(({ reason, todo, tab }) => [reason, todo, tab]),
    [
      ['Unheard', 'Read its log.', 'log'],
      ['ReferenceNotFound', 'Correct its manifest.', 'manifest'],
      ['AuthRequired', 'Give it credentials in its manifest: spec.headers or spec.auth.', 'manifest'],
      ['NeedsLogin', 'Open the page that its message names, and log in.', undefined],
    ],
  )
})

test('a server with invalid tools is listed with the count of all of them', () => {
  const invalid = [{ name: 'a', reason: 'no schema' }]
  const messages = [{}, { moreInvalid: 41 }].map(more => {
    const [problem] = serverProblems([{ ...server('ready', ''), invalid, ...more }], [])
    return problem?.message
  })
  assert.deepEqual(messages, [
    '1 of its tools cannot be used: a: no schema',
    '42 of its tools cannot be used: a: no schema',
  ])
})
