/** The entry point of the bridge. No top-level `await`, so that it can be bundled as CommonJS: Node's ES module loader costs 13 MB. */
import process from 'node:process'
import { runBridge } from './program.ts'

void runBridge(process.argv.slice(2), process).then(code => process.exit(code))
