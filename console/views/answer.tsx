/** Shows the answer of a tool or a resource: its texts, its images, its structured content, and its JSON. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { bytes, counted, isWebUrl, plain } from '../format.ts'
import { type Part, partsOf } from '../result.ts'

const MAX_CHARACTERS = 100_000
const MAX_ITEMS = 100

export function Answer({ result }: { result: JsonObject }) {
  const [isRaw, setRaw] = useState(false)
  const parts = partsOf(result.content ?? result.contents)
  return (
    <div class="answer">
      <div class="switch">
        <button type="button" aria-pressed={!isRaw} onClick={() => setRaw(false)}>
          Formatted
        </button>
        <button type="button" aria-pressed={isRaw} onClick={() => setRaw(true)}>
          JSON
        </button>
      </div>
      {isRaw ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard
        <pre tabIndex={0}>{plain(JSON.stringify(result, null, 2), MAX_CHARACTERS)}</pre>
      ) : (
        <>
          {parts.map((part, at) => (
            <PartView key={`${at}`} part={part} />
          ))}
          {result.structuredContent !== undefined && (
            <div class="tree">
              <p class="note">structured content</p>
              <Tree value={result.structuredContent} />
            </div>
          )}
          {parts.length === 0 && result.structuredContent === undefined && (
            <p class="note">The answer is empty.</p>
          )}
        </>
      )}
    </div>
  )
}

function PartView({ part }: { part: Part }) {
  switch (part.kind) {
    case 'text':
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard
      return <pre tabIndex={0}>{plain(part.text, MAX_CHARACTERS)}</pre>
    case 'image':
      return <Picture {...part} />
    case 'link':
      return (
        <p>
          {isWebUrl(part.uri) ? (
            <a href={part.uri} target="_blank" rel="noopener noreferrer">
              {plain(part.name, 300)}
            </a>
          ) : (
            <code>{plain(part.uri, 300)}</code>
          )}
        </p>
      )
    case 'bytes':
      return (
        <p class="note">
          {plain(part.mimeType, 100)}, {bytes(part.size)}
        </p>
      )
  }
}

function Picture({ mimeType, data }: { mimeType: string; data: string }) {
  const url = useMemo(() => blobUrl(mimeType, data), [mimeType, data])
  useEffect(() => () => void (url !== undefined && URL.revokeObjectURL(url)), [url])
  return url === undefined ? (
    <p class="note">This image is not valid Base64.</p>
  ) : (
    <img src={url} alt="Result of the tool" />
  )
}

function blobUrl(type: string, data: string): string | undefined {
  try {
    const binary = atob(data)
    const blob = new Blob([Uint8Array.from(binary, character => character.charCodeAt(0))], { type })
    return URL.createObjectURL(blob)
  } catch {
    return undefined
  }
}

/** A value as a tree. Only unfolded parts are drawn. */
export function Tree({ value, name }: { value: JsonValue | undefined; name?: string }) {
  const [isOpen, setOpen] = useState(name === undefined)
  const label = name !== undefined && <span class="mono">{plain(name, 200)}: </span>
  if (!isObject(value) && !Array.isArray(value))
    return (
      <div>
        {label}
        <span class="leaf">{plain(typeof value === 'string' ? value : JSON.stringify(value), 2_000)}</span>
      </div>
    )
  const inner = Object.entries(value)
  const size = counted(inner.length, Array.isArray(value) ? 'item' : 'field')
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {label}
        <span class="note">{size}</span>
      </summary>
      {isOpen && inner.slice(0, MAX_ITEMS).map(([key, part]) => <Tree key={key} name={key} value={part} />)}
      {inner.length > MAX_ITEMS && <p class="note">… and {inner.length - MAX_ITEMS} more: see the JSON</p>}
    </details>
  )
}
