/** The changes of a server in a cluster that wait for approval: read from the operator's ConfigMaps, approved by an annotation. */
import { withHeld } from '../core/catalog/pin.ts'
import { definitionsOf } from '../core/catalog/tool-changes.ts'
import { Fault, messageOf } from '../core/errors.ts'
import { readApproved, readCatalog } from '../core/kube/catalog.ts'
import { KubeClient } from '../core/kube/client.ts'
import { findAccess } from '../core/kube/config.ts'
import type { KubeObject } from '../core/kube/object.ts'
import { type ChangedPackage, readIntegrityChanged } from '../core/packages/integrity.ts'
import { APPROVE_ANNOTATION } from '../crds/annotations.ts'
import { CONDITION, REASON } from '../crds/conditions.ts'
import { API_VERSION } from '../crds/object-meta.ts'
import type { ApproveOptions, Pending } from './approve.ts'
import { CommandError } from './command-error.ts'

const FIELD_MANAGER = 'portolan-approve'

type Found = KubeObject & { status?: { conditions?: { type: string; reason?: string; message?: string }[] } }

/** Throws a CommandError if the server cannot be read, or nothing of it was approved yet. */
export async function pendingInCluster(
  server: string,
  { namespace, context }: Pick<ApproveOptions, 'namespace' | 'context'>,
): Promise<Pending> {
  const client = await connect(context)
  const place = namespace ?? client.namespace
  const ref = { apiVersion: API_VERSION, kind: 'McpServer', namespace: place, name: server }
  try {
    const object = await client.get<Found>(ref)
    if (!object) throw new CommandError(`there is no McpServer "${server}" in the namespace "${place}"`)
    const annotate = (digest: string) => setAnnotation(context, object, digest)
    const packages = changedPackages(object).map(changed => ({
      ...changed,
      approve: () => annotate(changed.found),
    }))
    const tools = await readTools(client, place, server)
    if (tools) return { packages, ...tools, approve: annotate }
    if (packages.length > 0) return { packages, approved: [], found: [], approve: annotate }
    throw new CommandError(
      `nothing was approved of "${server}" yet: it needs spec.tools.pin, and the operator must have read its tools`,
    )
  } finally {
    await client.close()
  }
}

/** Undefined if no tools of the server were approved yet. */
async function readTools(client: KubeClient, namespace: string, server: string) {
  try {
    const [catalog, approved] = await Promise.all([
      readCatalog(client, namespace, server, undefined),
      readApproved(client, namespace, server),
    ])
    return { approved: definitionsOf(approved), found: definitionsOf(withHeld(catalog)) }
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'not_found') throw error
    return undefined
  }
}

/** The package that a pod of the server refused, read from the message of the condition Ready. */
function changedPackages({ status }: Found): ChangedPackage[] {
  const ready = status?.conditions?.find(({ type }) => type === CONDITION.ready)
  const changed =
    ready?.reason === REASON.integrityChanged ? readIntegrityChanged(ready.message ?? '') : undefined
  return changed ? [changed] : []
}

async function setAnnotation(
  context: string | undefined,
  { apiVersion, kind, metadata: { name, namespace, uid } }: Found,
  digest: string,
): Promise<string> {
  const metadata = { name, namespace, uid, annotations: { [APPROVE_ANNOTATION]: digest } }
  const client = await connect(context)
  await client
    .apply({ apiVersion, kind, metadata }, { fieldManager: FIELD_MANAGER, force: true })
    .finally(() => client.close())
  return `The operator takes it from the annotation ${APPROVE_ANNOTATION}.`
}

async function connect(context: string | undefined): Promise<KubeClient> {
  try {
    return new KubeClient(await findAccess({ context }))
  } catch (error) {
    throw new CommandError(messageOf(error))
  }
}
