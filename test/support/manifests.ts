/** Writes manifests for a test's gateway into a temporary folder. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Workspace = {
  /** Folder of manifests. */
  folder: string
  /** Folder for PORTOLAN_CACHE. */
  cache: string
  write(name: string, spec: object, metadata?: object): void
  delete(name: string): void
  remove(): void
}

export function createWorkspace(): Workspace {
  const root = mkdtempSync(join(tmpdir(), 'portolan-test-'))
  const folder = mkdtempSync(join(root, 'manifests-'))
  const fileOf = (name: string) => join(folder, `${name}.yaml`)
  return {
    folder,
    cache: join(root, 'cache'),
    write(name, spec, metadata = {}) {
      const manifest = {
        apiVersion: 'portolan.dev/v1alpha1',
        kind: 'McpServer',
        metadata: { name, ...metadata },
        spec,
      }
      writeFileSync(fileOf(name), JSON.stringify(manifest, null, 2))
    },
    delete: name => rmSync(fileOf(name)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** The `command` source that runs a script of the project on this Node. */
export function scriptCommand(
  script: string,
  ...args: string[]
): { command: { run: string; args: string[] } } {
  return {
    command: {
      run: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', join(process.cwd(), script), ...args],
    },
  }
}
