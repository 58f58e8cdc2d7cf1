/** Fetches the sentence encoder's model before a start or a test, where it is not there. Plain JavaScript for Node 20. */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { compiled, portolanCommand, runAsChild } from './bootstrap.mjs'

/** A start without network would else wait each time for what cannot be had. */
const TRY_AGAIN_MS = 60 * 60_000
const STOPPED = 130

/** As core/encoder/model-place.ts and local/config.ts say it, for a Node that cannot read them. */
export function modelFile(env) {
  if (env.PORTOLAN_MODEL) return env.PORTOLAN_MODEL
  const cache = env.PORTOLAN_CACHE || join(env.XDG_CACHE_HOME || join(env.HOME || '.', '.cache'), 'portolan')
  return join(resolve(cache), 'model', 'minilm.bin')
}

/**
 * True where the model is there in the end. Without it everything works by words, so that a failure is told, no more.
 * `sure`: looks into one that is there, which takes a second, and tries whatever failed before.
 */
export async function readyModel(node, env, { sure = false } = {}) {
  const file = modelFile(env)
  const failed = `${file}.failed`
  const there = existsSync(file)
  if (there && !sure) return true
  const say = text => process.stderr.write(`portolan: ${text}\n`)
  if (!sure && isRecent(failed)) {
    say('without search by meaning: its model could not be fetched lately; `npx portolan model` tries again')
    return false
  }
  if (!there) say('fetching the model for search by meaning (once, 84 MB)')
  const command = await portolanCommand(node, ['model'])
  const byNpm = env.npm_command !== undefined
  const code = await runAsChild(node, command, { env: compiled(env), byNpm, stdout: process.stderr.fd })
  if (code === STOPPED) process.exit(code)
  if (code === 0) rmSync(failed, { force: true })
  else remember(failed)
  return code === 0
}

function isRecent(file) {
  return existsSync(file) && Date.now() - statSync(file).mtimeMs < TRY_AGAIN_MS
}

function remember(file) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '')
}
