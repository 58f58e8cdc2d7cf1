/** Parses one manifest from a plain value: returns the manifest with its defaults, or all its problems. Pure. */

import type * as z from 'zod'
import { type ConfigMap, configMapSchema } from './config-map.ts'
import { isDeeper } from './depth.ts'
import { type McpGateway, mcpGatewaySchema } from './gateway.ts'
import { explain, type ManifestProblem, type Path, problem, toProblems } from './issues.ts'
import { nearestWord } from './nearest.ts'
import { API_GROUP, API_VERSION } from './object-meta.ts'
import { SERVER_RULES } from './rules.ts'
import { type McpScript, mcpScriptSchema } from './script.ts'
import { type Secret, secretSchema } from './secret.ts'
import { type McpServer, mcpServerSchema } from './server.ts'

export type Manifest = McpServer | McpGateway | McpScript | Secret | ConfigMap

export type ParsedManifest =
  | { manifest: Manifest; problems?: undefined; skipped?: undefined }
  | { problems: ManifestProblem[]; manifest?: undefined; skipped?: undefined }
  /** To be ignored: a resource of another kind, or (both fields empty) a document that is not a manifest. */
  | { skipped: { apiVersion: string; kind: string }; manifest?: undefined; problems?: undefined }

const KINDS: Readonly<Record<string, { apiVersion: string; schema: z.ZodType<Manifest> }>> = {
  McpServer: { apiVersion: API_VERSION, schema: mcpServerSchema },
  McpGateway: { apiVersion: API_VERSION, schema: mcpGatewaySchema },
  McpScript: { apiVersion: API_VERSION, schema: mcpScriptSchema },
  Secret: { apiVersion: 'v1', schema: secretSchema },
  ConfigMap: { apiVersion: 'v1', schema: configMapSchema },
}

/** How deeply lists and objects of a field of a manifest may be nested: code that reads them is recursive. */
export const MAX_LEVELS = 100
const MANIFEST_FIELDS = ['apiVersion', 'kind', 'metadata', 'spec']
const OWN_KINDS = ['McpServer', 'McpGateway', 'McpScript']

/** Parses a document. Never throws; reports all problems of the manifest at once. */
export function parseManifest(value: unknown): ParsedManifest {
  if (!isRecord(value)) {
    const message = 'a manifest is a map of apiVersion, kind, metadata and spec'
    return { problems: [problem('NotAManifest', message, [])] }
  }
  if (!MANIFEST_FIELDS.some(field => field in value)) return { skipped: { apiVersion: '', kind: '' } }
  const { apiVersion, kind } = value
  const known = typeof kind === 'string' && Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined
  if (known && apiVersion === known.apiVersion) return check(known.schema, value, kind === 'McpServer')
  if (typeof apiVersion === 'string' && typeof kind === 'string' && isForeign(apiVersion, kind)) {
    return { skipped: { apiVersion, kind } }
  }
  return { problems: [wrongKind(apiVersion, kind)] }
}

/**
 * Parses an object of the API server, where another version of the operator may have written the status. Fields of the status that this version
 * does not know are left out, and fields that it cannot read count as absent.
 */
export function parseStored(value: object): ParsedManifest {
  let given = value
  // First without unknown fields, then without the other wrong fields, then without any status.
  for (const depth of [Number.POSITIVE_INFINITY, 2, 1]) {
    const parsed = parseManifest(given)
    const wrong = (parsed.problems ?? []).filter(({ at }) => at[0] === 'status')
    if (wrong.length === 0) return parsed
    const left = wrong.filter(({ reason }) => reason === 'UnknownField' || depth <= 2)
    given = left.reduce((rest, { at }) => without(rest, at.slice(0, depth)), given)
  }
  return parseManifest(given)
}

/** A copy without the field at a path, if it exists. */
function without<T>(value: T, [step = '', ...rest]: Path): T {
  if (typeof value !== 'object' || value === null) return value
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
  if (rest.length === 0) delete copy[step]
  else copy[step] = without(copy[step], rest)
  return copy as T
}

function check(schema: z.ZodType<Manifest>, given: object, isServer: boolean): ParsedManifest {
  const deep = Object.entries(given).filter(([, inner]) => isDeeper(inner, MAX_LEVELS))
  if (deep.length > 0) {
    const message = `is nested more than ${MAX_LEVELS} levels deep`
    return { problems: deep.map(([field]) => problem('Invalid', message, [field])) }
  }
  const value = withoutNulls(given) as { spec?: unknown }
  const parsed = schema.safeParse(value, { error: explain })
  const problems = parsed.success ? [] : toProblems(schema, parsed.error.issues)
  if (isServer && isRecord(value.spec)) problems.push(...brokenRules(value.spec, problems))
  return parsed.success && problems.length === 0 ? { manifest: parsed.data } : { problems }
}

/** Problems by the rules that span several fields, except at fields that already have a problem. `known`: the problems so far. */
function brokenRules(spec: Record<string, unknown>, known: readonly ManifestProblem[]): ManifestProblem[] {
  return SERVER_RULES.filter(rule => rule.broken(spec))
    .map(rule => problem(rule.reason, rule.message, ['spec', ...rule.path]))
    .filter(found => !known.some(other => other.path === found.path))
}

/** Whether a resource belongs to another API group, and is not one of our kinds with a wrong apiVersion. */
function isForeign(apiVersion: string, kind: string): boolean {
  if (kind === '' || OWN_KINDS.includes(kind)) return false
  if (!/^([a-z0-9.-]+\/)?v[0-9][a-z0-9]*$/.test(apiVersion)) return false
  return !apiVersion.startsWith(`${API_GROUP}/`)
}

/** The problem of a document whose apiVersion and kind are not those of a known kind. */
function wrongKind(apiVersion: unknown, kind: unknown): ManifestProblem {
  const missing = (field: string, example: string) =>
    problem('MissingField', `is required: write "${field}: ${example}"`, [field])
  if (apiVersion === undefined || apiVersion === null) return missing('apiVersion', API_VERSION)
  if (kind === undefined || kind === null) return missing('kind', 'McpServer')
  if (typeof apiVersion === 'string' && apiVersion === API_VERSION) return unknownKind(kind)
  const wanted = typeof kind === 'string' ? KINDS[kind]?.apiVersion : undefined
  return problem('UnknownApiVersion', `must be "${wanted ?? API_VERSION}"`, ['apiVersion'])
}

function unknownKind(kind: unknown): ManifestProblem {
  const nearest = typeof kind === 'string' ? nearestWord(kind, OWN_KINDS) : undefined
  const hint = nearest ? `: did you mean "${nearest}"?` : ''
  return problem('UnknownKind', `must be McpServer, McpGateway or McpScript in ${API_VERSION}${hint}`, [
    'kind',
  ])
}

/** An empty field counts as absent, as in the API server. Items of lists are kept. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isRecord(value)) return value
  const given = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(given.map(([key, inner]) => [key, withoutNulls(inner)]))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
