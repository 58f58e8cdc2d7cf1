/** Real clients of both eras with one face, which answer what they are asked and remember what they were told. */
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { isObject, type JsonObject } from '../../../core/json.ts'

/** By SDK and revision. */
export const CLIENT_KINDS = ['sdk1-2025', 'sdk2-2025', 'sdk2-2026'] as const
export type ClientKind = (typeof CLIENT_KINDS)[number]

export type Told = { method: string; params?: JsonObject }
export type CallOptions = { onprogress?: (progress: { progress: number }) => void; signal?: AbortSignal }

export type TestClient = {
  modern: boolean
  /** What it was asked, in order. */
  asked: Told[]
  call(tool: string, args?: JsonObject, options?: CallOptions, meta?: JsonObject): Promise<JsonObject>
  /** Any other request; the result as it came. */
  request(method: string, params?: JsonObject): Promise<JsonObject>
  prompt(name: string, args?: Record<string, string>): Promise<JsonObject>
  /** The next notification of this method. */
  next(method: string): Promise<JsonObject>
  /** Notifications of this method so far. */
  told(method: string): JsonObject[]
  /** Asks to be told of changes, until the function that it resolves with is called. */
  watch(what: { uri: string } | 'tools'): Promise<() => Promise<unknown>>
  close(): Promise<void>
}

const INFO = { name: 'cells', version: '1.0.0' }
const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const ANY = z.looseObject({})
const TOLD = [
  'notifications/message',
  'notifications/resources/updated',
  'notifications/tools/list_changed',
] as const

export type ClientOptions = {
  /** Declares that it can be asked for nothing; default for everything. */
  silent?: boolean
  fetch?: typeof fetch
}

export async function openClient(
  kind: ClientKind,
  url: string,
  options: ClientOptions = {},
): Promise<TestClient> {
  const ears = createEars()
  return kind === 'sdk1-2025' ? openSdk1(url, options, ears) : openSdk2(kind, url, options, ears)
}

async function openSdk1(url: string, { silent, fetch }: ClientOptions, ears: Ears): Promise<TestClient> {
  const capabilities = silent ? {} : EVERYTHING
  const client = new Client1(INFO, { capabilities })
  if (!silent) {
    for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema])
      client.setRequestHandler(schema, request => ears.answer(request as Told) as never)
  }
  const told = [
    LoggingMessageNotificationSchema,
    ResourceUpdatedNotificationSchema,
    ToolListChangedNotificationSchema,
  ]
  for (const schema of told) client.setNotificationHandler(schema, said => ears.hear(said as Told))
  await client.connect(new Transport1(new URL(url), { fetch }))
  const request: TestClient['request'] = async (method, params) =>
    (await client.request({ method, params }, ANY)) as JsonObject
  return {
    ...ears,
    modern: false,
    request,
    call: async (name, args = {}, options, meta) =>
      (await client.callTool({ name, arguments: args, _meta: meta }, undefined, options)) as JsonObject,
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })) as JsonObject,
    watch: what => watchLegacy(what, request),
    close: () => client.close(),
  }
}

async function openSdk2(
  kind: Exclude<ClientKind, 'sdk1-2025'>,
  url: string,
  { silent, fetch }: ClientOptions,
  ears: Ears,
): Promise<TestClient> {
  const capabilities = silent ? {} : EVERYTHING
  const modern = kind === 'sdk2-2026'
  const mode = modern ? { pin: '2026-07-28' } : 'legacy'
  const client = new Client2(INFO, { capabilities, versionNegotiation: { mode } })
  if (!silent) {
    for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list'] as const)
      client.setRequestHandler(method, request => ears.answer(request as Told) as never)
  }
  for (const method of TOLD) client.setNotificationHandler(method, said => ears.hear(said as Told))
  await client.connect(new Transport2(new URL(url), { fetch }))
  const request: TestClient['request'] = async (method, params) =>
    (await client.request({ method, params }, ANY)) as JsonObject
  const listen = async (what: { uri: string } | 'tools') => {
    const filter = what === 'tools' ? { toolsListChanged: true } : { resourceSubscriptions: [what.uri] }
    const subscription = await client.listen(filter)
    return () => subscription.close()
  }
  return {
    ...ears,
    modern,
    request,
    call: async (name, args = {}, options, meta) =>
      (await client.callTool({ name, arguments: args, _meta: meta }, options)) as JsonObject,
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })) as JsonObject,
    watch: what => (modern ? listen(what) : watchLegacy(what, request)),
    close: () => client.close(),
  }
}

/** A 2025 client is told of changed lists without asking. */
async function watchLegacy(what: { uri: string } | 'tools', request: TestClient['request']) {
  if (what === 'tools') return async () => {}
  await request('resources/subscribe', what)
  return () => request('resources/unsubscribe', what)
}

type Ears = Pick<TestClient, 'asked' | 'next' | 'told'> & {
  hear(said: Told): void
  answer(question: Told): JsonObject
}

function createEars(): Ears {
  const asked: Told[] = []
  const heard: Told[] = []
  const waiting = new Set<(said: Told) => void>()
  return {
    asked,
    told: method => heard.filter(said => said.method === method).map(said => said.params ?? {}),
    next: method =>
      new Promise(resolve => {
        const listener = (said: Told) => {
          if (said.method !== method) return
          waiting.delete(listener)
          resolve(said.params ?? {})
        }
        waiting.add(listener)
      }),
    hear(said) {
      heard.push(said)
      for (const listener of [...waiting]) listener(said)
    },
    answer(question) {
      asked.push(question)
      return answerTo(question)
    },
  }
}

function answerTo({ method, params = {} }: Told): JsonObject {
  if (method === 'roots/list') return { roots: [{ uri: 'file:///home/ada', name: 'Ada' }] }
  if (method === 'sampling/createMessage')
    return { role: 'assistant', model: 'test', content: { type: 'text', text: 'Paris' } }
  if (params.mode === 'url') return { action: 'accept' }
  const { properties } = params.requestedSchema as { properties: JsonObject }
  const content = Object.entries(properties).map(([name, schema]) => [
    name,
    isObject(schema) && schema.type === 'boolean' ? true : `my ${name}`,
  ])
  return { action: 'accept', content: Object.fromEntries(content) }
}
