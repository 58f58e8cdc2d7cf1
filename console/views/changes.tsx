/** Shows what changed in tools, word by word. Added and removed text is not only marked by colour. */
import type { ConsoleChanges } from '../../core/console/shapes.ts'
import { plain } from '../format.ts'

export function Changes({ of }: { of: ConsoleChanges['changes'] }) {
  return (
    <>
      {of.map(({ tool, kind, fields }) => (
        <section key={tool} class="change">
          <h2 class="minor">
            <span class="mono">{tool}</span> <span class="note">{kind}</span>
          </h2>
          {fields.map(({ path, pieces }) => (
            <p key={path}>
              <code>{path}</code>{' '}
              {pieces.map(({ kind, text }, at) => {
                const key = `${at}`
                if (kind === 'removed') return <del key={key}>{plain(text)}</del>
                return kind === 'added' ? (
                  <ins key={key}>{plain(text)}</ins>
                ) : (
                  <span key={key}>{plain(text)}</span>
                )
              })}
            </p>
          ))}
        </section>
      ))}
    </>
  )
}
