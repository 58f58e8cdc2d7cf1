/** The path of the model file: the same for the program and for the script that fetches the model before a start. */
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { MODEL_FILE, modelFileOf } from '../../core/encoder/model-place.ts'
import { cacheFolder } from '../../local/config.ts'
import { modelFile } from '../../scripts/model.mjs'

test('the script that fetches the model uses the same path as the program', () => {
  const home = { HOME: '/home/ada' }
  for (const [env, expected] of [
    [home, `/home/ada/.cache/portolan/model/${MODEL_FILE}`],
    [{ ...home, XDG_CACHE_HOME: '/var/cache' }, `/var/cache/portolan/model/${MODEL_FILE}`],
    [{ ...home, PORTOLAN_CACHE: '/tmp/c' }, `/tmp/c/model/${MODEL_FILE}`],
    [{ ...home, PORTOLAN_CACHE: 'here' }, resolve(`here/model/${MODEL_FILE}`)],
    [{ ...home, PORTOLAN_CACHE: '/tmp/c', PORTOLAN_MODEL: '/models/own.bin' }, '/models/own.bin'],
    [{}, resolve(`.cache/portolan/model/${MODEL_FILE}`)],
  ] as const) {
    assert.equal(modelFileOf(env, cacheFolder(env)), expected)
    assert.equal(modelFile(env), expected)
  }
})

test('without a cache folder, the model is beside the program, as in the image', () => {
  assert.equal(modelFileOf({}), resolve(`core/encoder/${MODEL_FILE}`))
})
