/** Discovery's part of a server's status, from its lists or from the failure to read them. Pure. */
import { isBridged } from '../../core/catalog/endpoint.ts'
import { cannotAskQuestions, NOT_OFFERED } from '../../core/catalog/not-offered.ts'
import { isAllowed } from '../../core/catalog/policy.ts'
import { transportOf } from '../../core/catalog/resolve.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import type { Fault } from '../../core/errors.ts'
import { harmless } from '../../core/mcp/client/stdio/harmless.ts'
import { approveOf } from '../../crds/annotations.ts'
import { CONDITION, type Condition, REASON } from '../../crds/conditions.ts'
import type { McpServer, McpServerStatus } from '../../crds/server.ts'
import { cutMessage, type Verdict } from '../plan/conditions.ts'
import type { PlannedCondition } from '../plan/plan.ts'
import { tokensOffered } from './description-tokens.ts'
import { type PinnedList, pinConditions, pinFields } from './pin-status.ts'

export type Lists = Pick<McpServerStatus, 'tools' | 'resources' | 'prompts' | 'protocol'>
/** The fields and conditions that discovery owns. */
export type DiscoveryStatus = Lists & { conditions: PlannedCondition[] }

export const DISCOVERY_FIELDS = ['tools', 'resources', 'prompts', 'protocol'] as const

/** Conditions that discovery owns. */
export const DISCOVERY_CONDITIONS: readonly string[] = [
  CONDITION.toolsDiscovered,
  CONDITION.toolsApproved,
  CONDITION.textVisible,
]

const MAX_MESSAGE_CHARACTERS = 1_000
const NEW_TOKEN =
  'Its pods do not have the new token of its Secret yet: the kubelet updates it within two minutes'

/** After the lists were read. `counted`: tokens of overriding descriptions, by text. `last`: the previous status. `now`: in milliseconds. */
export function discoveredStatus(
  server: McpServer,
  list: PinnedList,
  counted: ReadonlyMap<string, number>,
  last: Lists | undefined,
  now: number,
): DiscoveryStatus {
  const { tools: policy } = server.spec
  const { catalog } = list
  const offered = catalog.tools.filter(({ definition }) => isAllowed(policy, definition.name))
  const { digest } = catalog
  const unchanged = last?.tools?.digest === digest ? last.tools.lastChanged : undefined
  return {
    conditions: [
      condition(server, 'True', REASON.discovered, listsMessage(server, catalog, offered.length)),
      ...pinConditions(server, list),
    ],
    tools: {
      count: offered.length,
      tokens: offered.reduce((sum, tool) => sum + tokensOffered(tool, policy, counted), 0),
      invalid: catalog.invalid.length,
      digest,
      lastChanged: unchanged ?? new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
      ...pinFields(server, list),
    },
    resources: catalog.resources.length,
    prompts: catalog.prompts.length,
    protocol: catalog.protocol,
  }
}

/** After a failure. Keeps the last lists and their other conditions. `connected`: the server answered initialize, so reading its lists failed. */
export function failedStatus(
  server: McpServer,
  fault: Fault,
  connected: boolean,
  last: DiscoveryStatus | undefined,
): DiscoveryStatus {
  const { tools, resources, prompts, protocol } = last ?? {}
  const { reason, message } = verdictOf(server, fault, connected)
  const { generation: observedGeneration } = server.metadata
  const others = (last?.conditions ?? []).filter(({ type }) => type !== CONDITION.toolsDiscovered)
  return {
    conditions: [
      condition(server, 'False', reason, message),
      ...others.map(other => ({ ...other, observedGeneration })),
    ],
    tools,
    resources,
    prompts,
    protocol,
  }
}

/** Whether the lists could be read when this status was written. */
export function isDiscovered({ conditions }: DiscoveryStatus): boolean {
  return conditions.some(({ type, status }) => type === CONDITION.toolsDiscovered && status === 'True')
}

/** Whether all conditions were observed at this generation of the manifest. */
export function isObservedAt(status: DiscoveryStatus, generation: number | undefined): boolean {
  return status.conditions.every(({ observedGeneration }) => observedGeneration === generation)
}

/** Whether the server's annotation now approves the changes that this status reports. */
export function isNowApproved({ tools }: DiscoveryStatus, server: Parameters<typeof approveOf>[0]): boolean {
  return tools?.changes !== undefined && tools.changes.digest === approveOf(server)
}

/** Discovery's part of an observed status; undefined if discovery never wrote one. */
export function discoveryPart(
  status: ({ conditions?: readonly Condition[] } & Lists) | undefined,
): DiscoveryStatus | undefined {
  const found = status?.conditions?.filter(({ type }) => DISCOVERY_CONDITIONS.includes(type)) ?? []
  if (!found.some(({ type }) => type === CONDITION.toolsDiscovered)) return undefined
  const conditions = found.map(({ lastTransitionTime: _, ...planned }) => planned)
  const { tools, resources, prompts, protocol } = status ?? {}
  return { conditions, tools, resources, prompts, protocol }
}

/** A bridge refuses the operator's token only while its pod still has the Secret's previous value. */
function verdictOf(server: McpServer, fault: Fault, connected: boolean): Verdict {
  if (fault.code === 'upstream_auth_required' && isBridged(server)) {
    return { reason: REASON.updating, message: NEW_TOKEN }
  }
  const reason = reasonOf(fault, connected)
  return { reason, message: failureMessage(fault.message, reason) }
}

/** Reasons of faults that are caused by the manifest, or by an object that it names. */
const MANIFEST_REASONS: readonly string[] = [REASON.notPermitted, REASON.invalid]

function reasonOf({ code, details }: Fault, connected: boolean): string {
  const manifestReason = MANIFEST_REASONS.find(reason => reason === details.reason)
  if (manifestReason) return manifestReason
  if (code === 'upstream_auth_required') return REASON.authRequired
  if (connected) return REASON.discoveryFailed
  if (code === 'upstream_timeout') return REASON.startTimeout
  return code === 'upstream_unreachable' || code === 'upstream_died'
    ? REASON.unreachable
    : REASON.discoveryFailed
}

/** Redacts the message: an upstream's error may repeat our credentials. */
function failureMessage(message: string, reason: string): string {
  const text = harmless(message.replace(/\s+/g, ' ').trim(), []).slice(0, MAX_MESSAGE_CHARACTERS)
  return reason === REASON.authRequired
    ? `${text}: provide the credential that it requires in spec.headers or spec.auth`
    : text
}

function listsMessage(
  server: McpServer,
  { tools, invalid, incomplete, protocol, held }: ServerCatalog,
  offered: number,
): string {
  const notes = [
    offered === tools.length ? `${offered} tools` : `${offered} of ${tools.length} tools are offered`,
    ...(held ? [`${held.tools.length} held back`] : []),
    ...(invalid.length > 0
      ? [`${invalid.length} left out: ${invalid[0]?.name ?? ''} ${invalid[0]?.reason}`]
      : []),
    ...incomplete.map(({ list, message }) => `${list} incomplete: ${message}`),
    ...(cannotAskQuestions({ transport: transportOf(server), sessions: server.spec.sessions }, protocol)
      ? [NOT_OFFERED]
      : []),
  ]
  return notes.join('; ').replace(/\s+/g, ' ').slice(0, MAX_MESSAGE_CHARACTERS)
}

function condition(
  { metadata }: McpServer,
  status: 'True' | 'False',
  reason: string,
  message: string,
): PlannedCondition {
  const { generation: observedGeneration } = metadata
  const stored = cutMessage(message, MAX_MESSAGE_CHARACTERS)
  return { type: CONDITION.toolsDiscovered, status, reason, message: stored, observedGeneration }
}
