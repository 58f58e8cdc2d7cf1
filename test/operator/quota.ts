/** Quotas for tests of the operator. */
import type { ApiServer } from '../support/api-server.ts'

/** Sets how many objects of a resource may be made in a namespace from now on. */
export async function limit(
  { kubectl }: Pick<ApiServer, 'kubectl'>,
  namespace: string,
  resource: string,
  count: number,
): Promise<void> {
  const hard = { [resource]: String(count) }
  const metadata = { name: resource.replace('/', '.'), namespace }
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard } }
  await kubectl(['apply', '-f', '-'], JSON.stringify(quota))
  // As the quota controller would, which does not run here.
  const status = JSON.stringify({ status: { hard, used: { [resource]: '0' } } })
  const patch = ['patch', 'resourcequota', metadata.name, '-n', namespace, '--subresource=status']
  await kubectl([...patch, '--type=merge', '-p', status])
}

/** Removes the quotas of a namespace. */
export async function unlimit({ kubectl }: Pick<ApiServer, 'kubectl'>, namespace: string): Promise<void> {
  await kubectl(['delete', 'resourcequota', '--all', '-n', namespace])
}
