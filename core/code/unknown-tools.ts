/** Which of the tools that a script names do not exist. As everywhere, case and separators of names do not matter. */
import { nameLetters, toolPath } from '../catalog/names.ts'

/** `tools`: absent while the server's list is not known. */
export type KnownServer = { name: string; tools?: readonly string[] }

/** `named`: the names that `inspectScript` returns. Tools of a server whose list is not known count as known. */
export function unknownTools(named: readonly string[], servers: readonly KnownServer[]): string[] {
  const byName = Map.groupBy(servers, ({ name }) => nameLetters(name))
  const isComplete = servers.every(({ tools }) => tools !== undefined)
  const all = new Set(
    servers.flatMap(({ name, tools = [] }) =>
      tools.flatMap(tool => [nameLetters(tool), nameLetters(toolPath(name, tool))]),
    ),
  )
  return named.filter(path => {
    const colon = path.indexOf(':')
    if (colon < 0) return isComplete && !all.has(nameLetters(path))
    const meant = byName.get(nameLetters(path.slice(0, colon))) ?? []
    return !meant.some(server => hasTool(server, nameLetters(path.slice(colon + 1))))
  })
}

function hasTool({ tools }: KnownServer, letters: string): boolean {
  return tools === undefined || tools.some(tool => nameLetters(tool) === letters)
}
