/** Why a pod does not serve, from its status. Pure. */
import type { V1ContainerStateTerminated, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import type { JsonOf, Kube } from '../../core/kube/object.ts'
import { harmless } from '../../core/mcp/client/stdio/harmless.ts'
import { REASON } from '../../crds/conditions.ts'
import type { Verdict } from './conditions.ts'
import { INSTALLER } from './package-records.ts'
import { PROBE_GRACE_SECONDS } from './probes.ts'

type Status = JsonOf<V1ContainerStatus>
type Ended = JsonOf<V1ContainerStateTerminated>

const IMAGE_REASONS = [
  'ErrImagePull',
  'ErrImageNeverPull',
  'ImagePullBackOff',
  'ImageInspectError',
  'InvalidImageName',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]
const REFUSED_REASONS = ['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']
/** Prefix of the termination messages of our bridge and installer. The reasons are listed, so that no other program's log is mistaken for one. */
const OWN_REASON =
  /^(CrashLooping|OOMKilled|StartTimeout|CommandNotFound|ExitedAtStart|StartFailed|HandshakeFailed|NotMcp|InstallFailed|IntegrityChanged|BinNotFound|PackageManagerMissing): /
/** Matches the scheduler's messages about claims that are not bound, do not exist or are being deleted. */
const ABOUT_VOLUMES = /persistent ?volume/i
/** Exit codes of a process that the kubelet stopped: 0, SIGKILL, SIGTERM. */
const STOPPED_CODES = [0, 137, 143]
/** Longest time from the kubelet's decision to the end of the process: the probe's grace period, and a margin. */
const ENDING_SECONDS = PROBE_GRACE_SECONDS + 30
const MAX_MESSAGE = 4_000

/**
 * Why a pod does not serve; undefined if no reason is known. `startSeconds`: the limit of its startup probe; give it if nothing in the pod itself
 * reports a start that took too long.
 */
export function podTrouble(pod: Kube<V1Pod>, startSeconds = Number.POSITIVE_INFINITY): Verdict | undefined {
  const { conditions = [], initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {}
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') {
    const { message = '' } = scheduled
    return ABOUT_VOLUMES.test(message)
      ? {
          reason: REASON.storagePending,
          message: `The pod waits for its volume, see the events of its PersistentVolumeClaims: ${message}`,
        }
      : { reason: REASON.unschedulable, message: `The pod cannot be scheduled: ${message}` }
  }
  if (pod.status?.phase === 'Failed') {
    const { reason = 'Failed', message = '' } = pod.status
    return {
      reason: REASON.podRejected,
      message: `The pod was ended by its node: ${reason} ${message}`.trim(),
    }
  }
  for (const status of [...initContainerStatuses, ...containerStatuses]) {
    const trouble = waitingTrouble(status) ?? endedTrouble(status, startSeconds)
    if (trouble) return trouble
  }
  return undefined
}

function waitingTrouble({ state, image, name }: Status): Verdict | undefined {
  const { reason = '', message = '' } = state?.waiting ?? {}
  if (IMAGE_REASONS.includes(reason)) {
    // During back-off, the kubelet writes a message of its own before the cause.
    const cause = message.replace(/^Back-off pulling image "[^"]*"(: )?(ErrImagePull: )?/, '')
    return {
      reason: REASON.imagePullFailed,
      message: `The image "${image}" cannot be pulled: ${cause || reason}`,
    }
  }
  if (!REFUSED_REASONS.includes(reason)) return undefined
  return {
    reason: REASON.podRejected,
    message: `The container "${name}" cannot be created: ${clean(message)}`,
  }
}

function endedTrouble(status: Status, startSeconds: number): Verdict | undefined {
  const ended = lastEnd(status, startSeconds)
  if (!ended) return undefined
  const { name } = status
  const [, reason] = OWN_REASON.exec(ended.message ?? '') ?? []
  if (reason) return { reason, message: clean(ended.message?.slice(reason.length + 2) ?? '') }
  const lines = ended.message ? `\n${clean(ended.message)}` : ''
  if (ended.reason === 'OOMKilled') {
    const message = `The container "${name}" ran out of memory: raise spec.pod.resources.limits.memory`
    return { reason: REASON.oomKilled, message }
  }
  if (name === INSTALLER)
    return { reason: REASON.installFailed, message: `The package could not be installed${lines}` }
  if (isGivenUp(ended, startSeconds)) {
    const message = `The server did not answer as MCP within ${startSeconds} s: the events of its pod show what it answers at its port and path; raise limits.startTimeout if it is only slow${lines}`
    return { reason: REASON.startTimeout, message }
  }
  return {
    reason: REASON.crashLooping,
    message: `The container "${name}" ended with code ${ended.exitCode}${lines}`,
  }
}

/**
 * The last termination of a container that has not recovered. A single restart for an unknown reason is not reported yet; a container
 * that keeps terminating is also reported while it runs in between.
 */
function lastEnd({ ready, restartCount, state, lastState }: Status, startSeconds: number): Ended | undefined {
  if (state?.terminated) return state.terminated.exitCode === 0 ? undefined : state.terminated
  const ended = lastState?.terminated
  if (ready || !ended) return undefined
  const repeats = restartCount > 1 || OWN_REASON.test(ended.message ?? '') || isGivenUp(ended, startSeconds)
  return repeats || state?.waiting?.reason === 'CrashLoopBackOff' ? ended : undefined
}

/** Whether the kubelet stopped the container at the startup probe's limit. If it ran longer, it had become ready or ended by itself. */
function isGivenUp({ exitCode, startedAt, finishedAt }: Ended, startSeconds: number): boolean {
  const seconds = (Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? '')) / 1_000
  return (
    STOPPED_CODES.includes(exitCode) && seconds >= startSeconds && seconds < startSeconds + ENDING_SECONDS
  )
}

/** Redacts secrets: logs of third-party images may contain them. */
function clean(text: string): string {
  return text
    .split('\n')
    .map(line => harmless(line, []))
    .join('\n')
    .trim()
    .slice(0, MAX_MESSAGE)
}
