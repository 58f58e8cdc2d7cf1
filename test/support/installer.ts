/** Runs the installer of pods as a process. It installs the package `greeter` from a registry of the test. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type KnownPackages, type PackageRecord, readRecord } from '../../core/packages/integrity.ts'
import { startRegistry } from '../upstreams/registry.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'bridge', 'main.ts')

export type InstallerEnd = { code: number; message: string; stderr: string }

/** Everything that it starts ends with the test. */
export async function startInstaller(t: TestContext, kind: 'npm' | 'pypi') {
  const registry = await startRegistry()
  const folder = mkdtempSync(join(tmpdir(), 'portolan-install-'))
  t.after(async () => {
    await registry.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const known = join(folder, 'packages.json')
  let pods = 0
  /** Installs as a new pod does; resolves with the exit code, the termination message and its stderr. */
  const install = async (...options: string[]): Promise<InstallerEnd> => {
    const pod = `web-${pods++}`
    const log = join(folder, `termination-log-${pod}`)
    writeFileSync(log, '')
    const words = ['--registry', registry[kind], '--integrity-file', known, '--termination-log', log]
    const args = [MAIN, 'install', kind, 'greeter', '--version', '1.0.0', ...words, '--into', folder]
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args, ...options], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, HOSTNAME: pod },
    })
    t.after(() => child.kill('SIGKILL'))
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      stderr += text
    })
    const [code] = await once(child, 'close')
    return { code: code as number, message: readFileSync(log, 'utf8'), stderr }
  }
  const keep = (packages: KnownPackages) => writeFileSync(known, JSON.stringify(packages))
  return { registry, folder, install, keep }
}

export function reportOf({ code, message }: InstallerEnd): PackageRecord {
  assert.equal(code, 0, message)
  const record = readRecord(JSON.parse(message))
  assert.ok(record, message)
  return record
}
