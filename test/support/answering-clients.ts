/** Clients of both eras, by the SDKs, that answer a server's questions with `ANSWERS`. */
import type { TestContext } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { JsonObject } from '../../core/json.ts'
import { ANSWERS, CAN_ALL } from '../upstreams/asking/questions.ts'

export type AnsweringClient = {
  /** Calls a tool and returns the text of its result. */
  call(name: string, args?: JsonObject): Promise<string>
  /** The received notifications. */
  heard: { method: string; params?: JsonObject }[]
  /** The methods of the questions that it received. */
  asked: string[]
}

const INFO = { name: 'answering', version: '1' }
type Content = { content: { text?: string }[] }

/** SDK 1.x, 2025-11-25; closed after the test. */
export async function legacyClient(t: TestContext, url: string, capabilities: JsonObject = CAN_ALL) {
  const client = new Client(INFO, { capabilities })
  t.after(() => client.close())
  const heard: AnsweringClient['heard'] = []
  const asked: string[] = []
  client.fallbackNotificationHandler = async ({ method, params }) => {
    heard.push({ method, params: params as JsonObject })
  }
  if (capabilities.elicitation)
    client.setRequestHandler(ElicitRequestSchema, ({ method, params }) => {
      asked.push(method)
      return ANSWERS[params.mode === 'url' ? 'url' : 'form']
    })
  if (capabilities.sampling)
    client.setRequestHandler(CreateMessageRequestSchema, ({ method }) => {
      asked.push(method)
      return ANSWERS.sampling
    })
  if (capabilities.roots)
    client.setRequestHandler(ListRootsRequestSchema, ({ method }) => {
      asked.push(method)
      return { roots: [...ANSWERS.roots.roots] }
    })
  const transport = new StreamableHTTPClientTransport(new URL(url))
  await client.connect(transport)
  const call = async (name: string, args: JsonObject = {}) => {
    const result = (await client.callTool({ name, arguments: args })) as Content
    return result.content[0]?.text ?? ''
  }
  return { client, transport, call, heard, asked }
}

/** SDK 2.x, 2026-07-28 only; closed after the test. */
export async function modernClient(t: TestContext, url: string, capabilities: JsonObject = CAN_ALL) {
  const client = new ModernClient(INFO, {
    capabilities,
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  })
  t.after(() => client.close())
  const heard: AnsweringClient['heard'] = []
  const asked: string[] = []
  client.fallbackNotificationHandler = async ({ method, params }) => {
    heard.push({ method, params: params as JsonObject })
  }
  if (capabilities.elicitation)
    client.setRequestHandler('elicitation/create', ({ method, params }) => {
      asked.push(method)
      return ANSWERS[params.mode === 'url' ? 'url' : 'form']
    })
  if (capabilities.sampling)
    client.setRequestHandler('sampling/createMessage', ({ method }) => {
      asked.push(method)
      return ANSWERS.sampling
    })
  if (capabilities.roots)
    client.setRequestHandler('roots/list', ({ method }) => {
      asked.push(method)
      return { roots: [...ANSWERS.roots.roots] }
    })
  await client.connect(new ModernTransport(new URL(url)))
  const call = async (name: string, args: JsonObject = {}) => {
    const result = (await client.callTool({ name, arguments: args })) as Content
    return result.content[0]?.text ?? ''
  }
  return { client, call, heard, asked }
}
