/** Edits arguments as a form or as JSON, and shows what will be sent. */
import { useState } from 'preact/hooks'
import { exactJson } from '../../core/exact-json.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { plain } from '../format.ts'
import { type Draft, draftOf, type Field, valueIn } from '../schema-form.ts'
import { ObjectForm } from './form.tsx'

export type TypedArguments = { args: JsonObject; problems: { path: string; message: string }[] }

/** The arguments that were typed. */
export function argumentsIn(field: Field, draft: Draft): TypedArguments {
  const { value, problems } = valueIn(field, draft)
  return { args: isObject(value) ? value : {}, problems }
}

export function Arguments(props: {
  field: Field & { kind: 'object' }
  draft: Draft
  onDraft(draft: Draft): void
}) {
  const { field, draft, onDraft } = props
  const [text, setText] = useState<string>()
  const { args, problems } = argumentsIn(field, draft)
  const [isBroken, setBroken] = useState(false)
  const typeJson = (value: string) => {
    setText(value)
    const parsed = parsedObject(value)
    setBroken(parsed === undefined)
    if (parsed) onDraft(draftOf(field, parsed))
  }
  return (
    <>
      <div class="switch">
        <button type="button" aria-pressed={text === undefined} onClick={() => setText(undefined)}>
          Form
        </button>
        <button
          type="button"
          aria-pressed={text !== undefined}
          onClick={() => {
            setBroken(false)
            setText(JSON.stringify(args, null, 2))
          }}
        >
          JSON
        </button>
      </div>
      {text === undefined ? (
        <ObjectForm field={field} draft={draft} onDraft={onDraft} />
      ) : (
        <>
          <textarea
            class="json"
            aria-label="Arguments as JSON"
            spellcheck={false}
            value={text}
            onInput={({ currentTarget: { value } }) => typeJson(value)}
          />
          {isBroken && (
            <p class="bad">
              This is not a JSON object, or has a number that would be rounded. The last valid arguments will
              be sent.
            </p>
          )}
        </>
      )}
      {text === undefined && (
        <>
          <p class="note">Will be sent:</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard */}
          <pre class="sent" tabIndex={0}>
            {plain(JSON.stringify(args, null, 2))}
          </pre>
        </>
      )}
      {problems.length > 0 && (
        <ul class="note missing">
          {problems.slice(0, 8).map(({ path, message }) => (
            <li key={path}>
              <span class="mono">{plain(path, 200)}</span> {message}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function parsedObject(text: string): JsonObject | undefined {
  try {
    const value = exactJson(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
