/** Explains to people why a search finds what it finds. Pure. */
import { WEIGHTS } from '../router/catalog/search/fusion.ts'
import type { ExplainedHit, ExplainedTerm, Explanation } from '../router/catalog/search/search-index.ts'
import { type Colors, count, table } from './output.ts'

const MAX_ALTERNATIVES = 6
const MAX_FEATURES = 6
const MEANING_WEIGHT = Number((1 - WEIGHTS.words).toFixed(3))
const LEGEND = [
  `lexical: words × name + ${WEIGHTS.server} × server, divided by the best, less if few words of the query match`,
  `score: (${WEIGHTS.words} × lexical + ${MEANING_WEIGHT} × meaning) × action; by words alone: (words × name + server) × action`,
]

/** The query as it was understood, then tables of its words and of the hits, then the formulas of the scores. */
export function explanationText(explanation: Explanation, colors: Colors): string {
  const { hits, total, confidence } = explanation
  const found = hits.length === 0 ? 'no tool was found' : hitTable(hits, colors)
  return [
    ...questionLines(explanation),
    ...(confidence ? [confidenceLine(confidence), ''] : []),
    termTable(explanation.terms),
    '',
    found,
    '',
    ...LEGEND.map(line => colors.dim(line)),
    colors.dim(`${count(total)} found`),
  ].join('\n')
}

function questionLines({ query, english, actions, coverage, similarity, pending }: Explanation): string[] {
  const words = `the best match covers ${Math.round(100 * coverage)} % of the query's weight`
  const meaning = similarity
    ? `cosine ${similarity.max.toFixed(2)} counts as 1, ${similarity.min.toFixed(2)} as 0`
    : 'by words alone'
  const waiting = pending ? `; ${count(pending)} tools have no vector yet` : ''
  return [
    `query       ${query}`,
    ...(english === undefined ? [] : [`english     ${english}`]),
    ...(actions.length === 0 ? [] : [`action      ${actions.join(', ')}`]),
    `words       ${words}`,
    `meaning     ${meaning}${waiting}`,
    '',
  ]
}

/** The confidence in the first hit, and the features with the greatest effects on it: their values, and their effects on the log odds. */
function confidenceLine({ value, threshold, features }: NonNullable<Explanation['confidence']>): string {
  const shown = features.slice(0, MAX_FEATURES)
  const parts = shown.map(
    ({ feature, value, effect }) => `${feature} ${value.toFixed(2)} (${signed(effect)})`,
  )
  return `confidence  ${value.toFixed(2)}, weak below ${threshold.toFixed(2)}: ${parts.join(', ')}`
}

function signed(effect: number): string {
  return `${effect < 0 ? '' : '+'}${effect.toFixed(1)}`
}

function termTable(terms: readonly ExplainedTerm[]): string {
  const rows = terms.map(({ word, term, alternatives }) => [
    word,
    term,
    `${alternatives.find(one => one.term === term)?.documents ?? 0}`,
    alternatives
      .filter(one => one.term !== term)
      .slice(0, MAX_ALTERNATIVES)
      .map(one => `${one.term} ${one.weight.toFixed(2)}`)
      .join(', '),
  ])
  const right = 'right' as const
  return table(
    [{ title: 'WORD' }, { title: 'TERM' }, { title: 'TOOLS', align: right }, { title: 'OR' }],
    rows,
  )
}

function hitTable(hits: readonly ExplainedHit[], colors: Colors): string {
  const titles = ['SCORE', 'LEXICAL', 'MEANING', 'COSINE', 'ACTION', 'NAME', 'SERVER']
  const rows = hits.map(hit => [
    ...[
      hit.score,
      hit.lexical,
      hit.semantic,
      hit.cosine,
      hit.actionFactor,
      hit.nameFactor,
      hit.serverScore,
    ].map(figure),
    [`${hit.server}:${hit.tool}${remark(hit)}`, colors.bold] as const,
    hit.matched
      .map(({ term, by, fields }) => `${term === by ? term : `${term}~${by}`} (${fields.join(' ')})`)
      .join(', '),
  ])
  const columns = titles.map(title => ({ title, align: 'right' as const }))
  return table([...columns, { title: 'TOOL' }, { title: 'MATCHED' }], rows)
}

function remark({ named, weak }: ExplainedHit): string {
  const words = [named && `named: ${named}`, weak && 'weak'].filter(Boolean).join(', ')
  return words === '' ? '' : ` (${words})`
}

function figure(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(2)
}
