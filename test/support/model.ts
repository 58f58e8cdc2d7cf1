/** The sentence encoder's model for tests: its path, and the reason for skipping tests if it is missing. */
import { existsSync } from 'node:fs'
import { modelFileOf } from '../../core/encoder/model-place.ts'
import { cacheFolder } from '../../local/config.ts'

/** The path of the model file on this machine, whether it exists or not. */
export function testModelFile(): string {
  return modelFileOf(process.env, cacheFolder(process.env))
}

/** False if the model exists, or is required (on CI); otherwise the reason, for `skip` of node:test. */
export function skipModel(): false | string {
  if (existsSync(testModelFile()) || process.env.CI || process.env.REQUIRE_MODEL === '1') return false
  return 'no model: npx portolan model fetches it'
}
