/** The profiles that this version serves; the others are part of the contract and come later. */
import type { Profile } from './router-config.ts'

export const SERVED_PROFILES = ['hierarchical'] as const satisfies readonly Profile[]

export type ServedProfile = (typeof SERVED_PROFILES)[number]

/** What is served where nothing else is, or can be. */
export const FALLBACK_PROFILE: ServedProfile = 'hierarchical'

export function isServedProfile(profile: Profile): profile is ServedProfile {
  return (SERVED_PROFILES as readonly Profile[]).includes(profile)
}
