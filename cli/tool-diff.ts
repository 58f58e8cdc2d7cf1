/** Shows what changed in a server's tools, field by field and word by word, with hidden characters made visible. Pure. */
import type { ToolDefinition } from '../core/catalog/server-catalog.ts'
import { diffTools } from '../core/catalog/tool-diff.ts'
import type { Piece } from '../core/catalog/word-diff.ts'
import type { Colors } from './output.ts'

/** How many characters of unchanged text are shown around a change. Changed text is always shown in full. */
const CONTEXT = 60

/** One paragraph per tool; empty if nothing changed. Changes are marked without colours too: `[-removed-]` and `{+added+}`. */
export function toolDiff(
  approved: readonly ToolDefinition[],
  found: readonly ToolDefinition[],
  colors: Colors,
): string {
  return diffTools(approved, found)
    .map(({ kind, tool, fields }) =>
      [
        `${colors.bold(tool)} (${kind})`,
        ...fields.map(({ path, pieces }) => `  ${path}: ${shown(pieces, colors)}`),
      ].join('\n'),
    )
    .join('\n\n')
}

function shown(pieces: readonly Piece[], colors: Colors): string {
  return pieces
    .map(({ kind, text }, at) => {
      if (kind === 'removed') return colors.red(`[-${indented(text)}-]`)
      if (kind === 'added') return colors.green(`{+${indented(text)}+}`)
      return indented(context(text, at === 0, at === pieces.length - 1))
    })
    .join('')
}

/** Unchanged text, shortened to the parts beside a change. */
function context(text: string, isFirst: boolean, isLast: boolean): string {
  const most = (isFirst ? 0 : CONTEXT) + (isLast ? 0 : CONTEXT)
  if (text.length <= most) return text
  return `${isFirst ? '' : text.slice(0, CONTEXT)}…${isLast ? '' : text.slice(-CONTEXT)}`
}

/** Marks and indents line breaks of the text, so that its lines cannot look like lines of this output. */
function indented(text: string): string {
  return text.replace(/\r\n|[\r\n\u0085\u2028\u2029]/g, '⏎\n    | ')
}
