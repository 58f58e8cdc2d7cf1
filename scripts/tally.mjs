/** A reporter of node:test that writes what a summary of several runs needs: counts, and each skipped test with its reason. */

/** A JSON value a line: {skipped: {file, reason}} for a test, {counts: {passed, failed, skipped}} for the run. */
// biome-ignore lint/style/noDefaultExport: Node takes a reporter by its default export
export default async function* tally(events) {
  for await (const { type, data } of events) {
    if (type === 'test:pass' && data.skip !== undefined)
      yield line({ skipped: { file: data.file, reason: data.skip } })
    // Node also tells of each file's own counts, with its name
    if (type === 'test:summary' && data.file === undefined) yield line({ counts: countsOf(data.counts) })
  }
}

function countsOf({ passed, failed, cancelled, skipped }) {
  return { passed, failed: failed + cancelled, skipped }
}

function line(value) {
  return `${JSON.stringify(value)}\n`
}
