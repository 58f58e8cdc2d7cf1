/** The credentials of each user of a server on a laptop: Secrets among the paths, selected by label. */

import { createHmac } from 'node:crypto'
import { DEFAULT_NAMESPACE } from '../core/catalog/resolve.ts'
import type { UserSecret } from '../core/catalog/router-config.ts'
import { selectUserSecrets } from '../core/catalog/user-secrets.ts'
import { canonicalJson } from '../core/json.ts'
import type { User } from '../core/mcp/user.ts'
import { ownValue } from '../core/own-value.ts'
import { HEADER_VALUE } from '../crds/core-v1.ts'
import type { Secret } from '../crds/secret.ts'
import type { McpServer } from '../crds/server.ts'
import { DEFAULT_USER_HEADERS } from '../crds/server-auth.ts'
import type { LaunchInputs } from './inputs.ts'
import { secretValues } from './secrets.ts'

/** What a user's upstream gets in addition to the inputs of the manifest. */
export type UserInputs = UserSecret & {
  /** As in User. */
  key: string
  env: Record<string, string>
  headers: Record<string, string>
}

/** Valid names of environment variables. Other keys are left out, as Kubernetes does with `envFrom`. */
const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/

/** The inputs of every user of a server who has a Secret. `digestKey`: a secret of this process, for the HMACs that are the revisions. */
export function resolveUserSecrets(
  server: McpServer,
  secrets: readonly Secret[],
  digestKey: Buffer,
): UserInputs[] {
  const namespace = server.metadata.namespace ?? DEFAULT_NAMESPACE
  const inNamespace = secrets.filter(
    ({ metadata }) => (metadata.namespace ?? DEFAULT_NAMESPACE) === namespace,
  )
  return selectUserSecrets(server, inNamespace).map(({ user, secret }) =>
    inputsOf(user, server, secret, digestKey),
  )
}

/** The inputs of a user's upstream. A user's header replaces the manifest's header of the same name, which is only for reading lists. */
export function withUser(inputs: LaunchInputs, user: UserInputs | undefined): LaunchInputs {
  if (!user) return inputs
  const replaced = new Set(Object.keys(user.headers).map(name => name.toLowerCase()))
  const others = Object.entries(inputs.headers).filter(([name]) => !replaced.has(name.toLowerCase()))
  return {
    ...inputs,
    env: { ...inputs.env, ...user.env },
    headers: { ...Object.fromEntries(others), ...user.headers },
    secrets: [...inputs.secrets, ...Object.values(user.env)],
  }
}

function inputsOf({ key, subject }: User, server: McpServer, secret: Secret, digestKey: Buffer): UserInputs {
  const values = secretValues(secret)
  const revision = createHmac('sha256', digestKey).update(canonicalJson(values)).digest('hex')
  const base = { key, subject, revision }
  if (!server.spec.remote) {
    const env = Object.entries(values).filter(([name]) => ENV_NAME.test(name))
    return { ...base, env: Object.fromEntries(env), headers: {} }
  }
  const headers: Record<string, string> = {}
  for (const { name, key, prefix } of server.spec.auth?.perUser?.secrets?.headers ?? DEFAULT_USER_HEADERS) {
    // A value from a file may end with a newline, which a header must not contain.
    const value = ownValue(values, key)?.replace(/\r?\n$/, '')
    if (value === undefined || value === '' || !HEADER_VALUE.test(value))
      return { ...base, env: {}, headers: {}, lacks: key }
    headers[name] = `${prefix}${value}`
  }
  return { ...base, env: {}, headers }
}
