#!/usr/bin/env node
/** The command `portolan` of a clone: installs and builds what is missing, then runs the bundle on Node 24. Plain JavaScript for Node 20. */
import { readyNode, runPortolan } from './bootstrap.mjs'

process.exitCode = await runPortolan(await readyNode(), process.argv.slice(2))
