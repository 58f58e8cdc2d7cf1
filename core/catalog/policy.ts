/** Applies a manifest's policy to a server's tools: which are offered, and which descriptions are replaced. Pure. */
import type { ToolPolicy } from './router-config.ts'
import type { ToolDefinition } from './server-catalog.ts'

/** Whether a tool is offered: at least one `allow` pattern matches its name, and no `deny` pattern does. */
export function isAllowed(policy: ToolPolicy, tool: string): boolean {
  return (
    policy.allow.some(pattern => matches(pattern, tool)) &&
    !policy.deny.some(pattern => matches(pattern, tool))
  )
}

/** The definition with the manifest's description; the same object if the manifest has none. */
export function applyOverride(policy: ToolPolicy, definition: ToolDefinition): ToolDefinition {
  const override = Object.hasOwn(policy.overrides, definition.name)
    ? policy.overrides[definition.name]
    : undefined
  return override?.description === undefined
    ? definition
    : { ...definition, description: override.description }
}

/** Glob match where `*` stands for any characters; takes at most time proportional to pattern × name. */
export function matches(pattern: string, name: string): boolean {
  if (pattern === '*') return true
  let at = 0
  let position = 0
  let star = -1
  let resume = 0
  while (position < name.length) {
    if (pattern[at] === '*') {
      star = at++
      resume = position
    } else if (pattern[at] === name[position]) {
      at++
      position++
    } else if (star >= 0) {
      at = star + 1
      position = ++resume
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
