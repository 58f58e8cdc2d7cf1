/** Digests of a manifest that decide whether its server must be reconnected or rediscovered. Pure. */
import { createHash } from 'node:crypto'
import type { McpServer } from '../../crds/server.ts'
import { canonicalJson } from '../json.ts'

/** Digest of source, environment, headers and login: servers with equal digests have the same tool list. */
export function sourceDigest({ spec }: McpServer): string {
  const { npm, pypi, image, remote, command, env, envFrom, headers, auth } = spec
  return digest({ npm, pypi, image, remote, command, env, envFrom, headers, auth })
}

/** Digest of everything that a connection depends on; `inputs` is the digest of what the manifest refers to, such as Secrets. */
export function connectionDigest(server: McpServer, inputs = ''): string {
  const { sessions, limits, tls } = server.spec
  const { min, max, idleAfter } = server.spec.scaling
  return digest({
    source: sourceDigest(server),
    sessions,
    scaling: { min, max, idleAfter },
    startTimeout: limits.startTimeout,
    ...(tls && { tls }),
    inputs,
  })
}

function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}
