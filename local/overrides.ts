/** Applies the options of the command line to a gateway's config. Pure. */
import type { Profile, RouterConfig } from '../core/catalog/router-config.ts'
import { withToken } from './caller-tokens.ts'
import type { LocalOptions } from './local-gateway.ts'

type Overrides = Pick<LocalOptions, 'profile' | 'allowedProfiles' | 'exposeServers' | 'token' | 'runsScripts'>

/**
 * The config with these options: `profile` replaces the manifest's, `token` is added to `access`, the others only add to what it allows. The
 * profile `code` is left out if the gateway runs no scripts.
 */
export function overridden(
  config: RouterConfig,
  { profile, allowedProfiles = [], exposeServers, token, runsScripts }: Overrides,
): RouterConfig {
  const isServed = (name: Profile) => name !== 'code' || config.code !== undefined
  return {
    ...config,
    access: withToken(config.access, token),
    profile: profile !== undefined && isServed(profile) ? profile : config.profile,
    // The gateway's own profile stays available in addition to that of the command line.
    allowedProfiles: [
      ...new Set([
        config.profile,
        ...config.allowedProfiles,
        ...allowedProfiles,
        ...(runsScripts ? (['code'] as const) : []),
      ]),
    ].filter(isServed),
    exposeServers: exposeServers || config.exposeServers,
  }
}
