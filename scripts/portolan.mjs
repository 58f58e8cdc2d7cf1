#!/usr/bin/env node
/** The command `portolan`: makes the clone ready, then runs its bundle on Node 24. Plain JavaScript for Node 20. */
import { readyNode, runPortolan } from './bootstrap.mjs'

process.exitCode = await runPortolan(await readyNode(), process.argv.slice(2))
