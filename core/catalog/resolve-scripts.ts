/** Which reviewed scripts a gateway offers as tools, and why it does not offer others. Pure. */
import { REASON } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpScript } from '../../crds/script.ts'
import type { InspectedScript } from '../code/inspect-script.ts'
import type { Problem } from '../errors.ts'
import type { JsonObject } from '../json.ts'
import { findHidden } from './hidden-text.ts'
import { type RouterScript, SCRIPTS } from './router-config.ts'
import { selects } from './select.ts'

/** A manifest, and the result of inspecting its code. */
export type GivenScript = { manifest: McpScript; inspected: InspectedScript }

export type ScriptProblem = Problem & { name: string }

/** UTF-8 bytes of all scripts of a gateway as JSON: routers get them with their config. */
export const MAX_SCRIPT_BYTES = 512 * 1024

/** Why no gateway accepts a script; empty if it is valid. */
export function scriptRefusals({ manifest: { spec }, inspected }: GivenScript): Problem[] {
  const { problem } = inspected
  if (problem !== undefined)
    return [{ reason: REASON.invalid, path: 'spec.code', message: `is no script that runs: ${problem}` }]
  const { code, title, description, keywords } = spec
  const texts = { code, title, description, keywords, inputSchema: spec.inputSchema as JsonObject }
  return Object.entries(texts).flatMap(([field, text]) => {
    const hidden = findHidden(text)
    if (hidden === undefined) return []
    const message = `hides characters that reviewers do not see (${hidden}): remove them, or write them as \\u escapes`
    return [{ reason: REASON.hiddenCharacters, path: `spec.${field}`, message }]
  })
}

/** The gateway, with `spec.code.enabled` set if `isOn`. */
export function withCode(gateway: McpGateway, isOn = false): McpGateway {
  const { spec } = gateway
  return isOn ? { ...gateway, spec: { ...spec, code: { ...spec.code, enabled: true } } } : gateway
}

/** The scripts that a gateway offers, sorted by name, and why it does not offer the others that it selects. `servers`: names of its servers. */
export function resolveScripts(
  { metadata, spec: { code } }: McpGateway,
  given: readonly GivenScript[],
  servers: readonly string[],
): { offered: McpScript[]; scripts: RouterScript[]; problems: ScriptProblem[] } {
  const problems: ScriptProblem[] = []
  const selected = given
    .filter(({ manifest }) => selects(code.scripts.selector, manifest.metadata.labels))
    .toSorted((a, b) => (a.manifest.metadata.name < b.manifest.metadata.name ? -1 : 1))
  let bytes = 0
  const offered = selected.filter(script => {
    const { name } = script.manifest.metadata
    const refusals = scriptRefusals(script)
    if (refusals.length === 0) {
      bytes += Buffer.byteLength(JSON.stringify(routerScript(script.manifest)))
      const left = leftOut(metadata.name, code.enabled, servers, bytes)
      if (!left) return true
      refusals.push(left)
    }
    problems.push(...refusals.map(refusal => ({ ...refusal, name })))
    return false
  })
  const manifests = offered.map(({ manifest }) => manifest)
  return { offered: manifests, scripts: manifests.map(routerScript), problems }
}

/** Why this gateway does not offer a valid script; undefined if it does. `bytes`: the size of all scripts up to this one. */
function leftOut(
  gateway: string,
  isEnabled: boolean,
  servers: readonly string[],
  bytes: number,
): Problem | undefined {
  if (!isEnabled)
    return {
      reason: REASON.codeNotEnabled,
      path: 'spec.code',
      message: `McpGateway ${gateway} runs no scripts: set its spec.code.enabled`,
    }
  if (servers.includes(SCRIPTS))
    return {
      reason: REASON.nameTaken,
      path: 'metadata.name',
      message: `McpGateway ${gateway} has an McpServer "${SCRIPTS}", and scripts are tools of that name: rename the server, or leave it out`,
    }
  if (bytes > MAX_SCRIPT_BYTES)
    return {
      reason: REASON.tooLarge,
      path: 'spec.code',
      message: `the scripts of McpGateway ${gateway} have more than ${MAX_SCRIPT_BYTES / 1024} KiB in all: select fewer by its spec.code.scripts.selector`,
    }
  return undefined
}

function routerScript({ metadata, spec }: McpScript): RouterScript {
  const { title, description, category, keywords, inputSchema, readOnly, code } = spec
  return {
    name: metadata.name,
    ...(title !== undefined && { title }),
    description,
    ...(category !== undefined && { category }),
    keywords,
    inputSchema: inputSchema as JsonObject,
    readOnly,
    code,
  }
}
