/** Measures what callers with access rules cost a router: known and new tokens, searches in a restricted catalog, the memory of many callers. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { systemClock } from '../../core/async.ts'
import { type AccessConfig, type AccessRule, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { JsonObject } from '../../core/json.ts'
import { createLog } from '../../core/log.ts'
import { createAccess } from '../../router/access/access.ts'
import { type Authentication, createAuthentication, type Found } from '../../router/access/authentication.ts'
import { buildCatalog, type Catalog } from '../../router/catalog/catalog.ts'
import type { SearchIndex } from '../../router/catalog/search/search-index.ts'
import { drive, snapshotOf } from '../meta/fixture.ts'
import { ownQueries, recordedQueries } from '../search/catalogs.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { AUDIENCE, createIssuer, GATEWAY_URL, ISSUER, type Issuer } from './issuer.ts'
import { type BenchRow, quantile } from './row.ts'

const RULES = 20
const KNOWN_CALLS = 200_000
const NEW_TOKENS = 2_000
const CALLERS = 10_000
const COMBINATIONS = 50
const MEGABYTE = 1024 * 1024
const ROUNDS = 5

export async function benchCallers(): Promise<BenchRow[]> {
  const catalog = catalogOf(1)
  const large = catalogOf(Math.ceil(10_000 / catalog.tools.length))
  const rsa = await createIssuer('RS256')
  // Memory is measured first, before the other benchmarks leave garbage.
  const memory = [await memoryRow(catalog), await memoryRow(large)]
  return [await knownRow(catalog, rsa), await newRow(rsa), searchRow(large), ...firstRows(large), ...memory]
}

/** The cost of identifying a caller and finding its restricted catalog, which every request has. */
async function knownRow(catalog: Catalog, issuer: Issuer): Promise<BenchRow> {
  const authentication = authenticationOf()
  const ruled = withAccess(catalog, accessOf(issuer))
  const open = withAccess(catalog, OPEN_ACCESS)
  const header = `Bearer ${await issuer.sign('ada', ['g3', 'g7'])}`
  await authentication.identify(ruled.config.access, header)
  const micros = (seen: Catalog): number => {
    const access = createAccess()
    const began = cpuMs()
    for (let call = 0; call < KNOWN_CALLS; call++) {
      const found = authentication.identify(seen.config.access, header) as Found
      if (!('id' in found)) throw new Error(found.message)
      access(seen, found)
    }
    return ((cpuMs() - began) * 1_000) / KNOWN_CALLS
  }
  micros(open)
  micros(ruled)
  const [without, more] = [micros(open), micros(ruled)]
  await authentication.close()
  return {
    what: `additional CPU time of a call by a caller with a known JWT and ${RULES} rules`,
    aim: '≤ 10 µs',
    measured: `${(more - without).toFixed(1)} µs`,
    ok: more - without <= 10,
  }
}

async function newRow(issuer: Issuer): Promise<BenchRow> {
  const authentication = authenticationOf()
  const access = accessOf(issuer)
  const sign = (at: number) => issuer.sign(`user-${at}`, ['g3'])
  const headers = (await Promise.all(Array.from({ length: NEW_TOKENS }, (_, at) => sign(at)))).map(
    token => `Bearer ${token}`,
  )
  // Verification runs in the thread pool, so the CPU time of the whole process is measured.
  const costs: number[] = []
  for (const half of [headers.slice(0, NEW_TOKENS / 2), headers.slice(NEW_TOKENS / 2)]) {
    const began = process.cpuUsage()
    for (const header of half) {
      const found = await authentication.identify(access, header)
      if (!('id' in found)) throw new Error(found.message)
    }
    const { user, system } = process.cpuUsage(began)
    costs.push((user + system) / half.length)
  }
  await authentication.close()
  const micros = costs[1] as number
  return {
    what: 'CPU time to verify a token (RS256) for the first time',
    aim: '≤ 150 µs',
    measured: `${micros.toFixed(0)} µs`,
    ok: micros <= 150,
  }
}

function searchRow(catalog: Catalog): BenchRow {
  const half = catalog.index.under(Int32Array.from(catalog.tools.keys().filter(tool => tool % 2 === 0)))
  const [part, whole] = timesOf([half, catalog.index])
  const ratio = quantile(part, 0.5) / quantile(whole, 0.5)
  const shown = (times: number[]) => `p50 ${ms(quantile(times, 0.5))}, p95 ${ms(quantile(times, 0.95))}`
  return {
    what: `search by words with rules that grant half of ${catalog.tools.length.toLocaleString('en')} tools`,
    aim: '≤ 1.3 × without',
    measured: `${ratio.toFixed(2)} × (${shown(part)}; without ${shown(whole)})`,
    ok: ratio <= 1.3,
  }
}

/** Both indexes are searched in every round, so that other work of the machine affects both. The first round is a warm-up. */
function timesOf(indexes: [SearchIndex, SearchIndex]): [number[], number[]] {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++)
    for (const [at, index] of indexes.entries())
      for (const { query } of [...ownQueries(), ...recordedQueries()]) {
        const began = performance.now()
        index.search(query, { limit: 10 })
        if (round > 0) times[at as 0 | 1].push(performance.now() - began)
      }
  return times
}

/** Measures CPU time instead of elapsed time: how long the event loop is blocked, regardless of other work of the machine. */
function firstRows(catalog: Catalog): BenchRow[] {
  const access = createAccess()
  const seen = withAccess(catalog, { ...OPEN_ACCESS, rules: rules() })
  const times: number[] = []
  for (let at = 0; at < COMBINATIONS; at++) {
    const began = cpuMs()
    const part = access(seen, identityOf(at))
    part.index.search(ownQueries()[at]?.query ?? '', { limit: 10 })
    times.push(cpuMs() - began)
  }
  const [median, worst] = [quantile(times, 0.5), Math.max(...times)]
  return [
    {
      what: `first search of a combination of rules, ${catalog.tools.length.toLocaleString('en')} tools: CPU time that blocks the event loop`,
      aim: 'p50 ≤ 20 ms',
      measured: `p50 ${ms(median)}, the first of all ${ms(worst)}`,
      ok: median <= 20,
    },
  ]
}

/** The memory of many callers, each with a known token, after a search of every combination of rules. */
async function memoryRow(catalog: Catalog): Promise<BenchRow> {
  const issuer = await createIssuer('ES256')
  const authentication = authenticationOf()
  const seen = withAccess(catalog, accessOf(issuer))
  const queries = ownQueries()
  const access = createAccess()
  const headers: string[] = []
  for (let at = 0; at < CALLERS; at++)
    headers.push(`Bearer ${await issuer.sign(`user-${at}`, groupsOf(at % COMBINATIONS))}`)
  const before = usedMegabytes()
  for (const [at, header] of headers.entries()) {
    const found = await authentication.identify(seen.config.access, header)
    if (!('id' in found)) throw new Error(found.message)
    access(seen, found).index.search(queries[at % queries.length]?.query ?? '', { limit: 10 })
  }
  const megabytes = usedMegabytes() - before
  await authentication.close()
  const tools = catalog.tools.length.toLocaleString('en')
  return {
    what: `memory of ${CALLERS.toLocaleString('en')} callers in ${COMBINATIONS} combinations of ${RULES} rules, all searching ${tools} tools`,
    aim: '≤ 30 MB',
    measured: `${megabytes.toFixed(0)} MB`,
    ok: megabytes <= 30,
  }
}

function catalogOf(copies: number): Catalog {
  const servers = Array.from({ length: copies }, (_, copy) =>
    defaultCatalogs().map(({ name, tools }) => {
      const own = copy === 0 ? name : `${name.slice(0, 40)}-${copy}`
      return [own, { offers: { tools: tools as ToolDefinition[] } }] as const
    }),
  )
  return drive(buildCatalog(snapshotOf(Object.fromEntries(servers.flat()), {}, 1)))
}

function withAccess(catalog: Catalog, access: AccessConfig): Catalog {
  const { servers } = catalog.config
  const names = servers.map(({ name }) => name)
  const placed = access.rules.map((rule, at) => ({
    ...rule,
    servers: names.filter((_name, server) => (server + at) % 4 === 0),
  }))
  return { ...catalog, config: { ...catalog.config, access: { ...access, rules: placed } } }
}

/** One rule for each group. `withAccess` gives each of them about a quarter of the servers. */
function rules(): AccessRule[] {
  return Array.from({ length: RULES }, (_, at) => ({
    name: `rule-${at}`,
    subjects: [{ kind: 'Group' as const, name: `g${at}` }],
    servers: [],
    tools: { allow: ['*'], deny: ['delete_*', `*_${at}`], readOnly: false },
    resources: { allow: ['*'], deny: [] },
    prompts: { allow: ['*'], deny: [] },
    scopes: [],
    challenge: false,
  }))
}

/** Two groups for each combination, so that all 50 combinations of rules differ. */
function groupsOf(combination: number): string[] {
  const first = combination % RULES
  return [`g${first}`, `g${(first + 1 + Math.floor(combination / RULES)) % RULES}`]
}

function identityOf(combination: number) {
  return Object.freeze({
    id: `user:bench/${combination}`,
    kind: 'user' as const,
    issuer: 'bench',
    subject: `${combination}`,
    name: `${combination}`,
    groups: groupsOf(combination),
    scopes: [],
    claims: {},
    client: undefined,
    actor: undefined,
    expiresMs: Number.POSITIVE_INFINITY,
  })
}

function accessOf(issuer: Issuer): AccessConfig {
  const jwt = {
    name: 'bench',
    issuer: ISSUER,
    audiences: [AUDIENCE],
    jwks: issuer.jwks as unknown as JsonObject,
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    requiredScopes: [],
    clockSkewMs: 30_000,
    maxLifetimeMs: 24 * 60 * 60_000,
  }
  const auth = { anonymous: false, jwt: [jwt], revoked: [] }
  return { ...OPEN_ACCESS, url: GATEWAY_URL, auth, rules: rules() }
}

function authenticationOf(): Authentication {
  return createAuthentication({
    secret: () => undefined,
    clock: systemClock,
    log: createLog({ level: 'silent' }),
    metrics: { keysFetched() {}, watchKeys() {} },
  })
}

/** Memory in use by the heap and by typed arrays. */
function usedMegabytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  // Objects that the first collection finalizes are freed by the second one.
  for (let times = 0; times < 2; times++) collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / MEGABYTE
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`
}
