/** How a process reaches an API server and proves who it is; here for a pod, by the files that its kubelet keeps fresh. */
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
  /** `https://10.96.0.1:443`, with no slash at its end. */
  server: string
  /** The namespace that is meant where none is named. */
  namespace: string
  /** Reads the credentials from where they come: a file may have been rotated since. */
  credentials(): Promise<Credentials>
}

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Access of a pod. `folder` holds `token`, `ca.crt` and `namespace`. */
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
