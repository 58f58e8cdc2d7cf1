/** What waits for approval of a server in a cluster: from the ConfigMaps that the operator keeps, approved by an annotation. */
import { withHeld } from '../core/catalog/pin.ts'
import { definitionsOf } from '../core/catalog/tool-changes.ts'
import { Fault, messageOf } from '../core/errors.ts'
import { readApproved, readCatalog } from '../core/kube/catalog.ts'
import { KubeClient } from '../core/kube/client.ts'
import { findAccess } from '../core/kube/config.ts'
import { API_VERSION, APPROVE_ANNOTATION } from '../crds/object-meta.ts'
import type { ApproveOptions, Pending } from './approve.ts'
import { CommandError } from './command-error.ts'

const FIELD_MANAGER = 'portolan-approve'

/** Throws CommandError where the server, or what was approved of it, cannot be read. */
export async function pendingInCluster(
  server: string,
  { namespace, context }: Pick<ApproveOptions, 'namespace' | 'context'>,
): Promise<Pending> {
  const client = await connect(context)
  const place = namespace ?? client.namespace
  const ref = { apiVersion: API_VERSION, kind: 'McpServer', namespace: place, name: server }
  try {
    const object = await client.get(ref)
    if (!object) throw new CommandError(`there is no McpServer "${server}" in the namespace "${place}"`)
    const [catalog, approved] = await Promise.all([
      readCatalog(client, place, server, undefined),
      readApproved(client, place, server),
    ])
    return {
      approved: definitionsOf(approved),
      found: definitionsOf(withHeld(catalog)),
      async approve(digest) {
        const { uid } = object.metadata
        const annotations = { [APPROVE_ANNOTATION]: digest }
        const metadata = { name: server, namespace: place, uid, annotations }
        const applying = await connect(context)
        const { apiVersion, kind } = ref
        await applying
          .apply({ apiVersion, kind, metadata }, { fieldManager: FIELD_MANAGER, force: true })
          .finally(() => applying.close())
        return `The operator takes it from the annotation ${APPROVE_ANNOTATION}.`
      },
    }
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'not_found') throw error
    throw new CommandError(
      `nothing was approved of "${server}" yet: it needs spec.tools.pin, and the operator must have read its tools`,
    )
  } finally {
    await client.close()
  }
}

async function connect(context: string | undefined): Promise<KubeClient> {
  try {
    return new KubeClient(await findAccess({ context }))
  } catch (error) {
    throw new CommandError(messageOf(error))
  }
}
