/** What a caller may use: the union of what its rules grant, within the most that the gateway offers. Pure. */
import type { AccessConfig, AccessRule, Grant, ToolGrant } from '../../core/catalog/access-config.ts'
import { concerns, isGranted, isToolGranted, isToolGrantedBy } from '../../core/catalog/grants.ts'
import { matches } from '../../core/catalog/policy.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { matchingRules, missingScopes } from './rules.ts'
import { deniedForms, formsOf, type UriForms } from './uri-forms.ts'

/** Callers with equal keys have the same view of a catalog. */
export type View = {
  readonly key: string
  /** Rules that grant, without those that only challenge. */
  readonly granting: readonly AccessRule[]
  /** Rules whose tools are visible, though a call needs scopes that the caller does not have. */
  readonly challenging: readonly AccessRule[]
  /** The most that the gateway offers to any caller. */
  readonly most: ToolGrant
}

/** The view of a caller. Undefined: everything, since the gateway has no rules and offers all tools. */
export function viewOf({ rules, tools: most }: AccessConfig, identity: Identity): View | undefined {
  if (rules.length === 0)
    return isEverything(most) ? undefined : { key: 'all', granting: [ALL], challenging: [], most }
  const found = matchingRules(rules, identity).map(at => ({ at, rule: rules[at] as AccessRule }))
  const [challenging, granting] = partition(found, ({ rule }) => missingScopes(rule, identity).length > 0)
  const key = `${granting.map(({ at }) => at).join()};${challenging.map(({ at }) => at).join()}`
  return {
    key,
    granting: granting.map(({ rule }) => rule),
    challenging: challenging.map(({ rule }) => rule),
    most,
  }
}

/** Whether a tool is visible. */
export function seesTool(view: View, server: RouterServer, definition: ToolDefinition): boolean {
  return (
    isToolGranted(view.most, server, definition) &&
    rulesFor(view, server).some(rule => isToolGrantedBy(rule, server, definition))
  )
}

/** Whether a resource or template is visible, by the upstream's own URI: it has to be granted in every form that a server may take it for. */
export function seesResource(view: View, server: RouterServer, uri: string): boolean {
  const rules = rulesFor(view, server)
  if (rules.some(({ resources }) => grantsAll(resources))) return true
  const forms = rules.length > 0 ? formsOf(uri) : undefined
  return forms !== undefined && rules.some(({ resources }) => isUriGranted(resources, forms))
}

/** Whether a prompt is visible, by the upstream's own name. */
export function seesPrompt(view: View, server: RouterServer, prompt: string): boolean {
  return rulesFor(view, server).some(({ prompts }) => isGranted(prompts, prompt))
}

/** A tool, a prompt by the upstream's own name, or a resource by the upstream's own URI. */
export type Granted = { tool: ToolDefinition } | { prompt: string } | { uri: string }

/** Whether something is visible. */
export function sees(view: View, server: RouterServer, granted: Granted): boolean {
  if ('tool' in granted) return seesTool(view, server, granted.tool)
  return 'uri' in granted ? seesResource(view, server, granted.uri) : seesPrompt(view, server, granted.prompt)
}

/** Whether one rule of a view would make something visible by itself. */
export function grantsAlone(view: View, rule: AccessRule, server: RouterServer, granted: Granted): boolean {
  return sees({ ...view, granting: [rule], challenging: [] }, server, granted)
}

/** All scopes of the rule that grants something visible and of whose scopes the caller lacks the fewest; empty if the caller may already use it. */
export function scopesFor(
  view: View,
  identity: Identity,
  server: RouterServer,
  granted: Granted,
): readonly string[] {
  const grants = (rule: AccessRule) => grantsAlone(view, rule, server, granted)
  if (view.granting.some(grants)) return []
  const lacking = (rule: AccessRule) => missingScopes(rule, identity).length
  const asking = view.challenging.filter(grants).toSorted((a, b) => lacking(a) - lacking(b))
  return asking[0]?.scopes ?? []
}

/** The name of the rule that stands for the rules of a gateway that has none. */
export const NO_RULES = ''

/** Stands for the rules of a gateway that has none. */
const ALL: AccessRule = {
  name: NO_RULES,
  subjects: [],
  servers: ['*'],
  tools: { allow: ['*'], deny: [], readOnly: false },
  resources: { allow: ['*'], deny: [] },
  prompts: { allow: ['*'], deny: [] },
  scopes: [],
  challenge: false,
}

function isEverything(grant: ToolGrant): boolean {
  return grantsAll(grant) && !grant.readOnly
}

function grantsAll({ allow, deny }: Grant): boolean {
  return allow.includes('*') && deny.length === 0
}

/** The rules of a view that are about a server. `isAbout`: whether a rule is about it; callers may give a function that remembers this. */
export function rulesFor(
  { granting, challenging }: View,
  server: RouterServer,
  isAbout: (rule: AccessRule, server: RouterServer) => boolean = concerns,
): AccessRule[] {
  return [...granting, ...challenging].filter(rule => isAbout(rule, server))
}

function isUriGranted({ allow, deny }: Grant, { spelled, meant }: UriForms): boolean {
  return (
    spelled.every(form => allow.some(pattern => matches(pattern, form))) &&
    !deny.flatMap(deniedForms).some(pattern => meant.some(form => matches(pattern, form)))
  )
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter(item => !test(item))]
}
