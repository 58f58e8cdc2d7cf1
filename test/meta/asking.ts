/** Asks the meta-tools of one profile, and reads their answers. */
import assert from 'node:assert/strict'
import type { Profile, RouterConfig } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import type { McpRequest, McpRoute } from '../../core/mcp/server/handler.ts'
import { createFixture, type Fixture, type FixtureServer, type ToolResult } from './fixture.ts'
import { SERVERS } from './servers.ts'

export type Asking = {
  route: McpRoute
  start(servers?: Record<string, FixtureServer>, budget?: Partial<RouterConfig['budget']>): Fixture
  ask(fixture: Fixture, name: string, args: JsonObject, more?: Partial<McpRequest>): Promise<ToolResult>
  /** The JSON of an answer that is no error. */
  read<T>(fixture: Fixture, name: string, args: JsonObject, more?: Partial<McpRequest>): Promise<T>
  /** The sentence of an answer that is an error. */
  refusal(fixture: Fixture, name: string, args: JsonObject): Promise<string>
}

const BUDGET = { definitionTokens: 5_000, activeTools: 10, responseTokens: 1_200 }

/** `client`: the session of every request that names none. */
export function asking(profile: Profile, client?: string): Asking {
  const route: McpRoute = { kind: 'gateway', profile }
  const usual = client === undefined ? { route } : { route, client }
  const ask: Asking['ask'] = (fixture, name, args, more = {}) =>
    fixture.call(name, args, { ...usual, ...more })
  return {
    route,
    start: (servers = SERVERS, budget = {}) =>
      createFixture(servers, { profile, budget: { ...BUDGET, ...budget } }),
    ask,
    async read(fixture, name, args, more) {
      const { content, isError } = await ask(fixture, name, args, more)
      assert.equal(isError, undefined, content[0]?.text)
      return JSON.parse(content[0]?.text ?? '')
    },
    async refusal(fixture, name, args) {
      const { content, isError } = await ask(fixture, name, args)
      assert.equal(isError, true, content[0]?.text)
      return content[0]?.text ?? ''
    },
  }
}
