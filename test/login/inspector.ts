/** The MCP inspector's command line. It prints the address of a login page and waits for the redirect to its port; the test logs in as a person. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { INSPECTOR } from '../support/inspector.ts'
import { type Ran, run } from '../support/run.ts'
import { clientFile } from '../support/test-clients.ts'
import { logIn } from './person.ts'

export type Inspector = {
  /** Runs the inspector; logs in at every page whose address it prints. */
  run(args: string[]): Promise<InspectorRun>
}

type InspectorRun = Ran & { pages: URL[] }

const PAGE = /^Please navigate to: (http\S+)$/gm
const LIMIT_MS = 60_000

/** It keeps its tokens in a temporary folder from one run to the next. */
export async function createInspector(t: TestContext, url: string): Promise<Inspector> {
  const entry = await clientFile(...INSPECTOR)
  const folder = mkdtempSync(join(tmpdir(), 'portolan-inspector-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    MCP_STORAGE_DIR: folder,
    MCP_INSPECTOR_SECRET_STORE: 'file',
    // Lets it log in without a terminal. It runs `true` instead of a browser, since the test reads the address from its output.
    MCP_AUTO_OPEN_ENABLED: 'true',
    BROWSER: 'true',
  }
  return {
    async run(args) {
      const options = ['--cli', url, '--transport', 'http', '--callback-url', callback, ...args]
      const pages: URL[] = []
      const failed = new AbortController()
      const onStderr = (stderr: string) => {
        for (const [, text = ''] of [...stderr.matchAll(PAGE)].slice(pages.length)) {
          const page = new URL(text)
          pages.push(page)
          logIn(page, callback)
            .then(back => fetch(back))
            .catch(error => failed.abort(error))
        }
      }
      const { signal } = failed
      const settings = { env, cwd: folder, limitMs: LIMIT_MS, signal, onStderr }
      return { ...(await run(process.execPath, [entry, ...options], settings)), pages }
    },
  }
}
