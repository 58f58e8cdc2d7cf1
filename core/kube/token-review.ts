/** Asks the API server whether it still accepts a token (TokenReview). The API server does not store reviews. */
import type { KubeClient } from './client.ts'
import type { KubeObject } from './object.ts'

export type TokenVerdict = {
  authenticated: boolean
  /** Those of the asked audiences that the token has. */
  audiences: readonly string[]
  username: string
}

type TokenReview = KubeObject & {
  spec: { token: string; audiences: readonly string[] }
  status?: { authenticated?: boolean; audiences?: string[]; user?: { username?: string } }
}

/** Rejects with ApiError if the API server cannot be reached, or does not permit the question. */
export async function reviewToken(
  client: Pick<KubeClient, 'create'>,
  token: string,
  audiences: readonly string[],
): Promise<TokenVerdict> {
  const review: TokenReview = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    // A review has no name, and the API server forgets it at once.
    metadata: {} as KubeObject['metadata'],
    spec: { token, audiences },
  }
  const { status = {} } = await client.create(review)
  return {
    // An API server that leaves it out means false.
    authenticated: status.authenticated === true,
    audiences: status.audiences ?? [],
    username: status.user?.username ?? '',
  }
}
