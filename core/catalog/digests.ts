/** Digests of what a manifest says: whether a server must be connected, or discovered, anew. Pure. */
import { createHash } from 'node:crypto'
import type { McpServer } from '../../crds/server.ts'
import { canonicalJson } from '../json.ts'

/** Of what a server is: its source, environment, headers and login. Equal digest, same tool list. */
export function sourceDigest({ spec }: McpServer): string {
  const { npm, pypi, image, remote, command, env, envFrom, headers, auth } = spec
  return digest({ npm, pypi, image, remote, command, env, envFrom, headers, auth })
}

/** Of all that a connection to it depends on; `inputs` stands for what the manifest only refers to. */
export function connectionDigest(server: McpServer, inputs = ''): string {
  const { sessions, scaling, limits } = server.spec
  return digest({
    source: sourceDigest(server),
    sessions,
    scaling,
    startTimeout: limits.startTimeout,
    inputs,
  })
}

function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}
