/** The questions that a server asks during a call, each with a form. */
import { useMemo, useState } from 'preact/hooks'
import { isObject, type JsonObject } from '../../core/json.ts'
import { isWebUrl, plain } from '../format.ts'
import type { Question } from '../result.ts'
import { type Draft, emptyDraft, formOf } from '../schema-form.ts'
import { argumentsIn } from './arguments.tsx'
import { ObjectForm } from './form.tsx'

export function Questions(props: {
  server: string
  questions: readonly Question[]
  onAnswers(answers: JsonObject): void
}) {
  const { server, questions, onAnswers } = props
  const forms = useMemo(
    () => questions.map(({ schema }) => formOf(isObject(schema) ? schema : {})),
    [questions],
  )
  const [drafts, setDrafts] = useState<readonly Draft[]>(() => forms.map(form => emptyDraft(form)))
  const given = forms.map((form, at) => argumentsIn(form, drafts[at] ?? emptyDraft(form)))
  const answer = (action: 'accept' | 'decline' | 'cancel') =>
    onAnswers(
      Object.fromEntries(
        questions.map(({ key }, at) => [
          key,
          action === 'accept' ? { action, content: given[at]?.args ?? {} } : { action },
        ]),
      ),
    )
  return (
    <form
      class="questions"
      onSubmit={event => {
        event.preventDefault()
        answer('accept')
      }}
    >
      <p class="note">{plain(server)} asks:</p>
      {questions.map(({ key, message, url }, at) => (
        <fieldset key={key}>
          <legend>{plain(message, 2_000)}</legend>
          {url !== undefined && isWebUrl(url) && (
            <p>
              It wants you to open{' '}
              <a href={url} target="_blank" rel="noopener noreferrer">
                {plain(url, 300)}
              </a>
            </p>
          )}
          {forms[at] && (
            <ObjectForm
              field={forms[at]}
              draft={drafts[at] ?? emptyDraft(forms[at])}
              onDraft={draft => setDrafts(drafts.with(at, draft))}
            />
          )}
        </fieldset>
      ))}
      <div class="actions">
        <button type="submit" class="primary" disabled={given.some(({ problems }) => problems.length > 0)}>
          Accept
        </button>
        <button type="button" onClick={() => answer('decline')}>
          Decline
        </button>
        <button type="button" onClick={() => answer('cancel')}>
          Cancel
        </button>
      </div>
    </form>
  )
}
