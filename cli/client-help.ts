/** Texts that tell people how to add the gateway to the usual clients. Pure. */
import type { Profile } from '../core/catalog/router-config.ts'
import type { Colors } from './output.ts'

/** How callers send the token that the gateway requires. */
export function tokenHelp(token: string, colors: Colors): string {
  return [
    '',
    `Callers need this token, also on this machine: ${colors.bold(token)}`,
    `  as a header  Authorization: Bearer ${token}`,
    `  portolan     PORTOLAN_TOKEN=${token} portolan search …`,
    'Set PORTOLAN_TOKEN to keep the token when you restart; with --anonymous, callers need none.',
  ].join('\n')
}

export type HelpOptions = {
  /** Profiles that are served besides the one at the URL. */
  others: readonly Profile[]
  /** The token that the gateway requires. */
  token?: string
}

/** How to add the gateway to each client. */
export function clientHelp(url: string, { others, token }: HelpOptions, colors: Colors): string {
  const json = (value: unknown) => JSON.stringify(value)
  const header = token === undefined ? undefined : `Authorization: Bearer ${token}`
  const flag = header === undefined ? '' : ` --header "${header}"`
  const remote = { url, ...(token !== undefined && { headers: { Authorization: `Bearer ${token}` } }) }
  const bridge = ['-y', 'mcp-remote', url, ...(header === undefined ? [] : ['--header', header])]
  const codex = token === undefined ? '' : ' --bearer-token-env-var PORTOLAN_TOKEN  (set it to the token)'
  const ways: [string, string][] = [
    ['Claude Code', `claude mcp add --transport http portolan ${url}${flag}`],
    [
      'Claude Desktop',
      `"portolan": ${json({ command: 'npx', args: bridge })}  (mcpServers in claude_desktop_config.json)`,
    ],
    ['Cursor', `"portolan": ${json(remote)}  (mcpServers in ~/.cursor/mcp.json)`],
    ['VS Code', `code --add-mcp '${json({ name: 'portolan', type: 'http', ...remote })}'`],
    ['Codex', `codex mcp add portolan --url ${url}${codex}`],
    ['Gemini CLI', `gemini mcp add --transport http${flag} portolan ${url}`],
    [
      'Inspector',
      `npx @modelcontextprotocol/inspector --cli ${url} --transport http${flag} --method tools/list`,
    ],
  ]
  const width = Math.max(...ways.map(([client]) => client.length))
  const lines = ways.map(([client, how]) => `  ${colors.bold(client.padEnd(width))}  ${how}`)
  const more =
    others.length > 0 ? ['', `Other profiles: ${others.map(name => `${url}/${name}`).join(', ')}`] : []
  return [`Add ${colors.cyan(url)} to your client:`, ...lines, ...more].join('\n')
}
