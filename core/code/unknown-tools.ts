/** Which of the tools that a script names do not exist. As everywhere, case and separators of names do not matter. */
import { lettersOf } from '../catalog/names.ts'

/** `tools`: absent while the server's list is not known. */
export type KnownServer = { name: string; tools?: readonly string[] }

/** `named`: the names that `inspectScript` returns. Tools of a server whose list is not known count as known. */
export function unknownTools(named: readonly string[], servers: readonly KnownServer[]): string[] {
  const byName = new Map(servers.map(server => [lettersOf(server.name), server]))
  const isComplete = servers.every(({ tools }) => tools !== undefined)
  const all = new Set(servers.flatMap(({ tools = [] }) => tools.map(lettersOf)))
  return named.filter(path => {
    const colon = path.indexOf(':')
    if (colon < 0) {
      const name = lettersOf(path)
      const byPrefix = [...byName].find(([server]) => name.startsWith(`${server} `))?.[1]
      if (all.has(name) || !isComplete) return false
      return !byPrefix || !hasTool(byPrefix, name.slice(lettersOf(byPrefix.name).length + 1))
    }
    const server = byName.get(lettersOf(path.slice(0, colon)))
    return !server || !hasTool(server, lettersOf(path.slice(colon + 1)))
  })
}

function hasTool({ tools }: KnownServer, letters: string): boolean {
  return tools === undefined || tools.some(tool => lettersOf(tool) === letters)
}
