/** Asks the routers of all gateways of a namespace, through their pods. */
import type { V1Pod } from '@kubernetes/client-node'
import { systemClock } from '../core/async.ts'
import { deadline } from '../core/deadline.ts'
import { Fault, messageOf } from '../core/errors.ts'
import { plainLine } from '../core/hidden-characters.ts'
import type { Access } from '../core/kube/access.ts'
import { KubeClient } from '../core/kube/client.ts'
import { findAccess } from '../core/kube/config.ts'
import type { Kube } from '../core/kube/object.ts'
import { type PodAnswer, requestOfPod } from '../core/kube/pod-request.ts'
import { ADMIN_PORT, LABEL, selectorOf } from '../operator/plan/names.ts'
import { CommandError } from './command-error.ts'
import type { Terminal } from './output.ts'

const ANSWER_TIMEOUT_MS = 10_000

/** A cluster and one of its namespaces. */
export type Place = {
  client: KubeClient
  namespace: string
} & RouterPlace

/** The routers of a namespace, and which of them did not answer. */
export type RouterPlace = {
  ask(method: 'GET' | 'DELETE', path: string): Promise<Report[]>
  /** Prints a line about a router that did not answer to standard error, the same one only once. */
  warn(line: string): void
  /** These lines. */
  warned: readonly string[]
}

/** What a router answered, or why it did not. */
export type Report = { pod: string; answer: PodAnswer | Fault }

/** Finds the cluster. The caller has to close its client. Throws a CommandError if there is no usable kubeconfig. */
export async function placeIn(
  options: { namespace?: string; context?: string },
  terminal: Terminal,
): Promise<Place> {
  const access = await findAccess({ context: options.context }).catch(error => {
    throw new CommandError(messageOf(error))
  })
  const client = new KubeClient(access)
  const warned: string[] = []
  const warn = (line: string) => {
    if (warned.includes(line)) return
    terminal.err(terminal.errColors.yellow(plainLine(line)))
    warned.push(line)
  }
  const namespace = options.namespace ?? client.namespace
  const ask: RouterPlace['ask'] = (method, path) => atRouters({ access, client, namespace }, method, path)
  return { client, namespace, ask, warn, warned }
}

/** The lists of the routers at this path, joined; warns of routers that have none. Throws a CommandError if that is all of them. */
export async function listedByRouters<T>(place: RouterPlace, path: string, what: string): Promise<T[]> {
  const { items, missing } = joined<T>(await place.ask('GET', path), what)
  for (const line of missing) place.warn(line)
  return items
}

/** The items of all lists, and a line for each router without one. Throws a CommandError if no router has a list. Pure. */
export function joined<T>(reports: readonly Report[], what: string): { items: T[]; missing: string[] } {
  const without = reports.filter(report => statusOf(report) !== 200)
  if (without.length === reports.length)
    throw new CommandError(`no router shows ${what}: ${[...new Set(without.map(reasonOf))].join('; ')}`)
  return {
    items: reports.flatMap(({ answer }) =>
      answer instanceof Fault || answer.status !== 200 ? [] : (JSON.parse(answer.text) as T[]),
    ),
    missing: without.map(report => `the router ${report.pod} does not show ${what}: ${reasonOf(report)}`),
  }
}

/** 0 if the router did not answer. */
function statusOf({ answer }: Report): number {
  return answer instanceof Fault ? 0 : answer.status
}

function reasonOf({ answer }: Report): string {
  if (answer instanceof Fault) return answer.message
  return answer.status === 404
    ? 'it has no such page, as in earlier versions'
    : `it answers with status ${answer.status}`
}

/** Deletes `path/names…` at all routers, and warns of those that do not answer. Resolves with whether any of them had it. */
export async function deleteAtRouters(
  place: RouterPlace,
  path: string,
  ...names: string[]
): Promise<boolean> {
  const reports = await place.ask('DELETE', [path, ...names.map(encodeURIComponent)].join('/'))
  // 404: this router does not have it.
  for (const report of reports)
    if (![204, 404].includes(statusOf(report)))
      place.warn(`the router ${report.pod} did not delete anything: ${reasonOf(report)}`)
  return reports.some(report => statusOf(report) === 204)
}

/** Throws a CommandError if a router was missing from the list or did not delete: what it has may remain. Call this after all deletions. */
export function expectAllAnswered({ warned }: RouterPlace, deleted: number): void {
  if (warned.length > 0)
    throw new CommandError(
      `not all routers answered, and what they have may remain: repeat this when they do (deleted: ${deleted})`,
    )
}

/** Sends a request to every running router of the namespace, except those that are being deleted, which may end before they answer. */
async function atRouters(
  { access, client, namespace }: Pick<Place, 'client' | 'namespace'> & { access: Access },
  method: 'GET' | 'DELETE',
  path: string,
): Promise<Report[]> {
  const labelSelector = `${LABEL.component}=${selectorOf('router', '')[LABEL.component]}`
  const { items } = await client.list<Kube<V1Pod>>({
    apiVersion: 'v1',
    kind: 'Pod',
    namespace,
    labelSelector,
  })
  const running = items.filter(
    ({ metadata, status }) => !metadata.deletionTimestamp && status?.phase === 'Running',
  )
  if (running.length === 0) throw new CommandError(`no gateway runs in the namespace "${namespace}"`)
  const limit = deadline(systemClock, ANSWER_TIMEOUT_MS, 'The routers do not answer in time')
  try {
    return await reportsOf(
      running.map(({ metadata }) => metadata.name),
      pod => requestOfPod(access, { namespace, pod, port: ADMIN_PORT, method, path }, limit.signal),
    )
  } finally {
    limit.clear()
  }
}

/** Asks all routers at the same time. A Fault of one does not keep the others from answering. */
export function reportsOf(
  pods: readonly string[],
  ask: (pod: string) => Promise<PodAnswer>,
): Promise<Report[]> {
  const faultOf = (error: unknown): Fault => {
    if (error instanceof Fault) return error
    throw error
  }
  return Promise.all(pods.map(async pod => ({ pod, answer: await ask(pod).catch(faultOf) })))
}
