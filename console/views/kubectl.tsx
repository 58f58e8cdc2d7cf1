/** kubectl commands to copy, for actions that the page itself has only on a laptop. */
import type { ConsoleServer } from '../../core/console/shapes.ts'
import { useStore } from '../store.ts'
import { Command } from './parts.tsx'

/** Commands that restart a server, read its lists again, and describe it. */
export function Commands({ name }: { name: string }) {
  const { namespace } = useNamespace()
  return (
    <details class="commands">
      <summary>Restart, read again</summary>
      <p class="note">In a cluster this page is read-only. A call wakes a server that sleeps.</p>
      <dl class="connect">
        <Line title="Restart" text={`kubectl -n ${namespace} rollout restart deployment/mcp-${name}`} />
        <Line
          title="Read again"
          text={`kubectl -n ${namespace} annotate mcpserver/${name} portolan.dev/refresh="$(date)" --overwrite`}
        />
        <Line title="Describe" text={`kubectl -n ${namespace} describe mcpserver/${name}`} />
      </dl>
    </details>
  )
}

/** The command that shows the log of a server's pods. */
export function Logs({ server: { name, transport } }: { server: ConsoleServer }) {
  const { namespace } = useNamespace()
  const labels = `app.kubernetes.io/component=server,app.kubernetes.io/instance=${name}`
  return (
    <>
      <p class="note">
        {transport === 'stdio'
          ? 'Its standard error is in the log of its pods.'
          : 'If the server runs in pods, they have its log. A remote server keeps its own.'}
      </p>
      <Command text={`kubectl -n ${namespace} logs --tail=200 --prefix --all-containers -l ${labels}`} />
    </>
  )
}

/** The namespace of the chosen gateway; empty if none is chosen. */
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
