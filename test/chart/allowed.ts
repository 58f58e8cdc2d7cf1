/** What the API server's authorizer lets a user do. */
import assert from 'node:assert/strict'
import type { ApiServer } from '../support/api-server.ts'

export type User = { user: string; groups?: string[] }

/** Those of the actions that the user may do. An action is `verb resource[.group][/subresource][:name]`. */
export async function allowed(
  server: ApiServer,
  namespace: string,
  actions: string[],
  user: User,
): Promise<string[]> {
  const reviews = actions.map(action => {
    const [, verb, resource, group = '', subresource = '', name = ''] =
      /^(\w+) (\w+)(?:\.([\w.-]+))?(?:\/(\w+))?(?::(.+))?$/.exec(action) ?? []
    const resourceAttributes = { namespace, verb, resource, group, subresource, name }
    return {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { ...user, resourceAttributes },
    }
  })
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: reviews })
  const answer = await server.kubectl(['create', '-f', '-', '-o=jsonpath={.status.allowed} '], list)
  const verdicts = answer.trim().split(' ')
  assert.equal(verdicts.length, actions.length)
  return actions.filter((_, at) => verdicts[at] === 'true')
}

/** Every verb on every resource, as actions. */
export function every(verbs: string[], resources: string[]): string[] {
  return resources.flatMap(resource => verbs.map(verb => `${verb} ${resource}`))
}
