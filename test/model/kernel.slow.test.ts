/** Building the kernels: only if the sources have changed, and safe for concurrent processes. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { buildKernel } from '../../scripts/kernel.mjs'

const encoder = join(import.meta.dirname, '..', '..', 'core', 'encoder')

function sources(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-kernel-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(join(encoder, 'kernel'), join(folder, 'kernel'), { recursive: true })
  return folder
}

/** Builds in a separate process. */
function buildElsewhere(folder: string) {
  const script = `import { buildKernel } from '${new URL('../../scripts/kernel.mjs', import.meta.url)}'
    await buildKernel(process.execPath, ${JSON.stringify(folder)})`
  return promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
}

test('two concurrent builds give the same bytes as a single one and leave no temporary files', async t => {
  const folder = sources(t)
  await buildKernel(process.execPath)
  await Promise.all([buildElsewhere(folder), buildElsewhere(folder)])
  assert.deepEqual(readdirSync(folder).sort(), ['kernel', 'kernel.wasm', 'kernel.wasm.sources'])
  assert.deepEqual(readFileSync(join(folder, 'kernel.wasm')), readFileSync(join(encoder, 'kernel.wasm')))
  assert.ok(statSync(join(folder, 'kernel.wasm')).size < 16_384)
})

test('kernels are built again only if a source has changed, and a compile error has its file and line', async t => {
  const folder = sources(t)
  assert.equal(await buildKernel(process.execPath, folder), true)
  assert.equal(await buildKernel(process.execPath, folder), false)
  const built = readFileSync(join(folder, 'kernel.wasm'))
  writeFileSync(join(folder, 'kernel', 'more.ts'), 'export function one(): i32 {\n  return "1"\n}\n')
  await assert.rejects(buildKernel(process.execPath, folder), /could not be compiled.*more\.ts\(2,/s)
  assert.deepEqual(readFileSync(join(folder, 'kernel.wasm')), built)
  writeFileSync(join(folder, 'kernel', 'more.ts'), 'export function one(): i32 {\n  return 1\n}\n')
  assert.equal(await buildKernel(process.execPath, folder), true)
  const module = new WebAssembly.Module(readFileSync(join(folder, 'kernel.wasm')))
  const env = { memory: new WebAssembly.Memory({ initial: 1 }) }
  const { one } = new WebAssembly.Instance(module, { env }).exports as { one(): number }
  assert.equal(one(), 1)
})
