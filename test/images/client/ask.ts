/** Sends requests with an SDK client, one after another in one session. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { z } from 'zod'

export type ClientRequest = { method: string; params?: Record<string, unknown> }

export type Answers = {
  server: unknown
  instructions?: string
  /** In the order of the requests. */
  answers: ({ result: Record<string, unknown> } | { error: { code?: number; message: string } })[]
}

export async function ask(
  url: string,
  requests: readonly ClientRequest[],
  headers: Record<string, string>,
): Promise<Answers> {
  const client = new Client({ name: 'portolan-test', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  const answers: Answers['answers'] = []
  for (const { method, params } of requests) {
    try {
      answers.push({ result: await client.request({ method, params }, z.looseObject({})) })
    } catch (error) {
      const { code, message } = error as { code?: number; message: string }
      answers.push({ error: { code, message } })
    }
  }
  const initialized = { server: client.getServerVersion(), instructions: client.getInstructions() }
  await client.close()
  return { ...initialized, answers }
}
