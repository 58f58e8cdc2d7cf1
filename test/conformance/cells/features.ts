/** What must work between every client and every upstream, each as a small conversation. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { canonicalJson, type JsonObject } from '../../../core/json.ts'
import type { TestClient } from './clients.ts'
import type { Kind } from './servers.ts'

export type Cell = { client: TestClient; kind: Kind }

export type Feature = {
  does: string
  /** Absent: in every cell. */
  where?: (cell: Cell) => boolean
  run(cell: Cell): Promise<void>
}

const WATCHED = 'test://watched-resource'
const asks = ({ kind }: Cell) => kind.asks
const sharedStdio = ({ kind }: Cell) => kind.shared && kind.transport === 'stdio'
/** Whether the client can choose its log level: one of 2026 does so with each call. */
const logs = (cell: Cell) => cell.client.modern || !sharedStdio(cell)
/** Whether two calls reach the same state: in the session of all clients, or in the client's own. */
const remembers = ({ kind, client }: Cell) => kind.shared || !client.modern

export const FEATURES: readonly Feature[] = [
  {
    does: 'gives content, structured content, annotations and _meta as they are',
    async run({ client }) {
      const result = await client.call('structured', { city: 'Graz' })
      assert.deepEqual(result.content, [
        { type: 'text', text: 'Graz: 21', annotations: { audience: ['user'], priority: 0.5 } },
      ])
      assert.deepEqual(result.structuredContent, { city: 'Graz', degrees: 21 })
      assert.deepEqual((result._meta as JsonObject)['example.com/of-result'], true)
      const mixed = await client.call('test_multiple_content_types')
      assert.deepEqual(
        (mixed.content as JsonObject[]).map(({ type }) => type),
        ['text', 'image', 'resource'],
      )
    },
  },
  {
    does: 'passes on arguments, _meta and trace context',
    async run({ client }) {
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
      const meta = { traceparent, 'example.com/own': { deep: [1, 'two'] } }
      const seen = await report(client, { big: { deep: [1] } }, meta)
      assert.deepEqual(seen.args, { big: { deep: [1] } })
      assert.deepEqual(withoutProgress(seen.meta), meta)
    },
  },
  {
    does: 'repeats an argument in a header if the schema of the tool says so',
    where: ({ kind }) => kind.modern && kind.transport === 'http',
    async run({ client }) {
      const seen = await report(client, { region: 'Kärnten' })
      assert.equal(
        seen.headers['mcp-param-region'],
        `=?base64?${Buffer.from('Kärnten').toString('base64')}?=`,
      )
    },
  },
  {
    does: 'reports progress to the call that asked for it',
    async run({ client }) {
      const seen: number[] = []
      await client.call('test_tool_with_progress', {}, { onprogress: ({ progress }) => seen.push(progress) })
      assert.deepEqual(seen, [0, 50, 100])
    },
  },
  {
    does: 'asks with a form',
    where: asks,
    async run({ client }) {
      const result = await client.call('test_input_required_result_elicitation')
      assert.equal(textOf(result), 'Hello, my name!')
      assert.equal(client.asked.at(-1)?.method, 'elicitation/create')
    },
  },
  {
    does: 'asks to open a page',
    where: asks,
    async run({ client }) {
      assert.match(textOf(await client.call('test_elicitation_url')), /Visited: .*accept/)
      assert.equal(client.asked.at(-1)?.params?.url, 'https://example.com/login')
    },
  },
  {
    does: 'asks for sampling',
    where: asks,
    async run({ client }) {
      assert.equal(textOf(await client.call('test_input_required_result_sampling')), 'Paris')
    },
  },
  {
    does: 'asks for roots',
    where: asks,
    run: async ({ client }) =>
      assert.match(
        textOf(await client.call('test_input_required_result_list_roots')),
        /file:\/\/\/home\/ada/,
      ),
  },
  {
    does: 'asks three questions at once, and two one after the other',
    where: asks,
    async run({ client }) {
      const before = client.asked.length
      assert.match(
        textOf(await client.call('test_input_required_result_multiple_inputs')),
        /^Paris .*my name/,
      )
      assert.equal(client.asked.length - before, 3)
      assert.equal(
        textOf(await client.call('test_input_required_result_multi_round')),
        'my name likes my color',
      )
    },
  },
  {
    does: 'asks before it returns a prompt',
    where: asks,
    run: async ({ client }) =>
      assert.match(JSON.stringify(await client.prompt('test_input_required_result_prompt')), /my context/),
  },
  {
    does: 'refuses a question if the gateway cannot know which client it is for',
    where: cell => !asks(cell),
    async run({ client }) {
      const before = client.asked.length
      const failed = await client.call('test_input_required_result_elicitation').catch(String)
      assert.match(typeof failed === 'string' ? failed : textOf(failed), /elicitation/)
      assert.equal(client.asked.length, before)
    },
  },
  {
    does: 'cancels a call at the server',
    where: remembers,
    async run({ client }) {
      const before = Number(textOf(await client.call('cancelled')))
      const giveUp = new AbortController()
      const held = client.call('hold', {}, { signal: giveUp.signal, onprogress: () => giveUp.abort() })
      await assert.rejects(held)
      for (let tries = 0; tries < 200; tries++)
        if (Number(textOf(await client.call('cancelled'))) === before + 1) return
      assert.fail('the server got no cancellation')
    },
  },
  {
    does: 'logs at the level that the client sets',
    where: cell => logs(cell) && (cell.kind.modern || !sharedStdio(cell)),
    async run({ client }) {
      const logged = async (level: string) => {
        const before = client.notifications('notifications/message').length
        if (!client.modern) await client.request('logging/setLevel', { level })
        const meta = client.modern ? { 'io.modelcontextprotocol/logLevel': level } : undefined
        await client.call('test_tool_with_logging', {}, {}, meta)
        return client.notifications('notifications/message').length - before
      }
      assert.deepEqual([await logged('info'), await logged('error')], [3, 0])
    },
  },
  {
    does: 'refuses a log level if the gateway cannot know which client messages are for',
    where: cell => !logs(cell),
    run: ({ client }) =>
      assert.rejects(client.request('logging/setLevel', { level: 'info' }), { code: -32601 }),
  },
  {
    does: 'notifies of a changed resource',
    where: remembers,
    async run({ client }) {
      const stop = await client.watch({ uri: WATCHED })
      const updated = client.next('notifications/resources/updated')
      await client.call('touch_resource')
      assert.equal((await updated).uri, WATCHED)
      await stop()
    },
  },
  {
    does: 'notifies of changed tools, and lists them',
    where: ({ kind }) => kind.shared,
    async run({ client }) {
      const stop = await client.watch('tools')
      for (const there of [true, false]) {
        const changed = client.next('notifications/tools/list_changed')
        await client.call('test_trigger_tool_change')
        await changed
        assert.equal((await toolNames(client)).includes('test_added_tool'), there)
      }
      await stop()
    },
  },
  {
    does: 'reads resources, templates and prompts, and completes an argument',
    async run({ client }) {
      const read = (uri: string) => client.request('resources/read', { uri })
      assert.match(JSON.stringify(await read('test://static-text')), /static text resource/)
      assert.match(JSON.stringify(await read('test://template/42/data')), /Data for ID: 42/)
      const code = await read('test://nothing').catch(error => error.code)
      assert.ok(code === -32602 || (code === -32002 && !client.modern), `error ${code}`)
      const args = { arg1: 'a', arg2: 'b' }
      assert.match(JSON.stringify(await client.prompt('test_prompt_with_arguments', args)), /arg1='a'/)
      const { completion } = await client.request('completion/complete', {
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name: 'arg1', value: 'par' },
      })
      assert.deepEqual((completion as JsonObject).values, ['paris', 'park', 'party'])
    },
  },
]

/** A hash of the list of tools, as the client got it. */
export async function hashOfTools(client: TestClient): Promise<string> {
  const { tools } = await client.request('tools/list', {})
  return hash('sha256', canonicalJson(tools ?? null))
}

type Report = { args: JsonObject; meta: JsonObject; headers: Record<string, string> }

async function report(client: TestClient, args: JsonObject, meta?: JsonObject): Promise<Report> {
  return JSON.parse(textOf(await client.call('report', args, {}, meta)))
}

/** `_meta` without the token for progress, which is not part of what the test sends. */
function withoutProgress({ progressToken: _, ...meta }: JsonObject): JsonObject {
  return meta
}

async function toolNames(client: TestClient): Promise<string[]> {
  const { tools } = (await client.request('tools/list', {})) as { tools: { name: string }[] }
  return tools.map(({ name }) => name)
}

function textOf(result: JsonObject): string {
  return (result.content as { text?: string }[] | undefined)?.[0]?.text ?? ''
}
