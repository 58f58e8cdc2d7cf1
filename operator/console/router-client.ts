/** Requests the console's data from the admin port of routers, with the operator's token. `authorization` is that of the person at the page. */
import { readFile } from 'node:fs/promises'
import { Agent, type Dispatcher, request } from 'undici'
import { OPERATOR_HEADER } from '../../core/console/cluster.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import { adminUrl } from '../controllers/router-report.ts'

export type RouterClient = {
  /**
   * Requests `/console/<path>` of the router at an IP address. Rejects with a Fault if the router cannot be reached or the token cannot be
   * read. The caller reads the body.
   */
  ask(address: string, path: string, options: AskOptions): Promise<Dispatcher.ResponseData>
  close(): Promise<void>
}

export type AskOptions = {
  authorization: string | undefined
  signal: AbortSignal
  method?: 'GET' | 'POST'
  body?: string
  headers?: Record<string, string>
}

const CONNECT_TIMEOUT_MS = 2_000
/** The longest wait for more data. A search with its explanation takes up to 10 s; event streams send something every 15 s. */
const SILENCE_MS = 45_000

/** The kubelet renews the token in `tokenFile`, so it is read for each request. */
export function createRouterClient(tokenFile: string): RouterClient {
  const dispatcher = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } })
  return {
    async ask(address, path, { authorization, signal, method = 'GET', body, headers }) {
      const token = await readFile(tokenFile, 'utf8').catch(cause => {
        throw new Fault('io', `The operator's token cannot be read: ${messageOf(cause)}`, { cause })
      })
      const credentials = {
        [OPERATOR_HEADER]: `Bearer ${token.trim()}`,
        ...(authorization && { authorization }),
      }
      try {
        return await request(`${adminUrl(address)}/console/${path}`, {
          ...{ method, body, signal, dispatcher },
          headers: {
            ...headers,
            ...credentials,
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          headersTimeout: SILENCE_MS,
          bodyTimeout: SILENCE_MS,
        })
      } catch (cause) {
        throw new Fault('unavailable', `The router does not answer: ${messageOf(cause)}`, { cause })
      }
    },
    close: () => dispatcher.close(),
  }
}
