/** Finds the tool or prompt that a call names, also where the name is only nearly as it should be. Pure. */
import type { Catalog } from '../../catalog/catalog.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import { findTarget, type PromptTarget, type ToolTarget } from '../calling/targets.ts'
import type { Refusal } from '../wording/answers.ts'
import type { ProfileWords } from '../wording/profile-words.ts'
import { quote } from '../wording/sentences.ts'

export type Called = {
  target: ToolTarget | PromptTarget
  /** How the name was taken, where it was not one that we give. */
  notes: string[]
}

const LONGEST_NAME = 300

/** `server/tool`, `server.tool`, another case or no server: taken where only one tool can be meant. */
export function findCalled(catalog: Catalog, name: string, words: ProfileWords): Called | Refusal {
  const found = findTarget(catalog, name, words)
  if (!('refusal' in found)) return { target: found, notes: notesOn(name, found, words) }
  if (found.outcome !== 'rejected' || name.length > LONGEST_NAME) return found
  const path = nearlyNamed(catalog, name)
  if (path === undefined) return found
  const target = findTarget(catalog, path, words)
  return 'refusal' in target ? target : { target, notes: [takenAs(name, path)] }
}

/** Of a bare name where the profile shows none: it happens to be unambiguous. */
function notesOn(name: string, target: ToolTarget | PromptTarget, words: ProfileWords): string[] {
  if (!('tool' in target) || words.showsOwnNames) return []
  const { path, listedName } = target.tool
  return name === path || name === listedName ? [] : [takenAs(name, path)]
}

/** The one path that is the same but for case and what stands between the words; else the one tool of that name. */
function nearlyNamed({ tools }: Catalog, name: string): string | undefined {
  const wanted = lettersOf(name)
  if (wanted === '') return undefined
  const only = (matching: ToolRoute[]): string | undefined =>
    matching.length === 1 ? matching[0]?.path : undefined
  const byPath = tools.filter(tool => lettersOf(tool.path) === wanted)
  return byPath.length > 0 ? only(byPath) : only(tools.filter(tool => lettersOf(tool.tool) === wanted))
}

function lettersOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

function takenAs(name: string, path: string): string {
  return `Note: ${quote(name)} was taken as ${path}; give the name as it was shown.`
}
