/** Resolves the references of a manifest: the values of its environment and headers, and the files of its command. */
import { createHmac } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Problem } from '../core/errors.ts'
import { canonicalJson } from '../core/json.ts'
import type { McpServer } from '../crds/server.ts'
import type { ValueResolver } from './secrets.ts'

export type LaunchInputs = {
  env: Record<string, string>
  headers: Record<string, string>
  /** The values of `env` that must not be logged. */
  secrets: string[]
  clientSecret?: string
  /** The client secret of `auth.perUser.oauth`. */
  loginSecret?: string
  /** The client secret of `auth.perUser.tokenExchange`. */
  exchangeSecret?: string
  /** References that could not be resolved: the server is not started. */
  problems: Problem[]
  /** HMAC of all values and the folder, in hex; unlike a plain hash, it does not allow secrets to be guessed. */
  digest: string
  /** The files in the command line with their sizes and modification times, as part of the cache's key. Empty for other sources. */
  files: string
}

type SecretRef = Parameters<ValueResolver['secret']>[0]

/** Resolves all values of a server. `key` is a secret of this process, for the digest. */
export async function resolveInputs(
  server: McpServer,
  folder: string,
  values: ValueResolver,
  key: Buffer,
): Promise<LaunchInputs> {
  const { spec } = server
  const env = await values.env(spec.env, spec.envFrom)
  const headers = await values.headers(spec.headers)
  const problems = [...env.problems, ...headers.problems]
  const secretOf = async (ref: SecretRef | undefined, path: string) => {
    const secret = ref && (await values.secret(ref))
    if (secret && 'problem' in secret && !ref?.optional) problems.push({ ...secret.problem, path })
    return secret && 'value' in secret ? secret.value : undefined
  }
  const { oauth, perUser } = spec.auth ?? {}
  const clientSecret = await secretOf(oauth?.clientSecretRef, 'spec.auth.oauth.clientSecretRef')
  const exchangeSecret = await secretOf(
    perUser?.tokenExchange?.clientSecretRef,
    'spec.auth.perUser.tokenExchange.clientSecretRef',
  )
  const loginSecret = await secretOf(
    perUser?.oauth?.clientSecretRef,
    'spec.auth.perUser.oauth.clientSecretRef',
  )
  const found = { env: env.values, headers: headers.values, clientSecret, exchangeSecret, loginSecret }
  const digest = createHmac('sha256', key)
    .update(canonicalJson({ ...found, folder }))
    .digest('hex')
  return { ...found, secrets: env.secret, problems, digest, files: await commandFiles(server, folder) }
}

/** As `LaunchInputs.files`: the cached list of a server under development becomes invalid when its files change. */
async function commandFiles({ spec: { command } }: McpServer, folder: string): Promise<string> {
  if (!command) return ''
  const words = [command.run, ...command.args].filter(word => /[./]/.test(word))
  const found = await Promise.all(
    words.map(async word => {
      const file = await stat(resolve(folder, command.cwd, word)).catch(() => undefined)
      return file?.isFile() ? [word, file.size, file.mtimeMs] : []
    }),
  )
  return JSON.stringify(found.filter(file => file.length > 0))
}
