/** The part of a server's status about pinned tools and about hidden characters in texts. Pure. */
import { type HiddenText, hiddenTextLine } from '../../core/catalog/hidden-text.ts'
import type { Pinned } from '../../core/catalog/pin.ts'
import {
  changesForStatus,
  changesLine,
  digestOfTools,
  type ToolChanges,
} from '../../core/catalog/tool-changes.ts'
import { APPROVE_ANNOTATION } from '../../crds/annotations.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { McpServer, McpServerStatus } from '../../crds/server.ts'
import { cutMessage } from '../plan/conditions.ts'
import type { PlannedCondition } from '../plan/plan.ts'

/** A list as it is served, with its unapproved changes and the hidden characters in its texts. */
export type PinnedList = Pinned & { hidden?: HiddenText }

const MAX_MESSAGE_CHARACTERS = 2_000

/** ToolsApproved exists only with `tools.pin`, TextVisible only if texts have hidden characters. */
export function pinConditions(
  server: McpServer,
  { approved, changes, hidden }: PinnedList,
): PlannedCondition[] {
  const { pin } = server.spec.tools
  const conditions: PlannedCondition[] = []
  if (pin && approved)
    conditions.push(
      changes
        ? condition(
            server,
            CONDITION.toolsApproved,
            pin === 'Hold' ? REASON.toolsHeld : REASON.toolsChanged,
            changesMessage(server, changes, pin),
          )
        : condition(
            server,
            CONDITION.toolsApproved,
            REASON.approved,
            'All tools are as they were approved',
            'True',
          ),
    )
  if (hidden)
    conditions.push(
      condition(
        server,
        CONDITION.textVisible,
        REASON.hiddenCharacters,
        `Text that agents read hides characters: ${hiddenTextLine(hidden)}`,
      ),
    )
  return conditions
}

/** The fields of `status.tools` about pinning: the digest of the approved tools, and what has changed since. */
export function pinFields({ spec }: McpServer, { approved, changes }: Pinned): McpServerStatus['tools'] {
  if (!spec.tools.pin || !approved) return {}
  return { approved: digestOfTools(approved), ...(changes && { changes: changesForStatus(changes) }) }
}

function changesMessage({ metadata }: McpServer, changes: ToolChanges, pin: 'Warn' | 'Hold'): string {
  const { name, namespace } = metadata
  const onlyRemoved = changes.changed.length + changes.added.length === 0
  const served = onlyRemoved
    ? ''
    : pin === 'Hold'
      ? ' They are held back until they are approved.'
      : ' They are served.'
  return `Since the tools were approved: ${changesLine(changes)}.${served} Look: portolan approve ${name} --namespace ${namespace} --diff. Approve: annotation ${APPROVE_ANNOTATION}: ${changes.digest}`
}

function condition(
  { metadata }: McpServer,
  type: string,
  reason: string,
  message: string,
  status: 'True' | 'False' = 'False',
): PlannedCondition {
  const { generation: observedGeneration } = metadata
  const stored = cutMessage(message, MAX_MESSAGE_CHARACTERS)
  return { type, status, reason, message: stored, observedGeneration }
}
