/** `portolan eval`: measures how well labelled queries find their tools in the user's catalog. */
import { Command, InvalidArgumentError } from 'commander'
import { plainLine } from '../core/hidden-characters.ts'
import { DEPTH, type Measures, mean, measureRanking } from '../router/catalog/search/measures.ts'
import { CommandError } from './command-error.ts'
import { type LabelledQuery, readLabelledQueries } from './labelled-queries.ts'
import { type LiveGateway, openGateway } from './live-gateway.ts'
import { type AskOptions, withGateway } from './options.ts'
import { count, type Terminal, table } from './output.ts'
import { warnOfUnknown } from './unknown-tools.ts'

const MAX_MISSES = 50
/** A tool counts as missed if it is not among this many first hits. */
const FIRST_HITS = 5
/** How many hits are shown for a query that missed a tool. */
const SHOWN_INSTEAD = 3

type EvalOptions = AskOptions & { minRecall5?: number }

type Judged = LabelledQuery & { found: string[]; measures: Measures }

export function evalCommand(terminal: Terminal): Command {
  const command = new Command('eval')
    .description('measure how well labelled queries find their tools: recall, reciprocal rank, nDCG')
    .argument('<file>', 'labelled queries, JSON lines or a YAML list: {query, relevant: [{server, tool}]}')
    .option(
      '--min-recall5 <share>',
      'fail if the recall among the first five results is lower; 0 to 1',
      share,
    )
  return withGateway(command)
    .addHelpText('after', '\nExample:\n  portolan eval queries.jsonl examples/laptop --min-recall5 0.9')
    .action(async (file: string, paths: string[], { output, minRecall5, ...options }: EvalOptions) => {
      const queries = readLabelledQueries(file)
      const gateway = await openGateway({ ...options, paths, byMeaning: true }, terminal)
      try {
        await warnOfUnknown(gateway, queries.flatMap(wantedBy).flat(), terminal)
        const judged: Judged[] = []
        for (const query of queries) judged.push(await judge(gateway, query))
        terminal.out(output === 'json' ? JSON.stringify(asJson(judged), null, 2) : asText(judged, terminal))
        const { recall5 } = meanOf(judged)
        if (minRecall5 !== undefined && recall5 < minRecall5)
          throw new CommandError(`recall@5 is ${recall5.toFixed(3)}, below ${minRecall5}`)
      } finally {
        await gateway.close()
      }
    })
}

async function judge(gateway: LiveGateway, labelled: LabelledQuery): Promise<Judged> {
  const { hits } = await gateway.explain(labelled.query, DEPTH)
  const found = hits.map(({ server, tool }) => `${server}:${tool}`)
  return { ...labelled, found, measures: measureRanking(hits, labelled.relevant) }
}

function meanOf(judged: readonly Judged[]): Measures {
  return mean(judged.map(({ measures }) => ({ measures, weight: 1 })))
}

function asText(judged: readonly Judged[], { colors }: Terminal): string {
  const styles = [...Map.groupBy(judged, ({ style }) => style ?? '')]
  const groups = styles.length > 1 ? styles : []
  const rows = [...groups, ['all', judged] as const].map(([name, part]) => rowOf(name || 'other', part))
  const titles = ['QUERIES', 'R@1', 'R@5', 'R@10', 'MRR', 'NDCG@10']
  const columns = [{ title: '' }, ...titles.map(title => ({ title, align: 'right' as const }))]
  const missed = judged.filter(({ measures }) => measures.recall5 < 1)
  const lines = missed.slice(0, MAX_MISSES).map(one => missLine(one, colors.dim))
  const more = missed.length > MAX_MISSES ? [`… and ${count(missed.length - MAX_MISSES)} more`] : []
  const misses = missed.length === 0 ? [] : ['', 'Not among the first five:', ...lines, ...more]
  return [table(columns, rows), ...misses].join('\n')
}

function rowOf(name: string, judged: readonly Judged[]): string[] {
  const { recall1, recall5, recall10, mrr10, ndcg10 } = meanOf(judged)
  return [
    name,
    count(judged.length),
    ...[recall1, recall5, recall10, mrr10, ndcg10].map(figure => figure.toFixed(3)),
  ]
}

function missLine(judged: Judged, dim: (text: string) => string): string {
  const { query, found } = judged
  const first = found.slice(0, FIRST_HITS)
  const missed = wantedBy(judged).filter(paths => !paths.some(path => first.includes(path)))
  const wanted = missed.map(paths => paths.join(' or ')).join(' and ')
  const rank = found.findIndex(path => missed.some(paths => paths.includes(path)))
  const place = rank < 0 ? '' : ` (first at ${rank + 1})`
  const instead = found.slice(0, SHOWN_INSTEAD).join(', ') || 'nothing'
  return `  ${plainLine(`${query}  ${wanted}`)}${place}  ${dim(plainLine(`found ${instead}`))}`
}

/** For each tool that the query should find, the paths that count as this tool: see `group` in labelled-queries.ts. */
function wantedBy({ relevant }: LabelledQuery): string[][] {
  const groups = Map.groupBy(relevant, ({ group }) => group).values()
  return [...groups].map(members => members.map(({ server, tool }) => `${server}:${tool}`))
}

function asJson(judged: readonly Judged[]) {
  return {
    ...meanOf(judged),
    queries: judged.map(({ id, query, style, relevant, found, measures }) => ({
      id,
      query,
      style,
      relevant,
      found,
      ...measures,
    })),
  }
}

function share(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= 0 && value <= 1) return value
  throw new InvalidArgumentError('must be a share from 0 to 1, such as 0.9.')
}
