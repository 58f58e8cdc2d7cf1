/** Chooses a tool by words of its path, title or summary. */
import { useState } from 'preact/hooks'
import type { ConsoleTool } from '../../core/console/shapes.ts'
import { plain } from '../format.ts'
import { listsVersion } from '../live.ts'
import { useStore } from '../store.ts'
import { Content, focused, useLoaded } from './parts.tsx'

const MAX_OFFERED = 12

/** `path`: the tool that is already chosen; its list then opens only when the field gets the focus. */
export function ToolPicker({ path }: { path?: string }) {
  const { get, go, known } = useStore()
  const [text, setText] = useState(path ?? '')
  const [isOpen, setOpen] = useState(path === undefined)
  const version = listsVersion(known.value.state)
  const loaded = useLoaded(isOpen ? 'tools' : undefined, () => get<ConsoleTool[]>('tools'), version)
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = ({ path, title = '', summary, held }: ConsoleTool) => {
    const all = `${path} ${title} ${summary}`.toLowerCase()
    return !held && words.every(word => all.includes(word))
  }
  return (
    <div class="picker">
      <input
        type="search"
        aria-label="Tool"
        placeholder="Which tool? server:tool, or words"
        value={text}
        ref={path === undefined ? focused : undefined}
        onFocus={() => setOpen(true)}
        onInput={event => setText(event.currentTarget.value)}
      />
      {isOpen && (
        <Content of={loaded}>
          {tools => {
            const found = tools.filter(fits)
            return (
              <>
                <ul class="offered">
                  {found.slice(0, MAX_OFFERED).map(({ path, summary }) => (
                    <li key={path}>
                      <button type="button" onClick={() => go('try', path)}>
                        <span class="mono">{plain(path, 120)}</span>{' '}
                        <span class="note">{plain(summary, 100)}</span>
                      </button>
                    </li>
                  ))}
                </ul>
                {found.length > MAX_OFFERED && (
                  <p class="note">and {found.length - MAX_OFFERED} more: type more words</p>
                )}
                {found.length === 0 && (
                  <p class="note">No tool has these words. Search finds tools by their meaning, too.</p>
                )}
              </>
            )
          }}
        </Content>
      )}
    </div>
  )
}
