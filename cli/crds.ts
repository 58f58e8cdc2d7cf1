/** `portolan crds`: prints the CustomResourceDefinitions, or applies them to a cluster. */
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Argument, Command } from 'commander'
import type { KubeClient } from '../core/kube/client.ts'
import type { KubeObject } from '../core/kube/object.ts'
import { CommandError } from './command-error.ts'
import { contextOption } from './options.ts'
import type { Terminal } from './output.ts'

const FIELD_MANAGER = 'portolan-crds'
const ESTABLISHED_POLL_MS = 200
const ESTABLISHED_LIMIT_MS = 60_000

type Definition = KubeObject & { status?: { conditions?: { type: string; status: string }[] } }

export function crdsCommand(terminal: Terminal): Command {
  return new Command('crds')
    .description('print the CustomResourceDefinitions, or apply them to a cluster')
    .addArgument(
      new Argument('[action]', 'print them, or apply them and wait until they are established')
        .choices(['print', 'apply'])
        .default('print'),
    )
    .addOption(contextOption())
    .action(async (action: 'print' | 'apply', { context }: { context?: string }) => {
      if (action === 'print') return terminal.out(definitionsText().trimEnd())
      const [{ findAccess }, { KubeClient }, { documentsOf }] = await Promise.all([
        import('../core/kube/config.ts'),
        import('../core/kube/client.ts'),
        import('./yaml-documents.ts'),
      ])
      const definitions = documentsOf(definitionsText()) as Definition[]
      const client = new KubeClient(await access(() => findAccess({ context })))
      try {
        for (const definition of definitions) await apply(definition, client, terminal)
      } finally {
        await client.close()
      }
    })
}

/** Applies a definition server-side, taking over fields that Helm or kubectl wrote, and waits until the API server serves it. */
async function apply(definition: Definition, client: KubeClient, terminal: Terminal): Promise<void> {
  const { name } = definition.metadata
  const end = performance.now() + ESTABLISHED_LIMIT_MS
  let applied: Definition | undefined = await client.apply(definition, {
    fieldManager: FIELD_MANAGER,
    force: true,
  })
  while (!isEstablished(applied)) {
    if (performance.now() > end)
      throw new CommandError(
        `${name} was applied, but the API server does not serve it yet: see "kubectl describe crd ${name}"`,
      )
    await wait(ESTABLISHED_POLL_MS)
    const { apiVersion, kind } = definition
    applied = await client.get<Definition>({ apiVersion, kind, name })
  }
  terminal.out(`${name} established`)
}

function isEstablished(definition: Definition | undefined): boolean {
  const conditions = definition?.status?.conditions ?? []
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True')
}

/** All definitions as one YAML stream. */
function definitionsText(): string {
  const servers = new URL('../crds/portolan.dev_mcpservers.yaml', import.meta.url)
  const gateways = new URL('../crds/portolan.dev_mcpgateways.yaml', import.meta.url)
  const scripts = new URL('../crds/portolan.dev_mcpscripts.yaml', import.meta.url)
  return [servers, gateways, scripts].map(file => readFileSync(file, 'utf8')).join('---\n')
}

/** Turns any error into a CommandError, since a missing or broken kubeconfig is no bug. */
async function access<T>(find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error))
  }
}
