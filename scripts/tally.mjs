/** A reporter of node:test for the summary of several runs: writes counts, and each skipped test with its reason. */

/** One JSON value per line: {skipped: {file, reason}} for a test, {counts: {passed, failed, skipped}} for the run. */
// biome-ignore lint/style/noDefaultExport: Node requires a reporter to be the default export
export default async function* tally(events) {
  for await (const { type, data } of events) {
    if (type === 'test:pass' && data.skip !== undefined)
      yield line({ skipped: { file: data.file, reason: data.skip } })
    // Node also reports the counts of each file; these have a `file`.
    if (type === 'test:summary' && data.file === undefined) yield line({ counts: countsOf(data.counts) })
  }
}

function countsOf({ passed, failed, cancelled, skipped }) {
  return { passed, failed: failed + cancelled, skipped }
}

function line(value) {
  return `${JSON.stringify(value)}\n`
}
