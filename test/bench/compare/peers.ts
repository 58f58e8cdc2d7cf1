/** The gateways that the router is compared with, each as a process with the same upstream. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../../../core/errors.ts'
import { installPackage } from '../../../core/packages/install.ts'
import { cacheFolder } from '../../../local/config.ts'
import { freePort } from '../../support/free-port.ts'
import { type Running, startScript } from '../../support/processes.ts'

export type Peer = Running & { name: string; url: string }

/** Version 4.1.6 depends on packages that some mirrors do not have yet. */
const FASTMCP = { kind: 'pypi', package: 'fastmcp-slim[client,server]', version: '4.1.2' } as const
const INSTALL = { env: process.env as Record<string, string>, signal: AbortSignal.timeout(600_000) }

/** Starts a script of this folder, or `../passthrough.ts`. Its argument is the upstream's URL; it prints its port. */
export async function startPeer(name: string, script: string, upstream: string): Promise<Peer> {
  const running = await startScript<{ port: number }>([join(import.meta.dirname, script), upstream])
  return { ...running, name, url: `http://127.0.0.1:${running.ready.port}/mcp` }
}

/** Starts fastmcp's proxy, which is installed when first needed. If that fails, prints a warning and returns undefined. */
export async function startFastmcp(upstream: string): Promise<Peer | undefined> {
  const folder = join(cacheFolder(process.env), 'bench', `fastmcp-${FASTMCP.version}`)
  const python = join(folder, 'venv', 'bin', 'python')
  try {
    if (!existsSync(python)) await installPackage(FASTMCP, folder, INSTALL)
  } catch (error) {
    process.stderr.write(`\nNOT COMPARED WITH FASTMCP: ${messageOf(error)}\n\n`)
    return undefined
  }
  const port = await freePort()
  const script = join(import.meta.dirname, 'fastmcp-proxy.py')
  const child = spawn(python, [script, upstream, `${port}`], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}/mcp`
  const isRunning = () => child.exitCode === null && child.signalCode === null
  while (isRunning() && !(await fetch(url).catch(() => undefined)))
    await new Promise(resolve => setTimeout(resolve, 50))
  const stop = async () => {
    child.kill('SIGTERM')
    if (isRunning()) await once(child, 'exit')
  }
  return { name: "fastmcp's proxy", url, pid: child.pid ?? 0, child, stop }
}
