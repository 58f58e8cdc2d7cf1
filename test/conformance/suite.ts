/** Runs the conformance suite of modelcontextprotocol.io, and reads what it found. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { run } from '../support/run.ts'
import { clientFile } from '../support/test-clients.ts'

const PACKAGE = ['@modelcontextprotocol', 'conformance']
const AUTHORIZATION = /^auth\//
/** What the suite prints for a scenario of another revision. */
const NOT_OF_REVISION = /^SKIPPED: scenario '/m
const TIME = /-\d{4}-\d\d-\d\dT.*$/
const SCENARIO_LIMIT_MS = 60_000
const RUN_LIMIT_MS = 600_000
/** Options of node for a suite that waits longer. */
const PATIENT = ['--import', new URL('patience.mjs', import.meta.url).href]

export const REVISIONS = ['2025-11-25', '2026-07-28'] as const
export type Revision = (typeof REVISIONS)[number]

export type Outcome = {
  /** Scenarios that the revision requires and that were run. */
  required: readonly string[]
  /** Of those, what did not pass. */
  failed: Finding[]
  /** What the suite only warns of. */
  warned: Finding[]
  /** All that the suite printed. */
  output: string
  /** A remark that the report adds to the count. */
  aside?: string
}

export type Finding = { scenario: string; reasons: string[] }

type Check = { name: string; status: string; description: string; errorMessage?: string }
type Side = 'server' | 'client'

export type Required = {
  apply: string[]
  /** Of clients only: flows that need a user at a login page. */
  authorization: string[]
}

/** What a revision requires of servers or of clients. */
export async function requiredScenarios(side: Side, revision: Revision): Promise<Required> {
  const file = await clientFile(...PACKAGE, 'requirements', `${revision}.yaml`)
  const all = (parse(readFileSync(file, 'utf8')) as Record<Side, string[]>)[side]
  return {
    apply: all.filter(scenario => !AUTHORIZATION.test(scenario)),
    authorization: all.filter(scenario => AUTHORIZATION.test(scenario)),
  }
}

/**
 * Tests the server at `url`: all that the revision requires, or one scenario. The suite gives some calls half a second, which a busy machine
 * may not have: what failed is tried once more by itself with more time, and the outcome says so.
 */
export async function testServer(url: string, revision: Revision, scenario?: string): Promise<Outcome> {
  const outcome = await testOnce(url, revision, scenario)
  const again = [...new Set(outcome.failed.map(finding => finding.scenario))]
  if (again.length === 0) return outcome
  const failed: Finding[] = []
  let { output } = outcome
  for (const name of again) {
    const retried = await testOnce(url, revision, name, PATIENT)
    output += retried.output
    failed.push(...retried.failed)
  }
  return { ...outcome, failed, output, aside: `tried again with more time: ${again.join(', ')}` }
}

async function testOnce(
  url: string,
  revision: Revision,
  scenario?: string,
  options: readonly string[] = [],
): Promise<Outcome> {
  const which = scenario ? ['--scenario', scenario, '--spec-version', revision] : ['--requirements', revision]
  const required = scenario ? [scenario] : (await requiredScenarios('server', revision)).apply
  const { output, checks } = await conformance('server', ['--url', url, ...which], options)
  return judge(NOT_OF_REVISION.test(output) ? [] : required, checks, output)
}

/** Tests the client that `command` starts, whose last argument will be the URL of a server: one scenario after the other. */
export async function testClient(
  command: string,
  revision: Revision,
  scenarios: readonly string[],
): Promise<Outcome> {
  const all = new Map<string, Check[]>()
  const run: string[] = []
  let printed = ''
  for (const scenario of scenarios) {
    const which = ['--scenario', scenario, '--spec-version', revision]
    const { output, checks } = await conformance('client', ['--command', command, ...which])
    printed += output
    if (!NOT_OF_REVISION.test(output)) run.push(scenario)
    for (const [name, found] of checks) all.set(name, found)
  }
  return judge(run, all, printed)
}

async function conformance(
  side: Side,
  args: string[],
  options: readonly string[] = [],
): Promise<{ output: string; checks: Map<string, Check[]> }> {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-conformance-'))
  try {
    const entry = await clientFile(...PACKAGE, 'dist', 'index.js')
    const limits = ['--timeout', String(SCENARIO_LIMIT_MS), '--output-dir', folder]
    const { stdout, stderr } = await run(process.execPath, [...options, entry, side, ...args, ...limits], {
      limitMs: RUN_LIMIT_MS,
    })
    return { output: stdout + stderr, checks: readChecks(folder, side) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** By scenario; the suite names each folder `server-SCENARIO-TIME`, or `SCENARIO-TIME` of a client. */
function readChecks(folder: string, side: Side): Map<string, Check[]> {
  return new Map(
    readdirSync(folder).flatMap(name => {
      const scenario = name.replace(side === 'server' ? 'server-' : '', '').replace(TIME, '')
      const file = join(folder, name, 'checks.json')
      return existsSync(file) ? [[scenario, JSON.parse(readFileSync(file, 'utf8')) as Check[]] as const] : []
    }),
  )
}

function judge(required: readonly string[], checks: Map<string, Check[]>, output: string): Outcome {
  const withStatus = (status: string) =>
    required.flatMap(scenario => {
      const reasons = (checks.get(scenario) ?? [])
        .filter(check => check.status === status)
        .map(check => `${check.name}: ${check.errorMessage ?? check.description}`)
      return reasons.length > 0 ? [{ scenario, reasons }] : []
    })
  const missing = required.filter(scenario => !checks.get(scenario)?.length)
  const unreported = missing.map(scenario => ({ scenario, reasons: ['the suite reported no check'] }))
  return {
    required,
    failed: [...withStatus('FAILURE'), ...unreported],
    warned: withStatus('WARNING'),
    output,
  }
}
