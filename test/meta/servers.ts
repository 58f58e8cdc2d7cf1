/** Servers for the tests of what agents see: small, invented, each with one thing that matters. */
import type { JsonObject } from '../../core/json.ts'
import type { FixtureServer } from './fixture.ts'

export const ISSUE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    repository: { type: 'string', description: 'As owner/name' },
    title: { type: 'string', description: 'One line' },
    labels: { type: 'array', items: { type: 'string' } },
  },
  required: ['repository', 'title'],
}

/** A call that fits its schema. */
export const ISSUE = { tool_path: 'forge:create_issue', arguments: { repository: 'a/b', title: 'Broken' } }

export const LONG_DESCRIPTION = `Searches the wiki. ${'It knows every page, every heading and every comment. '.repeat(20)}The end.`

const NOTHING: JsonObject = { type: 'object', properties: {} }

export const forge: FixtureServer = {
  server: { title: 'Forge', description: 'Repositories and issues', category: 'devops', transport: 'http' },
  offers: {
    tools: [
      {
        name: 'create_issue',
        description: 'Create an issue in a repository',
        inputSchema: ISSUE_SCHEMA,
        annotations: { title: 'New' },
      },
      { name: 'list_issues', description: 'List the issues of a repository', inputSchema: ISSUE_SCHEMA },
      { name: 'delete_repository', description: 'Delete a repository for good', inputSchema: NOTHING },
      {
        name: 'show_board',
        description: 'Show the board of issues',
        inputSchema: NOTHING,
        _meta: { ui: { resourceUri: 'ui://board/main' }, vendor: 1 },
      },
    ],
    resources: [
      {
        uri: 'file:///readme.md',
        name: 'readme',
        title: 'Read me',
        description: 'Where to begin',
        mimeType: 'text/markdown',
        size: 12,
        annotations: { priority: 1 },
        _meta: { v: 1 },
        custom: true,
      },
      { uri: 'ui://board/main', name: 'board', mimeType: 'text/html;profile=mcp-app' },
    ],
    resourceTemplates: [
      { uriTemplate: 'file:///{path}', name: 'file', description: 'Any file', mimeType: 'text/plain' },
    ],
    prompts: [
      {
        name: 'triage',
        title: 'Triage',
        description: 'Sort the new issues',
        arguments: [{ name: 'repository', required: true }, { name: 'since' }],
      },
    ],
  },
}

export const wiki: FixtureServer = {
  server: { title: 'Wiki' },
  offers: {
    tools: [
      {
        name: 'search',
        description: LONG_DESCRIPTION,
        inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      },
      { name: 'list_issues', description: 'List the open questions of the wiki', inputSchema: NOTHING },
      { name: 'ページ:作成', description: 'Creates a page', inputSchema: NOTHING },
    ],
    resources: [{ uri: 'wiki://home', name: 'home', description: 'The first page' }],
  },
}

export const SERVERS: Record<string, FixtureServer> = { forge, wiki }
