/** What is stored of the tools of a server, for `portolan approve`. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import pino from 'pino'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import { createApprovals } from './approvals.ts'
import { PinnedTools } from './pinned-tools.ts'

const policy = { allow: ['*'], deny: [], pin: 'Warn' as const, overrides: {} }
const subject = { server: 'a', namespace: 'default', folder: '/manifests' }

function catalog(description: string): ServerCatalog {
  const definition = { name: 'read', description, inputSchema: { type: 'object' as const } }
  return { server: 'a', tools: [{ definition }], resources: [], prompts: [] } as unknown as ServerCatalog
}

test('changes that a server no longer has are no longer shown for approval, also after a restart', async t => {
  const cache = mkdtempSync(join(tmpdir(), 'portolan-pinned-'))
  t.after(() => rmSync(cache, { recursive: true, force: true }))
  const approvals = createApprovals(cache)
  const { save } = approvals
  let saved = Promise.resolve()
  let saves = 0
  approvals.save = (...args) => {
    saves++
    saved = save(...args)
    return saved
  }
  /** A gateway that starts, reads a list and ends. */
  const run = async (description: string) => {
    const pinned = new PinnedTools({
      ...{ subject, approvals, approve: () => '', log: pino({ level: 'silent' }) },
      policy: () => policy,
    })
    await pinned.load()
    const { changes } = pinned.serve(catalog(description))
    await new Promise(setImmediate)
    await saved
    return changes !== undefined
  }
  assert.equal(await run('first'), false)
  assert.equal(await run('second'), true)
  assert.ok((await approvals.load(subject))?.found)
  assert.equal(await run('second'), true)
  assert.equal(await run('first'), false)
  assert.equal((await approvals.load(subject))?.found, undefined)
  // Nothing is written if the file says the same already.
  assert.equal(saves, 3)
})
