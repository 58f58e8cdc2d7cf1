/** The `${…}` variables of client configs: splits texts into parts, and joins the parts with the values of the variables. Pure. */

/** Part of a text. `env`: a variable of the gateway's environment. `input`: a value for which the client would prompt its user. */
export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'env'; name: string; default?: string }
  | { kind: 'input'; id: string }

export type Folders = { workspace: string; home?: string }

/** Returns the value of a variable, undefined if it has none. */
export type Lookup = (part: Exclude<Part, { kind: 'text' }>) => string | undefined

const VARIABLE = /\$\{([^{}]*)\}/g
const ENV_FORM = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s
const INPUT_FORM = /^input:(.+)$/
/** Variables that only VS Code or Cursor can resolve. */
const FOREIGN_FORM =
  /^(config|command|file|fileBasename|fileDirname|relativeFile|selectedText|lineNumber|defaultBuildTask|extensionInstallFolder)\b/

/** Splits a text into parts; folders are filled in. `foreign`: the first variable that only the client can resolve. */
export function parseVariables(text: string, folders: Folders): { parts: Part[]; foreign?: string } {
  const parts: Part[] = []
  let foreign: string | undefined
  let from = 0
  for (const match of text.matchAll(VARIABLE)) {
    const part = parseForm(match[1] ?? '', folders)
    if (part === 'foreign') foreign ??= match[0]
    if (part === undefined || part === 'foreign') continue
    addText(parts, text.slice(from, match.index))
    if (part.kind === 'text') addText(parts, part.text)
    else parts.push(part)
    from = match.index + match[0].length
  }
  addText(parts, text.slice(from))
  return { parts, foreign }
}

/** Returns the text with the values of its variables, or the first variable that has no value. */
export function fillVariables(parts: readonly Part[], lookup: Lookup): { text: string } | { missing: Part } {
  let text = ''
  for (const part of parts) {
    const value =
      part.kind === 'text' ? part.text : (lookup(part) ?? (part.kind === 'env' ? part.default : undefined))
    if (value === undefined) return { missing: part }
    text += value
  }
  return { text }
}

/** The environment variable for an editor's input: `GITHUB_TOKEN` for `github-token`. */
export function variableOfInput(id: string): string {
  return id.toUpperCase().replace(/[^A-Z0-9]/g, '_')
}

/** The text in the syntax of client configs. */
export function writeVariables(parts: readonly Part[]): string {
  return parts.map(writePart).join('')
}

/** Whether there are no variables. */
export function isPlain(parts: readonly Part[]): boolean {
  return parts.every(part => part.kind === 'text')
}

/** The part for the content of `${…}`; undefined if it is not a variable and stays as it is. */
function parseForm(form: string, { workspace, home }: Folders): Part | 'foreign' | undefined {
  if (form === 'workspaceFolder') return { kind: 'text', text: workspace }
  if (form === 'workspaceFolderBasename') return { kind: 'text', text: workspace.split('/').at(-1) ?? '' }
  if (form === 'userHome')
    return home === undefined ? { kind: 'env', name: 'HOME' } : { kind: 'text', text: home }
  if (form === 'pathSeparator' || form === '/') return { kind: 'text', text: '/' }
  const input = INPUT_FORM.exec(form)
  if (input?.[1]) return { kind: 'input', id: input[1] }
  if (FOREIGN_FORM.test(form)) return 'foreign'
  const env = ENV_FORM.exec(form)
  return env?.[1]
    ? { kind: 'env', name: env[1], ...(env[2] !== undefined && { default: env[2] }) }
    : undefined
}

function writePart(part: Part): string {
  if (part.kind === 'text') return part.text
  if (part.kind === 'input') return `\${input:${part.id}}`
  return `\${${part.name}${part.default === undefined ? '' : `:-${part.default}`}}`
}

/** Adds a text to the last part if that is a text, so that there are never two in a row. */
function addText(parts: Part[], text: string): void {
  const last = parts.at(-1)
  if (text === '') return
  if (last?.kind === 'text') last.text += text
  else parts.push({ kind: 'text', text })
}
