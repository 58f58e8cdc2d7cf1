/** Real clients of both eras with one interface, which answer questions and keep the notifications that they get. */
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

export type Message = { method: string; params?: JsonObject }
export type CallOptions = { onprogress?: (progress: { progress: number }) => void; signal?: AbortSignal }

export type TestClient = {
  modern: boolean
  /** The questions that it got, in order. */
  asked: Message[]
  call(tool: string, args?: JsonObject, options?: CallOptions, meta?: JsonObject): Promise<JsonObject>
  /** Any other request; the result as it came. */
  request(method: string, params?: JsonObject): Promise<JsonObject>
  prompt(name: string, args?: Record<string, string>): Promise<JsonObject>
  /** The next notification of this method. */
  next(method: string): Promise<JsonObject>
  /** Notifications of this method so far. */
  notifications(method: string): JsonObject[]
  /** Subscribes to changes; resolves with a function that ends the subscription. */
  watch(what: { uri: string } | 'tools'): Promise<() => Promise<unknown>>
  close(): Promise<void>
}

const INFO = { name: 'cells', version: '1.0.0' }
const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const ANY = z.looseObject({})
const NOTIFICATIONS = [
  'notifications/message',
  'notifications/resources/updated',
  'notifications/tools/list_changed',
] as const

export type ClientOptions = {
  /** Declares no capabilities, so that it cannot be asked; default: all of them. */
  silent?: boolean
  fetch?: typeof fetch
}

export async function openClient(
  kind: ClientKind,
  url: string,
  options: ClientOptions = {},
): Promise<TestClient> {
  const inbox = createInbox()
  return kind === 'sdk1-2025' ? openSdk1(url, options, inbox) : openSdk2(kind, url, options, inbox)
}

async function openSdk1(url: string, { silent, fetch }: ClientOptions, inbox: Inbox): Promise<TestClient> {
  const capabilities = silent ? {} : EVERYTHING
  const client = new Client1(INFO, { capabilities })
  if (!silent) {
    for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema])
      client.setRequestHandler(schema, request => inbox.answer(request as Message) as never)
  }
  const schemas = [
    LoggingMessageNotificationSchema,
    ResourceUpdatedNotificationSchema,
    ToolListChangedNotificationSchema,
  ]
  for (const schema of schemas)
    client.setNotificationHandler(schema, message => inbox.add(message as Message))
  await client.connect(new Transport1(new URL(url), { fetch }))
  const request: TestClient['request'] = async (method, params) =>
    (await client.request({ method, params }, ANY)) as JsonObject
  return {
    ...inbox,
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
  inbox: Inbox,
): Promise<TestClient> {
  const capabilities = silent ? {} : EVERYTHING
  const modern = kind === 'sdk2-2026'
  const mode = modern ? { pin: '2026-07-28' } : 'legacy'
  const client = new Client2(INFO, { capabilities, versionNegotiation: { mode } })
  if (!silent) {
    for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list'] as const)
      client.setRequestHandler(method, request => inbox.answer(request as Message) as never)
  }
  for (const method of NOTIFICATIONS)
    client.setNotificationHandler(method, message => inbox.add(message as Message))
  await client.connect(new Transport2(new URL(url), { fetch }))
  const request: TestClient['request'] = async (method, params) =>
    (await client.request({ method, params }, ANY)) as JsonObject
  const listen = async (what: { uri: string } | 'tools') => {
    const filter = what === 'tools' ? { toolsListChanged: true } : { resourceSubscriptions: [what.uri] }
    const subscription = await client.listen(filter)
    return () => subscription.close()
  }
  return {
    ...inbox,
    modern,
    request,
    call: async (name, args = {}, options, meta) =>
      (await client.callTool({ name, arguments: args, _meta: meta }, options)) as JsonObject,
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })) as JsonObject,
    watch: what => (modern ? listen(what) : watchLegacy(what, request)),
    close: () => client.close(),
  }
}

/** A 2025 client gets notifications of changed lists without a subscription. */
async function watchLegacy(what: { uri: string } | 'tools', request: TestClient['request']) {
  if (what === 'tools') return async () => {}
  await request('resources/subscribe', what)
  return () => request('resources/unsubscribe', what)
}

type Inbox = Pick<TestClient, 'asked' | 'next' | 'notifications'> & {
  add(message: Message): void
  answer(question: Message): JsonObject
}

function createInbox(): Inbox {
  const asked: Message[] = []
  const received: Message[] = []
  const waiting = new Set<(message: Message) => void>()
  return {
    asked,
    notifications: wanted =>
      received.filter(({ method }) => method === wanted).map(({ params = {} }) => params),
    next: method =>
      new Promise(resolve => {
        const listener = (message: Message) => {
          if (message.method !== method) return
          waiting.delete(listener)
          resolve(message.params ?? {})
        }
        waiting.add(listener)
      }),
    add(message) {
      received.push(message)
      for (const listener of [...waiting]) listener(message)
    },
    answer(question) {
      asked.push(question)
      return answerTo(question)
    },
  }
}

function answerTo({ method, params = {} }: Message): JsonObject {
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
