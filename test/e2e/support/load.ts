/** A steady load of calls from a pod while something is broken, and how the calls ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadReport } from '../../images/client/load.ts'
import { until } from '../../support/until.ts'
import { agentPod } from './agent.ts'
import type { Namespace } from './namespace.ts'
import type { Portolan } from './portolan.ts'

const CALLS_PER_SECOND = 20
const CALL_LIMIT_SECONDS = 70
/** How long the load runs undisturbed before the fault, and after the recovery. */
const STEADY_MS = 2_000
/** The client never had a connection, so no router got the call: only the client could try again. */
const NOT_SENT = /ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT/

export type Fault = {
  /** Breaks something. */
  strike(): Promise<unknown>
  /** Resolves when all is as it should be again. */
  recovered(): Promise<unknown>
}

export type Outcome = {
  calls: number
  right: number
  wrong: number
  /** Not answered, or with an error, and in flight during the fault. */
  inFlight: number
  /** Never sent: no router could be reached. */
  notSent: number
  /** All other calls without a right answer. */
  lost: LoadReport['unexpected']
  recoveredMs: number
  longestGapMs: number
  p99Ms: number
}

/** The calls. Without `args`, the tool must answer with the text of its argument `text`. */
export type Load = {
  gateway: string
  toolPath: string
  args?: object
  expect?: string
  perSecond?: number
  nodeName?: string
}

/** Breaks something under load. */
export async function underLoad(
  { cluster }: Pick<Portolan, 'cluster'>,
  space: Namespace,
  options: Load,
  fault: Fault,
): Promise<Outcome> {
  const pod = agentPod('load', { nodeName: options.nodeName, args: loadArguments(space.name, options) })
  const kubectl = (...args: string[]) => cluster.run(['kubectl', '--namespace', space.name, ...args])
  await space.apply(pod)
  await kubectl('wait', '--for=condition=Ready', '--timeout=180s', 'pod/load')
  await sleep(STEADY_MS)
  const struck = Date.now()
  await fault.strike()
  const done = Date.now()
  await fault.recovered()
  const recoveredMs = Date.now() - struck
  await sleep(STEADY_MS)
  await kubectl('exec', 'load', '--', '/usr/local/bin/node', '--eval', 'process.kill(1, "SIGTERM")')
  await until('the load has ended', async () =>
    /Succeeded/.test(await kubectl('get', 'pod', 'load', '--output', 'jsonpath={.status.phase}')),
  )
  const report = JSON.parse(await kubectl('logs', 'load')) as LoadReport
  await space.delete(pod)
  await until(
    'the load is gone',
    async () => !(await kubectl('get', 'pods', '--output', 'name')).includes('pod/load'),
  )
  return outcomeOf(report, struck, done, recoveredMs)
}

function loadArguments(namespace: string, load: Load): string[] {
  const { gateway, toolPath, expect = 'call $N.', perSecond = CALLS_PER_SECOND } = load
  const args = { tool_path: toolPath, arguments: load.args ?? { text: expect } }
  return [
    'load',
    `http://${gateway}-gateway.${namespace}.svc/mcp`,
    '--args',
    JSON.stringify(args),
    '--expect',
    expect,
    '--rate',
    String(perSecond),
    '--timeout',
    String(CALL_LIMIT_SECONDS),
  ]
}

function outcomeOf(report: LoadReport, struck: number, done: number, recoveredMs: number): Outcome {
  const failed = report.unexpected.filter(({ kind }) => kind === 'failed')
  const isInFlight = ({ at, ms }: { at: number; ms: number }) =>
    report.startedAt + at <= done && report.startedAt + at + ms >= struck
  const notSent = failed.filter(({ message }) => NOT_SENT.test(message))
  const sent = failed.filter(({ message }) => !NOT_SENT.test(message))
  return {
    calls: report.sent,
    right: report.right,
    wrong: report.wrong,
    inFlight: sent.filter(isInFlight).length,
    notSent: notSent.length,
    lost: sent.filter(call => !isInFlight(call)),
    recoveredMs,
    longestGapMs: report.longestGap.ms,
    p99Ms: report.latencyMs.p99,
  }
}
