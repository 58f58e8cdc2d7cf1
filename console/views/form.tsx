/** A form for a schema: required fields first, optional ones folded, and JSON if no kind of field fits. */
import { useId, useState } from 'preact/hooks'
import { plain } from '../format.ts'
import { ABSENT, type Draft, emptyDraft, type Field, type Property } from '../schema-form.ts'

type Editing<F extends Field = Field> = { field: F; draft: Draft; onDraft(draft: Draft): void }

/** The fields of an object's properties. */
export function ObjectForm({ field, draft, onDraft }: Editing<Field & { kind: 'object' }>) {
  const current =
    draft.kind === 'object' ? draft : { kind: 'object' as const, of: new Map<string, Draft>(), rest: {} }
  const set = (name: string) => (next: Draft) =>
    onDraft({ ...current, of: new Map([...current.of, [name, next]]) })
  const row = (property: Property) => (
    <PropertyRow
      key={property.name}
      property={property}
      draft={current.of.get(property.name) ?? ABSENT}
      onDraft={set(property.name)}
    />
  )
  const required = field.properties.filter(({ isRequired }) => isRequired)
  const optional = field.properties.filter(({ isRequired }) => !isRequired)
  const isGiven = optional.some(({ name }) => (current.of.get(name) ?? ABSENT).kind !== 'absent')
  // Stays as it is when a field becomes empty, so that a field does not disappear while somebody types in it.
  const [isOpen, setOpen] = useState(isGiven || required.length === 0)
  const more = Object.keys(current.rest).length
  return (
    <div class="fields">
      {required.map(row)}
      {optional.length > 0 && (
        <details open={isOpen || isGiven} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>
            {optional.length} optional {optional.length === 1 ? 'argument' : 'arguments'}
          </summary>
          {optional.map(row)}
        </details>
      )}
      {more > 0 && <p class="note">{more} more that are not in the schema: see the JSON.</p>}
    </div>
  )
}

function PropertyRow({
  property,
  draft,
  onDraft,
}: {
  property: Property
  draft: Draft
  onDraft(draft: Draft): void
}) {
  const { name, isRequired, field } = property
  const id = useId()
  const isGroup = field.kind === 'object' || field.kind === 'list'
  const label = (
    <>
      <span class="mono">{plain(name, 200)}</span>
      {isRequired && <span class="note"> required</span>}
      <span class="note"> {kindWord(field)}</span>
    </>
  )
  const hint = field.description !== undefined && <p class="note hint">{plain(field.description, 600)}</p>
  if (isGroup)
    return (
      <fieldset>
        <legend>{label}</legend>
        {hint}
        <Value field={field} draft={draft} onDraft={onDraft} id={id} label={name} />
      </fieldset>
    )
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint}
      <Value field={field} draft={draft} onDraft={onDraft} id={id} label={name} />
    </div>
  )
}

function kindWord(field: Field): string {
  if (field.kind === 'number') return field.isWhole ? 'whole number' : 'number'
  if (field.kind === 'text') return field.format ?? 'text'
  if (field.kind === 'choice') return 'choice'
  return { json: 'JSON', list: 'list', object: 'object' }[field.kind]
}

/** Placeholders by `format`. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  date: 'YYYY-MM-DD',
  'date-time': '2026-11-25T12:00:00Z',
  uri: 'scheme://host/path',
  email: 'name@host',
}

/** `isItem`: it is an item of a list, which has its own button to remove it. */
function Value({
  field,
  draft,
  onDraft,
  id,
  label,
  isItem,
}: Editing & { id: string; label: string; isItem?: boolean }) {
  const typed = (text: string) => onDraft(text === '' ? ABSENT : { kind: 'typed', text })
  const text = draft.kind === 'typed' || draft.kind === 'json' ? draft.text : ''
  // A value that does not fit its field stays JSON until the text is empty.
  if (field.kind === 'json' || draft.kind === 'json')
    return (
      <textarea
        id={id}
        spellcheck={false}
        placeholder="JSON"
        value={text}
        onInput={({ currentTarget: { value } }) =>
          onDraft(value === '' ? ABSENT : { kind: 'json', text: value })
        }
      />
    )
  if (field.kind === 'choice')
    return (
      <select
        id={id}
        value={draft.kind === 'chosen' ? `${draft.at}` : ''}
        onChange={({ currentTarget: { value } }) =>
          onDraft(value === '' ? ABSENT : { kind: 'chosen', at: Number(value) })
        }
      >
        <option value="">(not set)</option>
        {field.values.map((value, at) => (
          <option key={JSON.stringify(value)} value={`${at}`}>
            {plain(typeof value === 'string' ? value : JSON.stringify(value), 200)}
          </option>
        ))}
      </select>
    )
  if (field.kind === 'object')
    return <Group field={field} draft={draft} onDraft={onDraft} label={label} isItem={isItem} />
  if (field.kind === 'list') return <List field={field} draft={draft} onDraft={onDraft} label={label} />
  const onInput = ({ currentTarget }: { currentTarget: { value: string } }) => typed(currentTarget.value)
  if (field.kind === 'text' && (field.isLong || text.includes('\n')))
    return <textarea id={id} value={text} onInput={onInput} />
  const hint = field.kind === 'text' ? PLACEHOLDERS[field.format ?? ''] : undefined
  return (
    <input
      id={id}
      type="text"
      inputMode={field.kind === 'number' ? 'decimal' : undefined}
      autocomplete="off"
      spellcheck={false}
      placeholder={hint}
      value={text}
      onInput={onInput}
    />
  )
}

type GroupProps = Editing<Field & { kind: 'object' }> & { label: string; isItem?: boolean }

function Group({ field, draft, onDraft, label, isItem }: GroupProps) {
  if (draft.kind !== 'object')
    return (
      <button type="button" onClick={() => onDraft(emptyDraft(field))} aria-label={`Set ${label}`}>
        Set
      </button>
    )
  return (
    <>
      <ObjectForm field={field} draft={draft} onDraft={onDraft} />
      {!isItem && (
        <button type="button" class="small" onClick={() => onDraft(ABSENT)} aria-label={`Remove ${label}`}>
          Remove
        </button>
      )}
    </>
  )
}

function List({ field, draft, onDraft, label }: Editing<Field & { kind: 'list' }> & { label: string }) {
  const items = draft.kind === 'list' ? draft.items : []
  const put = (next: readonly Draft[]) => onDraft(next.length === 0 ? ABSENT : { kind: 'list', items: next })
  const id = useId()
  return (
    <>
      <ol class="items">
        {items.map((item, at) => (
          // Items have no identity other than their position.
          <li key={`${at}`}>
            {field.item.kind !== 'object' && (
              <label class="hidden" for={`${id}-${at}`}>
                {label} {at + 1}
              </label>
            )}
            <Value
              field={field.item}
              draft={item}
              id={`${id}-${at}`}
              label={`${label} ${at + 1}`}
              isItem
              onDraft={next => put(items.with(at, next))}
            />
            <button
              type="button"
              class="small"
              aria-label={`Remove ${label} ${at + 1}`}
              onClick={() => put(items.toSpliced(at, 1))}
            >
              Remove
            </button>
          </li>
        ))}
      </ol>
      <button
        type="button"
        class="small"
        onClick={() => put([...items, emptyDraft(field.item)])}
        aria-label={`Add to ${label}`}
      >
        Add
      </button>
    </>
  )
}
