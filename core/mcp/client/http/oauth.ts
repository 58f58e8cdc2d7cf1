/** OAuth client credentials: one token for all callers, renewed shortly before it expires and when the upstream refuses it. */
import {
  type AuthorizationServer,
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  customFetch,
  processClientCredentialsResponse,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi'
import type { Clock } from '../../../async.ts'
import { readBounded } from '../../../bounded.ts'
import { deadline, waitFor } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'

const TOKEN_TIMEOUT_MS = 10_000
const MAX_TOKEN_ANSWER_BYTES = 64 * 1024
/** A token without `expires_in` is kept this long. */
const UNKNOWN_LIFE_MS = 5 * 60_000
/** A token is renewed this long before it expires, but never in the first nine tenths of its life. */
const RENEW_BEFORE_MS = 30_000

export type TokenSource = {
  /**
   * A token that is still valid. `rejected` is one that the upstream refused: it is not given again.
   * Throws Fault upstream_auth_required, upstream_unreachable, upstream_timeout, upstream_protocol.
   */
  token(signal: AbortSignal, rejected?: string): Promise<string>
}

export type ClientCredentials = {
  tokenUrl: string
  clientId: string
  /** The secret's value, resolved by the caller. */
  clientSecret: string
  scopes?: readonly string[]
  audience?: string
}

type Token = { value: string; renewAt: number }

export function createTokenSource(credentials: ClientCredentials, clock: Clock): TokenSource {
  const request = tokenRequest(credentials)
  let current: Token | undefined
  let renewal: Promise<Token> | undefined

  const renew = async () => {
    const limit = deadline(clock, TOKEN_TIMEOUT_MS, 'The token endpoint does not answer in time')
    try {
      const { access_token, expires_in } = await request(limit.signal)
      const lifeMs = expires_in === undefined ? UNKNOWN_LIFE_MS : expires_in * 1000
      current = {
        value: access_token,
        renewAt: clock.now() + lifeMs - Math.min(RENEW_BEFORE_MS, lifeMs / 10),
      }
      return current
    } catch (error) {
      throw tokenFault(error, limit.signal)
    } finally {
      limit.clear()
      renewal = undefined
    }
  }

  return {
    async token(signal, rejected) {
      if (current && current.value !== rejected && clock.now() < current.renewAt) return current.value
      renewal ??= renew()
      return (await waitFor(renewal, signal)).value
    },
  }
}

/** Asks with HTTP Basic, as every server must take it, and once more with the secret in the body where one does not. */
function tokenRequest(credentials: ClientCredentials) {
  const { tokenUrl, clientId, clientSecret, scopes = [], audience } = credentials
  const server: AuthorizationServer = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl }
  const client = { client_id: clientId }
  const parameters = new URLSearchParams({
    ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    ...(audience === undefined ? {} : { audience }),
  })
  const ask = async (auth: ClientAuth, signal: AbortSignal) => {
    const response = await clientCredentialsGrantRequest(server, client, auth, parameters, {
      signal,
      [customFetch]: boundedFetch,
      // The manifest says http:// or https://; a cluster's own token service is often plain.
      [allowInsecureRequests]: tokenUrl.startsWith('http://'),
    })
    return processClientCredentialsResponse(server, client, response)
  }
  let auth = ClientSecretBasic(clientSecret)
  return async (signal: AbortSignal) => {
    try {
      return await ask(auth, signal)
    } catch (error) {
      if (!refusesClient(error)) throw error
      const post = ClientSecretPost(clientSecret)
      const token = await ask(post, signal).catch(() => Promise.reject(error))
      auth = post
      return token
    }
  }
}

function refusesClient(error: unknown): boolean {
  if (error instanceof WWWAuthenticateChallengeError) return true
  return (
    error instanceof ResponseBodyError &&
    (error.error === 'invalid_client' || error.error === 'invalid_request')
  )
}

/** fetch, with redirects refused and the body read under a limit. */
async function boundedFetch(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: 'manual' })
  const tooLarge = () => new Fault('upstream_protocol', 'The token endpoint answers too much')
  const body = await readBounded(response.body ?? [], MAX_TOKEN_ANSWER_BYTES, tooLarge)
  return new Response(new Uint8Array(body), { status: response.status, headers: response.headers })
}

/** Names the problem; the server's own words stay in the cause, because they may repeat what was sent. */
function tokenFault(error: unknown, signal: AbortSignal): Fault {
  if (error instanceof Fault) return error
  if (signal.aborted && signal.reason instanceof Fault) return signal.reason
  if (error instanceof ResponseBodyError)
    return new Fault(
      'upstream_auth_required',
      `The token endpoint refuses the client: ${error.error.slice(0, 100)}`,
      {
        cause: error,
        details: { status: error.status },
      },
    )
  if (error instanceof WWWAuthenticateChallengeError)
    return new Fault('upstream_auth_required', 'The token endpoint refuses the client id or secret', {
      cause: error,
      details: { status: error.status },
    })
  if (error instanceof TypeError)
    return new Fault('upstream_unreachable', 'The token endpoint cannot be reached', {
      cause: error,
      retryable: true,
    })
  return new Fault('upstream_protocol', 'The token endpoint does not answer as OAuth 2.0 says', {
    cause: error,
  })
}
