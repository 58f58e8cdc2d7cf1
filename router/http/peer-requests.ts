/** Requests between the routers of a gateway, over their admin ports: signed and bounded, and answered for nobody else. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Agent } from 'undici'
import { readBounded } from '../../core/bounded.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import { writeText } from '../../core/mcp/server/post-response.ts'
import { errorText } from '../../core/mcp/server/reply.ts'
import { type InternalCredentials, NOT_OF_A_REPLICA } from '../access/internal-credential.ts'
import { type App, respond } from './app.ts'

/** `text`: JSON. */
export type PeerAnswer = { status: number; text: string }

export type PeerRequest = {
  path: string
  body: string
  credentials: InternalCredentials
  signal: AbortSignal
  maxAnswerBytes: number
}

export type PeerPage = {
  path: string
  /** Undefined: there are no other routers, and everybody is refused. */
  credentials: () => InternalCredentials | undefined
  /** Called when a request is refused because it is not of a router. */
  onRefused?: (request: FastifyRequest) => void
  /** Never rejects. */
  answer: (body: string) => PeerAnswer | Promise<PeerAnswer>
}

const CONNECT_TIMEOUT_MS = 1_000
const NOT_OF_A_ROUTER = 'Only the routers of this gateway are answered here.'

/** The answer to a request that is not of a router of this gateway. */
export const REFUSED_PEER = peerProblem(NOT_OF_A_REPLICA.status, NOT_OF_A_ROUTER)

/** An answer with a JSON-RPC error. */
export function peerProblem(status: number, message: string): PeerAnswer {
  return { status, text: errorText(null, { code: TRANSPORT_ERROR, message }) }
}

export function createPeerAgent(): Agent {
  return new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } })
}

/** Sends a signed request to another router. Rejects if it cannot be reached or answers too much, or when the signal aborts. */
export async function askPeer(
  agent: Agent,
  origin: string,
  { path, body, credentials, signal, maxAnswerBytes }: PeerRequest,
): Promise<PeerAnswer> {
  const request = { method: 'POST', path, body } as const
  const authorization = credentials.issue('router', request)
  const headers = { 'content-type': 'application/json', authorization }
  const answer = await agent.request({ ...request, origin, headers, signal })
  const tooLarge = () => new Error('the answer is too large')
  const text = (await readBounded(answer.body, maxAnswerBytes, tooLarge)).toString()
  return { status: answer.statusCode, text }
}

/** Answers signed POSTs of the other routers. */
export function addPeerPage(
  { fastify, bodies }: App,
  { path, credentials, onRefused, answer }: PeerPage,
): void {
  const onRequest = (request: FastifyRequest, reply: FastifyReply): void => {
    const { authorization = '' } = request.headers
    const known = credentials()
    if (!known?.read('router', authorization)) {
      onRefused?.(request)
      respond(reply, NOT_OF_A_REPLICA.status, TRANSPORT_ERROR, NOT_OF_A_ROUTER)
      return
    }
    reply.hijack()
    const { raw } = reply
    bodies.read(request.raw, raw, async body => {
      const isSigned = known.covers(authorization, { method: 'POST', path, body })
      if (!isSigned) onRefused?.(request)
      const { status, text } = isSigned ? await answer(body) : REFUSED_PEER
      writeText(raw, status, text)
    })
  }
  fastify.route({ method: 'POST', url: path, onRequest, handler: () => {} })
}
