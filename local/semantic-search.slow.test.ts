/** Semantic search on a laptop: real servers, and an embeddings service with a simple model. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Clock } from '../core/async.ts'
import { DIMENSIONS, ENCODER_ID } from '../core/encoder/minilm.ts'
import { cachedModelFile } from '../core/encoder/model-place.ts'
import { openVectorCache } from '../core/encoder/vector-cache.ts'
import { startEmbeddings } from '../test/support/embeddings.ts'
import { createLeapClock } from '../test/support/leap-clock.ts'
import { startTestGateway } from '../test/support/local-gateway.ts'
import { createWorkspace, scriptCommand, type Workspace } from '../test/support/manifests.ts'
import { discoverTools } from '../test/support/mcp.ts'
import { skipModel, testModelFile } from '../test/support/model.ts'
import { until } from '../test/support/until.ts'

/** In a record of the cache of vectors. */
const KEY_AT = 8
const VALUES_AT = 30
const SERVER = scriptCommand('test/upstreams/rude/server.mjs', 'polite')

async function start(t: TestContext, space: Workspace, env: Record<string, string> = {}, clock?: Clock) {
  const gateway = await startTestGateway(space, { watch: true, env, clock })
  t.after(() => gateway.close())
  const untilReached = (reached: () => boolean) =>
    until(String(reached), () => {
      if (reached()) return true
      throw new Error(JSON.stringify(gateway.status(), null, 1))
    })
  const best = async (query: string) => (await discoverTools(gateway.url, query)).tools[0]?.tool_path
  return { gateway, until: untilReached, best }
}

async function prepare(t: TestContext) {
  const space = createWorkspace()
  t.after(() => space.remove())
  const service = await startEmbeddings()
  t.after(() => service.close())
  const overrides = { echo: { description: 'Opens a mailbox' } }
  space.write('post', { ...SERVER, tools: { overrides } })
  const writeGateway = (search: object) => {
    const manifest = { apiVersion: 'portolan.dev/v1alpha1', kind: 'McpGateway', metadata: { name: 'home' } }
    writeFileSync(join(space.folder, 'gateway.yaml'), JSON.stringify({ ...manifest, spec: { search } }))
  }
  const embeddings = { url: service.url, model: 'm', secretRef: { name: 'vault', key: 'token' } }
  return { space, service, embeddings, writeGateway }
}

test('semantic search uses an embeddings service with its key, and sends texts of tools only once', async t => {
  const { space, service, embeddings, writeGateway } = await prepare(t)
  writeGateway({ embeddings })
  const { gateway, until, best } = await start(t, space, { VAULT_TOKEN: 'hush' })
  assert.equal(await best('open mailbox'), 'post:echo')
  await until(() => gateway.status().search.pending === 0)
  assert.equal(await best('glunk'), 'post:echo')
  assert.deepEqual(gateway.status().search, { semantic: 'endpoint', reason: undefined, pending: 0 })
  assert.ok(service.asked.every(({ authorization }) => authorization === 'Bearer hush'))
  assert.doesNotMatch(JSON.stringify(gateway.status()), /hush/)
  await gateway.close()
  const asked = service.asked.length
  const again = await start(t, space, { VAULT_TOKEN: 'hush' })
  await again.until(() => again.gateway.status().search.pending === 0)
  assert.equal(await again.best('glunk'), 'post:echo')
  assert.deepEqual(
    service.asked.slice(asked).map(({ texts }) => texts),
    [['portolan'], ['glunk']],
  )
})

test('semantic: none turns semantic search off in a running gateway', async t => {
  const { space, embeddings, writeGateway } = await prepare(t)
  writeGateway({ embeddings: { ...embeddings, secretRef: { ...embeddings.secretRef, optional: true } } })
  const { gateway, until, best } = await start(t, space)
  await until(() => gateway.status().search.semantic === 'endpoint' && gateway.status().search.pending === 0)
  assert.equal(await best('glunk'), 'post:echo')
  writeGateway({ semantic: 'none' })
  await until(() => gateway.status().search.semantic === 'off')
  assert.equal(await best('glunk'), undefined)
})

test('a missing key is reported as a problem of the gateway, with its path, until it exists', async t => {
  const { space, embeddings, writeGateway } = await prepare(t)
  writeGateway({ embeddings })
  const { gateway, until, best } = await start(t, space)
  const [problem] = gateway.status().problems
  assert.deepEqual([problem?.reason, problem?.path], ['SecretNotFound', 'spec.search.embeddings.secretRef'])
  assert.match(problem?.message ?? '', /^home: .*VAULT_TOKEN/)
  assert.match(problem?.file ?? '', /gateway\.yaml$/)
  assert.equal(gateway.status().search.semantic, 'off')
  assert.equal(await best('open mailbox'), 'post:echo')
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'vault' },
    stringData: { token: 'hush' },
  }
  writeFileSync(join(space.folder, 'secret.yaml'), JSON.stringify(secret))
  await until(() => gateway.status().search.semantic === 'endpoint' && gateway.status().search.pending === 0)
  assert.equal(await best('glunk'), 'post:echo')
})

test('a model that is downloaded while the gateway runs is used, also after a restart, which encodes nothing again', {
  skip: skipModel(),
}, async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  const overrides = { echo: { description: 'Translates a text into another language' } }
  space.write('helper', { ...SERVER, tools: { overrides } })
  const modelFile = cachedModelFile(space.cache)
  const clock = createLeapClock()
  const { gateway, until, best } = await start(t, space, {}, clock)
  await until(() => /portolan model/.test(gateway.status().search.reason ?? ''))
  mkdirSync(dirname(modelFile), { recursive: true })
  copyFileSync(testModelFile(), modelFile)
  clock.advance(10_000)
  await until(() => gateway.status().search.semantic === 'embedded' && gateway.status().search.pending === 0)
  assert.equal(await best('I do not understand this German letter'), 'helper:echo')
  await gateway.close()
  const question = 'I do not understand this German letter'
  const bestAfterRestart = async () => {
    const again = await start(t, space)
    const begun = performance.now()
    await again.until(() => {
      const { pending, semantic } = again.gateway.status().search
      return pending === 0 && semantic === 'embedded'
    })
    t.diagnostic(`vectors ${Math.round(performance.now() - begun)} ms after it was ready`)
    const found = await again.best(question)
    await again.gateway.close()
    return found
  }
  assert.equal(await bestAfterRestart(), 'helper:echo')
  // Vectors that mean the opposite show that it uses those of the cache, and does not encode the texts again.
  await negateVectors(space.cache)
  assert.notEqual(await bestAfterRestart(), 'helper:echo')
})

/** Replaces each vector in the cache of the embedded encoder by its negative. */
async function negateVectors(cacheFolder: string): Promise<void> {
  const file = join(cacheFolder, 'vectors', 'embedded.bin')
  const options = { file, encoder: ENCODER_ID, dimensions: DIMENSIONS, maxVectors: 100 }
  const records = readFileSync(file)
  const before = await openVectorCache(options)
  await before.close()
  rmSync(file)
  const after = await openVectorCache(options)
  let count = 0
  for (let at = 0; at < records.length; at += VALUES_AT + DIMENSIONS, count++) {
    const key = records.toString('latin1', at + KEY_AT, at + VALUES_AT)
    const { values, scale } = before.get(key) ?? assert.fail(`no vector of ${key}`)
    after.put(key, { values: values.map(value => -value), scale })
  }
  await after.close()
  assert.ok(count > 0)
}
