/** Fetches the sentence encoder's model before a start or a test, if it is missing. Plain JavaScript for Node 20. */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { MODEL_FILE } from '../core/encoder/model-name.mjs'
import { portolanCommand, runAsChild, withCompileCache } from './bootstrap.mjs'

/** Pause after a failed download, so that not every start without a network waits for another attempt. */
const TRY_AGAIN_MS = 60 * 60_000
const STOPPED = 130

/** The same path as in core/encoder/model-place.ts and local/config.ts, which Node 20 cannot load. */
export function modelFile(env) {
  if (env.PORTOLAN_MODEL) return env.PORTOLAN_MODEL
  const cache = env.PORTOLAN_CACHE || join(env.XDG_CACHE_HOME || join(env.HOME || '.', '.cache'), 'portolan')
  return join(resolve(cache), 'model', MODEL_FILE)
}

/**
 * Resolves with true if the model is available. A failure is only reported, because without the model search matches words. With
 * `sure`, an existing model is verified (about a second), and a recent failure is tried again.
 */
export async function readyModel(node, env, { sure = false } = {}) {
  const file = modelFile(env)
  const failed = `${file}.failed`
  const exists = existsSync(file)
  if (exists && !sure) return true
  const say = text => process.stderr.write(`portolan: ${text}\n`)
  if (!sure && isRecent(failed)) {
    say(
      'search matches words only, because the model could not be fetched recently; `npx portolan model` tries again',
    )
    return false
  }
  if (!exists) say('fetching the model for search by meaning (once, 84 MB)')
  const command = await portolanCommand(node, ['model'])
  const byNpm = env.npm_command !== undefined
  const code = await runAsChild(node, command, {
    env: withCompileCache(env),
    byNpm,
    stdout: process.stderr.fd,
  })
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
