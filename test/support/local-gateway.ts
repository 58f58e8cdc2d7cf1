/** A laptop gateway for tests: on a free port, without log and without watching files, ready when it is returned. */
import { createLog } from '../../core/log.ts'
import { type LocalGateway, type LocalOptions, startLocal } from '../../local/local-gateway.ts'
import type { Workspace } from './manifests.ts'
import { until } from './until.ts'

/** Serves the manifests of a workspace; the caller closes it. `env` is added to PATH and HOME. */
export async function startTestGateway(
  space: Pick<Workspace, 'folder' | 'cache'>,
  { env, ...options }: Partial<LocalOptions> = {},
): Promise<LocalGateway> {
  const gateway = await startLocal({
    paths: [space.folder],
    host: '127.0.0.1',
    port: 0,
    watch: false,
    cacheFolder: space.cache,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    log: createLog({ level: 'silent' }),
    onProgress: () => {},
    onFindings: () => {},
    ...options,
  })
  await until(() => gateway.ready())
  return gateway
}
