/** Users of servers with a pod each: what is secret of each user, and where tests look for it. */
import { readFileSync } from 'node:fs'
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube } from '../../../core/kube/object.ts'
import { userNamed } from '../../../core/mcp/user.ts'
import type { Portolan } from './portolan.ts'

/** A value that is in the Secret of this user, and nowhere else. */
export function canaryOf(user: string): string {
  return `canary-${user}-7c1e`
}

/** The canaries of all users that a text contains. */
export function canariesIn(text: string): string[] {
  return [...new Set(text.match(/canary-[-\w]+/g))]
}

/** The id of a user with a token of this name. */
export function idOf(user: string): string {
  return userNamed(`token#${user}`)?.id ?? ''
}

/** The id of the user of a pod; empty if it belongs to nobody. */
export function userOf({ metadata }: Kube<V1Pod>): string {
  return metadata.labels?.['portolan.dev/user'] ?? ''
}

export function isOfUser(pod: Kube<V1Pod>): boolean {
  return userOf(pod) !== ''
}

/** The environment with which a process was started. */
export function environOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return '' // it has ended
  }
}

/** The token of a bridge, from the Secret of its pod. */
export async function tokenIn({ kubectl }: Portolan, namespace: string, name: string): Promise<string> {
  const text = await kubectl('get', 'secret', name, '--namespace', namespace, '--output', 'json')
  const { data } = JSON.parse(text) as { data: Record<string, string> }
  return Buffer.from(data.token ?? '', 'base64').toString()
}
