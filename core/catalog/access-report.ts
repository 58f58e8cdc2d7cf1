/** What each access rule grants; and what in the rules has no effect: names that match nothing, and servers that nobody may use. Pure. */
import { REASON } from '../../crds/conditions.ts'
import type { Problem } from '../errors.ts'
import type { AccessRule, AccessSubject, AuthConfig, Grant } from './access-config.ts'
import { concerns, isToolGranted, isToolGrantedBy } from './grants.ts'
import { isAllowed, matches } from './policy.ts'
import type { RouterConfig, RouterServer } from './router-config.ts'
import type { ServerCatalog, ToolDefinition } from './server-catalog.ts'

export type AccessReport = {
  rules: RuleReport[]
  /** Each with the path of the field. A name is reported only once everything that it could match is known. */
  findings: Problem[]
}

/** How many servers and tools a rule grants. `tools` is absent until all of its servers were discovered. */
export type RuleReport = { name: string; servers: number; tools?: number }

/** Maximum for a report: the API server accepts no more. */
export const MAX_REPORTED_RULES = 256
const MAX_FINDINGS = 50
/** Comparisons of names with patterns, about 0.1 s: what is not compared by then is not reported. */
const MAX_COMPARISONS = 2_000_000
/** How many servers a message names. */
const MAX_NAMES = 5

type Facts = Pick<RouterConfig, 'access' | 'servers'> & {
  /** The discovered catalogs, by server. Empty: only what the manifests say is reported. */
  catalogs: ReadonlyMap<string, ServerCatalog>
  /** Names of the callers with tokens; undefined if they are not known. */
  tokens?: ReadonlySet<string>
}

/** The report on all rules, as far as the catalogs are known. */
export function reportAccess(facts: Facts): AccessReport {
  const { access, servers, catalogs } = facts
  const offers = servers.flatMap(server => {
    const catalog = catalogs.get(server.name)
    return catalog ? [offerOf(server, catalog)] : []
  })
  const count = { left: MAX_COMPARISONS }
  const reports = access.rules.map((rule, at) => reportRule(rule, at, facts, offers, count))
  const ofGateway = unmatched(access.tools, 'spec.tools', 'the gateway', {
    offers,
    servers,
    count,
    of: toolNames,
  })
  const findings = [
    ...reports.flatMap(({ findings }) => findings),
    ...ofGateway,
    ...unreachable(facts, offers, count),
  ]
  return {
    rules: reports.map(({ report }) => report).slice(0, MAX_REPORTED_RULES),
    findings: findings.slice(0, MAX_FINDINGS),
  }
}

/** What a discovered server offers. */
type Offer = { server: RouterServer; tools: ToolDefinition[]; catalog: ServerCatalog }

function offerOf(server: RouterServer, catalog: ServerCatalog): Offer {
  const tools = catalog.tools.map(({ definition }) => definition)
  return { server, tools: tools.filter(({ name }) => isAllowed(server.tools, name)), catalog }
}

/** How many comparisons are left; all checks of a report share it. */
type Count = { left: number }

function reportRule(
  rule: AccessRule,
  at: number,
  { access: { auth, tools: gatewayGrant }, servers, tokens }: Facts,
  offers: readonly Offer[],
  count: Count,
): { report: RuleReport; findings: Problem[] } {
  const path = `spec.access[${at}]`
  const ruleServers = servers.filter(server => concerns(rule, server))
  const offered = offers.filter(({ server }) => concerns(rule, server))
  const report: RuleReport = { name: rule.name, servers: ruleServers.length }
  const findings = rule.subjects.flatMap((subject, index) => {
    const why = whyNobody(subject, auth, tokens)
    return why === undefined ? [] : [noCaller(`${path}.subjects[${index}]`, rule.name, why)]
  })
  if (ruleServers.length === 0) {
    if (servers.length > 0 && !rule.scripts)
      findings.push(noMatch(`${path}.servers`, rule.name, 'its selector matches no server of the gateway'))
    return { report: { ...report, tools: 0 }, findings }
  }
  const where = { offers: offered, servers: ruleServers, count }
  const who = `the rule "${rule.name}"`
  findings.push(
    ...unmatched(rule.tools, `${path}.tools`, who, { ...where, of: toolNames }),
    ...unmatched(rule.resources, `${path}.resources`, who, { ...where, of: resourceNames }),
    ...unmatched(rule.prompts, `${path}.prompts`, who, { ...where, of: promptNames }),
  )
  const isKnown = offered.length === ruleServers.length && spend(count, offered, rule.tools)
  if (!isKnown) return { report, findings }
  const granted = offered.flatMap(({ server, tools }) =>
    tools.filter(tool => isToolGranted(gatewayGrant, server, tool) && isToolGrantedBy(rule, server, tool)),
  )
  return { report: { ...report, tools: granted.length }, findings }
}

/** Why no caller can be this subject; undefined if one can. */
function whyNobody(
  subject: AccessSubject,
  auth: AuthConfig | undefined,
  tokens: ReadonlySet<string> | undefined,
): string | undefined {
  if (!auth) return 'the gateway has no spec.auth, and every caller is anonymous'
  switch (subject.kind) {
    case 'Token':
      if (!auth.tokens) return 'spec.auth admits no tokens'
      return subject.name === '*' || !tokens || tokens.has(subject.name)
        ? undefined
        : `the Secret "${auth.tokens.secretName}" has no token "${subject.name}"`
    case 'ServiceAccount':
      if (!auth.serviceAccounts) return 'spec.auth admits no ServiceAccounts'
      return auth.serviceAccounts.namespaces.includes(subject.namespace)
        ? undefined
        : `spec.auth.serviceAccounts admits none of the namespace "${subject.namespace}"`
    default:
      return auth.jwt.length > 0 ? undefined : 'spec.auth admits no JSON Web Tokens'
  }
}

type Where = {
  servers: readonly RouterServer[]
  offers: readonly Offer[]
  count: Count
  /** The names that the patterns are for; undefined if there are others that no list names. */
  of: (offer: Offer) => string[] | undefined
}

/**
 * A problem for each pattern that matches nothing; none until all of the servers were discovered. Of `deny`, only names without `*` are
 * reported: a pattern may be a precaution.
 */
function unmatched(
  { allow, deny }: Grant,
  path: string,
  who: string,
  { servers, offers, count, of }: Where,
): Problem[] {
  if (offers.length < servers.length) return []
  const lists = offers.map(of)
  if (lists.some(list => list === undefined)) return []
  const names = lists.flatMap(list => list ?? [])
  const find = (patterns: readonly string[], field: string) =>
    patterns.flatMap((pattern, at) => {
      if (pattern === '*' || (field === 'deny' && pattern.includes('*'))) return []
      count.left -= names.length
      if (count.left < 0 || names.some(name => matches(pattern, name))) return []
      const message = `"${pattern}" of ${who} matches nothing that its servers offer`
      return [{ reason: REASON.ruleMatchesNothing, path: `${path}.${field}[${at}]`, message }]
    })
  return [...find(allow, 'allow'), ...find(deny, 'deny')]
}

function toolNames({ tools }: Offer): string[] {
  return tools.map(({ name }) => name)
}

function promptNames({ catalog: { prompts, incomplete } }: Offer): string[] | undefined {
  return incomplete.some(({ list }) => list === 'prompts') ? undefined : prompts.map(({ name }) => name)
}

/** Undefined if a list is incomplete, or if there are templates, which stand for URIs that no list names. */
function resourceNames({ catalog }: Offer): string[] | undefined {
  const { resources, resourceTemplates, incomplete } = catalog
  const isComplete = resourceTemplates.length === 0 && incomplete.every(({ list }) => list === 'prompts')
  return isComplete ? resources.map(({ uri }) => uri) : undefined
}

/** Servers of which no rule grants any tool to anybody. */
function unreachable({ access }: Facts, offers: readonly Offer[], count: Count): Problem[] {
  const { rules, tools: gatewayGrant } = access
  if (rules.length === 0) return []
  const hidden = offers.filter(({ server, tools }) => {
    const serverRules = rules.filter(rule => concerns(rule, server))
    if (tools.length === 0 || !serverRules.every(({ tools: grant }) => spend(count, [{ tools }], grant)))
      return false
    return !tools.some(
      tool =>
        isToolGranted(gatewayGrant, server, tool) &&
        serverRules.some(rule => isToolGrantedBy(rule, server, tool)),
    )
  })
  if (hidden.length === 0) return []
  const names = hidden.slice(0, MAX_NAMES).map(({ server }) => server.name)
  const more = hidden.length > MAX_NAMES ? ` and ${hidden.length - MAX_NAMES} more` : ''
  const message = `no rule grants any tool of ${names.join(', ')}${more}: nobody can use them here`
  return [{ reason: REASON.toolsUnreachable, path: 'spec.access', message }]
}

/** Whether there is enough left to compare all these tools with a grant. */
function spend(count: Count, offers: readonly Pick<Offer, 'tools'>[], { allow, deny }: Grant): boolean {
  const tools = offers.reduce((sum, { tools }) => sum + tools.length, 0)
  count.left -= tools * (allow.length + deny.length)
  return count.left >= 0
}

function noCaller(path: string, rule: string, why: string): Problem {
  return {
    reason: REASON.ruleMatchesNothing,
    path,
    message: `this subject of the rule "${rule}" matches no caller: ${why}`,
  }
}

function noMatch(path: string, rule: string, why: string): Problem {
  return { reason: REASON.ruleMatchesNothing, path, message: `the rule "${rule}" matches nothing: ${why}` }
}
