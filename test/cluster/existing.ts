/** A cluster that exists already (kind, k3d). Tests use it only if the environment names its context, and break nothing in it. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { clientEnvironment } from './clients.ts'
import type { Cluster, Service } from './cluster.ts'
import { run } from './command.ts'
import type { Forward } from './forward.ts'

/** Copies this one context from the user's kubeconfig, which stays unchanged; `user` overrides the environment. */
export async function existingCluster(context: string, user: NodeJS.ProcessEnv = {}): Promise<Cluster> {
  const view = ['kubectl', 'config', 'view', '--minify', '--flatten', `--context=${context}`, '--output=json']
  const config = await run(view, { env: user })
  const folder = mkdtempSync(join(tmpdir(), 'portolan-context-'))
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify({ ...JSON.parse(config), 'current-context': context }), {
    mode: 0o600,
  })
  const env = { ...user, ...clientEnvironment(kubeconfig, folder) }
  return {
    own: false,
    kubeconfig,
    run: (command, options) => run(command, { ...options, env: { ...options?.env, ...env } }),
    importImage: async archive => {
      await run(importCommand(context, archive))
    },
    forward: service => forwardByKubectl(service, env),
    stop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

function importCommand(context: string, archive: string): string[] {
  const [, tool, name = ''] = /^(kind|k3d)-(.+)$/.exec(context) ?? []
  if (tool === 'kind') return ['kind', 'load', 'image-archive', archive, '--name', name]
  if (tool === 'k3d') return ['k3d', 'image', 'import', archive, '--cluster', name]
  throw new Error(`images cannot be imported into ${context}: use a context of kind or k3d`)
}

async function forwardByKubectl(
  { namespace, name, port }: Service,
  env: NodeJS.ProcessEnv,
): Promise<Forward> {
  const args = ['port-forward', '--namespace', namespace, `service/${name}`, `:${port}`]
  const child = spawn('kubectl', args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line)
    if (!found) continue
    child.stdout.resume()
    return { port: Number(found[1]), stop: () => child.kill() }
  }
  throw new Error(`service ${namespace}/${name} cannot be reached by port-forward`)
}
