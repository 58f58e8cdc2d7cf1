/** Recorded catalogs for the replay upstream: those in ../shared if available, otherwise the project's own. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../../core/json.ts'

const root = join(import.meta.dirname, '..', '..', '..')
export const RECORDED = join(root, '..', 'shared', 'data', 'catalogs')
const OWN = join(root, 'test', 'search', 'data', 'catalog.jsonl')

export type ReplayTool = JsonObject & { name: string; description?: string; inputSchema: JsonObject }

export type ReplayCatalog = {
  /** A DNS-1035 label, so that it can name an McpServer. */
  name: string
  protocolVersion: string
  serverInfo: JsonObject
  capabilities: JsonObject
  instructions?: string
  tools: ReplayTool[]
}

/** The 42 recorded catalogs in ../shared. If they are missing, throws on CI; otherwise prints a note and returns the project's own. */
export function defaultCatalogs(): ReplayCatalog[] {
  if (existsSync(RECORDED)) return readRecorded(RECORDED)
  if (process.env.CI) throw new Error(`recorded catalogs are required on CI and missing: ${RECORDED}`)
  process.stderr.write(`NOTE: ${RECORDED} is missing: replaying the project's own smaller catalog instead\n`)
  return readOwn()
}

/** Every `*.json` of a folder, as written by `npm run record`, sorted by file name. */
export function readRecorded(folder: string): ReplayCatalog[] {
  const files = readdirSync(folder).filter(name => name.endsWith('.json'))
  return files.sort().map(file => readRecordedFile(join(folder, file), file.slice(0, -'.json'.length)))
}

export function readRecordedFile(path: string, name: string): ReplayCatalog {
  const recorded: ReplayCatalog = JSON.parse(readFileSync(path, 'utf8'))
  const { protocolVersion, serverInfo, capabilities, instructions, tools } = recorded
  return { name: label(name), protocolVersion, serverInfo, capabilities, instructions, tools }
}

/** The project's own catalog (one tool per line), grouped by server; each server also has resources and prompts. */
export function readOwn(): ReplayCatalog[] {
  const lines = readFileSync(OWN, 'utf8').split('\n').filter(Boolean)
  const servers = Map.groupBy(lines.map(readLine), ({ server }) => server)
  return [...servers].map(([name, entries]) => ({
    name: label(name),
    protocolVersion: '2025-11-25',
    serverInfo: { name, version: '1.0.0', title: entries[0]?.serverTitle },
    capabilities: { tools: {}, resources: {}, prompts: {} },
    tools: entries.map(({ tool, title, description, inputSchema }) => ({
      name: tool,
      ...(title === undefined ? {} : { title }),
      description,
      inputSchema,
    })),
  }))
}

type Line = {
  server: string
  serverTitle?: string
  tool: string
  title?: string
  description: string
  inputSchema: JsonObject
}

function readLine(line: string): Line {
  return JSON.parse(line)
}

function label(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/^modelcontextprotocol__/, '')
    .replace(/[^a-z0-9]+/g, '-')
  return slug.replace(/^[^a-z]+|-+$/g, '').slice(0, 45)
}
