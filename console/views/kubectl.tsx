/** What is done by kubectl in a cluster, where the page acts on nothing: the commands, to copy. */
import type { ConsoleServer } from '../../core/console/shapes.ts'
import { useStore } from '../store.ts'
import { Command } from './parts.tsx'

export function Commands({ name }: { name: string }) {
  const { namespace } = useNamespace()
  return (
    <details class="commands">
      <summary>Restart, read again</summary>
      <p class="note">This page changes nothing in a cluster. A call wakes a server that sleeps.</p>
      <dl class="connect">
        <Line title="Restart" text={`kubectl -n ${namespace} rollout restart deployment/mcp-${name}`} />
        <Line
          title="Read again"
          text={`kubectl -n ${namespace} annotate mcpserver/${name} portolan.dev/refresh="$(date)" --overwrite`}
        />
        <Line title="Look at it" text={`kubectl -n ${namespace} describe mcpserver/${name}`} />
      </dl>
    </details>
  )
}

export function Logs({ server: { name, transport } }: { server: ConsoleServer }) {
  const { namespace } = useNamespace()
  const labels = `app.kubernetes.io/component=server,app.kubernetes.io/instance=${name}`
  return (
    <>
      <p class="note">
        {transport === 'stdio'
          ? 'What it writes to its standard error is in the log of its pods.'
          : 'A server that runs as pods writes its log there; one elsewhere, where it runs.'}
      </p>
      <Command text={`kubectl -n ${namespace} logs --tail=200 --prefix --all-containers -l ${labels}`} />
    </>
  )
}

export function useNamespace(): { namespace: string } {
  const { gateway = '' } = useStore()
  return { namespace: gateway.split('/')[0] ?? '' }
}

function Line({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <Command text={text} />
      </dd>
    </div>
  )
}
