/** Files that cannot be read, or are missing, among the paths of a gateway: what may have its McpGateway, and which manifest counts. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ManifestFiles } from './files.ts'

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-unreadable-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const server = (name: string) =>
  `apiVersion: portolan.dev/v1alpha1\nkind: McpServer\nmetadata: { name: ${name} }\nspec: { command: { run: echo } }\n`
const gateway = (spec: string) =>
  `apiVersion: portolan.dev/v1alpha1\nkind: McpGateway\nmetadata: { name: tools }\nspec: ${spec}\n`

test('what cannot be read may have an McpGateway, unless one was read; folders, lost links and large files of others have none', async t => {
  const folder = folderFor(t)
  // Links to themselves are what nobody can read.
  symlinkSync('gateway.yaml', join(folder, 'gateway.yaml'))
  symlinkSync('other.json', join(folder, 'other.json'))
  symlinkSync('nowhere', join(folder, 'lost.yaml'))
  mkdirSync(join(folder, 'folder.yaml'))
  const large = 'a: b\n'.repeat(1_000_000)
  writeFileSync(join(folder, 'lock.yaml'), large)
  writeFileSync(join(folder, 'large.yaml'), `${gateway('{}')}---\n${large}`)
  writeFileSync(join(folder, 'a.yaml'), server('a'))
  const { brokenGateways, problems } = await new ManifestFiles([folder]).scan()
  assert.deepEqual(brokenGateways.map(({ file = '' }) => basename(file)).sort(), [
    'gateway.yaml',
    'large.yaml',
  ])
  assert.equal(problems.length, 6)
  writeFileSync(join(folder, 'tools.yaml'), gateway('{}'))
  assert.deepEqual((await new ManifestFiles([folder]).scan()).brokenGateways, [])
})

test('a manifest that was moved out of a path that is missing now is the one that counts', async t => {
  const folder = folderFor(t)
  const [old, other] = [join(folder, 'gateway.yaml'), join(folder, 'servers.yaml')]
  writeFileSync(old, gateway('{ tools: { deny: [old] } }'))
  writeFileSync(other, server('a'))
  const files = new ManifestFiles([old, other])
  await files.scan()
  writeFileSync(other, `${server('a')}---\n${gateway('{ tools: { deny: [old, delete_all] } }')}`)
  unlinkSync(old)
  const { manifests, problems } = await files.scan()
  const found = manifests.flatMap(({ manifest }) => (manifest.kind === 'McpGateway' ? [manifest] : []))
  assert.deepEqual(
    found.map(({ spec }) => spec.tools?.deny),
    [['old', 'delete_all']],
  )
  assert.deepEqual(
    problems.map(({ reason }) => reason),
    ['FileNotFound'],
  )
})
