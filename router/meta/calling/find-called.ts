/** Finds the tool or prompt with a name, tolerating small mistakes; used by all meta-tools that take a name. Pure. */
import { nameLetters } from '../../../core/catalog/names.ts'
import { type Catalog, isShown } from '../../catalog/catalog.ts'
import type { PromptRoute, ToolRoute } from '../../catalog/server-part.ts'
import type { Work } from '../meta-tool.ts'
import type { Refusal } from '../wording/answers.ts'
import type { ProfileWords } from '../wording/profile-words.ts'
import { quote } from '../wording/sentences.ts'
import { findTarget, type PromptTarget, type ToolTarget } from './targets.ts'

export type Called = {
  target: ToolTarget | PromptTarget
  /** How the name was interpreted, if it was not given exactly. */
  notes: string[]
}

/** The parts of a request's context that are needed to find a tool by its name. */
export type Naming = Pick<Work, 'catalog' | 'once' | 'words'>

const MAX_NAME_CHARACTERS = 300

/** Also accepts `server/tool`, `server.tool`, another case or no separators, or no server, if only one tool matches, or no tool and one prompt. */
export function findCalled(naming: Naming, name: string): Called | Refusal {
  const { catalog, words } = naming
  const found = findTarget(catalog, name, words)
  if (!('refusal' in found)) return { target: found, notes: notesOn(name, found, words) }
  const path = found.outcome === 'rejected' ? nearlyNamed(naming, name)?.path : undefined
  if (path === undefined) return found
  const target = findTarget(catalog, path, words)
  return 'refusal' in target ? target : { target, notes: [takenAs(name, path)] }
}

/**
 * The only tool whose path differs just in case and separators; otherwise the only one whose name does; if no tool has this name, likewise
 * the only prompt. Undefined if there are several, or none.
 */
export function nearlyNamed(
  { catalog, once }: Omit<Naming, 'words'>,
  name: string,
): ToolRoute | PromptRoute | undefined {
  const wanted = name.length <= MAX_NAME_CHARACTERS ? nameLetters(name) : ''
  if (wanted === '') return undefined
  const { paths, names, promptPaths, promptNames } = once(catalog, 'spellings', () => spellingsOf(catalog))
  const spelled: readonly (ToolRoute | PromptRoute)[] =
    paths.get(wanted) ?? names.get(wanted) ?? promptPaths.get(wanted) ?? promptNames.get(wanted) ?? []
  const shown = spelled.filter(({ server }) => isShown(catalog, server))
  const meant = shown.length > 0 ? shown : spelled
  return meant.length === 1 ? meant[0] : undefined
}

/** Likewise, but only a tool. */
export function nearlyTool(naming: Omit<Naming, 'words'>, name: string): ToolRoute | undefined {
  const found = nearlyNamed(naming, name)
  return found && 'tool' in found ? found : undefined
}

/** Tools and prompts by the letters of their paths and of their own names. */
function spellingsOf({ tools, prompts }: Catalog) {
  return {
    paths: Map.groupBy(tools, ({ path }) => nameLetters(path)),
    names: Map.groupBy(tools, ({ tool }) => nameLetters(tool)),
    promptPaths: Map.groupBy(prompts, ({ path }) => nameLetters(path)),
    promptNames: Map.groupBy(prompts, ({ prompt }) => nameLetters(prompt)),
  }
}

/** A note if a bare name was given in a profile that does not show bare names: it works only as long as one server has such a tool. */
function notesOn(name: string, target: ToolTarget | PromptTarget, words: ProfileWords): string[] {
  if (!('tool' in target) || words.showsOwnNames) return []
  const { path, listedName } = target.tool
  return name === path || name === listedName ? [] : [takenAs(name, path)]
}

function takenAs(name: string, path: string): string {
  return `Note: ${quote(name)} was taken as ${path}; give the name as it was shown.`
}
