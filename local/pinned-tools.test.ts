/** What is stored of the tools of a server, for `portolan approve`. */
import assert from 'node:assert/strict'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
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

function createWorld(t: TestContext) {
  const cache = mkdtempSync(join(tmpdir(), 'portolan-pinned-'))
  t.after(() => rmSync(cache, { recursive: true, force: true }))
  const approvals = createApprovals(cache)
  const { save } = approvals
  const world = {
    approvals,
    saves: 0,
    approve: '',
    /** A gateway that starts. */
    async start() {
      const pinned = new PinnedTools({
        ...{ subject, approvals, approve: () => world.approve, log: pino({ level: 'silent' }) },
        policy: () => policy,
      })
      await pinned.load()
      return pinned
    },
    /** A gateway that starts, reads a list and ends. Returns the digest of the changes. */
    async run(description: string) {
      const pinned = await world.start()
      const { changes } = pinned.serve(catalog(description))
      await pinned.saved()
      return changes?.digest
    },
    approved: async () => (await approvals.load(subject))?.approved.map(tool => tool.description),
    found: async () => (await approvals.load(subject))?.found?.map(tool => tool.description),
    file: () => join(approvals.folder, readdirSync(approvals.folder)[0] ?? ''),
  }
  approvals.save = (...args) => {
    world.saves++
    return save(...args)
  }
  return world
}

test('changes that a server no longer has are no longer shown for approval, also after a restart', async t => {
  const world = createWorld(t)
  assert.equal(await world.run('first'), undefined)
  assert.ok(await world.run('second'))
  assert.deepEqual(await world.found(), ['second'])
  assert.ok(await world.run('second'))
  assert.equal(await world.run('first'), undefined)
  assert.equal(await world.found(), undefined)
  // Nothing is written if the file says the same already.
  assert.equal(world.saves, 3)
})

test('what another process approved stays approved if the list changes before the gateway has read it', async t => {
  const world = createWorld(t)
  const pinned = await world.start()
  pinned.serve(catalog('first'))
  pinned.serve(catalog('second'))
  await pinned.saved()
  const { found = [] } = (await world.approvals.load(subject)) ?? {}
  await world.approvals.save(subject, { approved: found })
  pinned.serve(catalog('third'))
  await pinned.saved()
  assert.deepEqual(await world.approved(), ['second'])
  assert.deepEqual(await world.found(), ['third'])
  assert.equal(await pinned.reload(), true)
})

test('approved tools that cannot be read are not overwritten, unless the user approves', async t => {
  const world = createWorld(t)
  await world.run('first')
  const file = world.file()
  const text = readFileSync(file, 'utf8')
  // As with an error of the disk: reading a folder fails.
  renameSync(file, `${file}.kept`)
  mkdirSync(file)
  const pinned = await world.start()
  rmdirSync(file)
  renameSync(`${file}.kept`, file)
  assert.ok(pinned.serve(catalog('second')).changes)
  await pinned.saved()
  assert.deepEqual(await world.approved(), ['first'])
  const newer = text.replace('"format":1', '"format":2')
  writeFileSync(file, newer)
  world.approve = (await world.run('second')) ?? ''
  assert.equal(readFileSync(file, 'utf8'), newer)
  await world.run('second')
  assert.deepEqual(await world.approved(), ['second'])
})

test('if the file that could not be read is deleted, the next start approves the list that it finds', async t => {
  const world = createWorld(t)
  await world.run('first')
  writeFileSync(world.file(), 'broken')
  const pinned = await world.start()
  pinned.serve(catalog('second'))
  await pinned.saved()
  rmSync(world.file())
  pinned.serve(catalog('third'))
  await pinned.saved()
  assert.deepEqual(readdirSync(world.approvals.folder), [])
  assert.equal(await world.run('third'), undefined)
  assert.deepEqual(await world.approved(), ['third'])
})

test('a file that cannot be read for a moment takes back no approval of a running gateway', async t => {
  const world = createWorld(t)
  await world.run('first')
  const pinned = await world.start()
  const text = readFileSync(world.file(), 'utf8')
  writeFileSync(world.file(), 'broken')
  assert.equal(await pinned.reload(), false)
  assert.equal(pinned.serve(catalog('first')).changes, undefined)
  writeFileSync(world.file(), text)
  assert.equal(await pinned.reload(), false)
})
