/** The MCP inspector's command line, which logs in as for a person: it prints the login page and waits for the redirect to its own port. */
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
  /** Runs a method; logs in at every page that it is sent to. */
  run(args: string[]): Promise<InspectorRun>
}

type InspectorRun = Ran & { pages: URL[] }

const PAGE = /^Please navigate to: (http\S+)$/gm
const LIMIT_MS = 60_000

/** Its tokens are kept in a folder of its own, from one run to the next. */
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
    // Lets it log in without a terminal. Instead of a browser it opens `true`, since the person of this test reads its output.
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
      const given = { env, cwd: folder, limitMs: LIMIT_MS, signal, onStderr }
      return { ...(await run(process.execPath, [entry, ...options], given)), pages }
    },
  }
}
