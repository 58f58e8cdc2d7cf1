/** The sentence encoder's model for tests: where it is, and why they are skipped where it is not. */
import { existsSync } from 'node:fs'
import { modelFileOf } from '../../core/encoder/model-place.ts'
import { cacheFolder } from '../../local/config.ts'

/** Where the model of this machine is, or would be. */
export function testModelFile(): string {
  return modelFileOf(process.env, cacheFolder(process.env))
}

/** False where tests with the model run: where it is, and where it is required (on CI). Else the reason, for `skip`. */
export function skipModel(): false | string {
  if (existsSync(testModelFile()) || process.env.CI || process.env.REQUIRE_MODEL === '1') return false
  return 'no model: npx portolan model fetches it'
}
