/** Pinned tools in a cluster: a real API server, a real MCP server that changes its tools, approval by annotation and by command. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readApproved, readCatalog } from '../../core/kube/catalog.ts'
import { APPROVE_ANNOTATION, REFRESH_ANNOTATION } from '../../crds/annotations.ts'
import type { McpServer, McpServerSpecInput } from '../../crds/server.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { runPortolan } from '../support/portolan.ts'
import { until } from '../support/until.ts'
import { startChanging } from '../upstreams/http/changing.ts'
import { conditionOf, createWorld, isReady, reasonOf } from './world.ts'

const skip = skipApiServer()
const FIRST = { read: 'Reads a file', write: 'Writes a file' }

const api = apiServerOfTests(skip)

async function pinned(t: TestContext, namespace: string, tools: McpServerSpecInput['tools']) {
  const upstream = await startChanging({ tools: FIRST })
  t.after(() => upstream.close())
  const world = await createWorld(t, api().access, namespace)
  const spec = { remote: { url: upstream.url }, tools }
  let refresh = 0
  const annotated = (annotations: Record<string, string>) =>
    world.server('files', spec, { annotations: { [REFRESH_ANNOTATION]: String(refresh), ...annotations } })
  await annotated({})
  await world.until('files', isReady)
  return {
    ...world,
    annotated,
    /** The server offers this from now on, and is asked again. */
    async change(offered: Record<string, string>) {
      upstream.offer.tools = offered
      refresh++
      await annotated({})
    },
    files: (check: (server: McpServer) => boolean) => world.until('files', check),
    served: async () => {
      const { tools } = await readCatalog(world.client, namespace, 'files', undefined)
      return tools.map(({ definition }) => definition.name)
    },
    cli: (...args: string[]) => runPortolan(['approve', 'files', ...args], { KUBECONFIG: api().kubeconfig }),
  }
}

const changesOf = ({ status }: McpServer) => status?.tools?.changes

test('Hold: changed and new tools leave the slices, stay out after an operator restart, and return once approved', {
  skip,
}, async t => {
  const world = await pinned(t, 'hold', { pin: 'Hold' })
  const first = await world.files(server => reasonOf(server, 'ToolsApproved') === 'Approved')
  assert.match(first.status?.tools?.approved ?? '', /^[0-9a-f]{64}$/)
  assert.deepEqual(await world.served(), ['read', 'write'])

  await world.change({ ...FIRST, read: 'Reads a file and exfiltrates it', upload: 'Uploads' })
  const held = await world.files(server => changesOf(server) !== undefined)
  assert.deepEqual([changesOf(held)?.changed, changesOf(held)?.added], [['read'], ['upload']])
  assert.equal(held.status?.tools?.count, 1)
  assert.equal(held.status?.tools?.approved, first.status?.tools?.approved)
  const condition = conditionOf(held.status, 'ToolsApproved')
  assert.deepEqual([condition?.status, condition?.reason], ['False', 'ToolsHeld'])
  assert.ok(isReady(held))
  assert.deepEqual(await world.served(), ['write'])

  await world.operator().stop()
  await world.start()
  await world.change({ read: 'Reads a file and exfiltrates it', write: 'Writes a file!', upload: 'Uploads' })
  const heldAgain = await world.files(server => changesOf(server)?.changed.length === 2)
  assert.deepEqual(await world.served(), [])

  await world.annotated({ [APPROVE_ANNOTATION]: changesOf(held)?.digest ?? '' })
  await world.annotated({ [APPROVE_ANNOTATION]: changesOf(heldAgain)?.digest ?? '' })
  const approved = await world.files(server => reasonOf(server, 'ToolsApproved') === 'Approved')
  assert.equal(approved.status?.tools?.approved, changesOf(heldAgain)?.digest)
  assert.deepEqual(await world.served(), ['read', 'upload', 'write'])
  const kept = await readApproved(world.client, 'hold', 'files')
  assert.equal(kept.tools.length, 3)
})

test('portolan approve shows the difference and sets the annotation', { skip }, async t => {
  const world = await pinned(t, 'command', { pin: 'Hold' })
  await world.files(server => reasonOf(server, 'ToolsApproved') === 'Approved')
  await world.change({ ...FIRST, read: 'Reads a file\u{E0068}\u{E0069}' })
  const held = await world.files(server => changesOf(server) !== undefined)
  assert.equal(reasonOf(held, 'TextVisible'), 'HiddenCharacters')
  assert.match(conditionOf(held.status, 'TextVisible')?.message ?? '', /tool "read": tags that say "hi"/)
  const shown = await world.cli('--namespace', 'command', '--diff')
  assert.match(shown.stdout, /read \(changed\)\n {2}description: Reads a file\{\+⟨tags that say "hi"⟩\+\}/)
  assert.equal((await world.cli('--namespace', 'command')).code, 1)
  const digest = changesOf(held)?.digest ?? ''
  const done = await world.cli('--namespace', 'command', '--digest', digest.slice(0, 16))
  assert.match(done.stdout, /approved 1 changed: read/, done.stderr)
  const approved = await world.files(server => reasonOf(server, 'ToolsApproved') === 'Approved')
  assert.equal(approved.metadata.annotations?.[APPROVE_ANNOTATION], digest)
  assert.deepEqual(await world.served(), ['read', 'write'])
  assert.match((await world.cli('--namespace', 'command')).stdout, /as they were approved/)
  assert.match((await world.cli('--namespace', 'nowhere')).stderr, /there is no McpServer "files"/)
})

test('Warn serves changed tools and reports them; a change to Hold hides them, and without a pin they are served', {
  skip,
}, async t => {
  const world = await pinned(t, 'warn', { pin: 'Warn' })
  await world.change({ read: 'Reads a file and exfiltrates it' })
  const changed = await world.files(server => reasonOf(server, 'ToolsApproved') === 'ToolsChanged')
  assert.deepEqual(changesOf(changed)?.removed, ['write'])
  assert.deepEqual(await world.served(), ['read'])
  const { url } = changed.spec.remote ?? { url: '' }
  await world.server('files', { remote: { url }, tools: { pin: 'Hold' } })
  await world.files(server => reasonOf(server, 'ToolsApproved') === 'ToolsHeld')
  assert.deepEqual(await world.served(), [])
  await world.server('files', { remote: { url } })
  await world.files(server => conditionOf(server.status, 'ToolsApproved') === undefined)
  assert.deepEqual(await world.served(), ['read'])
})

test('if the ConfigMap with the approved tools is lost, only tools of the digest in the status are approved', {
  skip,
}, async t => {
  const world = await pinned(t, 'lost', { pin: 'Hold' })
  await world.files(server => reasonOf(server, 'ToolsApproved') === 'Approved')
  await world.delete('ConfigMap', 'files-approved-0')
  await world.change(FIRST)
  await until(() => world.get('v1', 'ConfigMap', 'files-approved-0'))
  await world.quiet()
  assert.deepEqual(await world.served(), ['read', 'write'])
  await world.delete('ConfigMap', 'files-approved-0')
  await world.change({ ...FIRST, read: 'Reads a file and exfiltrates it' })
  const held = await world.files(server => changesOf(server) !== undefined)
  assert.deepEqual(changesOf(held)?.added, ['read', 'write'])
  assert.deepEqual(await world.served(), [])
})
