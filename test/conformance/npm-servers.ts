/** The servers of the recorded catalogs that come from npm and need no account, each with a call that does no harm. */

export type NpmServer = {
  /** Of the recorded catalog, which names package, version, arguments and the number of tools. */
  recorded: string
  env?: Record<string, string>
  /** Instead of the recorded ones; `FOLDER` becomes an empty folder. */
  args?: string[]
  tool: string
  arguments?: object
  /** What the answer says, as JSON; an error of the server's own is an answer too. */
  says: RegExp
  /** Also through a bridge. */
  bridged?: true
  /** Where the number differs from the recorded one, and why. */
  tools?: { count: number; because: string }
  /** Installed without its scripts, which compile native modules that it can do without. */
  plain?: true
  /** Written to `FOLDER` first. */
  files?: Record<string, string>
}

const NO_CLUSTER = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'none',
  clusters: [{ name: 'none', cluster: { server: 'https://127.0.0.1:1' } }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
  users: [{ name: 'none', user: { token: 'none' } }],
})

/** Not among them: mcp-prometheus-linux-amd64, whose package has no `bin`, and mcp-sqlite, which compiles a native module for minutes. The largest come first. */
export const NPM_SERVERS: readonly NpmServer[] = [
  {
    recorded: 'n8n-mcp',
    env: {
      MCP_MODE: 'stdio',
      N8N_API_URL: 'http://127.0.0.1:1',
      N8N_API_KEY: 'none',
      N8N_MCP_TELEMETRY_DISABLED: 'true',
    },
    tool: 'tools_documentation',
    says: /n8n/,
    plain: true,
  },
  {
    recorded: 'mongodb-mcp-server',
    env: { MDB_MCP_CONNECTION_STRING: 'mongodb://127.0.0.1:1/db', MDB_MCP_TELEMETRY: 'disabled' },
    tool: 'list-databases',
    says: /./,
    plain: true,
  },
  {
    recorded: 'antv__mcp-server-chart',
    tool: 'generate_pie_chart',
    arguments: { data: 'none' },
    says: /rror/,
  },
  { recorded: 'azure__mcp', tool: 'get_azure_bestpractices', arguments: { intent: 'x' }, says: /./ },
  {
    recorded: 'bytebase__dbhub',
    tool: 'execute_sql',
    arguments: { sql: 'SELECT 41 + 1 AS answer' },
    says: /42/,
  },
  { recorded: 'chrome-devtools-mcp', tool: 'list_pages', says: /./ },
  {
    recorded: 'cyanheads__git-mcp-server',
    env: { MCP_TRANSPORT_TYPE: 'stdio' },
    tool: 'git_wrapup_instructions',
    arguments: { acknowledgement: 'yes' },
    says: /./,
  },
  { recorded: 'eslint__mcp', tool: 'lint-files', arguments: { filePaths: ['/no/such/file.js'] }, says: /./ },
  {
    recorded: 'kubernetes-mcp-server',
    args: ['--kubeconfig', 'FOLDER/config', '--toolsets', 'config,core,helm'],
    files: { config: NO_CLUSTER },
    tool: 'configuration_view',
    says: /127\.0\.0\.1/,
  },
  { recorded: 'mcp-server-kubernetes', tool: 'ping', says: /./ },
  {
    recorded: 'modelcontextprotocol__server-everything',
    tool: 'get-sum',
    arguments: { a: 19, b: 23 },
    says: /42/,
    bridged: true,
    tools: { count: 13, because: 'three are listed only to clients that can be asked' },
  },
  {
    recorded: 'modelcontextprotocol__server-filesystem',
    tool: 'list_allowed_directories',
    says: /Allowed/,
    bridged: true,
  },
  {
    recorded: 'modelcontextprotocol__server-memory',
    env: { MEMORY_FILE_PATH: 'FOLDER/memory.json' },
    tool: 'read_graph',
    says: /entities/,
    bridged: true,
  },
  { recorded: 'modelcontextprotocol__server-pdf', tool: 'list_pdfs', says: /./ },
  {
    recorded: 'modelcontextprotocol__server-postgres',
    tool: 'query',
    arguments: { sql: 'SELECT 1' },
    says: /./,
  },
  {
    recorded: 'modelcontextprotocol__server-puppeteer',
    tool: 'puppeteer_click',
    arguments: { selector: '#none' },
    says: /./,
  },
  {
    recorded: 'modelcontextprotocol__server-sequential-thinking',
    tool: 'sequentialthinking',
    arguments: { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
    says: /thoughtNumber/,
    bridged: true,
  },
  { recorded: 'modelcontextprotocol__server-system-monitor', tool: 'get-system-info', says: /./ },
  { recorded: 'playwright__mcp', tool: 'browser_close', says: /./ },
  {
    recorded: 'upstash__context7-mcp',
    tool: 'resolve-library-id',
    arguments: { libraryName: '', query: '' },
    says: /./,
  },
  { recorded: 'wonderwhy-er__desktop-commander', tool: 'list_sessions', says: /./ },
]
