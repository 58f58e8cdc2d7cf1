/** What a placement cannot do with a manifest that is valid in itself. Pure. */
import { REASON } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import type { Problem } from '../errors.ts'

/** Versions that are another one tomorrow. */
const NEWEST: ReadonlySet<string | undefined> = new Set(['', 'latest'])

export type Placement = 'local' | 'cluster'

/** `refuses`: the server is not accepted. Otherwise it runs, and the problem is only told. */
export type Objection = Problem & { refuses: boolean }

/** What stands against running a server in a placement. */
export function acceptServer(server: McpServer, placement: Placement): Objection[] {
  const { spec } = server
  const objections: Objection[] = []
  const refuse = (reason: string, path: string, message: string) =>
    objections.push({ reason, path, message, refuses: true })
  if (spec.sessions === 'perUser') {
    refuse(REASON.notYetSupported, 'spec.sessions', 'perUser is not supported yet: use perClient or shared')
  }
  if (placement === 'cluster' && spec.command) {
    const message = 'command is for a laptop only: in a cluster give npm, pypi, image or remote'
    refuse(REASON.localOnly, 'spec.command', message)
  }
  if (placement === 'cluster' && spec.scaling.min === 0) {
    refuse(
      REASON.notYetSupported,
      'spec.scaling.min',
      '0 is not supported in a cluster yet: use 1 or leave it out',
    )
  }
  const podField = spec.env.findIndex(({ valueFrom }) => valueFrom?.fieldRef || valueFrom?.resourceFieldRef)
  if (placement === 'local' && podField >= 0) {
    const message =
      'fieldRef and resourceFieldRef are for clusters only: give a value, or a key of a Secret or ConfigMap'
    refuse(REASON.clusterOnly, `spec.env[${podField}].valueFrom`, message)
  }
  const unpinned = (['npm', 'pypi'] as const).find(source => NEWEST.has(spec[source]?.version))
  if (placement === 'cluster' && unpinned) {
    const message =
      'names none: every pod installs the newest version of its time; give one, so that all run the same'
    objections.push({ reason: REASON.notPinned, path: `spec.${unpinned}.version`, message, refuses: false })
  }
  if (spec.tools.pin !== '') {
    const message = 'pinning is not supported yet: changed tools are served as they are'
    objections.push({ reason: REASON.notYetSupported, path: 'spec.tools.pin', message, refuses: false })
  }
  return objections
}

/** Fields of a gateway that have no effect yet, or another. */
export function acceptGateway({ spec }: McpGateway): Problem[] {
  const notYet = (path: string, effect: string): Problem => ({
    reason: REASON.notYetSupported,
    path,
    message: `is not supported yet: ${effect}`,
  })
  const problems: Problem[] = []
  if (spec.auth) problems.push(notYet('spec.auth', 'whoever reaches the gateway may call it'))
  if (spec.access.length > 0) problems.push(notYet('spec.access', 'everybody sees every selected server'))
  return problems
}
