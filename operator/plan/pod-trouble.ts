/** Why a pod does not serve, as its status tells it. Pure. */
import type { V1ContainerStateTerminated, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import type { JsonOf, Kube } from '../../core/kube/object.ts'
import { harmless } from '../../core/mcp/client/stdio/harmless.ts'
import { REASON } from '../../crds/conditions.ts'
import type { Verdict } from './conditions.ts'

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
/** What the last words of our bridge and installer begin with; logs of other programs may begin like that, but not with these. */
const OWN_REASON =
  /^(CrashLooping|StartTimeout|CommandNotFound|ExitedAtStart|StartFailed|HandshakeFailed|NotMcp|InstallFailed|BinNotFound|PackageManagerMissing): /
const INSTALLER = 'install'
/** How a process may end that the kubelet told to: by a signal, or in good order. */
const TOLD_TO_END = [0, 137, 143]
/** From when the kubelet gives up until the process has ended: the pause before TERM, the time it then has, and some more. */
const ENDING_SECONDS = 60
const MAX_MESSAGE = 4_000

/** `startSeconds` is how long the kubelet waits for a start, where nothing in the pod would tell that it took too long. */
export function podTrouble(pod: Kube<V1Pod>, startSeconds = Number.POSITIVE_INFINITY): Verdict | undefined {
  const { conditions = [], initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {}
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') {
    return { reason: REASON.unschedulable, message: `No node takes the pod: ${scheduled.message ?? ''}` }
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
    // while the kubelet waits it says so before the cause
    const cause = message.replace(/^Back-off pulling image "[^"]*"(: )?(ErrImagePull: )?/, '')
    return {
      reason: REASON.imagePullFailed,
      message: `The image "${image}" cannot be pulled: ${cause || reason}`,
    }
  }
  if (!REFUSED_REASONS.includes(reason)) return undefined
  return { reason: REASON.podRejected, message: `The container "${name}" cannot be made: ${clean(message)}` }
}

function endedTrouble(status: Status, startSeconds: number): Verdict | undefined {
  const ended = lastEnd(status, startSeconds)
  if (!ended) return undefined
  const { name } = status
  const [, reason] = OWN_REASON.exec(ended.message ?? '') ?? []
  if (reason) return { reason, message: clean(ended.message?.slice(reason.length + 2) ?? '') }
  const lines = ended.message ? `\n${clean(ended.message)}` : ''
  if (ended.reason === 'OOMKilled') {
    const message = `The container "${name}" ran out of memory: give it more, as spec.pod.resources.limits.memory`
    return { reason: REASON.crashLooping, message }
  }
  if (name === INSTALLER)
    return { reason: REASON.installFailed, message: `The package could not be installed${lines}` }
  if (isGivenUp(ended, startSeconds)) {
    const message = `The server did not answer as MCP within ${startSeconds} s: the events of its pod say what it answers at its port and path; raise limits.startTimeout where it is merely slow${lines}`
    return { reason: REASON.startTimeout, message }
  }
  return {
    reason: REASON.crashLooping,
    message: `The container "${name}" ended with code ${ended.exitCode}${lines}`,
  }
}

/**
 * How it ended, if it is not up again for good: one that starts a second time for no reason that it gave is not in trouble
 * yet, and one that keeps ending does not look well between two ends.
 */
function lastEnd({ ready, restartCount, state, lastState }: Status, startSeconds: number): Ended | undefined {
  if (state?.terminated) return state.terminated.exitCode === 0 ? undefined : state.terminated
  const ended = lastState?.terminated
  if (ready || !ended) return undefined
  const repeats = restartCount > 1 || OWN_REASON.test(ended.message ?? '') || isGivenUp(ended, startSeconds)
  return repeats || state?.waiting?.reason === 'CrashLoopBackOff' ? ended : undefined
}

/** Whether the kubelet ended it because it did not answer in time; one that lived longer had answered, or ended by itself. */
function isGivenUp({ exitCode, startedAt, finishedAt }: Ended, startSeconds: number): boolean {
  const seconds = (Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? '')) / 1_000
  return TOLD_TO_END.includes(exitCode) && seconds >= startSeconds && seconds < startSeconds + ENDING_SECONDS
}

/** Log lines of images that we did not write may hold anything. */
function clean(text: string): string {
  return text
    .split('\n')
    .map(line => harmless(line, []))
    .join('\n')
    .trim()
    .slice(0, MAX_MESSAGE)
}
