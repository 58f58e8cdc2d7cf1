/** What a caller may try in order to learn of something that only another caller may use, and whether an answer reveals it. */
import type { JsonObject } from '../../core/json.ts'

export type Attempt = { method: string; params: JsonObject }

/** Requests that try to reach what the canary names, in every possible way. */
export function attempts(canary: string): Attempt[] {
  const call = (name: string, args: JsonObject) => ({
    method: 'tools/call',
    params: { name, arguments: args },
  })
  return [
    ...pathsOf(canary).flatMap(path => [
      call('execute_mcp_tool', { tool_path: path, arguments: {} }),
      call('mcp_execute_tool', { toolName: path, args: {} }),
      call('execute', { tool: path, args: {} }),
      call('mcp_get_tool_schema', { toolName: path }),
      call('activate', { tools: [path] }),
      call(path, {}),
      { method: 'prompts/get', params: { name: path } },
    ]),
    ...urisOf(canary).flatMap(uri => [
      { method: 'resources/read', params: { uri } },
      { method: 'resources/subscribe', params: { uri } },
      { method: 'resources/unsubscribe', params: { uri } },
      call('read_mcp_resource', { uri }),
      call('execute_mcp_tool', { tool_path: uri, arguments: {} }),
      call('mcp_execute_tool', { toolName: uri, args: {} }),
      call('execute', { tool: uri, args: {} }),
      {
        method: 'completion/complete',
        params: { ref: { type: 'ref/resource', uri }, argument: { name: 'name', value: '' } },
      },
    ]),
    call('discover_mcp_tools', { query: canary }),
    call('discover_mcp_tools', { operation: 'list', serverName: canary }),
    call('discover_mcp_tools', { query: `get ${canary} things`, limit: 50 }),
    call('mcp_search_tools', { query: canary }),
    call('mcp_search_tools', { query: `select:${canary}:${canary}_get` }),
    call('mcp_search_tool_regex', { query: '.*' }),
    call('mcp_search_tool_regex', { query: canary }),
    call('mcp_list_servers', {}),
    call('list_mcp_resources', {}),
    call('list_mcp_resources', { server: canary }),
    call('discover', { query: canary }),
    call('discover', { category: `category-${canary}` }),
    call('discover', {}),
    call('find_tools', { query: canary }),
    call('find_tools', { query: `get ${canary} things`, limit: 50 }),
    call('find_tools', { query: `${canary}:${canary}_get` }),
    { method: 'tools/list', params: {} },
    { method: 'prompts/list', params: {} },
    { method: 'resources/list', params: {} },
    { method: 'resources/templates/list', params: {} },
    {
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: `${canary}_prompt` }, argument: { name: 'a', value: '' } },
    },
    { method: 'tasks/list', params: {} },
    { method: 'tasks/get', params: { taskId: canary } },
    { method: 'logging/setLevel', params: { level: 'debug' } },
    { method: `${canary}/get`, params: { name: `${canary}_get` } },
  ]
}

/** Every spelling of the name of a tool or prompt that is understood somewhere, and near misses. */
export function pathsOf(canary: string): string[] {
  const tool = `${canary}_get`
  return [
    `${canary}:${tool}`,
    `${canary}__${tool}`,
    tool,
    `${canary}/${tool}`,
    `${canary}.${tool}`,
    `${canary.toUpperCase()}:${tool.toUpperCase()}`,
    `${canary} ${tool}`,
    `${canary}::${tool}`,
    ` ${canary}:${tool}`,
    `${canary}:${canary}_gte`,
    `${canary}x:${tool}`,
    `${canary}:${canary}_prompt`,
    `${canary}__${canary}_prompt`,
    `${canary}_prompt`,
  ]
}

/** Every spelling of the URI of a resource that is understood somewhere, and near misses. */
export function urisOf(canary: string): string[] {
  return [
    `${canary}|file:///${canary}/one`,
    `${canary}+file:///${canary}/one`,
    `${canary}|file:///%2e%2e/${canary}/one`,
    `${canary}|file:///other/../${canary}/one`,
    `${canary.toUpperCase()}|file:///${canary}/one`,
    `file:///${canary}/one`,
    `FILE:///${canary}/one`,
    `file:///${canary}/other`,
    `file:///x/%2e%2e/${canary}/one`,
    `ui://${canary}/page`,
    `ui://${canary}/../${canary}/page`,
  ]
}

/** Whether a text contains the canary otherwise than in words of the request itself, because refusals repeat a name that was asked for. */
export function leaks(text: string, canary: string, request: object): boolean {
  const own = new Set(JSON.stringify(request).match(/[\w./:+|%-]*\w/g))
  const found = text.match(new RegExp(`[\\w./:+|%-]*${canary}[\\w./:+|%-]*`, 'gi')) ?? []
  return found.some(word => {
    const isRepeated = [...own].some(mine => mine.includes(word) || word.replace(/[.:]+$/, '') === mine)
    return !isRepeated
  })
}
