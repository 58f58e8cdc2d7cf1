/** Finds invalid manifests that may be meant as an McpGateway. If they were ignored, servers could be open to everybody. Pure. */
import type { Problem } from '../core/errors.ts'
import type { ManifestFile } from '../core/manifests.ts'
import { REASON } from '../crds/conditions.ts'
import { nearestWord } from '../crds/nearest.ts'

const KINDS = ['McpServer', 'McpGateway', 'McpScript']
/** Matches text of an McpGateway in a document that has no kind, or whose kind is not known because of a syntax error. */
const GATEWAY_TEXT = /\bMcpGat|^[ \t]*["']?(?:access|rateLimits)["']?\s*:/m

/** Returns one problem for each such manifest, with its line. `text`: the content of the file. */
export function brokenGateways(
  { broken, problems }: Pick<ManifestFile, 'broken' | 'problems'>,
  text: string,
  file: string,
): Problem[] {
  return broken
    .filter(({ kind }) => (kind === undefined ? GATEWAY_TEXT.test(text) : resemblesGateway(kind)))
    .map(({ line }, at, all) => {
      const next = all[at + 1]?.line ?? Number.POSITIVE_INFINITY
      const within = problems.filter(problem => (problem.line ?? 0) >= line && (problem.line ?? 0) < next)
      const [{ path, message } = { message: 'it is not valid' }] = within.length > 0 ? within : problems
      const why = `${path === undefined ? '' : `${path} `}${message}`
      return {
        reason: REASON.invalid,
        message: `the McpGateway at ${file}:${line} cannot be used: ${why}`,
        file,
        line,
      }
    })
}

function resemblesGateway(kind: string): boolean {
  return nearestWord(kind, KINDS) === 'McpGateway'
}
