/** Notes to the agent about its call. Nearly every call has none, so none of these functions creates an array then. */

export type Notes = readonly string[]

export const NO_NOTES: Notes = []

export function joinNotes(one: Notes, other: Notes): Notes {
  if (other.length === 0) return one
  return one.length === 0 ? other : [...one, ...other]
}
