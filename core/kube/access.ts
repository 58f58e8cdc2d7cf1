/** The address of an API server and the credentials for it. In a pod, they come from the files of its service account. */
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import type { SecureContextOptions } from 'node:tls'

export type Tls = Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'pfx' | 'passphrase'> & {
  servername?: string
  rejectUnauthorized?: boolean
}

export type Credentials = { headers: Record<string, string>; tls: Tls }

export type Access = {
  /** For example `https://10.96.0.1:443`, also with a path; without a trailing slash. */
  server: string
  /** The default namespace. */
  namespace: string
  /** Reads the credentials from their files or programs on every call, because tokens are rotated. */
  credentials(): Promise<Credentials>
}

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Access from inside a pod. `folder` contains `token`, `ca.crt` and `namespace`. */
export async function inClusterAccess(
  host: string,
  port: string,
  folder = SERVICE_ACCOUNT_FOLDER,
): Promise<Access> {
  const read = async (name: string) => (await readFile(join(folder, name), 'utf8')).trim()
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: await read('namespace'),
    async credentials() {
      const [token, ca] = await Promise.all([read('token'), read('ca.crt')])
      return { headers: { authorization: `Bearer ${token}` }, tls: { ca } }
    },
  }
}
