/** The ranking of a search: the scores of each hit by words, server and meaning; the next hits; and why a tool is missing. */
import { useState } from 'preact/hooks'
import type { ConsoleTool } from '../../core/console/shapes.ts'
import { plain } from '../format.ts'
import { listsVersion } from '../live.ts'
import {
  type Explained,
  type Hit,
  labelledQuery,
  matchedWords,
  missedWords,
  pathOf,
  unknownWords,
  whyNot,
} from '../search-why.ts'
import { useStore } from '../store.ts'
import { Bar, Copy, ToolLink, useLoaded } from './parts.tsx'

/** How many hits after those of the answer are shown. */
const MAX_NEXT = 5
/** How many tools are offered whose path contains what was typed. */
const MAX_OFFERED = 6

/** `limit`: the number of hits in the answer to the agent. */
export function Why({ explained, limit }: { explained: Explained; limit: number }) {
  const { hits, english, actions, confidence, total } = explained
  const [right, setRight] = useState<readonly string[]>([])
  const best = hits[0]?.score ?? 1
  const unknown = unknownWords(explained)
  const toggle = (path: string) =>
    setRight(right.includes(path) ? right.filter(one => one !== path) : [...right, path])
  const row = (hit: Hit, at: number) => (
    <HitRow
      key={pathOf(hit)}
      hit={hit}
      rank={at + 1}
      best={best}
      explained={explained}
      isRight={right.includes(pathOf(hit))}
      onRight={() => toggle(pathOf(hit))}
    />
  )
  return (
    <>
      <p class="note">
        {total} found
        {confidence &&
          ` · confidence in the first: ${confidence.value.toFixed(2)}${confidence.value < confidence.threshold ? ', too low to count as found' : ''}`}
        {english !== undefined && ` · in English: ${plain(english, 200)}`}
        {actions.length > 0 && ` · actions: ${actions.join(', ')}`}
      </p>
      {unknown.length > 0 && (
        <p class="note">No tool has the words {unknown.map(word => `"${plain(word, 60)}"`).join(', ')}.</p>
      )}
      <WhyNot explained={explained} limit={limit} />
      {hits.length === 0 ? (
        <p class="quiet">Nothing was found: try other words.</p>
      ) : (
        <ol class="hits">{hits.slice(0, limit).map(row)}</ol>
      )}
      {hits.length > limit && (
        <>
          <h3 class="near">Next hits, not in the answer</h3>
          <ol class="hits left" start={limit + 1}>
            {hits.slice(limit, limit + MAX_NEXT).map((hit, at) => row(hit, limit + at))}
          </ol>
        </>
      )}
      <p class="note">
        {right.length === 0 ? (
          'Tick the right tools to get a labelled query for portolan eval. '
        ) : (
          <Copy text={labelledQuery(explained.query, right)} label="Copy as labelled query" />
        )}
      </p>
      {right.length > 0 && <pre>{plain(labelledQuery(explained.query, right))}</pre>}
    </>
  )
}

type RowProps = {
  hit: Hit
  rank: number
  best: number
  explained: Explained
  isRight: boolean
  onRight(): void
}

function HitRow({ hit, rank, best, explained, isRight, onRight }: RowProps) {
  const path = pathOf(hit)
  const missed = missedWords(explained, hit)
  const { lexical, semantic, cosine, serverScore, actionFactor, score, weak, named } = hit
  return (
    <li class={weak ? 'weak' : ''}>
      <div class="head">
        <span class="note">{rank}</span>
        <ToolLink path={path} />
        {weak && <span class="note">weak</span>}
        {named !== undefined && <span class="note">named: {named}</span>}
        <label>
          <input type="checkbox" checked={isRight} onChange={onRight} aria-label={`${path} is right`} />
          right
        </label>
      </div>
      <div class="shares">
        <span>score</span>
        <Bar value={score} most={best} />
        <span class="num">{score.toFixed(2)}</span>
        <span>words</span>
        <Bar value={lexical} most={1} quiet />
        <span class="num">{lexical.toFixed(2)}</span>
        {semantic !== undefined && (
          <>
            <span>meaning</span>
            <Bar value={semantic} most={1} quiet />
            <span class="num">{semantic.toFixed(2)}</span>
          </>
        )}
      </div>
      <p class="note">
        {matchedWords(explained, hit)
          .map(word => plain(word, 100))
          .join(' · ') || 'no word of the query'}
        {missed.length > 0 && ` · without ${missed.map(word => plain(word, 60)).join(', ')}`}
        {serverScore > 0.005 && ` · its server +${serverScore.toFixed(2)}`}
        {actionFactor !== 1 && ` · action × ${actionFactor.toFixed(2)}`}
        {cosine !== undefined && ` · cosine ${cosine.toFixed(2)}`}
      </p>
    </li>
  )
}

/** Explains the rank of one tool, or why it is missing. Offers the tools whose paths contain what was typed. */
function WhyNot({ explained, limit }: { explained: Explained; limit: number }) {
  const { route, choose, known, get } = useStore()
  const { tool = '' } = route.value.chosen
  const path = tool.trim()
  const key = path === '' ? undefined : 'tools'
  const version = listsVersion(known.value.state)
  const { value: tools } = useLoaded(key, () => get<ConsoleTool[]>('tools'), version)
  const named = tools?.find(one => one.path === path)
  const [isKnown, isHeld] = [named !== undefined, named?.held]
  const server = known.value.servers.get(path.split(':')[0] ?? '')
  const hiddenState = server?.hidden ? server.state : undefined
  const similar = isKnown ? [] : (tools ?? []).filter(one => one.path.includes(path)).slice(0, MAX_OFFERED)
  return (
    <div class="whynot">
      <label>
        Why not{' '}
        <input
          type="text"
          class="mono"
          placeholder="server:tool"
          value={tool}
          spellcheck={false}
          onInput={event => choose({ tool: event.currentTarget.value })}
        />
      </label>
      {similar.length > 0 && (
        <ul class="offered">
          {similar.map(one => (
            <li key={one.path}>
              <button type="button" class="mono" onClick={() => choose({ tool: one.path })}>
                {plain(one.path, 120)}
              </button>
            </li>
          ))}
        </ul>
      )}
      {tools && path !== '' && similar.length === 0 && (
        <p role="status">{plain(whyNot(explained, path, limit, { isKnown, isHeld, hiddenState }))}</p>
      )}
    </div>
  )
}
