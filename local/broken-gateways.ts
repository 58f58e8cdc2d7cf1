/** Finds manifests that may be of a McpGateway and cannot be used: what they protect would be open without them. Pure. */
import type { Problem } from '../core/errors.ts'
import type { ManifestFile } from '../core/manifests.ts'
import { REASON } from '../crds/conditions.ts'
import { nearestWord } from '../crds/nearest.ts'

const KINDS = ['McpServer', 'McpGateway', 'McpScript']
/** Of a document without a kind, or whose kind a syntax error hides. */
const GATEWAY_TEXT = /\bMcpGat|^\s*["']?(?:access|rateLimits)["']?\s*:/m

/** One problem for each of them, at its place. `text` is the content of the file. */
export function brokenGateways(
  { broken, problems }: Pick<ManifestFile, 'broken' | 'problems'>,
  text: string,
  file: string,
): Problem[] {
  return broken
    .filter(({ kind }) => (kind === undefined ? GATEWAY_TEXT.test(text) : meansGateway(kind)))
    .map(({ line }, at, all) => {
      const next = all[at + 1]?.line ?? Number.POSITIVE_INFINITY
      const own = problems.filter(problem => (problem.line ?? 0) >= line && (problem.line ?? 0) < next)
      const [{ path, message } = { message: 'it is not valid' }] = own.length > 0 ? own : problems
      const why = `${path === undefined ? '' : `${path} `}${message}`
      return {
        reason: REASON.invalid,
        message: `the McpGateway at ${file}:${line} cannot be used: ${why}`,
        file,
        line,
      }
    })
}

function meansGateway(kind: string): boolean {
  return nearestWord(kind, KINDS) === 'McpGateway'
}
