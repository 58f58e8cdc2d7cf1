/** The Portolan image for tests, made with the same scripts as in the Dockerfile. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { MODEL_FILE } from '../../core/encoder/model-place.ts'
import { bundle } from '../../scripts/bundle.ts'
import { assembleImageRoot, fetchedModel, IMAGE_START } from '../../scripts/image-root.ts'
import type { Image } from '../cluster/image.ts'

/** Bundles into `folder` and returns the image. It contains the model if this machine has fetched it. */
export async function portolanImage(folder: string): Promise<Image> {
  const root = join(folder, 'root')
  await bundle(join(folder, 'bundle'))
  const model = fetchedModel(process.env)
  assembleImageRoot(root, { bundle: join(folder, 'bundle'), model })
  const system = Object.fromEntries(
    readdirSync(root)
      .filter(name => name !== 'app')
      .map(name => [`/${name}`, { from: join(root, name), except: /^bridge\./ }]),
  )
  // Files that change with the sources are in a separate layer.
  const programs = {
    '/app': { from: join(root, 'app'), except: /^minilm\.bin$/ },
    '/portolan/bridge.cjs': { from: join(root, 'portolan', 'bridge.cjs') },
  }
  const layers = [system, ...(model ? [{ [`/app/${MODEL_FILE}`]: { from: model } }] : []), programs]
  return { reference: 'portolan/portolan:test', layers, ...IMAGE_START }
}
