/** Scripts with which a caller may try to reach, or to learn of, what only another caller may use. */
import type { Profile } from '../../core/catalog/router-config.ts'
import { type Attempt, pathsOf, urisOf } from './access-attempts.ts'

/** The meta-tool of each profile that runs scripts. */
export const SCRIPT_TOOLS: Readonly<Record<Profile, string>> = {
  hierarchical: 'run_mcp_script',
  search: 'mcp_run_script',
  registry: 'run',
  direct: 'run_mcp_script',
  code: 'run_mcp_script',
}

/** A request that runs a script, and asks for notifications of its progress. */
export function scriptOf(tool: string, code: string): Attempt {
  const params = { name: tool, arguments: { code }, _meta: { progressToken: 'script' } }
  return { method: 'tools/call', params }
}

type ScriptForm = (tried: string) => string

/** Both forms are needed, because the answer to a script that fails differs from that to one that handles the failure. */
export const BARE: ScriptForm = tried => `return ${tried}`
export const HANDLED: ScriptForm = tried => `try {
  console.log(await ${tried})
} catch (error) {
  console.log(error)
  return [error.message, error.kind, error.tool, error.stack, error.result]
}`

/** Each request has one script, which contains the canary only in the one name that it tries. */
export function scriptAttempts(
  tool: string,
  canary: string,
  forms: readonly ScriptForm[] = [BARE, HANDLED],
): Attempt[] {
  const all = [
    ...pathsOf(canary).map(path => `tools[${JSON.stringify(path)}]({})`),
    ...urisOf(canary).map(uri => `read(${JSON.stringify(uri)})`),
    `tools["${canary}:${canary}_get"].raw({})`,
    `tools.${tool}({code: "return tools.${canary}_get({})"})`,
    `tools.find_tools({query: "${canary}"})`,
    `discover("${canary}", {limit: 50})`,
    `discover("get ${canary} things")`,
    'discover("get things", {limit: 50})',
    'discover("delete list prompt template resource")',
    `[Object.keys(tools), Object.keys(tools.${canary}), Object.getOwnPropertyNames(globalThis)]`,
  ]
  return forms.flatMap(form => all.map(tried => scriptOf(tool, form(tried))))
}

/** An answer to a script without what differs from run to run. */
export function withoutTimes(text: string): string {
  return text
    .replace(/("id\W+)[\da-f]{8}-[\da-f-]{27}/g, '$1')
    .replace(/((?:ms|atMs|sandboxMs|keptTokens)\W+?)-?\d+/g, '$1')
    .replace(/(calls? in )[\d.]+ s/g, '$1')
}
