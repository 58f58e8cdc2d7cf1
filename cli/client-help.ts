/** Texts that tell people how to add the gateway to the usual clients. Pure. */
import type { Profile } from '../core/catalog/router-config.ts'
import type { Colors } from './output.ts'

/** How callers send the token that the gateway requires. */
export function tokenHelp(url: string, token: string, colors: Colors): string {
  return [
    '',
    `Callers need this token, also on this machine: ${colors.bold(token)}`,
    `  as a header  Authorization: Bearer ${token}`,
    `  Claude Code  claude mcp add --transport http portolan ${url} --header "Authorization: Bearer ${token}"`,
    `  portolan     PORTOLAN_TOKEN=${token} portolan search …`,
    'Set PORTOLAN_TOKEN to keep the token when you restart; with --anonymous, callers need none.',
  ].join('\n')
}

/** How to add the gateway to each client. `others`: profiles that are served besides the one at `url`. */
export function clientHelp(url: string, others: readonly Profile[], colors: Colors): string {
  const json = (value: unknown) => JSON.stringify(value)
  const ways: [string, string][] = [
    ['Claude Code', `claude mcp add --transport http portolan ${url}`],
    [
      'Claude Desktop',
      `"portolan": ${json({ command: 'npx', args: ['-y', 'mcp-remote', url] })}  (mcpServers in claude_desktop_config.json)`,
    ],
    ['Cursor', `"portolan": ${json({ url })}  (mcpServers in ~/.cursor/mcp.json)`],
    ['VS Code', `code --add-mcp '${json({ name: 'portolan', type: 'http', url })}'`],
    ['Codex', `codex mcp add portolan --url ${url}`],
    ['Gemini CLI', `gemini mcp add --transport http portolan ${url}`],
    ['Inspector', `npx @modelcontextprotocol/inspector --cli ${url} --transport http --method tools/list`],
  ]
  const width = Math.max(...ways.map(([client]) => client.length))
  const lines = ways.map(([client, how]) => `  ${colors.bold(client.padEnd(width))}  ${how}`)
  const more =
    others.length > 0 ? ['', `Other profiles: ${others.map(name => `${url}/${name}`).join(', ')}`] : []
  return [`Add ${colors.cyan(url)} to your client:`, ...lines, ...more].join('\n')
}
